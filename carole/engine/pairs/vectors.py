"""The comparison vectors of pairs of rows, packed into one number each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.comparison import FieldComparison
from gemel.carole.engine.pairs.preparation import crosswise
from gemel.carole.engine.run.packing import Packing
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.signatures.signature_sets import SignatureSet


class ComparisonVectors:
    """How the rows of two sets compare under a plan.

    Parameters
    ----------
    a, b : SignatureSet
    plan : LinkagePlan
    packing : Packing
        Of all comparisons of the plan.
    tables : dict of str to ndarray of int8
        Level tables of the fields that are looked up rather than compared.
    """

    def __init__(
        self,
        a: SignatureSet,
        b: SignatureSet,
        plan: LinkagePlan,
        packing: Packing,
        tables: dict[str, NDArray[np.int8]],
    ) -> None:
        self._fields = [
            FieldComparison(
                a.fields[field.name],
                b.fields[field.name],
                field.bounds,
                tables.get(field.name),
                field.comparator,
                field.randomised_response,
            )
            for field in plan.fields
        ]
        position = {field.name: q for q, field in enumerate(plan.fields)}
        exchanged = [(position[first], position[second]) for first, second in plan.swaps]
        present = [position[name] for name in plan.present]
        self._packing = packing
        self._exchanges = [
            (comparison, fields, packing.strides[q])
            for comparison, fields, q in zip(crosswise(a, b, plan), exchanged, plan.swapped, strict=True)
        ]
        self._presence = [
            (self._fields[field].missing, field, packing.strides[q])
            for field, q in zip(present, plan.presence, strict=True)
        ]

    def write(self, row_a: NDArray[np.int32], row_b: NDArray[np.int32], n: int, code: NDArray[np.int64]) -> None:
        """Write the packed vectors of the first `n` pairs of rows to `code`."""
        code[:n] = 0
        strides, n_levels = self._packing.strides, self._packing.n_levels
        for comparison, stride in zip(self._fields, strides, strict=False):
            comparison.add(row_a, row_b, n, stride, code)
        for missing, q, stride in self._presence:
            digit = code[:n] // strides[q] % (n_levels[q] + 1)
            code[:n] += stride * (digit < missing)
        for exchange, (first, second), stride in self._exchanges:
            straight = (strides[first], n_levels[first]), (strides[second], n_levels[second])
            exchange.add(row_a, row_b, n, stride, straight, code)
