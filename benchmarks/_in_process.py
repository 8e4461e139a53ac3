"""Invented or given files linked in this process, as drafted, and what is claimed of the links beside what is true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tryst.carole.engine import Resources, link
from tryst.carole.engine.result import Linkage
from tryst.carole.engine.specified import plan_of
from tryst.carole.evaluation import matching_pairs, number_of_matches
from tryst.common.cleaning import clean
from tryst.common.encoding.records import encode_records
from tryst.common.keys.derivation import Seed
from tryst.common.parties import Side
from tryst.common.specification import Specification
from tryst.coordinator.demonstration.people import TRUTH
from tryst.coordinator.draft.specification_draft import draft

MEMORY = 6 << 30
THREADS = 2


@dataclass(frozen=True)
class Claim:
    """What a linkage claims of its links, and what is true.

    Attributes
    ----------
    links, true_links, matches
        Links, right ones among them, and matches in the files.
    claimed_precision, claimed_matches
        Mean link probability of the links, and the sum of all link probabilities.
    """

    links: int
    true_links: int
    matches: int
    claimed_precision: float
    claimed_matches: float

    @property
    def precision(self) -> float:
        """Share of the links that are right; 1 without links."""
        return self.true_links / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """Share of the matches that are linked; 1 without matches."""
        return self.true_links / self.matches if self.matches else 1.0

    @property
    def f1(self) -> float:
        """Their harmonic mean."""
        return 2 * self.true_links / max(1, self.links + self.matches)

    @property
    def claimed_recall(self) -> float:
        """Share of the expected matches that are expected to be linked."""
        expected = self.claimed_precision * self.links
        return min(1.0, expected / self.claimed_matches) if self.claimed_matches > 0 else 1.0


def linked(
    alice: pl.DataFrame,
    bob: pl.DataFrame,
    *,
    block: bool | None = None,
    specification: Specification | None = None,
    **changes: Any,
) -> tuple[Linkage, Claim]:
    """Link two files with a column `TRUTH`, as drafted without it or by a given specification.

    Parameters
    ----------
    alice, bob
        Files; the column `TRUTH` names the person.
    block
        Whether the draft has blocking rules; None: as it proposes.
    specification
        None: the draft.
    changes
        Attributes of the plan that are to differ.
    """
    if specification is None:
        specification, _ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "benchmark", block)
    sets, persons = [], []
    for table, side in ((alice, Side.ALICE), (bob, Side.BOB)):
        columns = clean(table, specification, side).columns
        made = encode_records(columns, specification, Seed(bytes(range(32))), 1, shuffle=np.arange)
        sets.append(made.sets[0])
        persons.append(table[TRUTH].cast(pl.String).to_numpy()[made.order])
    codes = np.unique(np.concatenate(persons), return_inverse=True)[1].astype(np.int64)
    person_a, person_b = codes[: len(persons[0])], codes[len(persons[0]) :]
    plan = replace(plan_of(specification), **changes)
    run = link(sets[0], sets[1], plan, Resources(MEMORY, THREADS), lambda stage, fraction: None)
    return run, claim(run, person_a, person_b)


def claim(run: Linkage, person_a: NDArray[np.int64], person_b: NDArray[np.int64]) -> Claim:
    """What a linkage claims, and what is true."""
    pairs = run.pairs
    true = matching_pairs(person_a, person_b, pairs.row_a, pairs.row_b)
    return Claim(
        links=len(run.links),
        true_links=int(true[run.links].sum()),
        matches=number_of_matches(person_a, person_b),
        claimed_precision=float(pairs.link_probability[run.links].mean()) if len(run.links) else 1.0,
        claimed_matches=float(pairs.link_probability.sum()) + run.matches_below_floor,
    )
