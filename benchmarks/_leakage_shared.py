"""The leakage benchmark's section on mode `shared`: what each party could recognise who has these very people in clear.

The attacks are those that recognise most rows of mode block_keyed, which stands in the same table as the control: pair
fingerprints with their likelihood, embeddings of rows, and comparison levels between the files. Each is given a single
party's view, then what two parties have together. Chance, fixed beforehand, is a name drawn from the register for every
row; what block sizes alone give anyone is a line of its own.

The shares are made and read as in a project, and levels computed on them by three parties. What Carole and the resolver
are told is computed here from the same signatures by the functionality of docs/shared-mode.md: levels of all candidate
pairs in an order drawn at random, and pairs above the floor by handle. That a run gives each party this and no more is
what the tests of the engine show, not this section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_embedding import nearest_rows, row_embedding
from benchmarks._leakage_register import BORN, DAYS, _blocks, _pooled
from benchmarks._leakage_study import ABOVE_CHANCE, Line, Study
from benchmarks._shared_attacks import BetweenFiles, KeptPairs, blocks_by_size, by_levels, handles_by_levels
from benchmarks._shared_views import SharedFile, read_fields
from benchmarks.modes import link_in
from tryst.common.encoding.blocking_keys import key_text
from tryst.common.encoding.padding import padded_size
from tryst.common.parties import Side
from tryst.common.sharing.compute_parties import ComputeParty
from tryst.common.specification import FieldSpec, Specification
from tryst.coordinator.demonstration.people import corrupt
from tryst.risk.leakage.fingerprint_model import FingerprintModel
from tryst.risk.leakage.own_file import clear_values
from tryst.risk.leakage.pairs import Fingerprints, fingerprints_in_clear, fingerprints_of_signatures, paired_signatures
from tryst.risk.leakage.pairs import paired_values
from tryst.risk.leakage.recognition import judge, recognise

ATTACKED = {1: 600, DAYS: 400}
"""Rows attacked, in whole blocks drawn at random, by days that are made one date."""

CONTROL = {1: 0.6, DAYS: 0.98}
"""Required of the attack on what Carole has in mode block_keyed, and on what two parties have together."""

LINKED = 20_000
"""People of the files whose kept pairs the resolver is shown."""

HANDLES = 1000
"""Handles attacked, drawn at random."""

SKEWED = {"name": "surname_3-year", "keys": [{"field": "surname", "prefix": 3}, {"field": BORN, "part": "year"}]}
"""A rule whose blocks differ much in size."""

Columns = Mapping[str, pl.Series]


@dataclass(frozen=True)
class Case:
    """Rows of two files in some blocks, as they are shared, and who has all people of both files in clear.

    Attributes
    ----------
    alice, bob
        The attacked rows; their `order` counts within `rows_a` and `rows_b`.
    rows_a, rows_b : ndarray of int64
        Rows of the files: row k of either file is person k.
    people : ndarray of int64
        The register: people in an order that says nothing.
    born : ndarray of int64
        Block in clear of each of these, by Alice's file; -1 without one.
    pairs
        What every two people of such a block have in common.
    """

    spec: Specification
    columns: tuple[Columns, Columns]
    alice: SharedFile
    bob: SharedFile
    rows_a: NDArray[np.int64]
    rows_b: NDArray[np.int64]
    people: NDArray[np.int64]
    born: NDArray[np.int64]
    pairs: Fingerprints
    mean_rows: float

    @property
    def truth(self) -> NDArray[np.int64]:
        """The person of each of Alice's rows."""
        return self.rows_a[self.alice.order]

    @property
    def block(self) -> NDArray[np.int64]:
        """Of Alice's rows."""
        return np.unique(self.alice.digests, return_inverse=True)[1].astype(np.int64)


def shared(study: Study) -> Iterator[Line]:
    """Every single party's view and two parties' together, beside mode block_keyed."""
    bob = study.cleaned(corrupt(study.people, study.rng))
    for days in (1, DAYS):
        case = made(study, bob, days)
        size = f"blocks of {case.mean_rows:.1f} rows"
        yield from _sizes(study, case, size)
        yield from _rows(study, case, size, CONTROL[days])
        yield from _levels(study, case, size)
    yield from _skewed(study, bob)
    yield from _handles(study)


def made(study: Study, bob: Columns, days: int) -> Case:
    """The attacked rows of both files, shared."""
    columns = tuple({**each, BORN: _pooled(each[BORN], days)} for each in (study.columns, bob))
    rule = {"name": BORN, "keys": [{"field": BORN}]}
    spec = study.specified(mode="shared", blocking=[rule])
    keys = [key_text(each, spec, spec.keyed_rules[0]).fill_null("").to_numpy().astype(str) for each in columns]
    kinds, block = np.unique(np.concatenate(keys), return_inverse=True)
    block = block.astype(np.int64) - int(kinds[0] == "")
    of_a, of_b = block[: study.n], block[study.n :]
    sizes = np.bincount(of_a[of_a >= 0], minlength=len(kinds))
    drawn = study.rng.permutation(np.flatnonzero(sizes))
    chosen = drawn[: 1 + int(np.searchsorted(np.cumsum(sizes[drawn]), ATTACKED[days]))]
    rows = [np.flatnonzero(np.isin(of, chosen)) for of in (of_a, of_b)]
    seed = study.fresh_seed()
    alice, other = (
        SharedFile.of({n: c.gather(here) for n, c in each.items()}, spec, side, seed, study.fresh_noise())
        for side, each, here in zip(Side, columns, rows, strict=True)
    )
    people = study.rng.permutation(study.n)
    clear = [clear_values(columns[0][field.name].gather(people), field) for field in _compared(spec)]
    pairs = fingerprints_in_clear(of_a[people], [each for each in clear if each is not None])
    mean = float((sizes.astype(np.float64) ** 2).sum() / sizes.sum())
    return Case(spec, columns, alice, other, *rows, people, of_a[people], pairs, mean)


def _compared(spec: Specification) -> list[FieldSpec]:
    return [field for field in spec.fields if field.name != BORN]


def _rows(study: Study, case: Case, size: str, minimum: float) -> Iterator[Line]:
    """Rows recognised by what is alike inside Alice's file: as it is, by each party alone, and by two together."""
    clear = _embedded_in_clear(case)
    whole = case.alice.joined(ComputeParty.CAROLE, ComputeParty.COORDINATOR)
    yield from _recognised(study, case, f"{size}: mode block_keyed, Carole", whole, clear, minimum)
    for party in ComputeParty:
        what = f"{size}: {party.title} alone, by the shares"
        yield from _recognised(study, case, what, case.alice.guessed(party), clear, None)
    for one in ComputeParty:
        whole = case.alice.joined(one, one.next)
        found = _by_fingerprints(study, case, whole, all_there=False)
        yield Line(f"{size}: {one.title} and {one.next.title} together: pair fingerprints", found, 1 / study.n, minimum=minimum)


def _recognised(
    study: Study, case: Case, what: str, words: NDArray[np.uint64], clear: NDArray[np.float32], minimum: float | None
) -> Iterator[Line]:
    alone = minimum is None
    bound = {"above_chance": ABOVE_CHANCE} if alone else {"minimum": minimum}
    found = _by_fingerprints(study, case, words, all_there=alone)
    yield Line(f"{what}: pair fingerprints and likelihood", found, 1 / study.n, **bound)
    fields = [(partial(paired_signatures, view), codes) for view, codes in read_fields(words, case.alice.words, all_there=alone)]
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
    for field in _compared(case.spec):
        clear = clear_values(case.columns[0][field.name].gather(case.people), field)
        assert clear is not None
        fields.append((partial(paired_values, clear[0]), clear[1]))
    return row_embedding(case.born, fields)
