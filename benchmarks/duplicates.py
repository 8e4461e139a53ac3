"""Files in which people occur more than once, linked as drafted, and the duplicates inside one file.

Invented people; some are again in their file, as an equal record or with errors. Between two files every pair of one
person's records counts as a match, as in the truth of a rehearsal. What the model claims stands beside what is true:
precision, and the sum of the link probabilities as a share of the matches. Where both files have people more than once
the other assignments stand beside the drafted one, and the last column is F1 of the entities: over all pairs of records
between the files and within them, two records being one entity's where links join them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks._in_process import SignedFiles, no_progress, signed
from gemel.carole.engine import Resources
from gemel.carole.engine.linkage.linking import deduplicate
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import quality
from gemel.carole.fellegi_sunter.link_rule import Assignment
from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.corruption import corrupt
from gemel.coordinator.demonstration.people.population import IDENTIFIER
from gemel.coordinator.draft.specification_draft import draft

RESOURCES = Resources(2 << 30, 2)


@dataclass(frozen=True)
class Found:
    """A linkage, and which of its kept pairs are of one person."""

    linkage: Linkage
    match: NDArray[np.bool_]
    matches: int

    def row(self) -> str:
        """Its quality, claimed and true."""
        reached = quality(self.match[self.linkage.links], self.matches)
        probability = self.linkage.pairs.link_probability
        claimed = probability[self.linkage.links].mean() if len(self.linkage.links) else float("nan")
        total = probability.sum() / self.matches
        return (
            f"{reached.precision:.4f} | {claimed:.4f} | {reached.recall:.4f} | {reached.f1:.4f} | {total:.3f} |"
            f" {self.matches}"
        )


def copied(
    table: pl.DataFrame,
    share: float,
    errors: float,
    rng: np.random.Generator,
    *,
    thrice: float = 0.0,
    among: pl.Series | None = None,
) -> pl.DataFrame:
    """A file of `two_files` with a share of its people in it again.

    Shares of the people who are copied, of the copies that have `errors`, and of the copied who are in it `thrice`;
    `among`: who may be copied, by truth.
    """
    people = table if among is None else table.filter(pl.col(TRUTH).is_in(among.implode()))
    chosen = people[rng.choice(people.height, round(share * people.height), replace=False)]
    again = pl.concat([chosen, chosen.filter(pl.Series(rng.random(chosen.height) < thrice))])
    number = pl.Series([f"-{i}" for i in range(again.height)])
    again = corrupt(again, rng, errors).with_columns(pl.col(IDENTIFIER) + number)
    together = pl.concat([table, again])
    return together[rng.permutation(together.height)]


def between(alice: pl.DataFrame, bob: pl.DataFrame, assignment: Assignment | None = None) -> tuple[Found, str, float]:
    """Two files linked as drafted or by an assignment, that assignment, and F1 of the entities."""
    spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "duplicates")
    chosen = assignment or spec.links.assignment
    files = SignedFiles.of(alice, bob, spec)
    run = files.linked(replace(plan_of(spec), assignment=chosen), RESOURCES)
    return Found(run, *files.matches(run)), chosen, f1_of_entities(np.concatenate(files.persons), entities(run))


def entities(run: Linkage) -> NDArray[np.int64]:
    """The entity of each record of Alice's, then of Bob's: as found, or as links join them."""
    if run.entities is not None:
        return np.concatenate([run.entities.a, run.entities.b])
    n_a, n_b = run.records
    links = run.pairs.row_a[run.links], n_a + run.pairs.row_b[run.links]
    graph = coo_array((np.ones(len(run.links)), links), shape=(n_a + n_b, n_a + n_b))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def f1_of_entities(person: NDArray[np.integer], entity: NDArray[np.integer]) -> float:
    """F1 over all pairs of records: those of one person, and those of one entity."""

    def pairs(label: NDArray[np.integer]) -> int:
        size = np.unique(label, return_counts=True, axis=0)[1]
        return int((size * (size - 1) // 2).sum())

    return 2 * pairs(np.stack([person, entity], axis=1)) / (pairs(person) + pairs(entity))


def inside(table: pl.DataFrame, block: bool | None = None) -> Found:
    """The duplicates of one file, by the specification that is drafted for it and itself."""
    spec, *_ = draft(table.drop(TRUTH), table.drop(TRUTH), "duplicates", block)
    part, of = signed(table, spec, Side.ALICE)
    person = np.unique(of, return_inverse=True)[1]
    found, _ = deduplicate(part, plan_of(spec), RESOURCES, no_progress)
    size = np.bincount(person)
    return Found(found, person[found.pairs.row_a] == person[found.pairs.row_b], int((size * (size - 1) // 2).sum()))


def shapes(seed: int) -> Iterator[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Pairs of files: who is copied how often in which, and the two files."""
    rng = np.random.default_rng(seed)
    for errors in (0.0, 0.3):
        suffix = ", a third of the copies with errors" if errors else ""
        alice, bob = two_files(2000, 2800, 1200, 0.2, rng)
        common = alice[TRUTH].filter(alice[TRUTH].is_in(bob[TRUTH].implode()))
        again = copied(bob, 0.7, errors, rng, thrice=0.5, among=common)
        yield f"70 % of the matched 2 or 3 times in Bob's{suffix}", alice, again
        yield f"the same in Alice's{suffix}", again, alice
        for share in (0.02, 0.2):
            alice, bob = two_files(2000, 2000, 1000, 0.2, rng)
            yield f"{share:.0%} twice in Bob's{suffix}", alice, copied(bob, share, errors, rng)


def in_both(seed: int) -> Iterator[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """Pairs of files that both have people more than once: who, and the two files."""
    rng = np.random.default_rng(2000 + seed)
    for common in (1000, 100):
        for share in (0.2, 0.7):
            for errors in (0.0, 0.3):
                alice, bob = (
                    copied(t, share, errors, rng, thrice=0.2) for t in two_files(2000, 2000, common, 0.2, rng)
                )
                yield f"{share:.0%} of each, {errors:.0%} of the copies with errors, {common} in common", alice, bob


def main(arguments: list[str]) -> int:
    """Print the three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks duplicates", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="files of each shape, from seed 0")
    given = parser.parse_args(arguments)
    figures = "precision | claimed | recall | F1 | sum / matches | matches |"
    print(f"| between two files, as drafted | assignment | seed | {figures}\n|---|---|---|---|---|---|---|---|---|")
    for seed in range(given.seeds):
        for name, alice, bob in shapes(seed):
            found, assignment, _ = between(alice, bob)
            print(f"| {name} | {assignment} | {seed} | {found.row()} |", flush=True)
    print(f"\n| twice in both files, a fifth of them thrice | assignment | seed | {figures} F1 of entities |"
          "\n|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for seed in range(given.seeds):
        for name, alice, bob in in_both(seed):
            for other in (None, "none", "many_to_one", "one_to_one"):
                found, assignment, joined = between(alice, bob, other)
                drafted = ", as drafted" if other is None else ""
                print(f"| {name} | {assignment}{drafted} | {seed} | {found.row()} | {joined:.4f} |", flush=True)
    print(f"\n| inside one file | copies with errors | seed | {figures}\n|---|---|---|---|---|---|---|---|---|")
    for seed in range(given.seeds):
        rng = np.random.default_rng(1000 + seed)
        for share in (0.02, 0.2, 0.7):
            for errors in (0.0, 0.3):
                table = copied(two_files(2000, 1, 0, 0.2, rng)[0], share, errors, rng, thrice=0.2)
                print(f"| {share:.0%} twice, a fifth of them thrice | {errors:.0%} | {seed} | {inside(table).row()} |",
                      flush=True)  # fmt: skip
    return 0
