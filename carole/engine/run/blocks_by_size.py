"""What is known of the blocks of contributions whose rows are separate under each rule."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

from gemel.carole.blocking.candidates import Block


@dataclass(frozen=True)
class BlocksBySize:
    """The blocks of all rules, by their sizes.

    Attributes
    ----------
    pairs_per_rule
        Pairs that satisfy each rule; a pair may satisfy several.
    large
        The blocks of more than `LARGE_BLOCK` pairs.
    rows_without_key
        None: a record without a key under a rule has no row there.
    """

    pairs_per_rule: tuple[int, ...]
    large: tuple[Block, ...] = dataclass_field(repr=False)
    rows_without_key: tuple[int, int] = (0, 0)

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, `LARGE_BLOCK` at the least, the largest first."""
        blocks = [block for block in self.large if block.pairs > pairs]
        return sorted(blocks, key=lambda block: (-block.pairs, block))
