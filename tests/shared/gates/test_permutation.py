"""Rows in an order that no party knows: the same rows, fresh shares, and no change that goes unnoticed."""

from __future__ import annotations

import itertools
import queue
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from gemel.common.errors import ErrorCode
from gemel.common.parties import ComputeParty
from gemel.shared.gates import pair_tags, permutation
from gemel.shared.gates.gates import Shared, Words
from gemel.shared.gates.pair_tags import check_tags, inner, inner_products, tagged
from gemel.shared.gates.party import Party
from gemel.shared.gates.permutation import permuted
from gemel.shared.session.local_session import LocalChannel, LocalParty, Parties, local_parties, together
from tests.carole.refusals import refusal
from tests.shared.gates.plain import shares_of, value_of, watched

STAGE = "permute pairs"
PARTIES = tuple(ComputeParty)


def run(parties: Parties, function: Callable[[Party, Shared], Any], held: Sequence[Shared]) -> Sequence[Any]:
    return together(parties, lambda party: function(party, held[party.own]))


def permute(parties: Parties, held: Sequence[Shared]) -> Sequence[Shared]:
    return run(parties, lambda party, rows: permuted(party, rows, STAGE), held)


@settings(max_examples=15)
@given(st.integers(0, 9), st.integers(1, 5), st.integers(0, 2**32))
def test_the_same_rows_come_out_on_fresh_shares(n: int, width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 3, (n, width), dtype=np.uint64)
    held = shares_of(rows, seed)
    after = permute(local_parties(), held)
    assert sorted(map(tuple, value_of(after).tolist())) == sorted(map(tuple, rows.tolist()))
    assert not n or all((after[own] != held[own]).any() for own in PARTIES)


def test_rows_of_several_blocks_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "BLOCK_ROWS", 7)
    monkeypatch.setattr(pair_tags, "BLOCK_ROWS", 7)
    rows = np.arange(20 * 2, dtype=np.uint64).reshape(20, 2)
    after = value_of(permute(local_parties(), shares_of(rows)))
    assert sorted(map(tuple, after.tolist())) == list(map(tuple, rows.tolist()))
    assert (after != rows).any()


@pytest.mark.parametrize("knowing", PARTIES)
def test_who_has_two_of_the_keys_does_not_know_the_order(knowing: ComputeParty) -> None:
    """Its keys the same, and the one that it lacks another each time: all orders are equally frequent."""
    draw = np.random.default_rng(20261127 + knowing)
    rows = np.arange(3, dtype=np.uint64)[:, None]
    held = shares_of(rows)
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(120):
        keys = [bytes([key]) * 32 for key in PARTIES]
        keys[knowing.previous] = draw.bytes(32)
        counts[tuple(value_of(permute(with_keys(keys), held))[:, 0].tolist())] += 1
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 1e-4


def with_keys(keys: Sequence[bytes]) -> Parties:
    queues: Any = {(a, b): queue.SimpleQueue() for a in PARTIES for b in PARTIES if a != b}
    one, two, three = (
        LocalParty((keys[own], keys[own.next]), LocalChannel(own, queues), lambda channel: channel) for own in PARTIES
    )
    return one, two, three


def test_shares_and_messages_of_known_rows_are_uniform() -> None:
    """All rows zero: what a party holds and receives has as many ones as chance gives."""
    parties, channels = watched()
    after = permute(parties, shares_of(np.zeros((500, 2), dtype=np.uint64)))
    for own in PARTIES:
        views = [share.tobytes() for share in after[own]] + [each for each in channels[own].received if len(each) > 99]
        # Tags, and a message in each of the two rounds in which it permutes.
        assert len(views) == 2 + 3
        for view in views:
            ones = int.from_bytes(view, "little").bit_count()
            assert binomtest(ones, 8 * len(view)).pvalue > 1e-6


ROWS = np.arange(8, dtype=np.uint64).reshape(4, 2)


def refused(parties: Parties, held: Sequence[Shared] | None = None) -> str:
    with refusal(ErrorCode.DEVIATION) as caught:
        permute(parties, held or shares_of(ROWS))
    assert STAGE in caught.value.where
    return caught.value.what


@pytest.mark.parametrize("cheating", PARTIES)
def test_one_flipped_bit_in_any_message_is_found(cheating: ComputeParty) -> None:
    parties, channels = watched()
    permute(parties, shares_of(ROWS))
    draw = np.random.default_rng(cheating)
    # Tags and two rounds at least, then the coin, the product and the opening with what vouches for it.
    assert len(channels[cheating].sent) >= 3 + 4 + 1 + 1 + 4
    for wrong in range(len(channels[cheating].sent)):

        def flip(number: int, content: bytes, wrong: int = wrong) -> bytes:
            if number != wrong:
                return content
            changed = int.from_bytes(content, "little") ^ 1 << int(draw.integers(8 * len(content)))
            return changed.to_bytes(len(content), "little")

        refused(watched(cheating, flip)[0])


@pytest.mark.parametrize("change", [lambda content: content[:-8], lambda content: content + bytes(8)])
def test_a_message_of_another_length_is_found(change: Callable[[bytes], bytes]) -> None:
    for wrong in range(3):
        refused(watched(PARTIES[0], lambda n, content, wrong=wrong: change(content) if n == wrong else content)[0])


@pytest.mark.parametrize("cheating", PARTIES)
def test_another_order_than_agreed_is_found(cheating: ComputeParty) -> None:
    """In the two rounds in which the party permutes; in the third it has no order."""
    rows = np.arange(80, dtype=np.uint64).reshape(40, 2)
    for wrong in range(3):
        parties, rounds = local_parties(), itertools.count()
        random = parties[cheating].random

        def other(shape: tuple[int, ...], random: Any = random, rounds: Any = rounds, wrong: int = wrong) -> Words:
            drawn: Words = random(shape)
            # Seeds of orders are drawn once in each round, and one of a coin at the end.
            return drawn ^ np.uint64(1) if shape == (4,) and next(rounds) == wrong else drawn

        parties[cheating].random = other  # type: ignore[method-assign]
        if cheating in (wrong, ComputeParty(wrong).previous):
            refused(parties, shares_of(rows))
        else:
            assert sorted(value_of(permute(parties, shares_of(rows)))[:, 0].tolist()) == rows[:, 0].tolist()
        assert next(rounds) == 4


def cheating_in(cheating: ComputeParty, wrong: int, change: Callable[[Words], None]) -> Parties:
    """A party that changes words in one exchange, and goes on with the changed ones: both holders have them."""
    parties, exchanges = local_parties(), itertools.count()
    exchanged = parties[cheating].exchanged

    def changed(to: ComputeParty, words: Words, sender: ComputeParty) -> Words:
        if next(exchanges) == wrong:
            change(words)
        return exchanged(to, words, sender)

    parties[cheating].exchanged = changed  # type: ignore[method-assign]
    return parties


@pytest.mark.parametrize("cheating", PARTIES)
def test_an_error_that_holders_of_shares_have_alike_is_found_by_the_tags(cheating: ComputeParty) -> None:
    """In the tags, in the two rounds, and in the product of the check itself."""

    def change(words: Words) -> None:
        words.reshape(-1)[0] ^= np.uint64(1 << 40)

    for wrong in range(4):
        assert "permuted" in refused(cheating_in(cheating, wrong, change))
    permute(cheating_in(cheating, 4, change), shares_of(ROWS))


def test_errors_whose_sum_is_zero_are_found() -> None:
    """The same error in two rows, which factors that are all alike would not show."""

    def change(words: Words) -> None:
        words[:2, 0] ^= np.uint64(12345)

    assert "permuted" in refused(cheating_in(ComputeParty.CAROLE, 1, change))


def test_an_error_passes_only_if_it_fits_the_key_that_no_party_knows() -> None:
    """With the key a party could change a row and its tag; without it, it cannot."""
    parties = local_parties()
    keys = run(parties, lambda party, _: party.random((2,)), shares_of(ROWS))
    before = run(parties, lambda party, rows: tagged(party, rows, keys[party.own]), shares_of(ROWS))
    alpha = value_of(keys)
    assert (value_of(before)[:, 2] == inner(ROWS, alpha)).all()
    error = np.array([3, 0, int(inner(np.array([[3, 0]], dtype=np.uint64), alpha)[0])], dtype=np.uint64)

    def check(added: Words) -> None:
        rows = [shares.copy() for shares in before]
        rows[0][0, 1] ^= added
        rows[2][1, 1] ^= added
        run(parties, lambda party, _: check_tags(party, rows[party.own], keys[party.own]), before)

    check(error)
    with refusal(ErrorCode.DEVIATION):
        check(error ^ np.array([0, 0, 1], dtype=np.uint64))


def test_no_party_learns_the_factors_before_all_have_all_rows() -> None:
    """A party that holds its last message of rows back is not sent a share of the coin meanwhile."""
    rows_of = 8 * ROWS.size * 3 // 2
    late: list[int] = []
    cheating = ComputeParty.STEWARD

    def hold(number: int, content: bytes) -> bytes:
        if len(content) == rows_of:
            late.append(number)
            if len(late) == 2:
                time.sleep(0.2)
                # Shares of the coin have four words: Carole, who takes no part in this round, does not send hers.
                waiting = [queued(messages) for (_, to), messages in queues.items() if to == cheating]
                assert all(len(each) != 32 for messages in waiting for each in messages)
        return content

    parties, channels = watched(cheating, hold)
    queues = channels[cheating]._queues
    permute(parties, shares_of(ROWS))
    assert len(late) == 2


def queued(messages: Any) -> list[bytes]:
    """What is in a queue, and stays there."""
    found = [messages.get() for _ in range(messages.qsize())]
    for each in found:
        messages.put(each)
    return found


@settings(max_examples=10)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_inner_products_of_shares_are_the_shares_of_inner_products(n: int, width: int, seed: int) -> None:
    rows, factors = (np.random.default_rng(seed).integers(0, 2**64, (rows, width), dtype=np.uint64) for rows in (n, 1))
    held, by = shares_of(rows, seed), shares_of(factors[0], seed + 1)
    result = run(local_parties(), lambda party, own: inner_products(party, own, by[party.own]), held)
    assert value_of(result).tolist() == inner(rows, factors[0]).tolist()
