"""Who computes together with the linkage unit in mode shared."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gemel.common.specification.model.granted_variables import MEMBER_PATTERN
from gemel.common.specification.model.section import Section

MemberName = Annotated[str, Field(pattern=MEMBER_PATTERN)]


class ComputeSpec(Section):
    """In mode shared: the members who compute the comparison levels together with the linkage unit, on shares of which
    none of the three can read anything by itself. They must be three organisations that do not collude: any two of them
    could read together what the linkage unit has in mode block_keyed."""

    coordinator: MemberName = "coordinator"
    """The coordinator's name in the membership list."""
    steward: MemberName = "steward"
    """A steward's name in the membership list."""
