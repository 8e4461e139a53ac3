"""What the parties of mode `shared` hold of two files, read as if it were what Carole holds in mode block_keyed.

Both files are encoded, cut into shares and read by each party as in a project. A party's best guess of a shared bit is
the exclusive or of its two shares: it is right where the third share, which it lacks, is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._leakage_register import BORN, _pooled
from benchmarks._leakage_study import Study
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.row_words import RowWords
from gemel.common.specification import FieldSpec, Specification
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.shared_in_memory import SharedEncoded, shared_in_memory
from gemel.custodian.leakage.own_whole import clear_values
from gemel.custodian.leakage.pairs import Fingerprints, fingerprints_in_clear
from gemel.custodian.leakage.view import FieldView
from gemel.shared.gates.output_bits import PairComparison
from gemel.shared.gates.output_slices import SlicedPairs, output_slices
from gemel.shared.gates.party import Party

SeenField = tuple[FieldView, NDArray[np.int64]]
"""The distinct signatures of a field, and which of them each row has (-1: none)."""


@dataclass(frozen=True)
class SharedFile:
    """A file, or rows of one, as it was shared under the first rule of a specification.

    A party's `shares` have shape (2, n_rows, n_words). All parties have the `digests` of the rows' blocks; the
    custodian alone has `order`, the rows of the file.
    """

    shares: Mapping[ComputeParty, NDArray[np.uint64]]
    words: RowWords
    digests: NDArray[np.uint64]
    order: NDArray[np.int64]

    @classmethod
    def of(
        cls, columns: Mapping[str, pl.Series], spec: Specification, side: Side, seed: Seed, noise: NoiseKey
    ) -> SharedFile:
        """The file as the three parties read it."""
        made: SharedEncoded = shared_in_memory(encode_records(columns, spec, seed, 1, noise=noise), spec, side)
        carole = made.contributions[ComputeParty.CAROLE]
        rule = spec.keyed_rules[0].name
        numbers = carole.sets_of(rule)
        shares = {
            party: np.concatenate([made.contributions[party].rows(number) for number in numbers], axis=1)
            for party in ComputeParty
        }
        digests = np.concatenate([carole.digests(number) for number in numbers])
        return cls(shares, carole.words(numbers[0]), digests, made.orders[rule])

    def guessed(self, party: ComputeParty) -> NDArray[np.uint64]:
        """Words of the rows, as a party guesses them."""
        return guessed([self.shares[party]])

    def joined(self, one: ComputeParty, other: ComputeParty) -> NDArray[np.uint64]:
        """Words of the rows, as two parties together read them."""
        return joined(one, self.shares[one], other, self.shares[other])


def guessed(held: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """The exclusive or of all shares in hand."""
    return reduce(np.bitwise_xor, [share for shares in held for share in shares])


def joined(
    one: ComputeParty, of_one: NDArray[np.uint64], other: ComputeParty, of_other: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """What two parties together know of shared words: all three shares, one of which both have."""
    if one.next is not other:
        one, of_one, of_other = other, of_other, of_one
    return of_one[0] ^ of_one[1] ^ of_other[1]


def read_fields(rows: NDArray[np.uint64], words: RowWords, *, all_there: bool = False) -> list[SeenField]:
    """The fields of rows, as Carole would have them in mode block_keyed if these words, right or guessed, were right.

    `all_there`: take every value for present, as nearly all are, whatever the bits of presence: for who has to
    guess these.
    """
    found = []
    for name, _ in words.fields:
        word, bit = words.presence(name)
        there = rows[:, word] >> np.uint64(bit) & np.uint64(1) == 1
        there |= all_there
        signatures, place, counts = np.unique(
            rows[there][:, words.signature(name)], axis=0, return_inverse=True, return_counts=True
        )
        codes = np.full(len(rows), -1, dtype=np.int64)
        codes[there] = place.ravel()
        found.append((FieldView(signatures, counts), codes))
    return found


def gate_words(party: Party, pairs: SlicedPairs, comparison: PairComparison) -> NDArray[np.uint64]:
    """All that a party holds of a comparison's gates, as slices of the pairs: uint64, shape (2, n_gates, words)."""
    held: list[NDArray[np.uint64]] = []

    def all_of(requests: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]]) -> list[NDArray[np.uint64]]:
        results = party.all_of(requests)
        held.extend(each.reshape(2, -1, pairs.words) for each in results)
        return results

    output_slices(pairs, comparison, party.public(np.array([~np.uint64(0)])), all_of)
    party.check("gates")
    return np.concatenate(held, axis=1)


Columns = Mapping[str, pl.Series]


@dataclass(frozen=True)
class Case:
    """Rows of two files in some blocks, as they are shared, and who has all people of both files in clear.

    Row k of either file is person k. `alice` and `bob` are the attacked rows, whose `order` counts within `rows_a`
    and `rows_b`; `people` the register, in an order that says nothing; `born` the block in clear of each of these
    by Alice's file, -1 without one; `pairs` what every two people of such a block have in common.
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


def made(study: Study, bob: Columns, days: int, attacked: int) -> Case:
    """Rows of both files, shared: so many of Alice's at least, in whole blocks drawn at random."""
    columns = tuple({**each, BORN: _pooled(each[BORN], days)} for each in (study.columns, bob))
    rule = {"name": BORN, "keys": [{"field": BORN}]}
    spec = study.specified(mode="shared", blocking=[rule])
    keys = [key_text(each, spec, spec.keyed_rules[0]).fill_null("").to_numpy().astype(str) for each in columns]
    kinds, block = np.unique(np.concatenate(keys), return_inverse=True)
    block = block.astype(np.int64) - int(kinds[0] == "")
    of_a, of_b = block[: study.n], block[study.n :]
    sizes = np.bincount(of_a[of_a >= 0], minlength=len(kinds))
    drawn = study.rng.permutation(np.flatnonzero(sizes))
    chosen = drawn[: 1 + int(np.searchsorted(np.cumsum(sizes[drawn]), attacked))]
    rows = [np.flatnonzero(np.isin(of, chosen)) for of in (of_a, of_b)]
    seed = study.fresh_seed()
    alice, other = (
        SharedFile.of({n: c.gather(here) for n, c in each.items()}, spec, side, seed, study.fresh_noise())
        for side, each, here in zip(Side, columns, rows, strict=True)
    )
    people = study.rng.permutation(study.n)
    clear = [clear_values(columns[0][field.name].gather(people), field) for field in compared(spec)]
    pairs = fingerprints_in_clear(of_a[people], [each for each in clear if each is not None])
    mean = float((sizes.astype(np.float64) ** 2).sum() / sizes.sum())
    return Case(spec, columns, alice, other, *rows, people, of_a[people], pairs, mean)


def compared(spec: Specification) -> list[FieldSpec]:
    """The fields that rows have signatures of: all but that of the blocks."""
    return [field for field in spec.fields if field.name != BORN]
