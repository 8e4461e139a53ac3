"""Padding of blocks with dummy rows, which hide how many rows a block has in mode block_keyed."""

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
"""The size blocks are padded to: the next power of two, or the next multiple of a number of rows."""


def max_rows(padding: Padding) -> int:
    """The maximum number of rows per record of a block after padding."""
    return 2 if padding == "powers_of_two" else padding
