"""What Carole reads of a run of mode shared: vectors of pairs without their order, and which values are missing."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np

from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.run.contribution import Packing
from gemel.carole.engine.run.plan import LinkagePlan
from gemel.common.arrays import I8, I64, U32, U64, Flags
from gemel.shared.gates.output_bits import Opened


@dataclass(frozen=True)
class OpenedPairs:
    """The candidate pairs that count, each by the first rule that it satisfies.

    `code`, `mask`: packed comparison vector and rules of each; `place`, ascending: where it is in the order that no
    party knows; `n_places`: pairs of all rules, those that satisfy several counted several times.
    """

    code: I64 = dataclass_field(repr=False)
    mask: U32 = dataclass_field(repr=False)
    place: I64 = dataclass_field(repr=False)
    n_places: int


@dataclass(frozen=True)
class OpenedRun:
    """All that was opened to Carole before she names pairs.

    `random`: pairs of the samples' rows, whose straight levels are all there, whether values are exchanged or not;
    `sample_values`, bool, shape (n_rows, n_fields): which values the rows of Alice's and of Bob's samples have;
    `lacking`: of A and of B: which fields the rows of the largest rule lack.
    """

    pairs: OpenedPairs
    random: Opened = dataclass_field(repr=False)
    sample_values: tuple[Flags, Flags] = dataclass_field(repr=False)
    lacking: tuple[FieldsPresent, FieldsPresent]


def packed_vectors(opened: Opened, plan: LinkagePlan, packing: Packing) -> I64:
    """The packed comparison vectors of opened pairs: int64, shape (n,).

    Of fields whose values are exchanged the straight levels are missing, whether they were opened or not.
    """
    n_fields = len(plan.fields)
    straight = without_exchanged(opened, plan)
    code = np.zeros(len(straight), dtype=np.int64)
    for q in range(n_fields):
        code += packing.strides[q] * _digit(straight[:, q], packing.n_levels[q])
    for each, q in enumerate(plan.swapped):
        code += packing.strides[q] * _digit(opened.exchange[:, each], packing.n_levels[q])
    for name, q in zip(plan.present, plan.presence, strict=True):
        code += packing.strides[q] * opened.present[:, plan.position[name]].astype(np.int64)
    return code


def without_exchanged(opened: Opened, plan: LinkagePlan) -> I8:
    """The fields' levels, missing where the values of two are exchanged; int8, shape (n, n_fields)."""
    straight = opened.level.copy()
    for each, places in enumerate(plan.exchanged):
        exchanged = opened.exchange[:, each] > 0
        for q in places:
            straight[exchanged, q] = -1
    return straight


def opened_pairs(parts: list[tuple[int, Opened]], n_places: int, plan: LinkagePlan, packing: Packing) -> OpenedPairs:
    """The candidate pairs from stretches of what was opened, each with its first place."""
    code, mask, place = [np.empty(0, np.int64)], [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    for begin, opened in parts:
        counted = np.flatnonzero(opened.counted)
        code.append(packed_vectors(opened, plan, packing)[counted])
        mask.append(opened.mask[counted])
        place.append(begin + counted)
    return OpenedPairs(np.concatenate(code), np.concatenate(mask), np.concatenate(place), n_places)


def lacking_fields(values: Flags) -> FieldsPresent:
    """Which sets of fields rows lack, and how many rows, from which values each has; shape (n_rows, n_fields)."""
    kinds, records = np.unique(~values, axis=0, return_counts=True)
    return FieldsPresent(kinds, records.astype(np.int64))


def agreement_of(words: U64) -> I8:
    """Agreement in the check field from its opened word, of each pair: 1, 0, or -1 where a record lacks it."""
    there, agrees = words & np.uint64(1), words >> np.uint64(1) & np.uint64(1)
    return np.where(there == 1, agrees.astype(np.int8), np.int8(-1))


def _digit(level: I8, n_levels: int) -> I64:
    return np.where(level < 0, n_levels, level).astype(np.int64)


LEVELS = "levels of candidate pairs"
"""Of each pair whether it counts, and then its rules, presence and levels; in an order that no party knows."""
CHANCE = "levels of random pairs"
"""The same of pairs of the samples' rows, without rules."""
VALUES_OF_SAMPLES = "presence of values in samples"
"""Of each row of a side's samples, which fields have a value; in an order that no party knows."""
VALUES_OF_ROWS = "presence of values in rows"
"""Of each row of a side's largest rule, which fields have a value; in an order that no party knows."""
AGREEMENT = "agreement in the check field"
"""Of the pairs that Carole has named by their places."""
