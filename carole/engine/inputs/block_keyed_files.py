"""Contributions of block-keyed mode as input of a run: a record has a separate row under each rule."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.carole.engine.pairs.linkage_input import BothSets
from gemel.carole.engine.pairs.preparation import check_fields
from gemel.carole.engine.pairs.run_warnings import without_key_warnings
from gemel.carole.engine.pairs.sample_groups import Samples
from gemel.carole.engine.pairs.sharded_pairs import ShardedPairs
from gemel.carole.engine.pairs.whole_pairs import take_input
from gemel.carole.engine.run.contribution import Contribution
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.run_context import RunContext
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.errors import parameter
from gemel.common.progress import StageProgress
from gemel.common.signatures.layout import GROUPS


class BlockKeyedFiles:
    """The `LinkageInput` of mode block_keyed."""

    within: bool = False
    sides: tuple[str, ...] = ("Alice", "Bob")

    def __init__(self, a: Contribution, b: Contribution) -> None:
        self._a, self._b = a, b
        self.n_records = a.n_records, b.n_records

    def check(self, plan: LinkagePlan) -> None:
        """Raise `GemelError` unless both hold what the plan needs.

        PARAMETER for a plan that needs values counted across a file.
        """
        for side, part in (("alice", self._a), ("bob", self._b)):
            check_fields(side, sum(of_set.rows for of_set in part.sets), part.sets[0], plan)
        if any(field.value_frequencies for field in plan.fields):
            raise parameter(
                "fields.value_frequencies",
                "values cannot be counted across a file when each block has its own keys",
                remedy="remove it, or link in mode open",
            )

    def pairs(self, context: RunContext, progress: StageProgress) -> ShardedPairs:
        """The pairs within the blocks of each rule."""
        samples: BothSets = self._a.sample, self._b.sample
        take_input(context, samples)
        of_files = Samples(samples, self.n_records, GROUPS)
        return ShardedPairs(self._a, self._b, of_files, context, progress)

    def warnings(self) -> Iterator[ResultWarning]:
        """Records that may have no row under any rule: it is not known which rules' rows are one record."""
        for side, part in zip(self.sides, (self._a, self._b), strict=True):
            yield from without_key_warnings(side, part.n_records, max(part.rows_per_rule.values()))
