"""What each party sees looks random whatever is computed, and nothing of it comes again in a second session.

Where bits are counted the session is drawn from a seed: the same each time.
"""

from __future__ import annotations

import numpy as np
import pytest

from gemel.common.parties import ComputeParty
from gemel.common.signatures.row_words import RowWords
from gemel.shared.gates.output_bits import ComparedField, PairComparison
from gemel.shared.gates.pair_levels import compare_pairs
from gemel.shared.gates.streams import Stream
from gemel.shared.session.local_session import LocalParty, together
from tests.shared.gates.plain import shares_of, watched

WORDS = RowWords((("given", 64), ("family", 128)), ("other",))
COMPARISON = PairComparison(
    WORDS, (ComparedField("given", 64, (20, 10, 0)), ComparedField("family", 128, (40, 0))), (), ("other", "own"), "own"
)
N = 640


def session(value: int, seed: int | None = None) -> tuple[list[list[bytes]], list[np.ndarray]]:
    """Rows of equal words, all pairs compared: what each party received, and the shares it has at the end."""
    parties, channels = watched(seed=None if seed is None else seed.to_bytes(8))
    rows = np.full((N, WORDS.total), np.uint64(value))
    held = shares_of(rows, seed), shares_of(rows, None if seed is None else seed + 1)
    pairs = np.arange(N)

    def run(party: LocalParty) -> np.ndarray:
        return compare_pairs(party, held[0][party.own], held[1][party.own], pairs, pairs, COMPARISON, "levels")

    results = together(parties, run)
    return [channels[own].received for own in ComputeParty], list(results)


def assert_uniform(content: bytes) -> None:
    """The ones among all bits, and among the bits of each place of a byte, are half of them within 5 sigma."""
    bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8)).reshape(-1, 8)
    assert abs(bits.sum() - bits.size / 2) < 5 * np.sqrt(bits.size) / 2
    assert (abs(bits.sum(axis=0) - len(bits) / 2) < 5 * np.sqrt(len(bits)) / 2).all()


@pytest.mark.parametrize("value", [0, (1 << 64) - 1])
def test_messages_and_shares_are_uniform(value: int) -> None:
    received, results = session(value, seed=23)
    for messages, result in zip(received, results, strict=True):
        long = [message for message in messages if len(message) >= 64]
        assert len(long) > 20
        for message in long:
            assert_uniform(message)
        # The own rule's bit is that of the pairs that count; all others come of gates of their own.
        output = COMPARISON.output
        places = [0, output.rule(0), *range(output.present(0), output.levels(1).stop)]
        for share in result:
            bits = np.unpackbits(share.view(np.uint8), axis=1, bitorder="little")[:, places]
            assert abs(bits.sum() - bits.size / 2) < 5 * np.sqrt(bits.size) / 2


def test_two_sessions_share_nothing() -> None:
    (first, _), (second, _) = session(5), session(5)
    for one, other in zip(first, second, strict=True):
        assert [len(message) for message in one] == [len(message) for message in other]
        drawn = [{message for message in messages if len(message) >= 16} for messages in (one, other)]
        assert not drawn[0] & drawn[1]
        words = [
            set(np.frombuffer(b"".join(m for m in messages if len(m) % 8 == 0 and len(m) >= 16), "<u8").tolist())
            for messages in (one, other)
        ]
        assert not words[0] & words[1]


def test_a_stream_does_not_depend_on_how_it_is_drawn() -> None:
    one, other = Stream(bytes(32)), Stream(bytes(32))
    parts = np.concatenate([one.words(n) for n in (1, 0, 7, 140_000, 2)])
    np.testing.assert_array_equal(parts, other.words(len(parts)))
    assert not np.array_equal(parts[:4], Stream(bytes(31) + b"1").words(4))
