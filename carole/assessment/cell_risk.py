"""The probability that a match is correct, for every combination of key values, before and after a recoding.

Up to `EXACT_KEYS` keys all decomposable models are averaged (Bayesian matching); with more keys,
a log-linear model is chosen by the minimum-error criterion, or, where such models have too many cells, decomposable
ones by Occam's window. Either way a recoding needs no new fit: its combinations'
probabilities are sums of those fitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.coding import tally
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.loglinear.model_choice import choose_model
from gemel.risk.identification.loglinear.risk import LogLinearRisk
from gemel.risk.identification.matching.bayesian_matching import (
    BayesianMatching,
    bayesian_matching,
    expected_reciprocal,
    fit_models,
)
from gemel.risk.identification.matching.recoding import Recoding, recoded
from gemel.risk.models.counts import distinct_rows

EXACT_KEYS = 6
"""Keys up to which all decomposable models are averaged."""

MODEL_CELLS = 2**20
"""Cells of a log-linear model; a path of models leaves out those with more."""

MODELS = 5
"""Log-linear models on the path from independence to all two-way interactions."""


@dataclass(frozen=True)
class Cells:
    """Combinations of key values, with the model's estimates for each.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_cells,)
        Records.
    of_record : ndarray of int64, shape (n_records,)
        The cell of each.
    correct : ndarray of float64, shape (n_cells,)
        E(1/F): the probability that a match with a record of the cell is correct.
    alone : ndarray of float64, shape (n_cells,)
        P(F = 1); 0 where the sample has more than one.
    """

    counts: NDArray[np.int64]
    of_record: NDArray[np.int64]
    correct: NDArray[np.float64]
    alone: NDArray[np.float64]

    @property
    def unique(self) -> NDArray[np.bool_]:
        """Which records are unique in their cell."""
        return np.asarray(self.counts[self.of_record] == 1)


class CellRisk(ABC):
    """A model of the population behind a file."""

    file: KeyFile
    method: str
    warnings: tuple[ResultWarning, ...]

    @abstractmethod
    def after(self, recoding: Recoding) -> Cells:
        """The combinations after a recoding."""

    @property
    def now(self) -> Cells:
        """The combinations as they are."""
        return self.after(Recoding.none(self.file))


@dataclass(frozen=True)
class Alike(CellRisk):
    """All records agree in all keys, so they give no evidence that people of the population differ."""

    file: KeyFile
    method: str = "no key variable varies: all records have equal keys"
    warnings: tuple[ResultWarning, ...] = ()

    def after(self, recoding: Recoding) -> Cells:
        """One cell."""
        n = self.file.n_records
        outside = np.array([n * (1.0 - self.file.fraction) / self.file.fraction])
        return _poisson(np.array([n]), np.zeros(n, dtype=np.int64), outside)


@dataclass(frozen=True)
class Averaged(CellRisk):
    """Decomposable models, averaged."""

    file: KeyFile
    matching: BayesianMatching = field(repr=False)
    method: str = ""
    warnings: tuple[ResultWarning, ...] = ()

    def after(self, recoding: Recoding) -> Cells:
        """A recoded variable joins the models as a node."""
        found = recoded(self.matching, recoding)
        return Cells(found.counts, found.of_cell[self.file.of_record], found.correct_match, found.population_unique)


@dataclass(frozen=True)
class LogLinear(CellRisk):
    """One log-linear model."""

    file: KeyFile
    risk: LogLinearRisk = field(repr=False)
    method: str = ""
    warnings: tuple[ResultWarning, ...] = ()

    def after(self, recoding: Recoding) -> Cells:
        """The mean of a recoded cell is the sum of the means of the cells in it."""
        kept = self.file.varying
        sizes = [recoding.sizes[q] for q in kept]
        cells, counts, of_cell = tally(
            recoding.applied(self.file.cells), [[""] * n for n in recoding.sizes], self.file.counts
        )
        fitted = self.risk.fit.cells
        groups = np.stack([np.array(recoding.groups[q])[fitted[:, i]] for i, q in enumerate(kept)], axis=1)
        first, which = distinct_rows(np.concatenate([cells[:, kept], groups]), sizes)
        means = np.bincount(which[len(cells) :], self.risk.fit.means, len(first))
        fraction = self.file.fraction
        outside = np.asarray(means[which[: len(cells)]] * (1.0 - fraction) / fraction, dtype=np.float64)
        return _poisson(counts, of_cell[self.file.of_record], outside)


def _poisson(counts: NDArray[np.int64], of_record: NDArray[np.int64], outside: NDArray[np.float64]) -> Cells:
    correct = expected_reciprocal(counts, outside)
    return Cells(counts, of_record, correct, np.where(counts == 1, np.exp(-outside), 0.0))


def cell_risk(file: KeyFile) -> CellRisk:
    """Fit the model for the number of keys.

    Notes
    -----
    A log-linear model with too many cells is left out of the path; if all are left out, decomposable models are
    searched by Occam's window, which never makes the full table.
    """
    if not file.varying:
        return Alike(file)
    if len(file.varying) <= EXACT_KEYS:
        fitted = fit_models(file, "exact")
        matching = bayesian_matching(file, fitted)
        number = len(fitted.average.models)
        return Averaged(file, matching, f"Bayesian matching, {number} decomposable models averaged", fitted.warnings())
    try:
        choice = choose_model(file, max_models=MODELS, limit=MODEL_CELLS)
    except GemelError as error:
        if error.code is not ErrorCode.MEMORY:
            raise
        fitted = fit_models(file, "occam")
        found = f"Bayesian matching, {len(fitted.average.models)} decomposable models of Occam's window averaged"
        return Averaged(file, bayesian_matching(file, fitted), found, fitted.warnings())
    best = choice.best
    words = f"log-linear model, the best of {len(choice.models)} by the minimum-error criterion B2: {best.model}"
    warnings: tuple[ResultWarning, ...] = ()
    if not best.converged:
        warnings = (result_warning("log_linear_not_converged", deviation=best.fit.deviation),)
    return LogLinear(file, best, words, warnings)
