"""Identification: how likely an intruder who knows the key variables matches a linked record to the right person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gemel.carole.assessment.cell_risk import CellRisk, Cells, cell_risk, largest_risk
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.expected_matches import (
    Believed,
    Supposed,
    own_matches,
    unique_links,
    unique_matches,
    with_interval,
)
from gemel.carole.assessment.measures import Disclosure, Measure
from gemel.carole.engine.run.resources import Resources
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification.model.assessment import Fractions
from gemel.risk.arrays import Codes, Floats
from gemel.risk.identification.coding import MISSING_LABEL
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda import largest_within, minimal_uniques
from gemel.risk.identification.suda_ranking import SudaScores, suda_scores

# Combinations of key values as a key file, whose levels are the codes that occur.


def key_file(codes: Codes, names: Sequence[str], fraction: float) -> KeyFile | None:
    """The records as an intruder sees them; None where there is no record or no key.

    A missing value is a separate level. A level's label is the number of its code, counted from 1.
    """
    if not len(codes) or not len(names):
        return None
    columns, labels = [], []
    for q in range(len(names)):
        there, which = np.unique(codes[:, q], return_inverse=True)
        columns.append(which.reshape(-1).astype(np.int32))
        labels.append(tuple(MISSING_LABEL if code < 0 else str(code + 1) for code in there.tolist()))
    return KeyFile(tuple(names), tuple(labels), np.stack(columns, axis=1), fraction)


_ALL_SIZES = 10  # keys up to which minimal uniques of all sizes are searched for
_MAX_SIZE = 4
_BINS = 20
_SHOWN = 20


@dataclass(frozen=True)
class KeyedRecords:
    """The linked records as an intruder who knows the keys sees them."""

    cells: Cells
    cases: tuple[Supposed, ...]
    fraction: float
    model: str

    @cached_property
    def chance(self) -> Floats:
        """Probability that each record is matched to its person: by the calibrated law, or the model without one."""
        case = self.cases[0]
        calibrated = case.laws.of_links(case.links, case.populations[0])
        by_model = self.cells.correct[self.cells.of_record] * case.links.probability
        return by_model if calibrated is None else calibrated

    @property
    def how(self) -> str:
        law = self.model if self.cases[0].laws.calibrated is None else "calibrated risk of the true links"
        return f"{law}; sampling fraction {self.fraction:g}; times the probability that each link is true"

    @property
    def how_total(self) -> str:
        laws = "Pitman's formula from how many true links share each combination"
        if self.cases[0].laws.calibrated is not None:
            laws = f"average of the calibrated risk of the true links and {laws}, as far as they agree"
        true = float(self.cases[0].links.probability.sum())
        return f"{laws}; {true:.5g} true links expected, sampling fraction {self.fraction:g}"

    @property
    def without_uniques(self) -> KeyedRecords:
        """The other records; their estimates stay."""
        kept = ~self.cells.unique
        counts = np.where(self.cells.counts == 1, 0, self.cells.counts)
        cells = replace(self.cells, counts=counts, of_record=self.cells.of_record[kept])
        return replace(self, cells=cells, cases=tuple(case.without_uniques for case in self.cases))


def _unique_matches(records: KeyedRecords) -> Measure:
    found, measure = unique_matches(records.cases)
    how = (
        f"DIS from {found.uniques} uniques and {found.pairs:.5g} pairs that are expected among the true links, sampling"
        f" fraction {records.fraction:g}; the limit is applied to the upper end"
    )
    return replace(measure, method=how)


def _largest(records: KeyedRecords) -> Measure:
    laws = "by the model of the keys and by Pitman's formula"
    how = f"{records.how}; interval of the greatest 1/F behind a true link, {laws}; the limit is applied to the value"
    return replace(largest_risk(records.cells, records.chance, records.cases, records.fraction), method=how)


KEY_MEASURES: dict[str, Callable[[KeyedRecords], Measure]] = {
    "sample_uniques": lambda records: unique_links(records.cases),
    "correct_unique_matches": _unique_matches,
    "population_uniques": lambda records: with_interval("alone", records.cases, records.how_total),
    "correct_matches": lambda records: with_interval("matched", records.cases, records.how_total),
    "largest_record_risk": _largest,
}
"""The measures that follow from the key values, and are known after a recoding of them without a new fit."""


@dataclass(frozen=True)
class Identification(Disclosure):
    """The identification risk; the model and what is believed of the links, unless there is no record or no key."""

    model: CellRisk | None = None
    believed: Believed | None = None


def identification(
    combined: Combined, fractions: Fractions, left: Resources, linkage: LinkageDocument | None = None
) -> Identification:
    """Measures of the combined output, and of the same people in each file alone.

    A false link combines two people, so a match with it is never correct. Probabilities of correct matches are
    therefore multiplied by the probability that the link is true, given its key values (`true_links`).
    """
    names = combined.with_role("key")
    share = fractions.of("combined")
    file = key_file(combined.codes[:, combined.columns(names)], names, share.value)
    if file is None:
        nothing = Measure(0.0, "there is no linked record", 0.0, 0.0)
        measures = dict.fromkeys((*KEY_MEASURES, "gain_over_own_file"), nothing)
        return Identification(measures, {"keys": names, "method": None})
    model = cell_risk(file)
    believed = Believed.of(combined, share, linkage)
    records = KeyedRecords(model.now, believed.cases(), share.value, model.method)
    found = {name: compute(records) for name, compute in KEY_MEASURES.items()}
    cells, matches = records.cells, found["correct_matches"]
    alone_in = {str(side): own_file_matches(combined, side, fractions) for side in Side}
    found["gain_over_own_file"] = _gain(matches, alone_in)
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
                "correct_matches": own.value,
                "gain": matches.value - own.value,
                "method": own.method,
                "keys": combined.with_role("key", Side(side)),
            }
            for side, own in alone_in.items()
        },
    }
    special, warnings = _special(model, left)
    return Identification(found, {**document, **special}, (*model.warnings, *warnings), model, believed)


def _gain(matches: Measure, alone_in: Mapping[str, Measure]) -> Measure:
    """How much larger the expected correct matches are than in the file alone where they are fewer."""
    smaller = min(alone_in.values(), key=lambda own: own.value)
    how = "correct_matches less that of the same people in the file where it is smaller; " + "; ".join(
        f"{side}: {own.value:.3g} by {own.method}" for side, own in alone_in.items()
    )
    (low, high), (least, most) = _ends(matches), _ends(smaller)
    return Measure(max(0.0, matches.value - smaller.value), how, max(0.0, low - most), max(0.0, high - least))


def _ends(measure: Measure) -> tuple[float, float]:
    low, high = (measure.value if end is None else end for end in (measure.lower, measure.upper))
    return low, high


def own_file_matches(combined: Combined, side: Side, fractions: Fractions) -> Measure:
    """Expected correct matches of the linked people in one custodian's file alone, as a share."""
    names = combined.with_role("key", side)
    codes, rows, _ = combined.own(side)
    share = fractions.of(str(side))
    file = key_file(codes[:, combined.columns(names)], names, share.value)
    if file is None:
        ends = [end / len(codes) for end in share.possible]
        return Measure(ends[0], "it has no key variable: no record can be identified", min(ends), max(ends))
    return own_matches(file.counts, file.frequency[rows], share)


def _group_sizes(cells: Cells) -> list[dict[str, int | None]]:
    """Number of linked records by the number of records with the same keys."""
    bounds: list[tuple[int, int | None]] = [(1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, 99), (100, None)]
    found = []
    for low, high in bounds:
        within = (cells.counts >= low) & (cells.counts <= (high or cells.counts.max()))
        found.append({"from": low, "to": high, "records": int(cells.counts[within].sum())})
    return found


def _scores(file: KeyFile, left: Resources) -> SudaScores:
    """Scores by the minimal uniques of all sizes, or of the sizes that the remaining memory allows."""
    limit = largest_within(file, left.memory_bytes, left.threads)
    maximum = file.n_keys if file.n_keys <= _ALL_SIZES else _MAX_SIZE
    while True:
        try:
            return suda_scores(file, found=minimal_uniques(file, maximum, left.threads, limit))
        except GemelError as error:
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
    document = {
        "highest_risk_records": [
            {"variables": [name for q, name in enumerate(file.names) if sets[i] >> q & 1], "records": int(number[i])}
            for i in order[:_SHOWN]
        ],
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
