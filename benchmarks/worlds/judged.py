"""One world drafted, signed and linked: what the program claims of its links, and what is true."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from benchmarks._block_keyed import compared, encoded
from benchmarks._in_process import KEY, Persons, SignedFiles, persons
from benchmarks.worlds.world import World
from gemel.carole.engine import Resources
from gemel.carole.engine.linkage.linking import link
from gemel.carole.engine.resolution.padded import conclude_padded
from gemel.carole.engine.run.result import Linkage
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.evaluation.link_quality import Quality, matching_pairs, number_of_matches, quality
from gemel.common.arrays import Columns
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.own_copies import copies_warnings, kept_fields, own_copies
from gemel.custodian.encoding.blocking_keys import key_text

RESOURCES = Resources(8 << 30, 1)
"""One thread, so that what a step takes of the processor is the step's alone."""

COUNTING = ("tables", "levels", "count", "keep")
"""Stages of a run that compare records; its others decide."""

Claimed = tuple[float | None, float | None, float | None]
"""A figure that is claimed, and the ends of its interval; None where there is none."""


@dataclass(frozen=True)
class Outcome:
    """What became of a world.

    `labels`: its value of each dimension; `people`, `matches`: people and pairs of records in common; `true`: of each
    figure that can be claimed what is true, None where nothing can be (the precision of no links); `claims`: of the
    same; `warnings`: severity by code, of the files too; `seconds`: of the processor, by step; `refused`: the code and
    text of an error that says what is wrong; `incident`: of any other; `peer_input`: digest of what the peer is given.
    """

    seed: int
    labels: dict[str, str]
    records: tuple[int, int] = (0, 0)
    people: int = 0
    matches: int = 0
    mode: str = ""
    fields: int = 0
    rules: int = 0
    assignment: str = ""
    links: int = 0
    true_links: int = 0
    true: dict[str, float | None] = field(default_factory=dict)
    claims: dict[str, Claimed] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    refused: str = ""
    incident: str = ""
    peer_input: str = ""

    @property
    def quality(self) -> Quality:
        return Quality(self.links, self.true_links, self.matches)

    @property
    def f1(self) -> float:
        """Of no links where the world ended in an incident."""
        return self.quality.f1 if not self.incident else 0.0

    @property
    def counting(self) -> float:
        return sum(self.seconds.get(stage, 0.0) for stage in COUNTING)

    @property
    def deciding(self) -> float:
        others = ("draft", "sign", *COUNTING)
        return sum(seconds for stage, seconds in self.seconds.items() if stage not in others)

    @property
    def serious(self) -> bool:
        """Whether somebody is told not to rely on the result; who is refused one is."""
        return bool(self.refused) or "serious" in self.warnings.values()


def claims_of(run: Linkage) -> dict[str, Claimed]:
    """What a run claims of its links: `precision`; `recall`, of all matches; `sum`, the matches among the compared
    pairs; `people` in common; `candidates`, the share of all matches that are among the compared pairs.
    """
    found = run.claims
    if found is None:
        return {}
    ranges = (
        ("precision", found.precision), ("recall", found.recall), ("sum", found.compared),
        ("people", found.people), ("candidates", found.candidates),
    )  # fmt: skip
    nothing = (None, None, None)
    return {name: nothing if each is None else (each.value, each.lower, each.upper) for name, each in ranges}


class Stages:
    """Seconds of the processor by stage; the progress of a run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.process_time()

    def __call__(self, stage: str, fraction: float) -> None:
        now = time.process_time()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step, within which a run may have stages of its own."""
        self(name, 0.0)
        try:
            yield
        finally:
            self("", 1.0)


@dataclass
class Judgement:
    """A world while it is linked: what is known of it so far is its outcome, however it ends."""

    COUNTED: ClassVar[pl.Expr] = pl.lit(value=True)
    """Which pairs of rows, columns ``row`` and ``row_right``, are compared."""

    world: World
    alice: pl.DataFrame
    bob: pl.DataFrame

    def __post_init__(self) -> None:
        self.stages = Stages()
        self.spec: Specification | None = None
        self.persons: tuple[Persons, Persons] = persons(*(_people(file) for file in (self.alice, self.bob)))
        self.outcome = Outcome(
            self.world.seed,
            dict(self.world.values),
            (self.alice.height, self.bob.height),
            len(np.intersect1d(*self.persons)),
            number_of_matches(*self.persons),
        )

    def drafted(self) -> Specification | None:
        """The specification as it is drafted for the world's mode, or for mode open where there is none for that."""
        with self._caught(), self.stages.step("draft"):
            self.spec = self._draft()
            self._note(mode=self.spec.mode, fields=len(self.spec.fields), rules=len(self.spec.blocking))
            self._note(assignment=self.spec.links.assignment)
        return self.spec

    def linked(self) -> Outcome:
        """The outcome of the drafted specification."""
        spec = self.spec
        if spec is not None:
            with self._caught():
                run = self._run(spec)
                self._judge(spec, run)
        self._note(seconds={name: round(taken, 3) for name, taken in self.stages.seconds.items()})
        return self.outcome

    def _draft(self) -> Specification:
        files = self.alice.drop(TRUTH), self.bob.drop(TRUTH)
        if self.world.mode == "block_keyed":
            try:
                return draft(*files, "world", self.world.block, "block_keyed").specification
            except GemelError as error:
                if error.code == ErrorCode.INTERNAL:
                    raise
        return draft(*files, "world", self.world.block).specification

    def _run(self, spec: Specification) -> Linkage:
        plan = plan_of(spec)
        if not spec.in_blocks:
            with self.stages.step("sign"):
                signed = SignedFiles.of(self.alice, self.bob, spec)
            with self.stages.step("tables"):
                return link(*signed.sets, plan, RESOURCES, self.stages)
        files = {Side.ALICE: self.alice, Side.BOB: self.bob}
        with self.stages.step("sign"):
            made = encoded(files, spec, KEY)
        with self.stages.step("tables"):
            found, rows = compared(files, made, plan, RESOURCES, self.stages)
        with self.stages.step("decide"):
            # What the custodians report to the resolver: which rows are one record.
            row_a, row_b = (made[side].order[rows[side]].astype(np.int32) for side in Side)
            return conclude_padded(found, row_a, row_b, self.outcome.records, plan, self.stages)[0]

    def _judge(self, spec: Specification, run: Linkage) -> None:
        cleaned = [clean(table, spec, side) for side, table in zip(Side, (self.alice, self.bob), strict=True)]
        matching = matching_pairs(*self.persons, run.pairs.row_a, run.pairs.row_b)
        found = quality(matching[run.links], self.outcome.matches)
        kept = self._matches_compared(spec, [each.columns for each in cleaned])
        true = {
            "precision": found.precision if found.links else None,
            "recall": found.recall if found.matches else None,
            "sum": float(kept),
            "people": float(self.outcome.people),
            "candidates": kept / found.matches if found.matches else None,
        }
        of_files = (warning for each in cleaned for warning in each.profile.warnings())
        of_copies = (
            warning
            for each in cleaned
            for warning in copies_warnings(own_copies(each.columns, kept_fields(spec)), spec)
        )
        warnings = {warning.code: warning.severity for warning in (*of_files, *of_copies, *run.warnings)}
        self._note(links=found.links, true_links=found.true_links, true=true, claims=claims_of(run), warnings=warnings)

    def _matches_compared(self, spec: Specification, cleaned: Sequence[Columns]) -> int:
        """Matches that agree on the key of some rule; all where there is no rule."""
        if not spec.blocking:
            return self.outcome.matches
        sides = []
        for columns, person in zip(cleaned, self.persons, strict=True):
            keys = {rule.name: key_text(columns, spec, rule, split=spec.in_blocks) for rule in spec.keyed_rules}
            sides.append(pl.DataFrame({"person": person, "row": np.arange(len(person)), **keys}))
        both = sides[0].join(sides[1], on="person").filter(self.COUNTED)
        agree = [(pl.col(rule.name) == pl.col(f"{rule.name}_right")).fill_null(False) for rule in spec.keyed_rules]
        return int(both.select(pl.any_horizontal(agree).sum()).item())

    def _note(self, **known: Any) -> None:
        self.outcome = replace(self.outcome, **known)

    @contextmanager
    def _caught(self) -> Iterator[None]:
        """An error becomes part of the outcome: a refusal where it says what is wrong, an incident otherwise."""
        try:
            yield
        except GemelError as error:
            text = f"{error.code.name}: {str(error)[:200]}"
            self._note(**{"incident" if error.code == ErrorCode.INTERNAL else "refused": text})
        except Exception as error:  # noqa: BLE001 - whatever it is, the other worlds go on
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).stem}.{place.name}"
            self._note(incident=f"{type(error).__name__} in {where}: {str(error)[:200]}")


def _people(file: pl.DataFrame) -> np.ndarray:
    return file[TRUTH].cast(pl.String).to_numpy()
