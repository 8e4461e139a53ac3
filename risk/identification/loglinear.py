r"""Poisson log-linear risk: how likely a sample unique is alone, or one of how many, in the population.

Population counts are Poisson with means lambda_j, the sample is drawn from them with fraction pi, so that sample counts
are Poisson with means mu_j = pi lambda_j, and F_j - f_j given f_j is Poisson with mean L_j = (1 - pi) lambda_j. A
log-linear model of the sample gives mu. Then for a sample unique P(F = 1) = exp(-L) and E[1/F] = (1 - exp(-L))/L.

Which model is right decides everything: too few interactions and rare combinations look rarer than they are (risk
overstated), too many and the model overfits the sample (understated). `B1` and `B2` estimate the error that a
model's misfit puts into tau1 and tau2; the smallest |B| is preferred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tryst.common.errors import ErrorCode, TrystError
from tryst.risk.identification.fitting import Fit, fit_margins
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.support import LIMIT
from tryst.risk.models.counts import SparseCounts, distinct_rows

Terms = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class LogLinearRisk:
    """Risk of a file's sample uniques under one log-linear model.

    Parameters
    ----------
    model
        In words.
    terms
        Its highest-order terms, by names of variables.
    tau1
        Expected number of sample uniques that are population unique.
    tau2
        Expected number of correct matches if every sample unique were matched to someone at random who fits.
    B1, B2
        Minimum-error criteria of the two: estimates of the error that misfit puts into them.
    uniques : ndarray of int64, shape (n_uniques,)
        Numbers of the sample uniques among the records.
    population_unique, correct : ndarray of float64, shape (n_uniques,)
        P(F = 1 | f = 1) and E[1/F | f = 1] of each.
    expected_population : ndarray of float64, shape (n_uniques,)
        E[F | f = 1] = 1 + L.
    outside : ndarray of float64, shape (n_cells,)
        For every combination of the file, unique or not, the expected people outside the sample.
    fit
        The fitted means.
    """

    model: str
    terms: tuple[tuple[str, ...], ...]
    tau1: float
    tau2: float
    B1: float
    B2: float
    uniques: NDArray[np.int64] = field(repr=False)
    population_unique: NDArray[np.float64] = field(repr=False)
    correct: NDArray[np.float64] = field(repr=False)
    expected_population: NDArray[np.float64] = field(repr=False)
    outside: NDArray[np.float64] = field(repr=False)
    fit: Fit = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the fit converged; otherwise no number here is to be relied on."""
        return self.fit.converged


def h1(L: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(F = 1 | f = 1)."""
    return np.exp(-L)


def h2(L: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[1/F | f = 1], 1 where L is 0."""
    return _by_series(L, lambda x: -np.expm1(-x) / x, (1.0, -1 / 2, 1 / 6, -1 / 24))


def _h2_first(L: NDArray[np.float64]) -> NDArray[np.float64]:
    return _by_series(L, lambda x: (np.exp(-x) * (x + 1) - 1) / x**2, (-1 / 2, 1 / 3, -1 / 8, 1 / 30))


def _h2_second(L: NDArray[np.float64]) -> NDArray[np.float64]:
    return _by_series(
        L, lambda x: (2 - np.exp(-x) * (x * x + 2 * x + 2)) / x**3, (1 / 3, -1 / 4, 1 / 10, -1 / 36, 1 / 168)
    )


def _by_series(
    L: NDArray[np.float64],
    plainly: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    coefficients: tuple[float, ...],
) -> NDArray[np.float64]:
    """A function whose plain form cancels near 0: there, its first terms."""
    small = L < 1e-3
    safe = np.where(small, 1.0, L)
    near = np.zeros_like(L)
    for coefficient in reversed(coefficients):
        near = near * L + coefficient
    return np.where(small, near, plainly(safe))


def minimum_error(means: NDArray[np.float64], observed: NDArray[np.float64], fraction: float) -> tuple[float, float]:
    r"""Criteria B1 and B2 of a fit.

    Notes
    -----
    With c = (1 - pi)/pi and L = c mu, :math:`B_r = \sum_j \mu e^{-\mu} \{ -h_r'(L) c (f - \mu)
    + h_r''(L) c^2 [(f - \mu)^2 - f] / 2 \}`. Cells of mean 0 add nothing.

    References
    ----------
    .. [1] Skinner and Shlomo, Assessing identification risk in survey microdata using log-linear models, JASA 103,
       2008. doi:10.1198/016214507000001328
    """
    c = (1.0 - fraction) / fraction
    L = c * means
    first = c * (observed - means)
    second = c * c * ((observed - means) ** 2 - observed) / 2.0
    weight = means * np.exp(-means)
    B1 = float((weight * (np.exp(-L) * first + np.exp(-L) * second)).sum())
    B2 = float((weight * (-_h2_first(L) * first + _h2_second(L) * second)).sum())
    return B1, B2


def log_linear_risk(
    file: KeyFile,
    terms: Terms | str = "two-way",
    *,
    weights: NDArray[np.float64] | None = None,
    tolerance: float = 0.01,
    max_rounds: int = 1_000,
    limit: int = LIMIT,
) -> LogLinearRisk:
    """Risk under one log-linear model.

    Parameters
    ----------
    file
        The records. Where missing values agree with everything, no cell can be counted: refused.
    terms
        ``independence``, ``two-way`` (all two-way interactions), or the highest-order terms by names.
    weights : ndarray of float64, shape (n_records,), optional
        Survey weights (people each record stands for), where records were not sampled alike. The model is then fitted
        to the weighted counts by pseudo-likelihood, and a cell's own fraction is its count divided by its weights.
    tolerance, max_rounds, limit
        Of `fit_margins`.

    Returns
    -------
    LogLinearRisk
        With ``converged`` False where the fit did not reach its tolerance.
    """
    table = file.table()
    names = [str(n) for n in table.names]
    generators, model = _generators(names, terms)
    c = (1.0 - file.fraction) / file.fraction
    if weights is None:
        found = fit_margins(table, generators, tolerance, max_rounds, limit)
        means, others = found.means, c * found.means
    else:
        found, means, others = _weighted(file, table, generators, weights, tolerance, max_rounds, limit)
    records = file.uniques
    outside = others[_positions(found.cells, file.cells[:, file.varying], table.levels)]
    L = outside[file.of_record[records]]
    if weights is None:
        B1, B2 = minimum_error(means, found.observed, file.fraction)
    else:
        B1, B2 = float("nan"), float("nan")
    return LogLinearRisk(
        model,
        tuple(tuple(names[v] for v in g) for g in generators),
        float(h1(L).sum()),
        float(h2(L).sum()),
        B1,
        B2,
        records,
        h1(L),
        h2(L),
        1.0 + L,
        outside,
        found,
    )


def _weighted(
    file: KeyFile,
    table: SparseCounts,
    generators: list[tuple[int, ...]],
    weights: NDArray[np.float64],
    tolerance: float,
    max_rounds: int,
    limit: int,
) -> tuple[Fit, NDArray[np.float64], NDArray[np.float64]]:
    """Fit to weighted counts: lambda directly, and L = lambda (1 - pi_j) with the cell's own fraction."""
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (file.n_records,) or not np.isfinite(given).all() or (given < 1.0).any():
        raise TrystError(
            ErrorCode.PARAMETER,
            "each record needs a survey weight of at least 1: the number of people it stands for",
            where="weights",
        )
    kept = file.varying
    levels = [file.levels[q] for q in kept]
    heavy = SparseCounts.from_records(file.codes[:, kept], levels, table.names, given)
    found = fit_margins(heavy, generators, tolerance * float(given.mean()), max_rounds, limit)
    share = np.full(len(found.cells), file.n_records / float(given.sum()))
    place = _positions(found.cells, table.cells, table.levels)
    share[place] = table.counts / found.observed[place]
    return found, found.means * share, found.means * (1.0 - share)


def _generators(names: list[str], terms: Terms | str) -> tuple[list[tuple[int, ...]], str]:
    """Terms as positions; every variable is in some term."""
    if isinstance(terms, str):
        if terms == "independence" or (terms == "two-way" and len(names) < 3):
            whole = terms == "two-way" and len(names) == 2
            return ([(0, 1)] if whole else [(v,) for v in range(len(names))]), (
                "all two-way interactions" if whole else "independence"
            )
        if terms == "two-way":
            return list(combinations(range(len(names)), 2)), "all two-way interactions"
        raise TrystError(
            ErrorCode.PARAMETER, "a model is `independence`, `two-way` or a list of terms", where="terms", got=terms
        )
    unknown = sorted({v for term in terms for v in term} - set(names))
    if unknown:
        raise TrystError(
            ErrorCode.PARAMETER,
            f"there is no varying key variable {', '.join(unknown)}",
            where="terms",
            remedy=f"those that vary are: {', '.join(names)}",
        )
    sets = {frozenset(names.index(v) for v in term) for term in terms if term}
    sets |= {frozenset({v}) for v in range(len(names))}
    largest = [s for s in sets if not any(s < other for other in sets)]
    generators = sorted(tuple(sorted(s)) for s in largest)
    if len(names) > 2 and generators == list(combinations(range(len(names)), 2)):
        return generators, "all two-way interactions"
    words = [" x ".join(names[v] for v in g) for g in generators if len(g) > 1]
    return generators, " + ".join(words) if words else "independence"


def _positions(cells: NDArray[np.int32], requested: NDArray[np.int32], levels: Sequence[int]) -> NDArray[np.int64]:
    """Where requested cells are among distinct ones that hold them all."""
    first, group = distinct_rows(np.concatenate([cells, requested]), levels)
    where = np.full(len(first), -1, dtype=np.int64)
    where[group[: len(cells)]] = np.arange(len(cells))
    found = where[group[len(cells) :]]
    if (found < 0).any():
        raise AssertionError("an occupied cell has no positive mean")
    return found
