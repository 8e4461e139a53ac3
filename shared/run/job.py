"""What the three compute parties do in a run of mode shared, one step after the other; numbers only.

All three make the same calls in the same order. `lead` is Carole's part and `assist` that of the other two::

    agree     the same specification, layouts, blocks and secrets of shares at all three, or nothing is computed
    compare   the levels of all candidate pairs, on shares, rule after rule
    chance    those of the samples' pairs, and which values the rows of samples and of the largest rules have
    permute   each of these lists into an order that no party knows
    open      levels and presence, to Carole alone
    name      Carole has chosen pairs by their places: the others see which, and each makes its part of the rows'
              numbers for the two custodians

A place says nothing of a row, and the number of pairs that Carole names is public. Errors are those of the steps; an
error at one party must end the session of all three.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import BlocksBySize, MemoryBudget
from gemel.common.arrays import I8, I64, U32
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty, Side
from gemel.common.progress import Progress
from gemel.shared.gates.channel import deviation
from gemel.shared.gates.party import Party
from gemel.shared.run.candidate_rows import CandidateRows, Contributions, candidate_rows, rows_of_side
from gemel.shared.run.compared_rows import ComparedRows, compared_rows
from gemel.shared.run.opened_levels import AGREEMENT, OpenedRun, agreement_of


def packed_places(places: I64) -> bytes:
    return places.astype("<i8").tobytes()


def unpacked_places(content: bytes) -> I64:
    """The places of a message; DEVIATION if it has no whole number of them."""
    if len(content) % 8:
        raise _deviation(f"{len(content)} bytes")
    return np.frombuffer(content, dtype="<i8").astype(np.int64)


def check_places(places: I64, n_pairs: int) -> I64:
    """Accept only places of pairs, each once and in ascending order."""
    if len(places) and (int(places[0]) < 0 or int(places[-1]) >= n_pairs or (np.diff(places) <= 0).any()):
        raise _deviation(f"{len(places):,} numbers that are not ascending places of {n_pairs:,} pairs")
    return places


def _deviation(got: str) -> GemelError:
    what = "the pairs that Carole names must be places of the permuted pairs, ascending"
    remedy = "request another run; if it happens again, Carole's installation is not the one that all have agreed on"
    return GemelError(ErrorCode.DEVIATION, what, where="name, between Carole and this party", got=got, remedy=remedy)


class StageSeconds:
    """A `Progress` that passes everything on, and times the stages: one ends where the next begins."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stage, self._begun = "", 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, stage: str, fraction: float) -> None:
        """Note how far a stage is."""
        if stage != self._stage:
            self.end()
            self._stage, self._begun = stage, time.perf_counter()
        self._progress(stage, fraction)

    def end(self) -> None:
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + time.perf_counter() - self._begun
        self._stage = ""


RowPart = Callable[[Side, U32, U32], bytes]
"""Makes a party's part of the rows that a custodian is to be named: of the side, its first share of their numbers, and
its second; each uint32, in the order of the places."""
RowParts = dict[Side, tuple[bytes, bytes, bytes]]
"""The three parties' parts for each custodian, by `ComputeParty`."""


@dataclass(frozen=True)
class Terms:
    """What the parties compute by, each from the specification that it has itself read and approved: its digest, and
    the plan made of it; `memory_bytes`, what this party's run may use, need not be the same at all three.
    """

    specification: bytes
    plan: LinkagePlan = dataclass_field(repr=False)
    memory_bytes: int


class Led:
    """Carole's part after the computation: what was opened, sizes of blocks, seconds by stage; how she names pairs."""

    def __init__(
        self, party: Party, contributions: Contributions, rows: CandidateRows, compared: ComparedRows, own: RowPart,
        progress: Progress, seconds: Mapping[str, float],
    ) -> None:  # fmt: skip
        assert compared.opened is not None  # noqa: S101 - Carole's
        self._party, self._compared, self._own, self._progress = party, compared, own, progress
        self.opened: OpenedRun = compared.opened
        self.blocks = BlocksBySize(rows.pairs_per_rule, rows.large)
        self.seconds = seconds
        self.contributions = contributions
        self.parts: RowParts = {}

    def name(self, places: I64) -> I8 | None:
        """Name pairs by their places, ascending, to the other parties, once; their agreement in the check field, if
        any.

        Afterwards `parts` has the three parties' parts of the rows' numbers. DEVIATION if one of them cannot be such a
        part.
        """
        self._progress("name", 0.0)
        assistants = ComputeParty.COORDINATOR, ComputeParty.STEWARD
        for party in assistants:
            self._party.channel.send(party, packed_places(places))
        agrees = _agreement(self._party, self._compared, places)
        own = _own_parts(self._compared, places, self._own)
        first, second = ([self._part(party, len(part)) for part in own] for party in assistants)
        self.parts = dict(zip(Side, zip(own, first, second, strict=True), strict=True))
        self._progress("name", 1.0)
        return agrees

    def _part(self, party: ComputeParty, size: int) -> bytes:
        """A part that another party has sealed to a custodian, who alone can read it: it is as long as Carole's."""
        part = self._party.channel.receive(party)
        if len(part) != size:
            what = f"a part of the rows' numbers has {len(part)} bytes instead of {size}"
            raise deviation("name", what, (ComputeParty.CAROLE, party), (party,))
        return part


def lead(party: Party, contributions: Contributions, terms: Terms, own: RowPart, progress: Progress) -> Led:
    """Carole's part, up to where she has what the model is fitted to.

    `own` makes her part of the rows that are named in the end. Raises `GemelError`: DEVIATION if a party does something
    else than the protocol says; ENCODING_MISMATCH, PARAMETER if the contributions cannot be compared under the plan;
    MEMORY if the pairs' words do not fit; UPLOAD_CORRUPT if a set cannot be read; UNAVAILABLE if the session has ended.
    """
    timed = StageSeconds(progress)
    rows, compared = _computed(party, contributions, terms, timed)
    timed.end()
    return Led(party, contributions, rows, compared, own, progress, timed.seconds)


def assist(party: Party, contributions: Contributions, terms: Terms, own: RowPart, progress: Progress) -> None:
    """The part of the coordinator or the steward, to its end; parameters and errors as of `lead`."""
    _, compared = _computed(party, contributions, terms, progress)
    progress("name", 0.0)
    places = check_places(unpacked_places(party.channel.receive(ComputeParty.CAROLE)), compared.n_pairs)
    _agreement(party, compared, places)
    for part in _own_parts(compared, places, own):
        party.channel.send(ComputeParty.CAROLE, part)
    progress("name", 1.0)


def _computed(
    party: Party, contributions: Contributions, terms: Terms, progress: Progress
) -> tuple[CandidateRows, ComparedRows]:
    progress("agree", 0.0)
    party.stage = "agree"
    rows = candidate_rows(contributions, terms.plan, lambda done: progress("agree", done))
    party.compare(terms.specification + rows.digest, "specification, blocks and secrets of shares")
    budget = MemoryBudget(terms.memory_bytes)
    return rows, compared_rows(party, contributions, rows, terms.plan, budget, progress)


def _agreement(party: Party, compared: ComparedRows, places: I64) -> I8 | None:
    """The kept pairs' agreement in the check field, at Carole; all three must have been named the same pairs."""
    party.stage = "name"
    party.compare(hashlib.sha256(places.astype("<i8").tobytes()).digest(), "the named places")
    if compared.check is None:
        return None
    opened = party.opened_to(ComputeParty.CAROLE, np.ascontiguousarray(compared.check[:, places]), AGREEMENT)
    party.check("name")
    return None if opened is None else agreement_of(opened[:, 0])


def _own_parts(compared: ComparedRows, places: I64, own: RowPart) -> list[bytes]:
    """This party's parts for Alice and for Bob."""
    first, second = compared.rows[:, places]
    return [own(side, *(rows_of_side(words, side) for words in (first, second))) for side in Side]
