"""The leakage benchmark's section on mode `shared`: what each party could recognise who has these very people in clear.

The attacks are those that recognise most rows of mode block_keyed, which stands in the same table as the control: pair
fingerprints with their likelihood, embeddings of rows, and comparison levels between the files. Each is given a single
party's view, then what two parties have together. Chance, fixed beforehand, is a name drawn from the register for every
row; what block sizes alone give anyone is a line of its own.

The shares are made and read as in a project, and three parties compute levels on them, permute them and open them to
Carole. What the resolver gets, the levels of pairs above the floor by handle, is taken from the same files linked in
mode block_keyed, where it is the same. That a whole run gives each party this and no more is what the tests of the
engine show, not this section.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_embedding import nearest_rows, row_embedding
from benchmarks._leakage_register import BORN, DAYS
from benchmarks._leakage_shared_levels import levels
from benchmarks._leakage_study import ABOVE_CHANCE, Line, Study
from benchmarks._shared_attacks import (
    KeptPairs,
    blocks_by_size,
    handles_by_levels,
    noise_of,
)
from benchmarks._shared_case import Case, Columns, compared, made
from benchmarks._shared_views import read_fields
from benchmarks.modes import link_in
from gemel.common.parties import ComputeParty, Side
from gemel.common.specification import BlockingRule
from gemel.coordinator.demonstration.people import corrupt
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.padding import padded_size
from gemel.custodian.leakage.fingerprint_model import FingerprintModel
from gemel.custodian.leakage.own_file import clear_values
from gemel.custodian.leakage.pairs import (
    fingerprints_of_signatures,
    paired_signatures,
    paired_values,
)
from gemel.custodian.leakage.recognition import recognise

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
