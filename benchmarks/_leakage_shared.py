"""The leakage benchmark's section on mode `shared`: what each party could recognise who has these very people in clear.

The attacks are those that recognise most rows of mode block_keyed, which stands in the same table as the control: pair
fingerprints with their likelihood, embeddings of rows, and comparison levels between the files. Each is given a single
party's view, then what two parties have together. Chance, fixed beforehand, is a name drawn from the register for every
row; what block sizes alone give anyone is a line of its own.

The shares are made and read as in a project, and three parties compute levels on them, permute them and open them to
Carole. What the resolver gets, the levels of pairs above the floor by handle, is taken from the same files linked in
mode block_keyed, where it is the same. That a whole run gives each party this and no more is what the tests of the
engine show, not this section.

The leakage benchmark on mode `shared`: comparison levels between the files, and the gates that they come from.

Levels of all pairs in a known order would recognise most rows: that is the control. A party has its shares of them, and
Carole the levels in an order that no party knows, from a computation of three parties as in a project.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_joins import nearest_rows, row_embedding
from benchmarks._leakage_register import BORN, DAYS
from benchmarks._leakage_study import ABOVE_CHANCE, Line, Study
from benchmarks._shared_attacks import (
    BetweenFiles,
    KeptPairs,
    blocks_by_size,
    by_levels,
    handles_by_levels,
    learnt,
    middles,
    noise_of,
)
from benchmarks._shared_views import Case, Columns, compared, gate_words, guessed, joined, made, read_fields
from benchmarks.modes import link_in
from gemel.carole.comparison.kernels import disagreement_limits
from gemel.common.parties import ComputeParty, Side
from gemel.common.specification import BlockingRule
from gemel.coordinator.demonstration.people import corrupt
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.padding import padded_size
from gemel.custodian.leakage.fingerprint_model import FingerprintModel
from gemel.custodian.leakage.own_whole import clear_values
from gemel.custodian.leakage.pairs import ABSENT, fingerprints_of_signatures, paired_signatures, paired_values
from gemel.custodian.leakage.recognition import recognise
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


ATTACKED = {1: 500, DAYS: 200}
"""Rows attacked, in whole blocks drawn at random, by days that are made one date."""

CONTROL = {1: 0.6, DAYS: 0.98}
"""Required of the attack on what Carole has in mode block_keyed, and on what two parties have together."""

LINKED = 15_000
"""People of the files whose kept pairs the resolver is shown."""

HANDLES = 1000
"""Handles attacked, drawn at random."""

SKEWED = {"name": "surname_3-year", "keys": [{"field": "surname", "prefix": 3}, {"field": BORN, "part": "year"}]}
"""A rule whose blocks differ much in size."""


def shared(study: Study) -> Iterator[Line]:
    """Every single party's view and two parties' together, beside mode block_keyed."""
    bob = study.cleaned(corrupt(study.people, study.rng))
    for days in (1, DAYS):
        case = made(study, bob, days, ATTACKED[days])
        size = f"blocks of {case.mean_rows:.1f} rows"
        yield from _sizes(study, case, size)
        yield from rows_of_a_file(study, case, size, CONTROL[days])
        yield from levels(study, case, size)
    yield from _rules(study, bob)
    yield from _handles(study)


def rows_of_a_file(study: Study, case: Case, size: str, minimum: float) -> Iterator[Line]:
    """Rows recognised by what is alike inside Alice's file: as it is, by each party alone, and by two together."""
    clear = _embedded_in_clear(case)
    whole, *others = (case.alice.joined(one, one.next) for one in ComputeParty)
    assert all(np.array_equal(words, whole) for words in others)
    what = f"{size}: Carole in mode block_keyed, and any two of the three in this mode"
    yield from _recognised(study, case, what, whole, clear, minimum)
    for party in ComputeParty:
        what = f"{size}: {party.title} alone, by the shares"
        yield from _recognised(study, case, what, case.alice.guessed(party), clear, None)


def _recognised(
    study: Study, case: Case, what: str, words: NDArray[np.uint64], clear: NDArray[np.float32], minimum: float | None
) -> Iterator[Line]:
    alone = minimum is None
    bound = {"above_chance": ABOVE_CHANCE} if alone else {"minimum": minimum}
    found = _by_fingerprints(study, case, words, all_there=alone)
    yield Line(f"{what}: pair fingerprints and likelihood", found, 1 / study.n, **bound)
    fields = [
        (partial(paired_signatures, view), codes)
        for view, codes in read_fields(words, case.alice.words, all_there=alone)
    ]
    nearest = nearest_rows(row_embedding(case.block, fields), clear)
    right = float((case.people[nearest] == case.truth).mean())
    yield Line(f"{what}: embeddings of rows", right, 1 / study.n, above_chance=ABOVE_CHANCE if alone else None)


def _by_fingerprints(study: Study, case: Case, words: NDArray[np.uint64], *, all_there: bool) -> float:
    seen = fingerprints_of_signatures(case.block, read_fields(words, case.alice.words, all_there=all_there))
    bits = np.array([bits for _, bits in case.alice.words.fields], dtype=np.float64)
    model = FingerprintModel.of(bits, np.zeros(len(bits)), case.pairs, seen)
    claims = recognise(seen, case.block, case.pairs, case.born, model, 1.0, study.rng)
    named = np.where(claims.person < 0, -1, case.people[claims.person])
    return float((named == case.truth).mean())


def _embedded_in_clear(case: Case) -> NDArray[np.float32]:
    fields = []
    for field in compared(case.spec):
        clear = clear_values(case.columns[0][field.name].gather(case.people), field)
        assert clear is not None
        fields.append((partial(paired_values, clear[0]), clear[1]))
    return row_embedding(case.born, fields)


def _sizes(study: Study, case: Case, size: str) -> Iterator[Line]:
    """What the rows of each block in both files give whoever sees them, which are all three parties."""
    keys = [key_text(each, case.spec, case.spec.keyed_rules[0]) for each in case.columns]
    yield from by_size(study, size, keys)


def by_size(study: Study, what: str, keys: list[pl.Series], *, padded: bool = False) -> Iterator[Line]:
    """Blocks of whole files taken for those of the same sizes in clear, and a row of one for any of its people."""
    texts = np.concatenate([key.fill_null("").to_numpy().astype(str) for key in keys])
    kinds, block = np.unique(texts, return_inverse=True)
    of_files = block[: len(keys[0])], block[len(keys[0]) :]
    sizes = np.stack([np.bincount(of, minlength=len(kinds)) for of in of_files], axis=1)
    there = (sizes[:, 0] > 0) & (kinds != "")
    rows, seen = sizes[there, 0], sizes[there]
    if padded:
        seen = np.where(seen > 0, padded_size(seen), 0)
    right = blocks_by_size(seen, seen, study.rng) == np.arange(len(rows))
    total = float(rows.sum())
    yield Line(
        f"{what}: block sizes of both files alone: rows whose block is named",
        float(rows[right].sum() / total),
        float(rows.max() / total),
    )
    # Of a block of k rows each is as likely any of its k people: one row is named rightly on average.
    yield Line(
        f"{what}: block sizes of both files alone", float(right.sum() / total), 1 / total, above_chance=ABOVE_CHANCE
    )


def _rules(study: Study, bob: Columns) -> Iterator[Line]:
    """The same of the drafted rule whose sizes tell most, and of one whose blocks differ much, also padded."""

    def keys_of(rule: BlockingRule) -> list[pl.Series]:
        return [key_text(each, study.drafted, rule) for each in (study.columns, bob)]

    drafted = [tuple(by_size(study, rule.name, keys_of(rule))) for rule in study.drafted.keyed_rules]
    for what in zip(*drafted, strict=True):
        found = max(what, key=lambda line: line.records)
        yield replace(found, what=f"the drafted rule that tells most, {found.what}")
    (rule,) = study.specified(blocking=[SKEWED]).keyed_rules
    keys = keys_of(rule)
    yield from by_size(study, rule.name, keys)
    yield from by_size(study, f"{rule.name}, `padding: powers_of_two`", keys, padded=True)


def _handles(study: Study) -> Iterator[Line]:
    """Records recognised by the resolver, who has the levels of the pairs above the floor by handle."""
    people = study.people[:LINKED]
    damaged = corrupt(people, study.rng)
    seen = _kept(study, people, damaged)
    chosen = np.sort(study.rng.permutation(np.unique(seen.a))[:HANDLES])
    for which, theirs, bound in (
        ("a register of exactly these people", people, ABOVE_CHANCE),
        ("both files in clear, errors and all", damaged, None),
    ):
        own = _kept(study, people, theirs)
        named = handles_by_levels(seen, own, noise_of(seen, own), chosen, study.rng)
        right = float((named == chosen).mean())
        error = float(np.sqrt(right * (1 - right) / len(chosen)))
        what = f"the coordinator as the resolver, in this mode and in block_keyed: a handle's person, with {which}"
        yield Line(what, right, 1 / LINKED, error=error, above_chance=bound)


def _kept(study: Study, alice: pl.DataFrame, bob: pl.DataFrame) -> KeptPairs:
    """The pairs above the floor of two files with these rows, by the numbers of the rows."""
    files = {Side.ALICE: alice, Side.BOB: bob}
    linkage = link_in("block_keyed", study.drafted, files, study.fresh_seed()).linkage
    level = linkage.patterns.gamma[linkage.pairs.pattern]
    return KeptPairs(linkage.pairs.row_a.astype(np.int64), linkage.pairs.row_b.astype(np.int64), level)
