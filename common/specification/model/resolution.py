"""Who decides, in mode block_keyed, which rows of different rules are one record."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.specification.model.section import Section


class ResolutionSpec(Section):
    """Who decides, in mode block_keyed, which rows of different rules are one record."""

    by: Literal["coordinator", "carole"] = "coordinator"
    """coordinator: its process, which holds no signature. carole: the linkage unit itself, which does hold them; it is
    the fall-back, for when no coordinator's process can be online, and loses part of the mode's protection."""
    max_records: int | None = Field(default=None, ge=1)
    """With by: carole, and then required: the maximum number of records of either file of which she may learn which
    rows are one. A custodian counts its own over all runs, and refuses above it."""

    @property
    def joined(self) -> bool:
        """Whether the linkage unit joins rows."""
        return self.by == "carole"

    def refuse_above(self, records: int, whose: str, where: str) -> None:
        """Refuse to join more records of a file than all have approved.

        Parameters
        ----------
        records
            Distinct records of the file.
        whose
            Whose file it is, for the message.

        Raises
        ------
        TrystError
            LEAKAGE.
        """
        if self.joined and records > (self.max_records or 0):
            raise TrystError(
                ErrorCode.LEAKAGE,
                f"Carole may join the rows of at most {self.max_records:,} records of {whose} (resolution.max_records)",
                where=where,
                got=f"{records:,}",
                remedy="amend the specification: narrower blocking or another threshold for fewer candidate pairs,"
                " a higher cap, or `by: coordinator`",
            )
