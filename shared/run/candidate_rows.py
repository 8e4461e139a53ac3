"""The candidate pairs of mode shared: all three parties make the same list, from the digests of the rows' blocks.

A shard is two sets of a rule whose intervals overlap, as in mode block_keyed, and its pairs are in the same order: by
ascending digests, A's rows, B's rows. No pair is left out here: that an earlier rule has it too comes to light with its
levels.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.blocking.candidates import Block, BlockKeyedPairs, Part, shared_blocks
from gemel.carole.engine.pairs.linkage_input import LARGE_BLOCK
from gemel.carole.engine.pairs.shards import Unit, refuse_above_limit, shards_of, units_of
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.arrays import I32, U32, U64
from gemel.common.parties import Side
from gemel.common.progress import StageProgress
from gemel.common.signatures.party_sets import PartyContribution

Contributions = tuple[PartyContribution, PartyContribution]
"""Alice's and Bob's, for one compute party."""


@dataclass(frozen=True)
class CandidateRows:
    """The candidate pairs of two contributions."""

    units: tuple[Unit, ...] = dataclass_field(repr=False)
    pairs_per_rule: tuple[int, ...]
    large: tuple[Block, ...] = dataclass_field(repr=False)
    digest: bytes

    @property
    def n_pairs(self) -> int:
        """Pairs of all rules, those that satisfy several counted several times."""
        return sum(self.pairs_per_rule)


def candidate_rows(contributions: Contributions, plan: LinkagePlan, progress: StageProgress) -> CandidateRows:
    """Find the candidate pairs of two contributions; only the digests of blocks are read."""
    a, b = contributions
    agreed = hashlib.sha256()
    digests: list[list[U64]] = []
    for part in contributions:
        sizes = repr((part.upload, part.n_records, part.sets, part.sample_layout)).encode()
        agreed.update(len(sizes).to_bytes(8, "little") + sizes + part.seed_digests)
        of_sets = [part.digests(number) for number in range(len(part.sets))]
        for each in of_sets:
            agreed.update(len(each).to_bytes(8, "little") + np.ascontiguousarray(each, dtype="<u8").tobytes())
        digests.append(of_sets)
    above = min(LARGE_BLOCK, *(rule.limit for rule in plan.rules))
    shards = list(shards_of(a, b, [rule.name for rule in plan.rules]))
    units: list[Unit] = []
    large: list[Block] = []
    per_rule = [0] * len(plan.rules)
    for done, shard in enumerate(shards):
        in_a, in_b = digests[0][shard.set_a], digests[1][shard.set_b]
        pairs, blocks = shared_blocks(shard.rule, in_a, in_b, above)
        for block in blocks:
            refuse_above_limit(block, plan.rules[block.rule])
        large += blocks
        per_rule[shard.rule] += pairs
        units += units_of(shard, pairs)
        progress((done + 1) / len(shards))
    return CandidateRows(tuple(units), tuple(per_rule), tuple(large), agreed.digest())


def rows_of_unit(unit: Unit, digests_a: U64, digests_b: U64) -> tuple[I32, I32]:
    """The rows of a unit's pairs in the two sets of its shard, from the digests of both: each of shape (n_pairs,)."""
    pairs = BlockKeyedPairs(0, [digests_a], [digests_b], unit.start, unit.stop)
    n = unit.stop - unit.start
    row_a, row_b = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    written = pairs.write(Part(0, unit.start, unit.stop), row_a, row_b, np.empty(n, dtype=np.uint32))
    assert written == n  # noqa: S101 - one rule leaves no pair to another
    return row_a, row_b


def row_words(row_a: I32, row_b: I32) -> U64:
    """Both rows of each pair, by their numbers in the contributions, in one word: A's in the lower half."""
    return row_a.astype(np.uint64) | row_b.astype(np.uint64) << np.uint64(32)


def rows_of_side(words: U64, side: Side) -> U32:
    """A custodian's half of such words, or of a share of them."""
    return (words >> np.uint64(0 if side is Side.ALICE else 32)).astype(np.uint32)
