"""Padding: whether dummy rows hide how many rows a block has, and why they do so in mode block_keyed only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

MAX_ROWS = 1000


def _padding_tag(value: object) -> str:
    return "powers" if isinstance(value, str) else "multiple"


Padding = Annotated[
    Annotated[Literal["powers_of_two"], Tag("powers")] | Annotated[int, Field(ge=2, le=MAX_ROWS), Tag("multiple")],
    Discriminator(_padding_tag),
]
"""What blocks are padded to: the next power of two, or the next multiple of a number of rows."""


def max_rows(padding: Padding) -> int:
    """How many rows a block of one record, or any other for each of its records, may have after padding."""
    return 2 if padding == "powers_of_two" else padding
