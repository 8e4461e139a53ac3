"""Records with too little information to be linked, however well another agrees with them.

A record compared with itself agrees on everything it has. If even that pair's match probability stays below the
threshold, no other record can be linked to it: it lacks too many fields, or its values are too common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import BestPossible
from gemel.carole.engine.run.row_numbers import row_numbers
from gemel.carole.fellegi_sunter import FittedScheme
from gemel.common.signatures.signature_sets import MISSING, SignatureSet


@dataclass(frozen=True)
class FieldsPresent:
    """Sets of fields that records of a file lack: `missing`, shape (n_sets, n_fields), and how many records do."""

    missing: NDArray[np.bool_]
    records: NDArray[np.int64]


def fields_present(part: SignatureSet, plan: LinkagePlan) -> FieldsPresent:
    """Which fields the records of a file lack. O(rows * fields)."""
    missing = np.stack([part.fields[field.name].codes == MISSING for field in plan.fields], axis=1)
    _, first, records = np.unique(row_numbers(list(missing.T)), return_index=True, return_counts=True)
    return FieldsPresent(missing[first], records.astype(np.int64))


def summed_fields_present(parts: Sequence[FieldsPresent]) -> FieldsPresent:
    """The same of several parts of a file together."""
    kinds, place = np.unique(np.concatenate([part.missing for part in parts]), axis=0, return_inverse=True)
    records = np.zeros(len(kinds), dtype=np.int64)
    np.add.at(records, place.ravel(), np.concatenate([part.records for part in parts]))
    return FieldsPresent(kinds, records)


def best_possible(found: FieldsPresent, plan: LinkagePlan, fitted: FittedScheme) -> BestPossible:
    """The highest match probability each record of a file could reach, by its agreement with an equal record.

    Notes
    -----
    By fields, not by values: the model does not give a rare value more weight than a common one.
    """
    gamma = np.full((len(found.missing), len(plan.compared)), -1, dtype=np.int8)
    position = {}
    for q, field in enumerate(plan.fields):
        position[field.name] = q
        gamma[~found.missing[:, q], q] = len(field.bounds) - 1
    for q, swap in zip(plan.swapped, plan.swaps, strict=True):
        gamma[~found.missing[:, [position[name] for name in swap]].any(axis=1), q] = 0
    for q, name in zip(plan.presence, plan.present, strict=True):
        gamma[:, q] = ~found.missing[:, position[name]]
    probability = fitted.match_probabilities(gamma)
    order = np.argsort(probability, kind="stable")
    return BestPossible(probability[order], found.records[order])
