"""The choice of comparison vectors whose pairs are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gemel.carole.engine.run.contribution import n_distinct, row_numbers
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.carole.engine.run.resources import mebibytes
from gemel.carole.engine.run.result import BestPossible, Duplicates, ScoredPairs
from gemel.carole.fellegi_sunter.model import Model
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import F64, I32, I64, U64, Flags, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import MISSING, SignatureSet

KEPT_PROBABILITY = 1e-4
"""Pairs of a smaller match probability are never kept."""

KEPT_WITH_VALUES = 1e-6
"""The same by agreement alone, where a resolver will see the values of the kept pairs and of no others: values may lift
them above the other."""

MAX_PAIRS, MAX_PAIRS_PER_RECORD, FEW_PAIRS = 5_000_000, 50, 100_000
"""More pairs than this, or than so many for each record of both files where they are not few, are kept only if they
reach the threshold of a link: nearly all are of strangers, and deciding about them costs more than they tell."""


@dataclass(frozen=True)
class Selection:
    patterns: I64
    n_pairs: int
    floor: float
    raised: bool


def choose_classes(
    weight: F64,
    probability: F64,
    count: Ints | F64,
    threshold: float,
    maximum: int,
    bytes_each: int,
    min_probability: float,
    n_records: int,
) -> Selection:
    """Choose the classes of pairs of highest weight that have at most `maximum` pairs.

    `threshold`: smallest probability of a link: such pairs must fit, or the decision would be wrong; `maximum`: pairs
    that memory allows; `bytes_each`: memory of a pair, for the error; `n_records`: of both files together. Classes of
    equal weight stay together, so that what is kept does not depend on an arbitrary order.
    """
    order = np.argsort(-weight, kind="stable")
    weight, probability = weight[order], probability[order]
    total = np.cumsum(count[order])
    n_links = int(np.searchsorted(-probability, -threshold, side="right"))
    for_links = int(total[n_links - 1]) if n_links else 0
    if for_links > maximum:
        need, left = mebibytes(for_links * bytes_each), mebibytes(maximum * bytes_each)
        what = f"the {for_links:,} pairs that reach the threshold need {need} of memory but {left} are left"
        remedy = "raise links.threshold, grant more memory, or check the model: it may treat blocks as matches"
        raise GemelError(ErrorCode.MEMORY, what, where="resources.memory_bytes", remedy=remedy)
    selected = int(np.searchsorted(-probability, -min_probability, side="right"))
    worth_deciding = min(MAX_PAIRS, max(FEW_PAIRS, MAX_PAIRS_PER_RECORD * n_records))
    limit = min(maximum, max(worth_deciding, for_links))
    fitting = int(np.searchsorted(total, limit, side="right"))
    chosen = min(selected, fitting)
    if chosen < selected:
        chosen = max(int(np.searchsorted(-weight, -weight[chosen], side="left")), n_links)
    return Selection(
        patterns=np.sort(order[:chosen]).astype(np.int64),
        n_pairs=int(total[chosen - 1]) if chosen else 0,
        floor=float(weight[chosen - 1]) if chosen else np.inf,
        raised=chosen < selected,
    )


STRONG = 0.5
"""Match probability, of a pair by itself, from which two records are strongly linked."""

CHANCE = 0.05
"""Largest share of the pairs of equal records that chance may explain where they are taken for copies."""


def equal_records(part: SignatureSet, plan: LinkagePlan, blocks: U64 | None = None) -> int:
    """Records that equal another of the same file in every compared field and lack none. O(rows * fields).

    `blocks` (uint64, shape (n_rows,)): records of two blocks are not equal.
    """
    codes = [part.fields[field.name].codes for field in plan.fields]
    present = np.logical_and.reduce([of_field != MISSING for of_field in codes])
    columns = [of_field[present] for of_field in codes]
    if blocks is not None:
        columns.append(np.unique(blocks[present], return_inverse=True)[1].astype(np.int32))
    counts = np.bincount(row_numbers(columns))
    return int(counts[counts > 1].sum())


def copies(part: SignatureSet, plan: LinkagePlan, model: Model) -> I32 | None:
    """First record of its file that equals each in every field, where chance does not explain that so many do.

    Records that equal each other may be one person twice, or two people whom the fields do not distinguish. What chance
    explains is known: of two people's records that have the same fields, the product of u at the highest levels agrees.
    Where that is at most `CHANCE` of the pairs of equal records, these are copies.

    Returns int32, shape (n_rows,); None if no record is a copy. Records are compared with those that lack the same
    fields. O(rows * fields).
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
    others = "many_to_one", "one_to_many"
    for side, one, other, several in zip(("Alice", "Bob"), found, others, plan.several, strict=True):
        if several:
            continue
        if one.equal:
            yield result_warning("equal_records", records=one.equal, side=side, assignment=chosen, other=other)
        if one.same_partner:
            yield result_warning("shared_partner", records=one.same_partner, side=side, assignment=chosen, other=other)


def _sharing(own: I32, other: I32) -> int:
    """Distinct rows of `own` whose partner in `other` has another partner."""
    return n_distinct(own[np.bincount(other)[other] > 1])


# Records with too little information to be linked, however well another agrees with them.
#
# A record compared with itself agrees on everything it has. If even that pair's match probability stays below the
# threshold, no other record can be linked to it: it lacks too many fields, or its values are too common.


@dataclass(frozen=True)
class FieldsPresent:
    """Sets of fields that records of a file lack: `missing`, shape (n_sets, n_fields), and how many records do.

    `constant`: positions of fields in which all records have one value, where that can be seen.
    """

    missing: Flags
    records: I64
    constant: tuple[int, ...] = ()


def fields_present(part: SignatureSet, plan: LinkagePlan) -> FieldsPresent:
    """Which fields the records of a file lack. O(rows * fields)."""
    missing = np.stack([part.fields[field.name].codes == MISSING for field in plan.fields], axis=1)
    _, first, records = np.unique(row_numbers(list(missing.T)), return_index=True, return_counts=True)
    constant = (q for q, field in enumerate(plan.fields) if _has_one_value(part.fields[field.name].codes))
    return FieldsPresent(missing[first], records.astype(np.int64), tuple(constant))


def _has_one_value(codes: I32) -> bool:
    there = codes[codes != MISSING]
    return len(there) > 1 and bool((there == there[0]).all())


def summed_fields_present(parts: Sequence[FieldsPresent]) -> FieldsPresent:
    """The same of several parts of a file together."""
    kinds, place = np.unique(np.concatenate([part.missing for part in parts]), axis=0, return_inverse=True)
    records = np.zeros(len(kinds), dtype=np.int64)
    np.add.at(records, place.ravel(), np.concatenate([part.records for part in parts]))
    return FieldsPresent(kinds, records)


def best_possible(
    lacking: tuple[FieldsPresent, FieldsPresent], plan: LinkagePlan, fitted: FittedScheme
) -> tuple[BestPossible, BestPossible]:
    """The highest match probability each record of A and of B could reach, by its agreement with an equal record.

    By fields, not by values: the model does not give a rare value more weight than a common one.
    """
    return _best_of_file(lacking[0], plan, fitted), _best_of_file(lacking[1], plan, fitted)


def _best_of_file(found: FieldsPresent, plan: LinkagePlan, fitted: FittedScheme) -> BestPossible:
    gamma = np.full((len(found.missing), len(plan.compared)), -1, dtype=np.int8)
    for q, field in enumerate(plan.fields):
        gamma[~found.missing[:, q], q] = len(field.bounds) - 1
    for q, places in zip(plan.swapped, plan.exchanged, strict=True):
        gamma[~found.missing[:, places].any(axis=1), q] = 0
    for q, name in zip(plan.presence, plan.present, strict=True):
        gamma[:, q] = ~found.missing[:, plan.position[name]]
    probability = fitted.match_probabilities(gamma)
    order = np.argsort(probability, kind="stable")
    return BestPossible(probability[order], found.records[order])
