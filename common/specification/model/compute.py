"""Who computes together with the linkage unit in mode shared."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tryst.common.specification.model.section import Section

MemberName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"[a-z0-9][a-z0-9.-]*")]
"""A member's name in the membership list."""


class ComputeSpec(Section):
    """In mode shared: the members who compute the comparison levels together with the linkage unit, on shares of which
    none of the three can read anything by itself. They must be three organisations that do not collude."""

    coordinator: MemberName = "coordinator"
    """The coordinator's name in the membership list."""
    steward: MemberName = "steward"
    """A steward's name in the membership list."""
