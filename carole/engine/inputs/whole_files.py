"""Contributions of whole files as input of a run: a row is a record, and every row of a file is present."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.carole.engine.inputs.values import check_variables
from gemel.carole.engine.pairs.linkage_input import BothSets
from gemel.carole.engine.pairs.preparation import check
from gemel.carole.engine.pairs.sample_groups import Samples
from gemel.carole.engine.pairs.sources import pair_source
from gemel.carole.engine.pairs.whole_pairs import WholePairs, take_input
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.run_context import RunContext
from gemel.common.documents.result_warning import ResultWarning
from gemel.common.progress import StageProgress
from gemel.common.signatures.signature_sets import SignatureSet


class WholeFiles:
    """The `LinkageInput` of modes open and trusted."""

    within: bool = False
    sides: tuple[str, ...] = ("Alice", "Bob")

    def __init__(self, a: SignatureSet, b: SignatureSet) -> None:
        self.rows: BothSets = a, b
        self.n_records = a.n_rows, b.n_rows
        self.distinct_records: BothSets = self.rows

    def check(self, plan: LinkagePlan) -> None:
        """Raise `GemelError` unless both sets hold what the plan needs."""
        check(*self.rows, plan)
        if plan.latent is not None:
            check_variables(*self.rows, plan.latent)

    def pairs(self, context: RunContext, progress: StageProgress) -> WholePairs:
        """All pairs, or those of the rules; MEMORY where rows, index or tables do not fit."""
        take_input(context, self.rows, self.distinct_records)
        source = pair_source(*self.rows, context.plan, context.budget, lambda done: progress(0.5 * done))
        records = Samples(self.distinct_records, self.n_records, within=self.within)
        return WholePairs(self.rows, source, records, context, lambda done: progress(0.5 + 0.5 * done))

    def warnings(self) -> Iterator[ResultWarning]:
        """None."""
        yield from ()
