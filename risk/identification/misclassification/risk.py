r"""Risk where key variables are wrong, by error or by protection: Shlomo 2009, equations 7 to 9.

A record that is alone at the observed combination j is a given person B of that combination with probability

.. math:: \frac{\theta_{jj} / (1 - \pi \theta_{jj})}{\sum_k F_k \theta_{jk} / (1 - \pi \theta_{jk})}

which is 1/F_j without misclassification and never more. Where no person truly is of the combination (F_j = 0, a record
was moved there) there is no one to be found, and the risk is 0. It is about :math:`\theta_{jj} / \tilde F_j`, with
the number of people who would be observed at j: of the matrix only the diagonal is then needed, and
:math:`\tilde F_j` can be estimated from the perturbed sample by a log-linear model that knows nothing of the
perturbation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import parameter
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.identification.misclassification.perturbation import check_matrix
from gemel.risk.models.counts import distinct_rows


@dataclass(frozen=True, eq=False)
class MisclassificationRisk:
    """Risk of the sample uniques of a perturbed file.

    Parameters
    ----------
    uniques : ndarray of int64, shape (n_uniques,)
        Numbers of the (observed) sample uniques among the records.
    unchanged : ndarray of float64, shape (n_uniques,)
        theta_jj: the probability that someone of the combination is observed there.
    exact, approximate : ndarray of float64, shape (n_uniques,), or None
        Equation 7, and theta_jj / F~_j (equation 8), where the population is known.
    estimated : ndarray of float64, shape (n_uniques,), or None
        theta_jj E[1/F~ | f~ = 1], where a log-linear model of the perturbed file was given.
    """

    uniques: NDArray[np.int64] = field(repr=False)
    unchanged: NDArray[np.float64] = field(repr=False)
    exact: NDArray[np.float64] | None = field(repr=False)
    approximate: NDArray[np.float64] | None = field(repr=False)
    estimated: NDArray[np.float64] | None = field(repr=False)

    @property
    def tau(self) -> float | None:
        """Equation 9: expected correct matches among the sample uniques, population known."""
        return None if self.exact is None else float(self.exact.sum())

    @property
    def tau_approximate(self) -> float | None:
        """The sum of equation 8, population known."""
        return None if self.approximate is None else float(self.approximate.sum())

    @property
    def tau_estimated(self) -> float | None:
        """The same, estimated from the perturbed sample alone."""
        return None if self.estimated is None else float(self.estimated.sum())


def misclassification_risk(
    file: KeyFile, theta: Mapping[str, ArrayLike], model: LogLinearRisk | None = None
) -> MisclassificationRisk:
    """Risk of a perturbed file.

    Parameters
    ----------
    file
        The perturbed records, with the *unperturbed* population if that is known (``perturbed=True``).
    theta
        For each key variable that was perturbed, independently of the others, its matrix in the order of the file's
        labels: ``theta[observed, true]``.
    model
        A log-linear model of the perturbed file.

    Returns
    -------
    MisclassificationRisk

    Notes
    -----
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
        return MisclassificationRisk(records, unchanged, None, None, estimated)
    exact, approximate = _summed(file, observed, changed, matrices, unchanged)
    return MisclassificationRisk(records, unchanged, exact, approximate, estimated)


def _summed(
    file: KeyFile,
    observed: NDArray[np.int32],
    changed: list[int],
    matrices: list[NDArray[np.float64]],
    unchanged: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Equations 7 and 8 for the observed combinations."""
    people, counts = file.population_cells, file.population_counts
    assert people is not None and counts is not None  # noqa: S101, PT018 - the caller looked
    kept = [q for q in range(file.n_keys) if q not in changed]
    rows = np.concatenate([observed[:, kept], people[:, kept]])
    if kept:
        first, group = distinct_rows(rows, [file.levels[q] for q in kept])
        number = len(first)
    else:
        group, number = np.zeros(len(rows), dtype=np.int64), 1
    own, theirs = group[: len(observed)], group[len(observed) :]
    order = np.argsort(theirs, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(theirs, minlength=number))]).astype(np.int64)
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


def _odds(theta: NDArray[np.float64], fraction: float) -> NDArray[np.float64]:
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
