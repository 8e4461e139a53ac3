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

from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.row_words import RowWords
from gemel.common.specification import Specification
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.shared_in_memory import SharedEncoded, shared_in_memory
from gemel.custodian.leakage.view import FieldView
from gemel.shared.gates.output_bits import PairComparison
from gemel.shared.gates.output_slices import SlicedPairs, output_slices
from gemel.shared.gates.party import Party

SeenField = tuple[FieldView, NDArray[np.int64]]
"""The distinct signatures of a field, and which of them each row has (-1: none)."""


@dataclass(frozen=True)
class SharedFile:
    """A file, or rows of one, as it was shared under the first rule of a specification.

    Attributes
    ----------
    shares
        By party, what it holds: uint64, shape (2, n_rows, n_words).
    words
        Where the words of a row are.
    digests
        uint64, shape (n_rows,): of each row's block. All parties have them.
    order
        For each row the row of the file. The custodian alone has it.
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
    """The fields of rows, as Carole would have them in mode block_keyed if these words were right.

    Parameters
    ----------
    rows : ndarray of uint64, shape (n_rows, words.total)
        Right or guessed.
    words
        Where each field's presence and signature are.
    all_there
        Take every value for present, as nearly all are, whatever the bits of presence: for who has to guess these.
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
