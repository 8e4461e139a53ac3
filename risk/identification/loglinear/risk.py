"""Poisson log-linear risk: how likely a sample unique is alone, or one of how many, in the population.

Population counts are Poisson with means lambda_j, the sample is drawn from them with fraction pi, so that sample
counts are Poisson with means mu_j = pi lambda_j, and F_j - f_j given f_j is Poisson with mean L_j = (1 - pi)
lambda_j. A log-linear model of the sample gives mu. Then for a sample unique P(F = 1) = exp(-L) and E[1/F] = (1 -
exp(-L))/L.

Which model is right decides everything: too few interactions and rare combinations look rarer than they are (risk
overstated), too many and the model overfits the sample (understated). ``B1`` and ``B2`` estimate the error that a
model's misfit puts into tau1 and tau2; the smallest |B| is preferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats, Integers
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.criterion import (
    TauPrecision,
    averaged_h1,
    averaged_h2,
    error_terms,
    h1,
    h2,
    minimum_error,
    precision_of_closed_form,
    precision_of_fit,
)
from gemel.risk.identification.loglinear.fitting import (
    LIMIT,
    TOLERANCE,
    ClosedForm,
    Fit,
    Margins,
    fit_margins,
    graph_of,
    positions,
)
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import Graph

Terms = Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class LogLinearRisk:
    """Risk of a file's sample uniques under one log-linear model.

    Parameters
    ----------
    B1, B2
        Minimum-error criteria: estimates of the error that misfit puts into tau1 and tau2; NaN with survey weights.
    uniques : ndarray of int64, shape (n_uniques,)
        Numbers of the sample uniques among the records.
    population_unique, correct : ndarray of float64, shape (n_uniques,)
        P(F = 1 | f = 1) and E[1/F | f = 1] of each.
    expected_population : ndarray of float64, shape (n_uniques,)
        E[F | f = 1] = 1 + L.
    outside : ndarray of float64, shape (n_cells,)
        For every combination of the file, unique or not, the expected people outside the sample.
    plug_in
        tau1 and tau2 with the fitted means taken for the true ones; the same as `tau1` and `tau2` unless these were
        averaged over what the fit leaves open.
    graph
        The graph of a decomposable model, over the key variables that vary; None for others.
    precision
        Standard deviations of tau and of the criterion if the model is right; None with survey weights, for large
        models without a closed form, and for those that were not asked for it.
    """

    model: str
    terms: tuple[tuple[str, ...], ...]
    B1: float
    B2: float
    uniques: Integers = field(repr=False)
    population_unique: Floats = field(repr=False)
    correct: Floats = field(repr=False)
    expected_population: Floats = field(repr=False)
    outside: Floats = field(repr=False)
    fit: Fit = field(repr=False)
    plug_in: tuple[float, float]
    graph: Graph | None = field(repr=False)
    precision: TauPrecision | None

    @property
    def tau1(self) -> float:
        """Expected number of sample uniques that are population unique."""
        return float(self.population_unique.sum())

    @property
    def tau2(self) -> float:
        """Expected correct matches if every sample unique were matched to someone at random who fits."""
        return float(self.correct.sum())

    @property
    def cm_given_um(self) -> float:
        """Pr(CM | UM) that the model implies: n1 over the people expected to match a sample unique."""
        return len(self.uniques) / float(self.expected_population.sum()) if len(self.uniques) else 0.0

    def interval(self, r: int, level: float = 0.95) -> tuple[float, float] | None:
        """Interval of tau1 (r = 1) or tau2 (r = 2) if the model is right, from both of its estimates.

        Reaching from the lower of `plug_in` and the averaged estimate to the higher, with what sampling adds to each.
        """
        if self.precision is None:
            return None
        both = (self.plug_in[r - 1], (self.tau1, self.tau2)[r - 1])
        return self.precision.interval(r, both, len(self.uniques), level)

    @property
    def converged(self) -> bool:
        """Whether the fit converged; otherwise no number here is to be relied on."""
        return self.fit.converged


def log_linear_risk(
    file: KeyFile,
    terms: Terms | str = "two-way",
    *,
    weights: Floats | None = None,
    averaged: bool = False,
    margins: Margins | None = None,
    limit: int = LIMIT,
    precise: bool = True,
) -> LogLinearRisk:
    """Risk under one log-linear model.

    `file`: the records. Where missing values agree with everything, no cell can be counted: refused. `weights`
    (float64, shape (n_records,), optional): survey weights (people each record stands for), where records were not
    sampled alike. The model is then fitted to the weighted counts by pseudo-likelihood, and a cell's own fraction is
    its count divided by its weights.

    Decomposable models cost their margins at the occupied cells, whatever the size of the table; others are fitted over
    all cells of positive mean.
    """
    table = file.table() if margins is None else margins.table
    names = [str(n) for n in table.names]
    generators, model = _generators(names, terms)
    graph = graph_of(generators, names)
    c = (1.0 - file.fraction) / file.fraction
    B1, B2, precision, spread = float("nan"), float("nan"), None, None
    if weights is not None:
        found, others = _weighted(file, table, generators, graph, weights, limit)
    elif graph is not None:
        form = ClosedForm(margins or Margins(table), graph)
        found, others, spread = _closed(form, table), c * form.means, form.spread
        (B1, B2), precision = _criterion(form, table, file.fraction, 1)
    else:
        found = fit_margins(table, generators, limit=limit)
        others = c * found.means
        B1, B2 = minimum_error(found.means, found.observed, file.fraction)
        precision = precision_of_fit(found, generators, table.levels, file.fraction) if precise else None
    records = file.uniques
    place = positions(found.cells, file.cells[:, file.varying], table.levels)
    outside = others[place]
    L = outside[file.of_record[records]]
    plug_in = float(h1(L).sum()), float(h2(L).sum())
    if averaged and spread is not None:
        v = spread[place][file.of_record[records]]
        alone, correct = averaged_h1(L, v), averaged_h2(L, v)
    else:
        alone, correct = h1(L), h2(L)
    named = tuple(tuple(names[v] for v in g) for g in generators)
    return LogLinearRisk(
        model, named, B1, B2, records, alone, correct, 1.0 + L, outside, found, plug_in, graph, precision
    )


def _closed(form: ClosedForm, table: SparseCounts) -> Fit:
    return Fit(table.cells, form.means, table.counts, True, 0.0, 0)


def _criterion(
    form: ClosedForm, table: SparseCounts, fraction: float, seed: int
) -> tuple[tuple[float, float], TauPrecision]:
    """B1 and B2: what empty cells would add, over all cells, and what the occupied ones add instead."""
    cells = form.visit(np.random.default_rng(seed))
    empty = error_terms(cells.means, np.zeros(len(cells.means)), fraction)
    instead = error_terms(form.means, np.zeros(len(form.means)), fraction)
    occupied = error_terms(form.means, table.counts, fraction)
    sums = [cells.total(e) for e in empty]
    B1, B2 = (total + float((o - i).sum()) for (total, _), o, i in zip(sums, occupied, instead, strict=True))
    drawn = (sums[0][1], sums[1][1])
    return (B1, B2), precision_of_closed_form(form, cells, table.counts, fraction, drawn)


def _weighted(
    file: KeyFile,
    table: SparseCounts,
    generators: list[tuple[int, ...]],
    graph: Graph | None,
    weights: Floats,
    limit: int,
) -> tuple[Fit, Floats]:
    """Fit to weighted counts: lambda directly, and L = lambda (1 - pi_j) with the cell's own fraction."""
    given = file.survey_weights(weights)
    kept = file.varying
    levels = [file.levels[q] for q in kept]
    heavy = SparseCounts.from_records(file.codes[:, kept], levels, table.names, given)
    if graph is None:
        found = fit_margins(heavy, generators, TOLERANCE * float(given.mean()), limit=limit)
    else:
        found = _closed(ClosedForm(Margins(heavy), graph), heavy)
    share = np.full(len(found.cells), file.n_records / float(given.sum()))
    place = positions(found.cells, table.cells, table.levels)
    share[place] = table.counts / found.observed[place]
    return found, found.means * (1.0 - share)


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
        raise parameter("terms", "a model is `independence`, `two-way` or a list of terms", terms)
    unknown = sorted({v for term in terms for v in term} - set(names))
    if unknown:
        raise parameter(
            "terms",
            f"there is no varying key variable {', '.join(unknown)}",
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
