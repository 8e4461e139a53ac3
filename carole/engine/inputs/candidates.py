"""The result of comparing two files: what the second half of a run, `conclusion`, knows of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter.kinds.joint_model import OutsideBlocks
from gemel.carole.fellegi_sunter.link_posterior import Copies, LinkPosterior
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.arrays import F64, I32, I64
from gemel.common.documents.result_warning import ResultWarning


@dataclass(frozen=True, repr=False)
class Candidates:
    """The result of comparing two files; arrays of kept pairs have the shape (n_kept,).

    `levels`: pairs by field and level over all pairs of records, shape (n_fields, maximum of levels); None without
    blocking; `outside_blocks`: pairs that blocking left out, where fields may depend on each other; `pattern`: int32,
    row of `patterns` of each kept pair; `selected`: int64, rows of `patterns` whose pairs were kept; `missing`: per
    field the share of records of A and of B without a value; `peak_bytes`: largest memory reserved at any time;
    `rarity`: float64, what the rarity of the values that its records share adds to each kept pair's weight, in bits;
    `copies`: of A and of B, of each record the first of its file that is known to be the same person; None: there are
    none, or rows are not known to be records; `within`: whether the files are one, compared with itself; `threads`: on
    which the rest of the run is worked out; the result is the same.
    """

    n_a: int
    n_b: int
    patterns: PatternCounts
    levels: F64 | None
    outside_blocks: OutsideBlocks | None
    pattern: I32
    selected: I64
    lacking: tuple[FieldsPresent, FieldsPresent]
    equal: tuple[int, int]
    missing: dict[str, tuple[float, float]]
    warnings: tuple[ResultWarning, ...]
    seconds: dict[str, float]
    peak_bytes: int
    rarity: F64 | None = None
    copies: Copies = (None, None)
    checked: CheckAgreement | None = None
    within: bool = False
    threads: int = 1

    def counted(self, plan: LinkagePlan) -> Copies:
        """The copies that count as one under the plan: in a file that may have several links of a record none do."""
        (copies_a, copies_b), (several_a, several_b) = self.copies, plan.several
        return None if several_a else copies_a, None if several_b else copies_b

    def posterior(self, row_a: I32, row_b: I32, plan: LinkagePlan) -> LinkPosterior:
        copies, expected = self.counted(plan), plan.expected_matches
        n_a, n_b, threads = self.n_a, self.n_b, self.threads
        return LinkPosterior(plan.assignment, row_a, row_b, n_a, n_b, copies, expected, threads=threads)


def candidates_per_rule(patterns: PatternCounts, plan: LinkagePlan) -> dict[str, int]:
    """Pairs that satisfy each rule, each pair once."""
    return {
        rule.name: int(patterns.count[(patterns.mask >> np.uint32(r)) & np.uint32(1) == 1].sum())
        for r, rule in enumerate(plan.rules)
    }
