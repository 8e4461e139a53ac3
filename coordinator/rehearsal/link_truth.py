"""Judging a rehearsal's links by the truth: which persons the two custodians' identifiers stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.carole.evaluation.link_quality import (
    UNKNOWN,
    Quality,
    best_threshold,
    calibration,
    expected_precision_recall,
    matching_pairs,
    number_of_matches,
    quality,
)
from gemel.common.documents.linkage_document import EvaluationDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.truth_columns import Truth
from gemel.records.registry import read_source
from gemel.records.sources import Source

CURVE_POINTS = 400
"""Most points of a curve that are written down; what lies between them is on a line for the eye."""


def evaluate(links: pl.DataFrame, pairs: pl.DataFrame, alice: pl.DataFrame, bob: pl.DataFrame) -> EvaluationDocument:
    """The evaluation, which becomes ``evaluation.json``."""
    person_a, person_b = _numbered(alice, bob)
    n_matches = number_of_matches(person_a, person_b)

    def is_match(table: pl.DataFrame) -> NDArray[np.bool_]:
        rows = (_rows(table["alice"], alice), _rows(table["bob"], bob))
        return matching_pairs(person_a, person_b, *rows)

    decision = quality(is_match(links), n_matches)
    found = is_match(pairs)
    probability = pairs["link_probability"].to_numpy()
    evaluation: dict[str, Any] = {
        "matches": n_matches,
        "at_decision": {"links": decision.links, "true_links": decision.true_links, **_rates(decision)},
        "at_best": {"threshold": 1.0, "precision": 1.0, "recall": 0.0, "f1": 0.0},
        "candidate_recall": float(found.sum() / n_matches) if n_matches else None,
    }
    if pairs.height:
        threshold, best = best_threshold(probability, found, n_matches)
        evaluation["at_best"] = {"threshold": threshold, **_rates(best)}
    # Pairs below the floor were not scored one by one; together they are one last class.
    curve = expected_precision_recall(probability, found, n_matches, alice.height * bob.height - pairs.height)
    calibrated = calibration(probability, found)
    evaluation |= {
        "auc": curve.auc,
        "auc_trapezium": curve.auc_trapezium,
        "curve": _thinned(recall=curve.recall, precision=curve.precision),
        "calibration": _thinned(expected=calibrated.expected, observed=calibrated.observed),
        "calibration_largest_gap": calibrated.largest_gap,
    }
    return EvaluationDocument.of(evaluation, "evaluation")


def _rates(found: Quality) -> dict[str, float]:
    return {"precision": found.precision, "recall": found.recall, "f1": found.f1}


def summary(evaluation: EvaluationDocument) -> str:
    decision = evaluation.at_decision
    return (
        f"{decision.links:,} links, {decision.true_links:,} of them true; {evaluation.matches:,} matches. "
        f"Precision {decision.precision:.4f}, recall {decision.recall:.4f}, F1 {decision.f1:.4f} at the "
        f"decision (best threshold {evaluation.at_best.f1:.4f}); expected AUC {evaluation.auc:.4f}."
    )


def _numbered(alice: pl.DataFrame, bob: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Persons as numbers, the same in both files; a row without a person matches no one."""
    persons = pl.concat([alice["person"], bob["person"]]).rank("dense").cast(pl.Int64).fill_null(UNKNOWN).to_numpy()
    return persons[: alice.height], persons[alice.height :]


def _rows(identifiers: pl.Series, table: pl.DataFrame) -> NDArray[np.int64]:
    places = pl.Series(np.arange(table.height))
    return identifiers.replace_strict(table["identifier"], places, return_dtype=pl.Int64).to_numpy()


def _thinned(**columns: NDArray[np.float64]) -> dict[str, list[float]]:
    """Columns of one length at evenly spaced places, first and last kept."""
    length = len(next(iter(columns.values())))
    places = np.linspace(0, max(length - 1, 0), min(length, CURVE_POINTS)).round()
    kept = np.unique(places.astype(np.int64))
    return {name: [float(value) for value in column[kept]] for name, column in columns.items()}


def links_and_pairs(shares: dict[Side, Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    alice, bob = (pl.read_parquet(shares[side] / "pairs.parquet") for side in Side)
    both = alice.rename({"identifier": "alice"}).join(bob.select("pair_id", bob="identifier"), on="pair_id")
    pairs = both.select("alice", "bob", "link_probability", "linked").sort(
        ["link_probability", "alice", "bob"], descending=[True, False, False]
    )
    return pairs.filter("linked").drop("linked"), pairs


def persons_of(source: Source, spec: Specification, side: Side, truth: Truth) -> pl.DataFrame:
    """Own identifier and person of every row of one file."""
    column = truth.of(side)
    identifier = spec.custodians.of(side).identifier
    table = read_source(source, None).frame
    for name in (column, identifier):
        if name not in table.columns:
            what = f"there is no column {name!r}"
            got = f"columns {', '.join(table.columns)}"
            remedy = "name the column of the truth and of the identifier as they stand in the file"
            raise GemelError(ErrorCode.FIELD_MISSING, what, where=f"{side}'s file", got=got, remedy=remedy)
    return table.select(pl.col(identifier).alias("identifier"), pl.col(column).alias("person"))
