"""Contributions of block-keyed mode as input of a run: a record has a separate row under each rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tryst.carole.blocking.block_keyed_pairs import BlockKeyedPairs
from tryst.carole.blocking.block_size_cap import Skew
from tryst.carole.engine.block_keyed_rows import BlockKeyedRows
from tryst.carole.engine.linkage_input import BothSets, Mark
from tryst.carole.engine.memory import MemoryBudget
from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.preparation import check
from tryst.carole.engine.sources import BlockedPairs, Source, take_index
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.progress import StageProgress


class BlockKeyedFiles:
    """The `LinkageInput` of mode block_keyed.

    Parameters
    ----------
    a, b : BlockKeyedRows
    """

    within: bool = False
    sides: tuple[str, ...] = ("Alice", "Bob")

    def __init__(self, a: BlockKeyedRows, b: BlockKeyedRows) -> None:
        self._a, self._b = a, b
        self.rows: BothSets = a.rows, b.rows
        self.n_records = a.n_records, b.n_records
        self.samples: BothSets = a.sample, b.sample
        self.sample_groups: int = a.sample_groups

    @property
    def distinct_records(self) -> BothSets:
        """The rows of the rule that has most, in each file."""
        return self._a.max_rows(), self._b.max_rows()

    def check(self, plan: LinkagePlan) -> None:
        """Raise `TrystError` unless both hold what the plan needs.

        PARAMETER for a plan that needs values counted across a file; ENCODING_MISMATCH where one file's samples are in
        groups and the other's, of a former release, are not.
        """
        check(*self.rows, plan)
        if self._a.sample_groups != self._b.sample_groups:
            raise TrystError(
                ErrorCode.ENCODING_MISMATCH,
                "samples must be in the same groups",
                where="samples",
                got=f"{self._a.sample_groups} groups of Alice's and {self._b.sample_groups} of Bob's",
                remedy="contribute again with the newer of the two releases",
            )
        if plan.latent is not None:
            raise TrystError(
                ErrorCode.PARAMETER,
                "values have no codes for the whole file when each block has its own keys",
                where="latent",
                remedy="remove it, or link in mode open",
            )
        if any(field.value_frequencies for field in plan.fields):
            raise TrystError(
                ErrorCode.PARAMETER,
                "values cannot be counted across a file when each block has its own keys",
                where="fields.value_frequencies",
                remedy="remove it, or link in mode open",
            )

    def source(self, plan: LinkagePlan, budget: MemoryBudget, progress: StageProgress) -> Source:
        """The pairs within the blocks of each rule.

        Raises
        ------
        TrystError
            MEMORY if the index does not fit; PARAMETER if a block has more pairs than its rule allows: no rule can take
            over the pairs another leaves out, since the other rule's rows do not show which block they were in.
        """
        take_index(*self.rows, len(plan.rules), budget)
        keys_a, keys_b = ([part.blocks[rule.name] for rule in plan.rules] for part in self.rows)
        pairs = BlockKeyedPairs(keys_a, keys_b, self._a.starts, self._b.starts)
        for block in pairs.blocks_above(min(rule.limit for rule in plan.rules)):
            rule = plan.rules[block.rule]
            if block.pairs > rule.limit:
                raise TrystError(
                    ErrorCode.PARAMETER,
                    f"a block may have at most {rule.limit:,} pairs",
                    where=f"blocking.{rule.name}",
                    got=f"a block of {block.rows_a:,} by {block.rows_b:,} rows",
                    remedy="raise its limit, or name a field to split the rule by and contribute again",
                )
        return Source(pairs, tuple(Skew() for _ in plan.rules))

    def sample_tables(self, tables: dict[str, NDArray[np.int8]]) -> dict[str, NDArray[np.int8]]:
        """None: the samples have separate signatures."""
        return {}

    def sample_mark(self, pairs: BlockedPairs) -> Mark:
        """Marks no rule: it is not known which rules pairs of the samples satisfy."""
        return _no_rules

    def warnings(self) -> Iterator[ResultWarning]:
        """Records that may have no row under any rule: it is not known which rules' rows are one record."""
        for side, part in (("Alice", self._a), ("Bob", self._b)):
            fewest = part.n_records - max(part.rows_per_rule)
            if fewest > 0:
                number = f"Up to {fewest:,}"
                yield result_warning(
                    "records_without_key", number=number, side=side, total=part.n_records, unit="records"
                )


def check_pairs(n_pairs: int, n_a: int, n_b: int) -> None:
    """Refuse more pairs than the files' records have, which only dummies and decoys can cause.

    Raises
    ------
    TrystError
        PARAMETER.
    """
    if n_pairs > n_a * n_b:
        raise TrystError(
            ErrorCode.PARAMETER,
            f"with dummies and decoys in them the blocks have more pairs than the {n_a:,} by {n_b:,} records",
            where="padding",
            got=f"{n_pairs:,} pairs",
            remedy="pad less, block more finely or drop decoys; a linkage of so few records can do without blocking, in"
            " mode open",
        )


def _no_rules(row_a: NDArray[np.int32], row_b: NDArray[np.int32], n: int, mask: NDArray[np.uint32]) -> None:
    mask[:n] = 0
