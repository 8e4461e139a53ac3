"""Agreement in the check field: of the kept pairs, and of random pairs of records.

The check field is compared, equal or not, but is no part of the comparison vectors that the model is fitted to. In mode
block_keyed the agreement of the kept pairs goes to the resolver with their levels of the other fields.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.comparison import FieldComparison, level_distribution
from gemel.carole.engine.pairs.preparation import EXACT_CELLS, SAMPLE_PAIRS
from gemel.carole.engine.pairs.sample_groups import Samples, field_levels, pairs_in_groups
from gemel.carole.engine.run.plan_parts import FieldPlan
from gemel.common.signatures.signature_sets import SignatureSet


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


def agreement(
    a: SignatureSet, b: SignatureSet, field: FieldPlan, row_a: NDArray[np.int32], row_b: NDArray[np.int32]
) -> NDArray[np.int8]:
    """Which pairs of rows agree in the check field: int8, shape (n_pairs,), as `CheckAgreement.agrees`."""
    in_a, in_b = a.fields[field.name], b.fields[field.name]
    compared = FieldComparison(in_a, in_b, field.bounds, None, field.comparator, field.randomised_response)
    level = np.zeros(len(row_a), dtype=np.int64)
    compared.add(row_a, row_b, len(level), 1, level)
    return np.where(level == compared.missing, -1, level == compared.n_levels - 1).astype(np.int8)


def strangers(samples: Samples, field: FieldPlan, pool: Executor, seed: int) -> float:
    """The share of all pairs of records with the check field, or of a sample of them, that agree in it.

    Parameters
    ----------
    samples : Samples
    field : FieldPlan
        The check field.
    pool : Executor
        Compares distinct values.
    seed : int
        Of the sample, where there is one.
    """
    if samples.groups > 1:
        of_all = field_levels(samples.rows, field, pairs_in_groups(samples.rows, samples.groups))
    else:
        sample_a, sample_b = (part.fields[field.name] for part in samples.rows)
        of_all = level_distribution(
            sample_a, sample_b, field.bounds, pool, np.random.default_rng(seed),
            exact_limit=EXACT_CELLS, sample=SAMPLE_PAIRS,
            comparator=field.comparator, randomised_response=field.randomised_response,
        )  # fmt: skip
    total = float(of_all.sum())
    return float(of_all[-1]) / total if total else 0.0
