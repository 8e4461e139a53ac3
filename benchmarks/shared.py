"""Mode shared: processor time and bytes of comparing signatures on shares, beside SecretFlow SPU on the same work.

Every row of a group of 32 is compared with all 32 of the other file, in 8 fields, with the 7 limits of `em8`. All make
the same levels of the same random signatures, which are compared with the plain ones. The three parties are threads of
one process with messages in memory, so what is measured is the computation; a third of the process's time is a party's.

* `gemel`: what a project runs (`gemel.shared.gates`), with missing values, and every gate checked.
* `gemel, unchecked`: the same circuits without the check of gates: what a semi-honest protocol would cost.
* `arithmetic`: shares mod 2^16 of every bit, as once proposed for this mode; nothing is checked.
* `SPU`: ABY3 of SecretFlow SPU in three forms (see `_shared_spu`); nothing is checked, no value missing.

Peers that take long get the first `--peer-groups` of the groups: their time is proportional to the pairs.

The arithmetic alternative to mode `shared`, in one process: shares mod 2^16 of every bit, one sum sent a pair.

Signatures are of +-1, each bit shared by addition mod 2^16 among three parties, party k with shares k and k + 1 (Araki
et al. 2016). An inner product is local but for one element that each party sends; whether it reaches a limit is the
sign of a difference, by an adder on shared bits (ABY3). So the message of a pair does not grow with the bits, but every
custodian uploads 16 bits for each bit, and nothing is checked: no gate, no opening. What each party would send is
counted.

References
----------
.. [1] Mohassel and Rindal, ABY3: a mixed protocol framework for machine learning, CCS 2018. doi:10.1145/3243734.3243760
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import REPOSITORY
from gemel.carole.comparison.kernels import disagreement_limits
from gemel.common.parties import ComputeParty
from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.common.specification.model.defaults import LEVELS
from gemel.shared.gates.arithmetic import Arithmetic
from gemel.shared.gates.bit_slices import rows_of
from gemel.shared.gates.gate_check import GATE_WORDS
from gemel.shared.gates.output_bits import ComparedField, PairComparison
from gemel.shared.gates.output_slices import SlicedPairs, output_slices
from gemel.shared.gates.pair_levels import BATCH_WORDS, compare_pairs
from gemel.shared.gates.party import Party
from gemel.shared.gates.streams import KEY_BYTES
from gemel.shared.session.local_session import LocalChannel, local_parties, together

Ring = NDArray[np.uint16]
Parts = list[Ring]
"""Three shares, which add up to the value; or, of shared bits, whose exclusive or is the value."""

PAIRS = 5000
"""Pairs whose products are made at a time."""


class RingParties:
    """The three parties."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.sent = 0

    def shared(self, values: Ring) -> Parts:
        """Shares of values mod 2^16."""
        one, two = self._random(values.shape), self._random(values.shape)
        return [one, two, values - one - two]

    def products(self, alice: Parts, bob: Parts, row_a: NDArray[np.int64], row_b: NDArray[np.int64]) -> Parts:
        """Inner products of pairs of rows, shape (n_pairs,); one element sent a pair."""
        found = [np.empty(len(row_a), dtype=np.uint16) for _ in range(3)]
        for start in range(0, len(row_a), PAIRS):
            here = slice(start, start + PAIRS)
            zero = self._zero(len(row_a[here]), np.subtract)
            for party in range(3):
                one, other = alice[party][row_a[here]], alice[(party + 1) % 3][row_a[here]]
                held, after = bob[party][row_b[here]], bob[(party + 1) % 3][row_b[here]]
                total = np.einsum("ij,ij->i", one, held + after, dtype=np.uint16)
                total += np.einsum("ij,ij->i", other, held, dtype=np.uint16)
                found[party][here] = total + zero[party]
        self.sent += found[0].nbytes
        return found

    def below(self, values: Parts, limit: int) -> Parts:
        """Whether values are below a limit, as shared bits: the sign of the difference."""
        changed = [values[0] - np.uint16(limit % (1 << 16)), values[1], values[2]]
        none = np.zeros_like(changed[0])
        # Each share is known to two parties: a shared word without a message.
        one, two, three = ([part if place == at else none for place in range(3)] for at, part in enumerate(changed))
        total, carry = self._three_to_two(one, two, three)
        return [word >> np.uint16(15) for word in self._sum(total, carry)]

    def both(self, one: Parts, other: Parts) -> Parts:
        """The *and* of shared words, of which each party sends its own."""
        zero = self._zero(one[0].shape, np.bitwise_xor)
        found = []
        for party in range(3):
            x, x_next, y, y_next = one[party], one[(party + 1) % 3], other[party], other[(party + 1) % 3]
            found.append((x & y) ^ (x & y_next) ^ (x_next & y) ^ zero[party])
        self.sent += found[0].nbytes
        return found

    def _three_to_two(self, one: Parts, two: Parts, three: Parts) -> tuple[Parts, Parts]:
        carry = _apart(self.both(_apart(one, three), _apart(two, three)), three)
        return _apart(_apart(one, two), three), _moved(carry, 1)

    def _sum(self, one: Parts, other: Parts) -> Parts:
        """The sum by the adder of Kogge and Stone."""
        made, passed = self.both(one, other), _apart(one, other)
        whole = passed
        for step in (1, 2, 4, 8):
            made = _apart(made, self.both(passed, _moved(made, step)))
            if step < 8:
                passed = self.both(passed, _moved(passed, step))
        return _apart(whole, _moved(made, 1))

    def _zero(self, shape: int | tuple[int, ...], apart: np.ufunc) -> Parts:
        """Masks of the three parties that cancel; in earnest from keys that each two of them share."""
        keys = [self._random(shape) for _ in range(3)]
        return [apart(keys[party], keys[(party + 1) % 3]) for party in range(3)]

    def _random(self, shape: int | tuple[int, ...]) -> Ring:
        return self._rng.integers(0, 1 << 16, shape, dtype=np.uint16)


def levels(
    parties: RingParties,
    alice: NDArray[np.uint64],
    bob: NDArray[np.uint64],
    row_a: NDArray[np.int64],
    row_b: NDArray[np.int64],
    limits: NDArray[np.int16],
) -> NDArray[np.int8]:
    """Levels of pairs of rows of one field, opened; `limits` are the most disagreeing bits of each level."""
    bits = 64 * alice.shape[1]
    found = parties.products(parties.shared(signs(alice)), parties.shared(signs(bob)), row_a, row_b)
    level = np.full(len(row_a), len(limits), dtype=np.int8)
    for limit in limits.tolist():
        one, two, three = parties.below(found, bits - 2 * limit)
        level -= (one ^ two ^ three).astype(np.int8)
    return level


def signs(signatures: NDArray[np.uint64]) -> Ring:
    """Bits as +1 and -1 mod 2^16, shape (n_rows, bits)."""
    bits = np.unpackbits(signatures.view(np.uint8), axis=-1, bitorder="little").astype(np.uint16)
    return np.uint16(1) - np.uint16(2) * bits


def _apart(one: Parts, other: Parts) -> Parts:
    return [mine ^ theirs for mine, theirs in zip(one, other, strict=True)]


def _moved(word: Parts, places: int) -> Parts:
    return [part << np.uint16(places) for part in word]


ROWS = 32
"""Rows of a group in either file."""

FIELDS = 8
ROUNDS = 3
"""Runs of all but SPU, whose times are long; the middle one counts."""

FORMS = ("circuit", "matmul", "popcount")
PEER = Path(__file__).with_name("_shared_spu.py")
PEER_PYTHON = REPOSITORY / ".venv-spu" / "bin" / "python"
HOW = """SPU 0.9.5 brings jax and a numpy of its own, so it gets an environment of its own, for Python 3.11:
  make .venv-spu"""
HEAD = (
    "| bits | what | checked | pairs x fields | microseconds of the processor | bytes sent |\n|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Work:
    """Signatures of two files, and what is to come out.

    Shape (fields, groups, ROWS, words); `limits` has the most disagreeing bits of each level but the lowest.
    """

    alice: NDArray[np.uint64]
    bob: NDArray[np.uint64]
    limits: NDArray[np.int16]

    @classmethod
    def random(cls, bits: int, groups: int, rng: np.random.Generator) -> Work:
        """Pairs of every similarity: row k of either file differs in a share of the bits that is drawn for it."""
        shape = (FIELDS, groups, ROWS, bits)
        alice = rng.integers(0, 2, shape, dtype=np.uint8)
        bob = alice ^ (rng.random(shape, dtype=np.float32) < rng.random((*shape[:3], 1), dtype=np.float32) / 2)
        limits = disagreement_limits(bits, LEVELS["em8"])
        one, other = (np.packbits(each, axis=-1, bitorder="little").view(np.uint64) for each in (alice, bob))
        return cls(one, other, limits)

    @property
    def bits(self) -> int:
        """Of a signature."""
        return 64 * self.alice.shape[3]

    @property
    def groups(self) -> int:
        """Groups of rows."""
        return self.alice.shape[1]

    def first(self, groups: int) -> Work:
        """Some of the groups."""
        return Work(self.alice[:, :groups], self.bob[:, :groups], self.limits)

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of each pair, numbered through the groups."""
        row_a = np.arange(self.groups * ROWS).repeat(ROWS)
        return row_a, row_a // ROWS * ROWS + np.tile(np.arange(ROWS), self.groups * ROWS)

    def plain(self) -> NDArray[np.int8]:
        """The levels, shape (fields, groups * ROWS * ROWS)."""
        apart = self.alice[:, :, :, None, :] ^ self.bob[:, :, None, :, :]
        disagreeing = np.bitwise_count(apart).sum(axis=-1, dtype=np.int64).reshape(len(self.alice), -1)
        found: NDArray[np.int8] = (disagreeing[..., None] <= self.limits).sum(axis=-1).astype(np.int8)
        return found


@dataclass(frozen=True)
class Measured:
    """What a comparison cost.

    `seconds` of the processor are all three parties' together; `sent` is the mean of the bytes that each sent;
    `levels`, shape (fields, pairs), are of all pairs.
    """

    seconds: float
    sent: float
    levels: NDArray[np.int8]
    more: Mapping[str, Any]


def main(arguments: list[str]) -> int:
    """Measure, compare the levels, and print the table; 1 if any level is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks shared", description=__doc__)
    parser.add_argument("--bits", default="256,512,1024", help="lengths of the signatures, with commas between")
    parser.add_argument("--groups", type=int, default=32, help="groups of 32 x 32 pairs")
    parser.add_argument("--peer-groups", type=int, default=4, help="of these, for peers that take long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spu-python", type=Path, default=PEER_PYTHON, help="interpreter that has spu")
    options = parser.parse_args(arguments)
    if not options.spu_python.exists():
        print(f"spu is not installed; Gemel and the arithmetic alternative alone are measured.\n{HOW}\n")
    own(Work.random(64, 1, np.random.default_rng(0)), checked=True)  # compiles
    wrong, environment = 0, ""
    print(HEAD)
    for bits in (int(each) for each in options.bits.split(",")):
        work = Work.random(bits, options.groups, np.random.default_rng([options.seed, bits]))
        for what, checked, part, found in measured(work, options.peer_groups, options.spu_python):
            n = found.levels.size
            wrong += int((found.levels != part.plain()).sum())
            cost = f"{1e6 * found.seconds / 3 / n:.2f}" if found.seconds else ""
            print(f"| {bits} | {what} | {checked} | {n:,} | {cost} | {found.sent / n:.1f} |", flush=True)
            if "installed" in found.more:
                environment = (
                    f"SPU {found.more['version']}: {found.more['packages']} packages, {found.more['installed']:,} MiB"
                )
    print(f"\n{wrong} levels are not those of the plain signatures. {environment}")
    return int(wrong > 0)


def measured(work: Work, peer_groups: int, python: Path) -> Iterator[tuple[str, str, Work, Measured]]:
    """Each computation: its name, whether it is checked, the work it got and what it cost."""
    yield "gemel", "each gate", work, _median(lambda: own(work, checked=True))
    yield "gemel, unchecked", "no", work, _median(lambda: own(work, checked=False))
    yield "arithmetic", "no", work, _median(lambda: arithmetic(work))
    if python.exists():
        for form in FORMS:
            part = work if form == "circuit" else work.first(peer_groups)
            yield f"SPU, {form}", "no", part, spu(part, form, python)


def _median(run: Callable[[], Measured]) -> Measured:
    """The middle of `ROUNDS` runs by their time."""
    return sorted((run() for _ in range(ROUNDS)), key=lambda found: found.seconds)[ROUNDS // 2]


def own(work: Work, *, checked: bool) -> Measured:
    """Gemel's three parties, as in a project; or their circuits alone, whose gates no party checks."""
    names = tuple((f"field {place}", work.bits) for place in range(len(work.alice)))
    words = RowWords(names)
    rng = np.random.default_rng(work.groups)
    rows = [_shares(each, words, rng) for each in (work.alice, work.bob)]
    limits = tuple(work.limits.tolist())
    comparison = PairComparison(words, tuple(ComparedField(name, bits, limits) for name, bits in names))
    row_a, row_b = work.pairs()
    channels: list[LocalChannel] = []

    def kept(channel: LocalChannel) -> LocalChannel:
        channels.append(channel)
        return channel

    parties = local_parties(b"benchmark", kept)
    unchecked = [Arithmetic(own, (_key(own), _key(own.next)), channels[own]) for own in ComputeParty]

    def compare(party: Party) -> NDArray[np.uint64]:
        one, other = rows[0][party.own], rows[1][party.own]
        if checked:
            return compare_pairs(party, one, other, row_a, row_b, comparison, "benchmark")
        arithmetic = unchecked[party.own]
        ones = arithmetic.public(np.array([~np.uint64(0)]))
        size = WORD_BITS * max(1, min(BATCH_WORDS, GATE_WORDS // comparison.gates))
        found = []
        for start in range(0, len(row_a), size):
            pairs = SlicedPairs(one, other, row_a[start : start + size], row_b[start : start + size], words)
            found.append(rows_of(output_slices(pairs, comparison, ones, arithmetic.products), pairs.n))
        return np.concatenate(found, axis=1)

    used = time.process_time()
    one, two, _ = together(parties, compare)
    seconds = time.process_time() - used
    opened = comparison.output.read(one[0] ^ one[1] ^ two[1])
    sent = sum(party.sent_bytes + unchecked[party.own].sent_bytes for party in parties) / 3
    return Measured(seconds, sent, opened.level.T, {})


def _key(share: ComputeParty) -> bytes:
    return bytes([share]) * KEY_BYTES


def _shares(
    signatures: NDArray[np.uint64], words: RowWords, rng: np.random.Generator
) -> dict[ComputeParty, NDArray[np.uint64]]:
    """Rows with all values present, cut into shares: what each party holds."""
    rows = signatures.transpose(1, 2, 0, 3).reshape(-1, len(signatures) * signatures.shape[3])
    plain = np.concatenate([np.full((len(rows), 1), (1 << len(signatures)) - 1, dtype=np.uint64), rows], axis=1)
    drawn = rng.integers(0, 1 << 64, (2, *plain.shape), dtype=np.uint64)
    each = [drawn[0], drawn[1], plain ^ drawn[0] ^ drawn[1]]
    return {party: np.stack([each[party], each[party.next]]) for party in ComputeParty}


def arithmetic(work: Work) -> Measured:
    """Shares mod 2^16 and adders on shared bits."""
    parties = RingParties(np.random.default_rng(work.groups))
    row_a, row_b = work.pairs()
    width = work.alice.shape[3]
    used = time.process_time()
    found = [
        levels(parties, one.reshape(-1, width), other.reshape(-1, width), row_a, row_b, work.limits)
        for one, other in zip(work.alice, work.bob, strict=True)
    ]
    return Measured(time.process_time() - used, parties.sent, np.stack(found), {})


def spu(work: Work, form: str, python: Path) -> Measured:
    """SecretFlow SPU in a process of its own, all fields at once."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "signatures.npz", Path(folder) / "levels.npy"
        alice, bob = (each.reshape(-1, *each.shape[2:]) for each in (work.alice, work.bob))
        np.savez(given, alice=alice, bob=bob, limits=work.limits, bits=work.bits)
        command = [str(python), str(PEER), str(given), form, str(made)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(f"SPU failed ({ran.returncode}):\n{ran.stderr[-2000:]}")
        found = np.load(made).reshape(len(work.alice), -1).astype(np.int8)
    sent = [int(each) for each in re.findall(r"Link details: total send bytes (\d+)", ran.stdout)]
    more = json.loads(ran.stdout.splitlines()[-1])
    return Measured(more["cpu"], sum(sent) / 3, found, more)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
