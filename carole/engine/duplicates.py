"""Records that appear to be second records of a person in one file, as far as a linkage of two files shows them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tryst.carole.engine.plan import LinkagePlan
from tryst.carole.engine.result import Duplicates, ScoredPairs
from tryst.common.documents.result_warning import ResultWarning, result_warning
from tryst.common.encoding.signature_sets import MISSING, SignatureSet

STRONG = 0.5
"""Match probability, of a pair by itself, from which two records are strongly linked."""

MANY_ALLOWED = {"none": ("Alice", "Bob"), "many_to_one": ("Alice",), "one_to_many": ("Bob",)}
"""Whose file may have several records of a person under an assignment."""


def equal_records(part: SignatureSet, plan: LinkagePlan) -> int:
    """Records that equal another of the same file in every compared field and lack none. O(rows * fields)."""
    codes = np.stack([part.fields[field.name].codes for field in plan.fields], axis=1)
    whole = np.ascontiguousarray(codes[(codes != MISSING).all(axis=1)])
    _, counts = np.unique(whole, axis=0, return_counts=True)
    return int(counts[counts > 1].sum())


def duplicates(equal: tuple[int, int], pairs: ScoredPairs) -> tuple[Duplicates, Duplicates]:
    """Duplicates within A and within B, as far as the comparison of the two files shows them.

    Parameters
    ----------
    equal : pair of int
        `equal_records` of each file.
    pairs : ScoredPairs

    Notes
    -----
    Nothing inside a file is compared but for equality: duplicates that differ, of people whom the other file does not
    have, are not seen. O(pairs).
    """
    strong = pairs.match_probability >= STRONG
    row_a, row_b = pairs.row_a[strong], pairs.row_b[strong]
    return Duplicates(equal[0], _sharing(row_a, row_b)), Duplicates(equal[1], _sharing(row_b, row_a))


def duplicate_warnings(found: tuple[Duplicates, Duplicates], plan: LinkagePlan) -> Iterator[ResultWarning]:
    """Warnings about duplicates where a record should have one match at most."""
    for side, one in zip(("Alice", "Bob"), found, strict=True):
        if side in MANY_ALLOWED.get(plan.assignment, ()):
            continue
        if one.equal:
            yield result_warning("equal_records", records=one.equal, side=side)
        if one.same_partner:
            yield result_warning("shared_partner", records=one.same_partner, side=side)


def _sharing(own: NDArray[np.int32], other: NDArray[np.int32]) -> int:
    """Distinct rows of `own` whose partner in `other` has another partner."""
    _, place, partners = np.unique(other, return_inverse=True, return_counts=True)
    return len(np.unique(own[partners[place] > 1]))
