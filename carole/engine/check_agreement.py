"""Agreement in the check field: of the kept pairs, and of random pairs of records.

The check field is compared, equal or not, but is no part of the comparison vectors that the model is fitted to. In mode
block_keyed the agreement of the kept pairs goes to the resolver with their levels of the other fields.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from tryst.carole.comparison import FieldComparison, level_distribution
from tryst.carole.engine.linkage_input import LinkageInput
from tryst.carole.engine.plan_parts import FieldPlan
from tryst.carole.engine.preparation import EXACT_CELLS, SAMPLE_PAIRS
from tryst.carole.engine.sample_groups import field_levels, pairs_in_groups
from tryst.carole.engine.stream import KeptPairs


@dataclass(frozen=True)
class CheckAgreement:
    """Which pairs agree in the check field.

    Attributes
    ----------
    agrees
        int8, shape (n_kept,): 1 or 0 of each kept pair, -1 where a record lacks the field.
    strangers
        Share of all pairs of records with the field that agree; 0 if there is none.
    """

    agrees: NDArray[np.int8] = dataclass_field(repr=False)
    strangers: float

    def rows(self, selected: NDArray[np.bool_] | NDArray[np.int64]) -> CheckAgreement:
        """The same of some of the kept pairs."""
        return replace(self, agrees=self.agrees[selected])


def check_agreement(
    files: LinkageInput, field: FieldPlan, kept: KeptPairs, pool: ThreadPoolExecutor, seed: int
) -> CheckAgreement:
    """Compare the kept pairs, and all pairs of records or a sample of them, in the check field.

    Parameters
    ----------
    files : LinkageInput
    field : FieldPlan
        The check field.
    kept : KeptPairs
    pool : ThreadPoolExecutor
        Compares distinct values.
    seed : int
        Of the sample, where there is one.
    """
    a, b = (part.fields[field.name] for part in files.rows)
    compared = FieldComparison(a, b, field.bounds, None, field.comparator, field.randomised_response)
    level = np.zeros(len(kept.row_a), dtype=np.int64)
    compared.add(kept.row_a, kept.row_b, len(level), 1, level)
    agrees = np.where(level == compared.missing, -1, level == compared.n_levels - 1).astype(np.int8)
    if files.sample_groups > 1:
        of_all = field_levels(files.samples, field, pairs_in_groups(files.samples, files.sample_groups))
    else:
        sample_a, sample_b = (part.fields[field.name] for part in files.samples)
        of_all = level_distribution(
            sample_a, sample_b, field.bounds, pool, np.random.default_rng(seed),
            exact_limit=EXACT_CELLS, sample=SAMPLE_PAIRS,
            comparator=field.comparator, randomised_response=field.randomised_response,
        )  # fmt: skip
    total = float(of_all.sum())
    return CheckAgreement(agrees, float(of_all[-1]) / total if total else 0.0)
