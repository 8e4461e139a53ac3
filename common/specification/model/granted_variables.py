"""`release.variables`: columns of the custodians' files that others receive for the linked records.

A column goes from the custodian that holds it to one recipient: the other custodian, or an analyst, a member of that
role who has no part in the linkage. Linkage unit and coordinator are no recipients.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from gemel.common.parties import Side
from gemel.common.specification.model.section import ColumnName, Section

MAX_RECIPIENTS = 16
MAX_COLUMNS = 256
"""Of one file, for one recipient."""

MEMBER_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"
RecipientName = Annotated[str, Field(pattern=MEMBER_PATTERN)]

Columns = Annotated[tuple[ColumnName, ...], Field(strict=False, max_length=MAX_COLUMNS)]


class Transfer(NamedTuple):
    """A custodian and one recipient of columns of its file."""

    sender: Side
    to: str
    """alice, bob, or an analyst's name in the membership list."""

    @property
    def to_analyst(self) -> bool:
        return self.to not in tuple(Side)

    @property
    def recipient(self) -> str:
        return f"the analyst {self.to}" if self.to_analyst else self.to.title()


class VariableGrant(Section):
    """What one recipient receives of the custodians' files."""

    to: RecipientName
    """alice or bob, who receives columns of the other; or the name of a member with the role analyst, who receives the
    links too, by ids, without any identifier."""
    alice: Columns = ()
    """Columns of Alice's file, as they are named there."""
    bob: Columns = ()
    """Columns of Bob's file."""

    def columns_of(self, side: Side) -> tuple[str, ...]:
        return self.alice if side is Side.ALICE else self.bob
