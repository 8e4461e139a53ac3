"""The result of comparing two files: what the second half of a run, `conclusion`, knows of them."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.arrays import F64, I32, I64
from gemel.carole.engine.pairs.check_agreement import CheckAgreement
from gemel.carole.engine.pairs.selection import MANY_ALLOWED, FieldsPresent
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.fellegi_sunter.dependence.diagnosis import OutsideBlocks
from gemel.carole.fellegi_sunter.link_posterior import Copies, LinkPosterior
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.documents.result_warning import ResultWarning


@dataclass(frozen=True)
class Candidates:
    """The result of comparing two files.

    Attributes
    ----------
    levels
        Pairs by field and level over all pairs of records, shape (n_fields, maximum of levels); None without
        blocking.
    outside_blocks
        Pairs that blocking left out, where fields may depend on each other.
    pattern
        int32, shape (n_kept,): row of `patterns` of each kept pair.
    selected
        int64: rows of `patterns` whose pairs were kept.
    missing
        Per field the share of records of A and of B without a value.
    peak_bytes
        Largest memory reserved at any time.
    rarity
        float64, shape (n_kept,): what the rarity of the values that its records share adds to each kept pair's weight,
        in bits; None where no field has this option.
    copies
        Of A and of B: of each record the first of its file that is known to be the same person; None: there are none,
        or rows are not known to be records.
    checked
        Agreement in the check field, where there is one.
    within
        Whether the files are one, compared with itself.
    threads
        On which the rest of the run is worked out; the result is the same.
    """

    n_a: int
    n_b: int
    patterns: PatternCounts = dataclass_field(repr=False)
    levels: F64 | None = dataclass_field(repr=False)
    outside_blocks: OutsideBlocks | None = dataclass_field(repr=False)
    pattern: I32 = dataclass_field(repr=False)
    selected: I64 = dataclass_field(repr=False)
    lacking: tuple[FieldsPresent, FieldsPresent]
    equal: tuple[int, int]
    missing: dict[str, tuple[float, float]]
    warnings: tuple[ResultWarning, ...]
    seconds: dict[str, float]
    peak_bytes: int
    rarity: F64 | None = dataclass_field(default=None, repr=False)
    copies: Copies = dataclass_field(default=(None, None), repr=False)
    checked: CheckAgreement | None = None
    within: bool = False
    threads: int = 1

    def counted(self, plan: LinkagePlan) -> Copies:
        """The copies that count as one under the plan: in a file that may have several links of a record none do."""
        allowed = MANY_ALLOWED.get(plan.assignment, ())
        copies_a, copies_b = self.copies
        return None if "Alice" in allowed else copies_a, None if "Bob" in allowed else copies_b

    def posterior(self, row_a: I32, row_b: I32, plan: LinkagePlan) -> LinkPosterior:
        copies = self.counted(plan)
        return LinkPosterior(
            plan.assignment,
            row_a,
            row_b,
            self.n_a,
            self.n_b,
            copies,
            self.within,
            plan.expected_matches,
            threads=self.threads,
        )


def candidates_per_rule(patterns: PatternCounts, plan: LinkagePlan) -> dict[str, int]:
    """Pairs that satisfy each rule, each pair once."""
    return {
        rule.name: int(patterns.count[(patterns.mask >> np.uint32(r)) & np.uint32(1) == 1].sum())
        for r, rule in enumerate(plan.rules)
    }
