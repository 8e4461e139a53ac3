"""Records that appear to be second records of a person in one file, as far as a linkage of two files shows them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.result import Duplicates, ScoredPairs
from gemel.carole.engine.run.row_numbers import n_distinct, row_numbers
from gemel.carole.fellegi_sunter import Model
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.signatures.signature_sets import MISSING, SignatureSet

STRONG = 0.5
"""Match probability, of a pair by itself, from which two records are strongly linked."""

CHANCE = 0.05
"""Largest share of the pairs of equal records that chance may explain where they are taken for copies."""

MANY_ALLOWED = {"none": ("Alice", "Bob"), "many_to_one": ("Alice",), "one_to_many": ("Bob",)}
"""Whose file may have several records of a person under an assignment."""


def equal_records(part: SignatureSet, plan: LinkagePlan, blocks: NDArray[np.uint64] | None = None) -> int:
    """Records that equal another of the same file in every compared field and lack none. O(rows * fields).

    Parameters
    ----------
    part : SignatureSet
    plan : LinkagePlan
    blocks : ndarray of uint64, shape (n_rows,)
        Records of two blocks are not equal.
    """
    codes = [part.fields[field.name].codes for field in plan.fields]
    present = np.logical_and.reduce([of_field != MISSING for of_field in codes])
    columns = [of_field[present] for of_field in codes]
    if blocks is not None:
        columns.append(np.unique(blocks[present], return_inverse=True)[1].astype(np.int32))
    counts = np.bincount(row_numbers(columns))
    return int(counts[counts > 1].sum())


def copies(part: SignatureSet, plan: LinkagePlan, model: Model) -> NDArray[np.int32] | None:
    """First record of its file that equals each in every field, where chance does not explain that so many do.

    Records that equal each other may be one person twice, or two people whom the fields do not distinguish. What chance
    explains is known: of two people's records that have the same fields, the product of u at the highest levels agrees.
    Where that is at most `CHANCE` of the pairs of equal records, these are copies.

    Parameters
    ----------
    part : SignatureSet
        Of a whole file.
    plan : LinkagePlan
    model : Model
        Its u is used.

    Returns
    -------
    ndarray of int32, shape (n_rows,)
        None if no record is a copy.

    Notes
    -----
    Records are compared with those that lack the same fields. O(rows * fields).
    """
    codes = np.stack([part.fields[field.name].codes for field in plan.fields], axis=1)
    group = row_numbers(list(codes.T))
    _, start, size = np.unique(group, return_index=True, return_counts=True)
    lacking, kind = np.unique(codes[start] == MISSING, axis=0, return_inverse=True)
    rows = np.bincount(kind.ravel(), size)
    equal = np.bincount(kind.ravel(), size * (size - 1) / 2)
    top = np.array([model.u[q, model.fields[q].n_levels - 1] for q in range(len(plan.fields))])
    by_chance = rows * (rows - 1) / 2 * np.where(lacking, 1.0, top).prod(axis=1)
    distinguished = by_chance <= CHANCE * equal
    same = (size > 1) & distinguished[kind.ravel()]
    if not same.any():
        return None
    each = np.arange(part.n_rows)
    return np.where(same[group], start[group], each).astype(np.int32)


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
    """Warnings about duplicates where a record should have one match at most, with the assignment for them."""
    chosen = plan.assignment
    if chosen == "clusters":
        return
    for side, one, other in zip(("Alice", "Bob"), found, ("many_to_one", "one_to_many"), strict=True):
        if side in MANY_ALLOWED.get(chosen, ()):
            continue
        if one.equal:
            yield result_warning("equal_records", records=one.equal, side=side, assignment=chosen, other=other)
        if one.same_partner:
            yield result_warning("shared_partner", records=one.same_partner, side=side, assignment=chosen, other=other)


def _sharing(own: NDArray[np.int32], other: NDArray[np.int32]) -> int:
    """Distinct rows of `own` whose partner in `other` has another partner."""
    return n_distinct(own[np.bincount(other)[other] > 1])
