r"""Near-copies within one custodian's file: many rows that a linkage would take for one person, all slightly different.

Whoever wants to know an attribute of a person in the other file contributes the person many times, with another value
of the attribute each time, and looks at which of these is linked. No honest file looks so: a person who is in a file
twice by mistake is there twice, and now and then three times; twins are two; the members of a household differ in given
name and in date of birth, namesakes in nearly everything else. So rows count that have `PARTNERS` near-copies or more.

Two rows are near-copies if they differ clearly in one compared field at most, or in two of which none is personal; if
they do not lack the personal fields by which kin would differ; and if what they agree on is too much for chance. A
field differs clearly below a similarity of `ALIKE`, so that misspelling every copy hides nothing. The evidence is
:math:`\sum -\log_2 c_q` over the fields that do not, :math:`c_q` being the share of random pairs that agree in the
field as well or better, less `DISAGREEMENT` bits for each that differs; it must exceed :math:`\log_2 n` by `MARGIN`, so
that few of `n` rows have one such partner by chance, and next to none has `PARTNERS`. Where all fields together have
less evidence nothing can be counted.

Equal rows count once: a record sent many times over shows its sender no more than one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gemel.carole.engine.pairs.preparation import pairs_in_groups
from gemel.carole.engine.pairs.stream import ComparisonVectors
from gemel.carole.engine.run.contribution import Contribution, row_numbers
from gemel.carole.engine.run.plan import FieldPlan, LinkagePlan
from gemel.common.arrays import F64, I8, I32, I64, U64, Flags
from gemel.common.signatures.layout import GROUPS
from gemel.common.signatures.signature_sets import MISSING, NO_KEY, SignatureSet

PARTNERS = 4
"""Near-copies of a row from which it counts: with it they are five."""

ALIKE = 0.4
"""Similarity above which two values may be one with errors, by the level that it falls into."""

DISAGREEMENT = 4.0
"""Bits by which a clear difference speaks against one person: one in sixteen records of a person has an error there."""

MARGIN = 3.0
"""Bits beyond those of the file's size: by chance one row in eight then has a partner, and one in 100,000 has four."""

PAIRS = 1 << 22
"""Pairs compared under one blocking rule; with more, a random sample of rows is compared with all of their blocks."""

CHANCE_PAIRS = 1 << 17
"""Random pairs from which it is estimated how often values are alike by chance."""

GROUPINGS = 3
"""Fields by whose equal values rows are brought together where no blocking rule has keys."""

_PART = 1 << 17


@dataclass(frozen=True)
class NearCopies:
    """Near-copies in one file, under the blocking rule that shows most.

    `rows`: estimated number of rows with `PARTNERS` near-copies or more, with its `standard_error`, 0 where all rows
    were compared; `compared`: rows that were compared with all of their block; `distinguishing`: whether the compared
    fields distinguish people well enough for anything to be counted, and no dummies hide it.
    """

    records: int
    rows: float
    compared: int
    standard_error: float
    distinguishing: bool

    @property
    def share(self) -> float:
        return min(1.0, self.rows / self.records) if self.records else 0.0


def near_copies(
    files: tuple[SignatureSet, SignatureSet] | tuple[Contribution, Contribution],
    plan: LinkagePlan,
    *,
    padded: bool = False,
) -> tuple[NearCopies, NearCopies]:
    """Count the near-copies in each of two files.

    `files`: Alice's and Bob's: whole files without their decoys, or in mode block_keyed the rows of all rules;
    `padded`: whether blocks have dummies, which repeat values of their blocks: nothing can then be counted. At most
    `PAIRS` comparisons of rows for each file and rule, and never more than pairs within blocks. Of mode block_keyed one
    set is in memory at a time, and has its share of the comparisons. Whole files without keyed rules are grouped by the
    values of `GROUPINGS` fields instead. Where rows are sampled (with a seed that follows from the plan) the share p of
    k compared rows has the standard error sqrt(p (1 - p) / k), with (hits + 1) / (k + 2) for p.
    """
    if padded:
        unseen = [NearCopies(_n_records(part), 0.0, 0, 0.0, distinguishing=False) for part in files]
        return unseen[0], unseen[1]
    rng = np.random.default_rng(plan.seed)
    in_a, in_b = (part.sample if isinstance(part, Contribution) else part for part in files)
    evidence = Evidence(plan, _chance((in_a, in_b), GROUPS if isinstance(files[0], Contribution) else 1, plan, rng))
    a, b = (_Count(part, plan, evidence, rng).total() for part in files)
    return a, b


def _n_records(file: SignatureSet | Contribution) -> int:
    return file.n_rows if isinstance(file, SignatureSet) else file.n_records


class Evidence:
    """What two rows' levels say: whether they are near-copies, in a file of a given size.

    `bits` (list of float64, shape (n_levels,)): by field, how rarely random pairs reach each level.
    """

    def __init__(self, plan: LinkagePlan, bits: list[F64]) -> None:
        self._first_alike = np.array([first_alike(field) for field in plan.fields], dtype=np.int8)
        self._personal = np.array([field.personal for field in plan.fields], dtype=np.bool_)
        self._bits = bits
        self.maximum = np.array([of_field[-1] for of_field in bits])

    def distinguishing(self, n_rows: int) -> bool:
        """Whether any two rows could be near-copies: equal in all fields but the one that says least."""
        return bool(self.maximum.sum() - self.maximum.min() - DISAGREEMENT >= self._needed(n_rows))

    def near(self, gamma: I8, n_rows: int) -> Flags:
        """Which comparison vectors, shape (n, n_fields), are those of near-copies."""
        missing = gamma < 0
        alike = (gamma >= self._first_alike) & ~missing
        differs = ~alike & ~missing
        clear = differs.sum(axis=1)
        few = (clear <= 1) | ((clear == 2) & ~differs[:, self._personal].any(axis=1))
        if self._personal.any():
            # Kin without dates of birth differ in the given name alone.
            few &= alike[:, self._personal].any(axis=1) | (differs[:, self._personal].any(axis=1) & (clear == 1))
        weight = -DISAGREEMENT * clear
        for q, of_field in enumerate(self._bits):
            weight += np.where(alike[:, q], of_field[gamma[:, q]], 0.0)
        return np.asarray(few & (weight >= self._needed(n_rows)))

    @staticmethod
    def _needed(n_rows: int) -> float:
        return math.log2(max(2, n_rows)) + MARGIN


def first_alike(field: FieldPlan) -> int:
    """The lowest level of a field whose values may be one with errors: its lower bound is `ALIKE` at least."""
    lower = (0.0, *field.bounds[:-1])
    return next((level for level, bound in enumerate(lower) if bound >= ALIKE), len(lower) - 1)


def _chance(
    samples: tuple[SignatureSet, SignatureSet], groups: int, plan: LinkagePlan, rng: np.random.Generator
) -> list[F64]:
    """By field, the bits of evidence of each level: how rarely random pairs of the two files reach it."""
    if groups > 1:
        row_a, row_b = pairs_in_groups(samples[0].n_rows, samples[1].n_rows, groups)
    else:
        n = min(CHANCE_PAIRS, samples[0].n_rows * samples[1].n_rows)
        row_a, row_b = (rng.integers(0, part.n_rows, n).astype(np.int32) for part in samples)
    bits = []
    gamma, place = ComparisonVectors(*samples, plan).distinct(row_a, row_b)
    for q, field in enumerate(plan.fields):
        level = gamma[place, q][gamma[place, q] >= 0]
        reached = np.cumsum(np.bincount(level, minlength=len(field.bounds))[::-1])[::-1]
        # One pair more: what no random pair shows is as rare as the sample can show.
        bits.append(-np.log2((reached + 1) / (len(level) + 1)))
    return bits


class _Count:
    """The count of near-copies in one file."""

    def __init__(
        self, file: SignatureSet | Contribution, plan: LinkagePlan, evidence: Evidence, rng: np.random.Generator
    ) -> None:
        self._file, self._plan, self._evidence, self._rng = file, plan, evidence, rng
        self._records = _n_records(file)

    def total(self) -> NearCopies:
        file = self._file
        nothing = NearCopies(self._records, 0.0, 0, 0.0, self._evidence.distinguishing(self._records))
        if not nothing.distinguishing:
            return nothing
        if isinstance(file, SignatureSet):
            equal = row_numbers(self._codes(file))
            found = [self._within_blocks(file, equal, rows, keys, PAIRS) for rows, keys in self._groupings(file)]
        else:
            found = [self._of_rule(file, rule.name) for rule in self._plan.rules]
        return max(found, key=lambda one: (one.rows, one.compared), default=nothing)

    def _codes(self, part: SignatureSet) -> list[I32]:
        return [part.fields[field.name].codes for field in self._plan.fields]

    def _of_rule(self, file: Contribution, rule: str) -> NearCopies:
        """Near-copies in the blocks of a rule: the sum over its sets, each of which has its share of `PAIRS`."""
        numbers = file.sets_of(rule)
        found = []
        for number in numbers:
            part = file.reference(number).read()
            keys = part.blocks[rule]
            # Codes of a field that the rule fixes are the same in all blocks, whose values are not.
            equal = row_numbers([*self._codes(part), np.unique(keys, return_inverse=True)[1]])
            rows = np.arange(part.n_rows)
            found.append(self._within_blocks(part, equal, rows, keys, PAIRS // len(numbers)))
        error = math.hypot(*(one.standard_error for one in found))
        rows_found, compared = sum(one.rows for one in found), sum(one.compared for one in found)
        return NearCopies(self._records, rows_found, compared, error, distinguishing=True)

    def _groupings(self, file: SignatureSet) -> Iterator[tuple[I64, U64]]:
        """Rows that are compared with each other: numbers of rows that have a key, and their keys."""
        keyed = [rule.name for rule in self._plan.rules if rule.formed is None]
        every = np.arange(file.n_rows)
        for name in keyed:
            keys = file.blocks[name]
            yield every[keys != NO_KEY], keys[keys != NO_KEY]
        if not keyed:
            for q in np.argsort(-self._evidence.maximum, kind="stable")[:GROUPINGS]:
                codes = file.fields[self._plan.fields[int(q)].name].codes
                yield every[codes != MISSING], codes[codes != MISSING].astype(np.uint64)

    def _within_blocks(self, part: SignatureSet, equal: I64, rows: I64, keys: U64, max_pairs: int) -> NearCopies:
        """Rows with near-copies in their blocks: of all rows, or of a random sample of them, with so many pairs.

        Rows that have one number in `equal` count once.
        """
        _, first = np.unique(equal[rows], return_index=True)
        rows, keys = rows[first], keys[first]
        order = np.argsort(keys, kind="stable")
        row, keys = rows[order].astype(np.int32), keys[order]
        _, start, block, size = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        candidates = np.flatnonzero(size[block] > PARTNERS)
        of_candidates = size[block[candidates]].astype(np.int64)
        chosen = candidates
        if of_candidates.sum() > max_pairs:
            n = max(1, int(len(candidates) * max_pairs / of_candidates.sum()))
            chosen = np.sort(self._rng.choice(candidates, n, replace=False))
        vectors = ComparisonVectors(part, part, self._plan)
        partners = np.zeros(len(chosen), dtype=np.int64)
        begin = 0
        sizes = size[block[chosen]]
        ends = np.cumsum(sizes)
        while begin < len(chosen):
            done = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _PART, side="right")))
            own, length = chosen[begin:end], sizes[begin:end]
            which = np.repeat(np.arange(len(own)), length)
            at = np.arange(len(which)) - np.repeat(np.cumsum(length) - length, length)
            other = start[block[own]][which] + at
            gamma, place = vectors.distinct(row[own][which], row[other])
            near = self._evidence.near(gamma[:, : len(self._plan.fields)], self._records)[place]
            near &= other != own[which]
            partners[begin:end] = np.bincount(which[near], minlength=len(own))
            begin = end
        hit = int(np.count_nonzero(partners >= PARTNERS))
        scale = len(candidates) / max(1, len(chosen))
        error = 0.0
        if len(chosen) < len(candidates):
            share = (hit + 1) / (len(chosen) + 2)  # an error remains where all or none of the sample count
            error = len(candidates) * math.sqrt(share * (1 - share) / len(chosen))
        return NearCopies(self._records, hit * scale, len(chosen), error, distinguishing=True)
