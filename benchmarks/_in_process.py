"""Invented or given files linked in this process, as drafted, and what is claimed of the links beside what is true."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.carole.engine import LinkagePlan, Resources, link
from gemel.carole.engine.run.result import Linkage, ScoredPairs
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import (
    Quality,
    best_threshold,
    calibration,
    expected_precision_recall,
    matching_pairs,
    number_of_matches,
    quality,
)
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import encode_records

Persons = NDArray[np.int64]

MEMORY = 6 << 30
RESOURCES = Resources(MEMORY, 2)
KEY = Seed(bytes(range(32)))
"""Of all signatures, so that a benchmark can be repeated."""


def no_progress(stage: str, fraction: float) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class JudgedLinks(Quality):
    """Quality of the links, and what the linkage claims of it; NaN where nothing is claimed."""

    claimed_precision: float
    claimed_recall: float
    claimed_matches: float
    best_f1: float
    auc: float
    largest_gap: float


def linked(
    alice: pl.DataFrame,
    bob: pl.DataFrame,
    *,
    block: bool | None = None,
    specification: Specification | None = None,
    **changes: Any,
) -> tuple[Linkage, JudgedLinks]:
    """Link two files with a column `TRUTH`, by a specification or as drafted without it, its plan with `changes`.

    `block`: whether the draft has blocking rules; None: as it proposes.
    """
    if specification is None:
        specification, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "benchmark", block)
    files = SignedFiles.of(alice, bob, specification)
    run = files.linked(replace(plan_of(specification), **changes))
    return run, judged(run, *files.persons)


@dataclass(frozen=True)
class SignedFiles:
    """Both files' signatures in mode open, and the person of each row as a number."""

    sets: tuple[SignatureSet, SignatureSet]
    persons: tuple[Persons, Persons]

    @classmethod
    def of(cls, alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification) -> SignedFiles:
        """Sign two files with a column `TRUTH`."""
        (set_a, of_a), (set_b, of_b) = signed(alice, spec, Side.ALICE), signed(bob, spec, Side.BOB)
        return cls((set_a, set_b), persons(of_a, of_b))

    def linked(self, plan: LinkagePlan, resources: Resources = RESOURCES) -> Linkage:
        """Link them by a plan."""
        return link(*self.sets, plan, resources, no_progress)

    def matches(self, run: Linkage) -> tuple[NDArray[np.bool_], int]:
        """Which of the pairs that a linkage kept are matches, and how many matches there are."""
        matching = matching_pairs(*self.persons, run.pairs.row_a, run.pairs.row_b)
        return matching, number_of_matches(*self.persons)


def signed(table: pl.DataFrame, spec: Specification, side: Side) -> tuple[SignatureSet, NDArray[np.object_]]:
    """A file's signatures in mode open under a fixed key, and the person (`TRUTH`) of each row; decoys are none's."""
    cleaned = clean(table, spec, side)
    columns = cleaned.columns
    if spec.decoys:
        columns = with_decoys(columns, spec, NoiseKey(hashlib.sha256(side.encode()).digest()))
    made = encode_records(columns, spec, KEY, 1, shuffle=np.arange, variables=cleaned.variables, decoys=spec.decoys)
    return made.sets[0], table[TRUTH].cast(pl.String).to_numpy()[made.order[: table.height]]


def persons(of_a: NDArray[np.object_], of_b: NDArray[np.object_]) -> tuple[Persons, Persons]:
    """The persons of both files' rows as numbers, the same in both."""
    codes = np.unique(np.concatenate([of_a, of_b]), return_inverse=True)[1].astype(np.int64)
    return codes[: len(of_a)], codes[len(of_a) :]


def judged(run: Linkage, person_a: Persons, person_b: Persons) -> JudgedLinks:
    """What a linkage claims, and what is true."""
    claims, claimed = run.claims, (np.nan, np.nan)
    if claims is not None and claims.precision is not None and claims.recall is not None:
        claimed = claims.precision.value, claims.recall.value
    return judged_pairs(run.pairs, run.links, run.matches_below_floor, claimed, person_a, person_b)


def judged_pairs(
    pairs: ScoredPairs,
    links: NDArray[np.int64],
    matches_below_floor: float,
    claimed: tuple[float, float],
    person_a: Persons,
    person_b: Persons,
) -> JudgedLinks:
    """What is claimed of links among scored pairs, whoever scored them, and what is true.

    `claimed`: their precision and recall.
    """
    true = matching_pairs(person_a, person_b, pairs.row_a, pairs.row_b)
    n_matches = number_of_matches(person_a, person_b)
    found, probability = quality(true[links], n_matches), pairs.link_probability
    unscored = len(person_a) * len(person_b) - len(probability)
    return JudgedLinks(
        found.links,
        found.true_links,
        found.matches,
        *claimed,
        float(probability.sum()) + matches_below_floor,
        best_threshold(probability, true, n_matches)[1].f1,
        expected_precision_recall(probability, true, n_matches, unscored).auc,
        calibration(probability, true).largest_gap,
    )
