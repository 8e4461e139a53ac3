"""Risk of a file whose keys are misclassified or were redrawn: the shares, the measures, the matrices by variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.models.counts import distinct_rows

# `theta[j, k]` is the probability that someone whose true level is k is observed at level j; its columns sum to 1.


def check_matrix(matrix: ArrayLike, levels: int, where: str) -> Floats:
    theta = np.asarray(matrix, dtype=np.float64)
    if theta.shape != (levels, levels):
        raise parameter(
            where,
            f"a misclassification matrix must have {levels} rows and columns, one for each level",
            f"shape {theta.shape}",
        )
    sums = theta.sum(axis=0)
    if not np.isfinite(theta).all() or (theta < 0).any() or np.abs(sums - 1.0).max() > 1e-9:
        raise parameter(
            where,
            "columns of a misclassification matrix must be distributions: theta[observed, true]",
            f"column sums from {sums.min():.6g} to {sums.max():.6g} and minimum {theta.min():.3g}",
            "transpose it if its rows are the distributions",
        )
    return theta


def swapping_matrix(counts: ArrayLike, rate: float) -> Floats:
    r"""Misclassification by swapping a share of the records with others of another level.

    `counts` (array of shape (n_levels,)): records at each level.

    Returns float64, shape (n_levels, n_levels).

    :math:`\theta_{jj} = 1 - rate` and :math:`\theta_{jk} = rate \cdot n_j / \sum_{l \ne k} n_l`; the paper prints the
    index transposed, and columns that do not sum to 1. It is an approximation: partners are taken from those not yet
    swapped, and where one level holds most of the records it finds too few partners and is swapped less.

    References
    ----------
    .. [1] Shlomo, Assessing disclosure risk under misclassification for microdata, 2009, section 3.1.
    """
    n = np.asarray(counts, dtype=np.float64)
    if n.ndim != 1 or len(n) < 2 or (n < 0).any() or (n > 0).sum() < 2:
        raise parameter("counts", "at least two levels must have records")
    if not 0.0 <= rate <= 1.0:
        raise parameter("rate", "a share lies from 0 to 1", f"{rate:g}")
    theta = rate * n[:, None] / (n.sum() - n)[None, :]
    np.fill_diagonal(theta, 1.0 - rate)
    return np.asarray(theta)


# Risk where key variables are wrong, by error or by protection: Shlomo 2009, equations 7 to 9.
#
# A record that is alone at the observed combination j is a given person B of that combination with probability
#
# .. math:: \frac{\theta_{jj} / (1 - \pi \theta_{jj})}{\sum_k F_k \theta_{jk} / (1 - \pi \theta_{jk})}
#
# which is 1/F_j without misclassification and never more. Where no person truly is of the combination (F_j = 0, a
# record was moved there) there is no one to be found, and the risk is 0. It is about :math:`\theta_{jj} / \tilde
# F_j`, with the number of people who would be observed at j: of the matrix only the diagonal is then needed, and
# :math:`\tilde F_j` can be estimated from the perturbed sample by a log-linear model that knows nothing of the
# perturbation.


@dataclass(frozen=True, eq=False)
class MisclassificationRisk:
    """Risk of the sample uniques of a perturbed file.

    `uniques` (int64, shape (n_uniques,)): numbers of the (observed) sample uniques among the records; `exact`,
    `approximate` (float64, shape (n_uniques,), or None): equation 7, and theta_jj / F~_j (equation 8), where the
    population is known; `estimated` (float64, shape (n_uniques,), or None): theta_jj E[1/F~ | f~ = 1], where a
    log-linear model of the perturbed file was given.
    """

    uniques: Integers = field(repr=False)
    exact: Floats | None = field(repr=False)
    approximate: Floats | None = field(repr=False)
    estimated: Floats | None = field(repr=False)

    @property
    def tau(self) -> float | None:
        """Equation 9: expected correct matches among the sample uniques, population known."""
        return None if self.exact is None else float(self.exact.sum())

    @property
    def tau_approximate(self) -> float | None:
        return None if self.approximate is None else float(self.approximate.sum())

    @property
    def tau_estimated(self) -> float | None:
        """The same, estimated from the perturbed sample alone."""
        return None if self.estimated is None else float(self.estimated.sum())


def misclassification_risk(
    file: KeyFile, theta: Mapping[str, ArrayLike], model: LogLinearRisk | None = None
) -> MisclassificationRisk:
    """Risk of a perturbed file.

    `file`: the perturbed records, with the *unperturbed* population if that is known (``perturbed=True``); `theta`: for
    each key variable that was perturbed, independently of the others, its matrix in the order of the file's labels:
    ``theta[observed, true]``.

    A person can be observed at j only from combinations that agree with j on the variables left alone, so the sums go
    over those: O(n_uniques * (people's combinations that so agree)).
    """
    file.require_disjoint_cells("misclassification")
    unknown = [n for n in theta if n not in file.names]
    if unknown:
        raise parameter("theta", f"there is no key variable {', '.join(unknown)}")
    changed = [q for q, n in enumerate(file.names) if n in theta]
    matrices = [check_matrix(theta[file.names[q]], file.levels[q], f"theta of {file.names[q]}") for q in changed]
    records = file.uniques
    observed = file.codes[records]
    unchanged = np.ones(len(records))
    for q, matrix in zip(changed, matrices, strict=True):
        unchanged *= matrix[observed[:, q], observed[:, q]]
    estimated = None
    if model is not None:
        if not np.array_equal(model.uniques, records):
            raise parameter("model", "the model is one of another file")
        estimated = unchanged * model.correct
    if file.population_cells is None or file.population_counts is None:
        return MisclassificationRisk(records, None, None, estimated)
    return MisclassificationRisk(records, *_summed(file, observed, changed, matrices, unchanged), estimated)


def _summed(
    file: KeyFile, observed: Codes, changed: list[int], matrices: list[Floats], unchanged: Floats
) -> tuple[Floats, Floats]:
    """Equations 7 and 8 for the observed combinations."""
    people, counts = file.population_cells, file.population_counts
    assert people is not None and counts is not None  # noqa: S101, PT018 - the caller looked
    kept = [q for q in range(file.n_keys) if q not in changed]
    rows = np.concatenate([observed[:, kept], people[:, kept]])
    first, group = distinct_rows(rows, [file.levels[q] for q in kept])
    own, theirs = group[: len(observed)], group[len(observed) :]
    order = np.argsort(theirs, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(theirs, minlength=len(first)))]).astype(np.int64)
    widest = max((len(m) for m in matrices), default=1)
    stacked = np.zeros((len(matrices), widest, widest))
    for v, matrix in enumerate(matrices):
        stacked[v, : len(matrix), : len(matrix)] = matrix
    odds, expected = _sums(
        np.ascontiguousarray(observed[:, changed]),
        own,
        np.ascontiguousarray(people[order][:, changed]),
        counts[order],
        starts,
        stacked,
        file.fraction,
    )
    sizes = file.people_alike
    assert sizes is not None  # noqa: S101 - there is a population
    anyone_else = sizes[file.of_record[file.uniques]] > 0
    exact = np.where(anyone_else, _odds(unchanged, file.fraction) / np.where(odds > 0, odds, 1.0), 0.0)
    return exact, np.where(anyone_else, unchanged / np.where(expected > 0, expected, 1.0), 0.0)


def _odds(theta: Floats, fraction: float) -> Floats:
    """theta / (1 - pi theta); certain observation of everyone (both 1) has a finite limit in the ratio, taken near."""
    return np.asarray(theta / np.maximum(1.0 - fraction * theta, 1e-12), dtype=np.float64)


@njit(cache=True, nogil=True)
def _sums(observed, group, people, counts, starts, theta, fraction):  # type: ignore[no-untyped-def]  # compiled
    """For each observed combination, the sums of F theta / (1 - pi theta) and of F theta over who may be behind it."""
    odds, expected = np.zeros(len(observed)), np.zeros(len(observed))
    for i in range(len(observed)):
        for t in range(starts[group[i]], starts[group[i] + 1]):
            chance = 1.0
            for v in range(observed.shape[1]):
                chance *= theta[v, observed[i, v], people[t, v]]
            odds[i] += counts[t] * chance / max(1.0 - fraction * chance, 1e-12)
            expected[i] += counts[t] * chance
    return odds, expected


# For each true level the distribution of what is observed, as PRAM's matrices are stated: `{true: {observed: p}}`; what
# is not stated is 0. The matrices of the numbers are `theta[observed, true]`.

Stated = Mapping[str, Mapping[str, float]]
_TOLERANCE = 1e-6  # of sums of stated probabilities, which are scaled to sum to 1


@dataclass(frozen=True)
class Perturbation:
    """How the key values of a file came to be wrong."""

    swapped: Mapping[str, float] = field(default_factory=dict)
    theta: Mapping[str, Stated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        both = [name for name in self.swapped if name in self.theta]
        if both:
            raise parameter(
                "--swapped, --theta",
                f"{', '.join(both)} is both swapped and given a misclassification matrix",
                remedy="state one of the two",
            )

    def __bool__(self) -> bool:
        return bool(self.swapped or self.theta)

    @property
    def names(self) -> list[str]:
        return [*self.swapped, *self.theta]

    def only(self, names: tuple[str, ...]) -> Perturbation:
        return Perturbation(
            {name: rate for name, rate in self.swapped.items() if name in names},
            {name: stated for name, stated in self.theta.items() if name in names},
        )

    def matrices(self, file: KeyFile) -> dict[str, Floats]:
        """The matrix of each changed key variable, in the order of the file's levels; swapping keeps their sizes."""
        found = {}
        for name in self.names:
            if name not in file.names:
                raise parameter("perturbation", f"there is no key variable {name}")
            q = file.names.index(name)
            if name in self.theta:
                found[name] = aligned(self.theta[name], file.labels[q], f"theta of {name}")
            else:
                counts = np.bincount(file.codes[:, q], minlength=file.levels[q])
                found[name] = swapping_matrix(counts, self.swapped[name])
        return found


def aligned(stated: Stated, levels: tuple[str, ...], where: str) -> Floats:
    """A stated matrix as ``theta[observed, true]``, shape (n_levels, n_levels).

    Refused: a level that neither the file nor its population has; a level without a distribution; probabilities that
    are none or do not sum to 1.
    """
    place = {label: k for k, label in enumerate(levels)}
    unknown = sorted({label for true, row in stated.items() for label in (true, *row) if label not in place})
    if unknown:
        raise GemelError(
            ErrorCode.SOURCE,
            "a misclassification matrix has levels that neither the records nor the population have",
            where=where,
            got=", ".join(unknown[:10]),
            remedy="write levels as the file of records does; leave out those that do not occur",
        )
    absent = len(levels) - len(stated)
    if absent:
        raise GemelError(
            ErrorCode.SOURCE,
            "a misclassification matrix needs a distribution for every level",
            where=where,
            got=f"{len(stated)} of {len(levels)}",
            remedy="add the others; a level that is never wrong is observed as itself with probability 1",
        )
    theta = np.zeros((len(levels), len(levels)))
    for true, row in stated.items():
        for observed, p in row.items():
            theta[place[observed], place[true]] = p
    if (theta < 0).any() or np.abs(theta.sum(axis=0) - 1.0).max() > _TOLERANCE:
        of_true, of_observed = theta.sum(axis=0), theta.sum(axis=1)
        transposed = np.abs(of_observed - 1.0).max() <= _TOLERANCE
        raise GemelError(
            ErrorCode.SOURCE,
            "for each true level the probabilities of what is observed must sum to 1",
            where=where,
            got=f"sums from {of_true.min():.6g} to {of_true.max():.6g}",
            remedy="transpose the matrix: its other sums are 1" if transposed else "see docs/identification.md",
        )
    return check_matrix(theta / theta.sum(axis=0), len(levels), where)


def misclassification_document(
    file: KeyFile, perturbation: Perturbation, loglinear: LogLinearRisk | None
) -> dict[str, Any]:
    matrices = perturbation.matrices(file)
    risk = misclassification_risk(file, matrices, loglinear)
    return {
        "swapped": dict(perturbation.swapped),
        "theta": {
            name: {
                "unchanged_min": float(matrices[name].diagonal().min()),
                "unchanged_max": float(matrices[name].diagonal().max()),
            }
            for name in perturbation.theta
        },
        "tau": risk.tau,
        "tau_approximate": risk.tau_approximate,
        "tau_estimated": risk.tau_estimated,
    }
