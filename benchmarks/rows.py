"""Populations for which claims or links were once wrong: ``python -m benchmarks rows``.

Each row is a population made after a description (`_row_populations`), linked by the draft as it comes and judged as a
world is. What is true of precision and recall stands beside what is claimed, then the sum of the probabilities as a
share of the matches among the compared pairs; times are of the processor, on one thread. A row that takes more than
five minutes of the processor is ended and counts as an incident.

Exit status 1 where a row ended in an incident.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np
import polars as pl

from benchmarks import _one_blas_thread  # noqa: F401 - before numpy
from benchmarks._in_process import signed
from benchmarks._row_populations import Files, rows
from benchmarks.worlds.judged import RESOURCES, Judgement, Outcome
from benchmarks.worlds.kept import Kept, limited
from benchmarks.worlds.world import quiet
from gemel.carole.engine.linkage.linking import deduplicate
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Side
from gemel.common.specification import Specification

LIMIT, WALL = 300, 1200
"""A row's seconds of the processor, and those that it may take."""

_HEAD = (
    "row | seed | label | records | precision | claimed | recall | claimed | F1 | sum / matches | links | assignment"
    " | s of deciding | of counting | warnings"
)


class OneFile(Judgement):
    """A file in which people are more than once, while its duplicates are found; it is Alice's and Bob's."""

    COUNTED: ClassVar[pl.Expr] = pl.col("row") < pl.col("row_right")

    def __post_init__(self) -> None:
        super().__post_init__()
        times = np.bincount(self.persons[0])
        self._note(people=int((times > 1).sum()), matches=int((times * (times - 1) // 2).sum()))

    def _run(self, spec: Specification) -> Linkage:
        with self.stages.step("sign"):
            part, _ = signed(self.alice, spec, Side.ALICE)
        with self.stages.step("tables"):
            return deduplicate(part, plan_of(spec), RESOURCES, self.stages)[0]

    def _judge(self, spec: Specification, run: Linkage) -> None:
        super()._judge(spec, run)
        # Copies in a file are what is looked for.
        self._note(warnings={code: how for code, how in self.outcome.warnings.items() if code != "own_copies"})


def outcome(name: str, made: Files, seed: int) -> Outcome:
    """What becomes of a row's files, or of its one."""
    kind = Judgement if len(made) > 1 else OneFile
    judgement = kind(quiet(seed=seed), made[0], made[-1])
    judgement.drafted()
    return replace(judgement.linked(), labels={"row": name})


def judge(kept: Kept, name: str, seed: int, small: bool) -> None:
    """Make a row's files in this process, link them, and keep the outcome."""
    kept.write(kept.path(seed), outcome(name, rows(small)[name](seed), seed))


def found_or_judged(kept: Kept, name: str, seed: int, small: bool) -> Outcome:
    """A row's outcome, judged in a process of its own where it is not kept."""
    if not kept.path(seed).exists():
        ended = limited(LIMIT, WALL, judge, kept, name, seed, small)
        if not kept.path(seed).exists():
            kept.write(kept.path(seed), Outcome(seed, {"row": name}, incident=ended))
    found = kept.judged(seed)
    assert found is not None
    return found.own


def line(own: Outcome, label: str) -> str:
    """A row of the table."""
    cells = [own.labels["row"], str(own.seed), label, " x ".join(f"{n:,}" for n in own.records)]
    for figure in ("precision", "recall"):
        cells += [_figure(own.true.get(figure)), _figure(own.claims.get(figure, (None,))[0])]
    total, true = own.claims.get("sum", (None,))[0], own.true.get("sum")
    cells += [_figure(own.f1), _figure(total / true if true and total is not None else None)]
    cells += [f"{own.links:,}", own.assignment, f"{own.deciding:.1f}", f"{own.counting:.1f}"]
    codes = ", ".join(f"{code}{' (serious)' * (how == 'serious')}" for code, how in own.warnings.items())
    return f"| {' | '.join([*cells, own.incident or own.refused or codes])} |"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def main(arguments: Sequence[str]) -> int:
    """Judge the rows that are not kept, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks rows", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="NAME,NAME", help=f"of {', '.join(rows())}")
    parser.add_argument("--seeds", default="1", metavar="SEED,SEED")
    parser.add_argument("--small", action="store_true", help="a tenth of the records where a file has 5,000 or more")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep outcomes, and judge none that is kept")
    parser.add_argument("--label", default="now", help="name of the program's state, under which outcomes are kept")
    parser.add_argument("--against", default="", metavar="LABEL", help="print what is kept under it beside")
    given = parser.parse_args(arguments)
    names = given.only.split(",") if given.only else list(rows())
    if unknown := set(names) - set(rows()):
        parser.error(f"--only: expected names of rows, got {', '.join(sorted(unknown))}")
    print(f"| {_HEAD} |\n|{'---|' * (_HEAD.count('|') + 1)}")
    incidents = 0
    with TemporaryDirectory() as passing:
        folder = given.keep or Path(passing)
        for name in names:
            for seed in map(int, given.seeds.split(",")):
                earlier = Kept(folder / given.against, name).judged(seed) if given.against else None
                if earlier is not None:
                    print(line(earlier.own, given.against))
                own = found_or_judged(Kept(folder / given.label, name), name, seed, given.small)
                incidents += bool(own.incident)
                print(line(own, given.label), flush=True)
    return int(incidents > 0)
