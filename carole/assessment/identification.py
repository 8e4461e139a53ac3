"""Identification: how likely an intruder who knows the key variables matches a linked record to the right person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tryst.carole.assessment.cell_risk import CellRisk, Cells, cell_risk
from tryst.carole.assessment.combined import Combined
from tryst.carole.assessment.keys import key_file
from tryst.carole.assessment.measures import CONFIDENCE, Measure
from tryst.carole.engine.resources import Resources
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Side
from tryst.common.specification.model.assessment import Fractions
from tryst.risk.identification.file_level import dis
from tryst.risk.identification.key_file import KeyFile
from tryst.risk.identification.suda import largest_within, minimal_uniques
from tryst.risk.identification.suda_ranking import SudaScores, suda_scores

_ALL_SIZES = 10  # keys up to which minimal uniques of all sizes are searched for
_MAX_SIZE = 4
_BINS = 20
_SHOWN = 20


@dataclass(frozen=True)
class KeyedRecords:
    """The linked records as an intruder who knows the keys sees them.

    Attributes
    ----------
    cells
        Combinations of key values, with the model's estimates for each.
    trust : ndarray of float64, shape (n_records,)
        Link probability of each record.
    fraction
        Sampling fraction of the combined output.
    model
        The model, in words.
    """

    cells: Cells
    trust: NDArray[np.float64]
    fraction: float
    model: str

    @cached_property
    def chance(self) -> NDArray[np.float64]:
        """Probability that each record is matched to its person."""
        return self.cells.correct[self.cells.of_record] * self.trust

    @property
    def how(self) -> str:
        """The method of the model's estimates for each record."""
        return f"{self.model}; sampling fraction {self.fraction:g}; times the link probability of each record"

    @property
    def without_uniques(self) -> KeyedRecords:
        """The other records; their estimates stay."""
        kept = ~self.cells.unique
        counts = np.where(self.cells.counts == 1, 0, self.cells.counts)
        cells = replace(self.cells, counts=counts, of_record=self.cells.of_record[kept])
        return replace(self, cells=cells, trust=self.trust[kept])


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _unique_matches(records: KeyedRecords) -> Measure:
    unique = records.cells.unique
    trust = float(records.trust[unique].mean()) if unique.any() else 1.0
    n1, n2, n3 = (float((records.cells.counts == r).sum()) for r in (1, 2, 3))
    found = dis(n1, n2, n3, records.fraction, CONFIDENCE)
    how = (
        f"DIS from {found.uniques} uniques and {int(found.pairs)} pairs, sampling fraction {records.fraction:g}, times"
        f" the mean link probability {trust:.4g} of the uniques; the limit is applied to the upper end"
    )
    return Measure(found.value * trust, how, found.low * trust, found.high * trust)


KEY_MEASURES: dict[str, Callable[[KeyedRecords], Measure]] = {
    "sample_uniques": lambda records: Measure(_mean(records.cells.unique), "counted among the linked records"),
    "correct_unique_matches": _unique_matches,
    "population_uniques": lambda records: Measure(
        _mean(records.cells.alone[records.cells.of_record] * records.trust), records.how
    ),
    "correct_matches": lambda records: Measure(_mean(records.chance), records.how),
    "largest_record_risk": lambda records: Measure(float(records.chance.max(initial=0.0)), records.how),
}
"""The measures that follow from the key values, and are known after a recoding of them without a new fit."""


@dataclass(frozen=True)
class Identification:
    """The identification risk.

    Attributes
    ----------
    measures
        By name.
    document
        The rest, ready for JSON.
    model
        Of the combined output; None where there is no record or no key.
    trust
        float64, shape (n_records,): link probability of each linked record.
    warnings
        Limitations a reader must know.
    """

    measures: Mapping[str, Measure]
    document: dict[str, Any]
    model: CellRisk | None
    trust: NDArray[np.float64]
    warnings: tuple[ResultWarning, ...]


def identification(combined: Combined, fractions: Fractions, left: Resources) -> Identification:
    """Measures of the combined output, and of the same people in each file alone.

    Parameters
    ----------
    combined, fractions
        The combined output, and each file's share of the population.
    left
        Memory and threads for the search for minimal sample uniques.

    Notes
    -----
    A false link combines two people, so a match with it is never correct. Probabilities of correct matches are
    therefore multiplied by the record's link probability.
    """
    names = combined.with_role("key")
    file = key_file(combined.codes[:, combined.columns(names)], names, fractions.combined)
    trust = combined.probability
    if file is None:
        nothing = Measure(0.0, "there is no linked record")
        measures = dict.fromkeys((*KEY_MEASURES, "gain_over_own_file"), nothing)
        return Identification(measures, {"keys": names, "method": None}, None, trust, ())
    model = cell_risk(file)
    records = KeyedRecords(model.now, trust, fractions.combined, model.method)
    found = {name: compute(records) for name, compute in KEY_MEASURES.items()}
    cells, correct_matches = records.cells, found["correct_matches"].value
    alone: dict[str, float] = {}
    methods: dict[str, str] = {}
    for side in Side:
        alone[str(side)], methods[str(side)] = own_file_matches(combined, side, fractions)
    minimum = min(alone.values())
    found["gain_over_own_file"] = Measure(
        max(0.0, correct_matches - minimum),
        "correct_matches less that of the same people in the file where it is smaller; "
        + "; ".join(f"{side}: {alone[side]:.3g} by {methods[side]}" for side in alone),
    )
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    numbers, _ = np.histogram(np.clip(records.chance, 0.0, 1.0), edges)
    document = {
        "keys": names,
        "method": model.method,
        "combinations": len(cells.counts),
        "uniques": int(cells.unique.sum()),
        "histogram": {"edges": np.round(edges, 6).tolist(), "records": numbers.tolist()},
        "group_sizes": _group_sizes(cells),
        "own_file": {
            side: {
                "correct_matches": alone[side],
                "gain": correct_matches - alone[side],
                "method": methods[side],
                "keys": combined.with_role("key", Side(side)),
            }
            for side in alone
        },
    }
    special, warnings = _special(model, left)
    return Identification(found, {**document, **special}, model, trust, (*model.warnings, *warnings))


def own_file_matches(combined: Combined, side: Side, fractions: Fractions) -> tuple[float, str]:
    """Expected correct matches of the linked people in one custodian's file alone, as a share, and the method."""
    names = combined.with_role("key", side)
    codes, rows = (combined.alice, combined.row_a) if side is Side.ALICE else (combined.bob, combined.row_b)
    fraction = fractions.alice if side is Side.ALICE else fractions.bob
    file = key_file(codes[:, combined.columns(names)], names, fraction)
    if file is None:
        return fraction / len(codes), "it has no key variable: no record can be identified"
    model = cell_risk(file)
    cells = model.now
    return float(cells.correct[cells.of_record][rows].mean()), model.method


def _group_sizes(cells: Cells) -> list[dict[str, int | None]]:
    """Number of linked records by the number of records with the same keys."""
    bounds: list[tuple[int, int | None]] = [(1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 99), (100, None)]
    found = []
    for low, high in bounds:
        within = (cells.counts >= low) & (cells.counts <= (high if high is not None else cells.counts.max()))
        found.append({"from": low, "to": high, "records": int(cells.counts[within].sum())})
    return found


def _scores(file: KeyFile, left: Resources) -> SudaScores:
    """Scores by the minimal uniques of all sizes, or of the sizes that the remaining memory allows."""
    limit = largest_within(file, left.memory_bytes, left.threads)
    maximum = file.n_keys if file.n_keys <= _ALL_SIZES else _MAX_SIZE
    while True:
        try:
            return suda_scores(file, found=minimal_uniques(file, maximum, left.threads, limit))
        except TrystError as error:
            if error.code is not ErrorCode.MEMORY or maximum == 1:
                raise
        maximum = min(maximum, _MAX_SIZE + 1) - 1


def _special(model: CellRisk, left: Resources) -> tuple[dict[str, Any], tuple[ResultWarning, ...]]:
    """Which sets of key variables single records out, how much each variable adds to that, and what was left out."""
    file = model.file
    scores = _scores(file, left)
    own = scores.minimal_uniques
    warnings: tuple[ResultWarning, ...] = ()
    if not own.complete:
        warnings = (result_warning("special_uniques_incomplete", size=own.max_size, keys=own.n_keys),)
    sets, number = np.unique(own.subsets, return_counts=True)
    order = np.lexsort((sets, -number, np.bitwise_count(sets)))
    highest_risk_records = [
        {
            "variables": [name for q, name in enumerate(file.names) if sets[i] >> q & 1],
            "records": int(number[i]),
        }
        for i in order[:_SHOWN]
    ]
    document = {
        "highest_risk_records": highest_risk_records,
        "special_uniques": {
            "max_size": own.max_size,
            "complete": own.complete,
            "by_size": own.by_size.tolist(),
            "by_variable": [
                {"variable": name, "share": float(share)}
                for name, share in zip(file.names, scores.by_variable, strict=True)
            ],
        },
    }
    return document, warnings
