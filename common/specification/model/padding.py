"""Padding of blocks with dummy rows, which hide how many rows a block has in modes block_keyed and shared."""

from __future__ import annotations

from typing import Literal

Padding = Literal["powers_of_two"]
"""The size blocks are padded to: the next power of two.

Not a multiple of a number: most rows of small blocks would be dummies, so that a record would have candidate pairs with
dummies under nearly every rule, and the handles of an honest run would join most rows of most records.
"""

MAX_ROWS = 2
"""Rows per record of a block after padding, at most."""
