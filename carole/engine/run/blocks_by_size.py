"""What is known of the blocks of contributions whose rows are separate under each rule."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

from gemel.carole.blocking.candidates import Block


@dataclass(frozen=True)
class BlocksBySize:
    """The blocks of all rules, by their sizes."""

    pairs_per_rule: tuple[int, ...]
    large: tuple[Block, ...] = dataclass_field(repr=False)
    rows_without_key: tuple[int, int] = (0, 0)

    def blocks_above(self, pairs: int) -> list[Block]:
        """Blocks of more than `pairs` pairs, `LARGE_BLOCK` at the least, the largest first."""
        blocks = [block for block in self.large if block.pairs > pairs]
        return sorted(blocks, key=lambda block: (-block.pairs, block))
