"""The leakage benchmark on mode `shared`: comparison levels between the files, and the gates that they come from.

Levels of all pairs in a known order would recognise most rows: that is the control. A party has its shares of them, and
Carole the levels in an order that no party knows, from a computation of three parties as in a project.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_study import ABOVE_CHANCE, Line, Study
from benchmarks._shared_attacks import BetweenFiles, by_levels, learnt, middles
from benchmarks._shared_case import Case, compared
from benchmarks._shared_views import gate_words, guessed, joined
from gemel.carole.comparison.thresholds import disagreement_limits
from gemel.common.parties import ComputeParty
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.leakage.own_file import clear_values
from gemel.custodian.leakage.pairs import ABSENT, paired_values
from gemel.shared.gates.output_bits import ComparedField, PairComparison
from gemel.shared.gates.output_slices import SlicedPairs
from gemel.shared.gates.pair_levels import compare_pairs
from gemel.shared.gates.party import Party
from gemel.shared.gates.permutation import permuted
from gemel.shared.session.local_session import local_parties, together

REGISTER = 8000
"""People of her register whom the attack on levels looks through, those attacked among them: all would take long."""

CONTROL_LEVELS = 0.6
"""Required of the attack on levels where it is known which pair has which."""


def levels(study: Study, case: Case, size: str) -> Iterator[Line]:
    """Rows recognised by comparison levels between the files, which only counts leave the computation of."""
    fields = compared(case.spec)
    bounds = [field.bounds for field in fields]
    limits = [
        tuple(disagreement_limits(field.bits, upper).tolist()) for field, upper in zip(fields, bounds, strict=True)
    ]
    comparison = PairComparison(
        case.alice.words,
        tuple(ComparedField(field.name, field.bits, limit) for field, limit in zip(fields, limits, strict=True)),
    )
    _, block = np.unique(np.concatenate([case.alice.digests, case.bob.digests]), return_inverse=True)
    block_a, block_b = block[: len(case.alice.order)], block[len(case.alice.order) :]
    row_a, row_b = np.nonzero(block_a[:, None] == block_b)

    def compute(party: Party) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None, NDArray[np.uint64]]:
        mine, theirs = case.alice.shares[party.own], case.bob.shares[party.own]
        bits = compare_pairs(party, mine, theirs, row_a, row_b, comparison, "comparison")
        opened = party.opened_to(ComputeParty.CAROLE, permuted(party, bits, "order"), "patterns")
        party.check("opening")
        return bits, opened, gate_words(party, SlicedPairs(mine, theirs, row_a, row_b, case.alice.words), comparison)

    done = together(local_parties(), compute)
    clear, people = _clear_between(study, case)

    def attacked(words: NDArray[np.uint64], *, all_there: bool) -> float:
        if all_there:
            words = words.copy()
            for place in range(len(fields)):
                words[:, 0] |= np.uint64(1 << comparison.output.present(place))
        similar = middles(comparison.output.read(words).level, bounds)
        claims = by_levels(BetweenFiles(block_a, block_b, row_a, row_b, similar), clear, study.rng)
        named = claims.person[: len(block_a)]
        return float((np.where(named < 0, -1, people[named]) == case.truth).mean())

    known = attacked(done[0][0][0] ^ done[0][0][1] ^ done[1][0][1], all_there=False)
    what = f"{size}: comparison levels between the files"
    chance = 1 / study.n
    yield Line(f"{what}, had Carole all pairs' in their order", known, chance, minimum=CONTROL_LEVELS)
    for party in ComputeParty:
        bits = done[party][0]
        found = attacked(bits[0] ^ bits[1], all_there=True)
        yield Line(f"{what}, by the shares of {party.title}", found, chance, above_chance=ABOVE_CHANCE)
    opened = done[ComputeParty.CAROLE][1]
    assert opened is not None
    found = attacked(opened, all_there=False)
    yield Line(
        f"{what}, as Carole gets them, in an order that no party knows", found, chance, above_chance=ABOVE_CHANCE
    )
    sex = case.columns[0]["sex"].to_numpy()[case.rows_a[case.alice.order]][row_a]
    alike = sex == case.columns[1]["sex"].to_numpy()[case.rows_b[case.bob.order]][row_b]
    gates = [words for _, _, words in done]
    true = joined(ComputeParty.CAROLE, gates[0], ComputeParty.COORDINATOR, gates[1])
    for who, words in (("any two", true), *((party.title, guessed([gates[party]])) for party in ComputeParty)):
        found, chance, error = learnt(words, alike, study.rng)
        what = f"{size}: whether a pair has one sex, learnt from all words of its gates that {who} can read"
        yield Line(what, found, chance, error=error)


def _clear_between(study: Study, case: Case) -> tuple[BetweenFiles, NDArray[np.int64]]:
    """The register between the files, cut down to `REGISTER` people, and the person of each of its rows."""
    keys = [
        key_text(each, case.spec, case.spec.keyed_rules[0]).fill_null("").to_numpy().astype(str)
        for each in case.columns
    ]
    attacked = np.unique(keys[0][case.rows_a])
    others = study.rng.permutation(np.setdiff1d(keys[0], [*attacked, ""]))
    kinds = np.sort(np.concatenate([attacked, others[: int(REGISTER / case.mean_rows)]]))
    rows, blocks = [], []
    for key in keys:
        here = study.rng.permutation(np.flatnonzero(np.isin(key, kinds)))
        rows.append(here)
        blocks.append(np.searchsorted(kinds, key[here]))
    one, other = _pairs_between(blocks[0], blocks[1])
    similar = np.full((len(one), len(compared(case.spec))), ABSENT, dtype=np.float32)
    for place, field in enumerate(compared(case.spec)):
        both = pl.concat([columns[field.name].gather(here) for columns, here in zip(case.columns, rows, strict=True)])
        made = clear_values(both, field)
        assert made is not None
        public, codes = made
        first, second = codes[one], codes[other + len(rows[0])]
        there = (first >= 0) & (second >= 0)
        similar[there, place] = paired_values(public, first[there], second[there])
    return BetweenFiles(blocks[0], blocks[1], one, other, similar), np.concatenate(rows)


def _pairs_between(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a row of either file in one block."""
    order = np.argsort(other, kind="stable")
    first, last = (np.searchsorted(other[order], one, side=side) for side in ("left", "right"))
    times = last - first
    row = np.repeat(np.arange(len(one)), times)
    place = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times) + np.repeat(first, times)
    return row, order[place]
