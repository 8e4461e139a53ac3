"""Who decides, in modes block_keyed and shared, which rows of different rules are one record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification.model.granted_variables import MEMBER_PATTERN
from gemel.common.specification.model.section import Section

MAX_JOINS = 0.25
"""Default of `max_joins` (see `benchmarks joins`)."""

_CAPPED = {
    "max_joins": "handles may join at most {:,} rows of {} to another row of their record",
    "max_requested": "handles may be requested of at most {:,} records of {}",
}

_ASK = (
    "ask the coordinator why so many rows are requested; if they are candidate pairs of an honest run, have the"
    " specification amended with a higher cap; no handles are submitted until then"
)


@dataclass(frozen=True)
class Requested:
    """Rows of a custodian's upload, counted by what their handles show."""

    records: int = 0
    joins: int = 0
    """Rows beyond one for each of these records, and for each decoy."""

    def under(self, cap: str) -> int:
        return {"max_joins": self.joins, "max_requested": self.records}[cap]


class ResolutionSpec(Section):
    """Who decides, in modes block_keyed and shared, which rows of different rules are one record."""

    by: Literal["coordinator", "carole"] = "coordinator"
    """coordinator: its process, which holds no signature. carole: the linkage unit itself, which does hold them; it is
    the fall-back of mode block_keyed, for when no coordinator's process can be online, and loses part of its
    protection."""
    max_records: int | None = Field(default=None, ge=1)
    """With by: carole, and then required: the maximum number of records of either file of which she may learn which
    rows are one. A custodian counts its own over all runs, and refuses above it."""

    max_joins: float = Field(default=MAX_JOINS, ge=0, le=1, allow_inf_nan=False)
    """Share of the joins in its upload that a custodian lets handles show: joins of two rows of one record under two
    rules, of which a record has one fewer than rows. Honest runs need few of them; the linkage unit and the resolver
    could learn so many if they colluded and requested what is no candidate. Counted over all runs, and refused
    above; 1 is no bound."""
    max_requested: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    """Share of its file's records for which a custodian submits handles at all, counted likewise. Where the output is
    assessed each of them joins a row to its row of codes, and with `latent` the resolver has its codes. Default: no
    limit, since every record may have a match."""

    @property
    def joined(self) -> bool:
        return self.by == "carole"

    def refuse_above(self, records: int, whose: str, where: str) -> None:
        """Refuse (LEAKAGE) to join more distinct records of a file than all have approved."""
        if self.joined and records > (self.max_records or 0):
            rows = f"Carole may join the rows of at most {self.max_records:,} records of {whose}"
            fewer = "narrower blocking or another threshold for fewer candidate pairs"
            remedy = f"amend the specification: {fewer}, a higher cap, or `by: coordinator`"
            what = f"{rows} (resolution.max_records)"
            raise GemelError(ErrorCode.LEAKAGE, what, where=where, got=f"{records:,}", remedy=remedy)

    @property
    def caps(self) -> dict[str, float | None]:
        """The caps on the rows whose handles are requested, by option."""
        return {"max_joins": self.max_joins, "max_requested": self.max_requested}

    def exceeded(self, requested: Requested, uploaded: Requested) -> dict[str, float]:
        """The caps that what was requested of a custodian exceeds, of what it has uploaded."""
        return {
            name: cap
            for name, cap in self.caps.items()
            if cap is not None and requested.under(name) > _allowed(cap, uploaded.under(name))
        }

    def refuse_requested(self, requested: Requested, uploaded: Requested, whose: str, where: str) -> None:
        """Refuse (LEAKAGE) to submit handles of more rows of an upload, in all requests, than all have approved."""
        exceeded = self.exceeded(requested, uploaded)
        if not exceeded:
            return
        name, cap = next(iter(exceeded.items()))
        capped = _CAPPED[name].format(_allowed(cap, uploaded.under(name)), whose)
        what, got = f"{capped}, in all runs together (resolution.{name})", f"{requested.under(name):,}"
        raise GemelError(ErrorCode.LEAKAGE, what, where=where, got=got, remedy=_ASK)


def _allowed(cap: float, number: int) -> int:
    # A cap of .29 allows 29 of 100, which is more than .29 * 100 in binary.
    return math.floor(cap * number + 1e-9)


MemberName = Annotated[str, Field(pattern=MEMBER_PATTERN)]


class ComputeSpec(Section):
    """In mode shared: the members who compute the comparison levels together with the linkage unit, on shares of which
    none of the three can read anything by itself. They must be three organisations that do not collude: any two of them
    could read together what the linkage unit has in mode block_keyed."""

    coordinator: MemberName = "coordinator"
    """The coordinator's name in the membership list."""
    steward: MemberName = "steward"
    """A steward's name in the membership list."""
