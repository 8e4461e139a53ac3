"""Rows in an order that nobody knows: the same rows, fresh shares, and no change that goes unnoticed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, chisquare

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.sharing import pair_tags, permutation
from tryst.common.sharing.compute_parties import ComputeParty
from tryst.common.sharing.galois import inner
from tryst.common.sharing.local_session import local_parties, together
from tryst.common.sharing.pair_tags import check_tags, inner_products, tagged
from tryst.common.sharing.party import Party
from tryst.common.sharing.permutation import permuted

Words = NDArray[np.uint64]
STAGE = "permute pairs"
PARTIES = tuple(ComputeParty)


def shared(words: Words, seed: int = 5) -> list[Words]:
    """Each party's two shares."""
    first, second = np.random.default_rng(seed).integers(0, 2**64, (2, *words.shape), dtype=np.uint64)
    shares = [first, second, first ^ second ^ words]
    return [np.stack([shares[own], shares[own.next]]) for own in PARTIES]


def value(held: list[Words]) -> Words:
    """What is shared; the shares that two parties hold are the same."""
    for own in PARTIES:
        assert (held[own][1] == held[own.next][0]).all()
    result: Words = held[0][0] ^ held[0][1] ^ held[1][1]
    return result


def run(parties: Any, function: Callable[[Party, Words], Any], held: list[Words]) -> list[Any]:
    return list(together(*(partial(function, party, held[party.own]) for party in parties)))


def permute(parties: Any, held: list[Words]) -> list[Words]:
    return run(parties, lambda party, rows: permuted(party, rows, STAGE), held)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 9), st.integers(1, 5), st.integers(0, 2**32))
def test_the_same_rows_come_out_on_fresh_shares(n: int, width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 3, (n, width), dtype=np.uint64)
    held = shared(rows, seed)
    after = permute(local_parties(), held)
    assert sorted(map(tuple, value(after).tolist())) == sorted(map(tuple, rows.tolist()))
    assert not n or all((after[own] != held[own]).any() for own in PARTIES)


def test_rows_of_several_blocks_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "BLOCK_ROWS", 7)
    monkeypatch.setattr(pair_tags, "BLOCK_ROWS", 7)
    rows = np.arange(20 * 2, dtype=np.uint64).reshape(20, 2)
    after = value(permute(local_parties(), shared(rows)))
    assert sorted(map(tuple, after.tolist())) == list(map(tuple, rows.tolist()))
    assert (after != rows).any()


@pytest.mark.parametrize("knowing", PARTIES)
def test_who_has_two_of_the_keys_does_not_know_the_order(knowing: ComputeParty) -> None:
    """Its keys the same, and the one that it lacks another each time: all orders are equally frequent."""
    draw = np.random.default_rng(20261127 + knowing)
    rows = np.arange(3, dtype=np.uint64)[:, None]
    held = shared(rows)
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(150):
        keys = [bytes([key]) * 32 for key in PARTIES]
        keys[knowing.previous] = draw.bytes(32)
        parties = [Party(each.own, (keys[each.own], keys[each.own.next]), each.channel) for each in local_parties()]
        counts[tuple(value(permute(parties, held))[:, 0].tolist())] += 1
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_shares_and_messages_of_known_rows_are_uniform() -> None:
    """All rows zero: what a party holds and receives has as many ones as chance gives."""
    parties = local_parties()
    received: dict[ComputeParty, list[bytes]] = {own: [] for own in PARTIES}
    for party in parties:
        _watch(party, received[party.own])
    after = permute(parties, shared(np.zeros((500, 2), dtype=np.uint64)))
    for own in PARTIES:
        views = [after[own][0].tobytes(), after[own][1].tobytes(), *(each for each in received[own] if len(each) > 99)]
        assert len(views) == 2 + 1 + 2
        for view in views:
            ones = int.from_bytes(view, "little").bit_count()
            assert binomtest(ones, 8 * len(view)).pvalue > 1e-6


def _watch(party: Party, received: list[bytes]) -> None:
    receive = party.channel.receive

    def watched(sender: ComputeParty) -> bytes:
        content = receive(sender)
        received.append(content)
        return content

    party.channel.receive = watched  # type: ignore[method-assign]


def _tamper(party: Party, change: Callable[[int, bytes], bytes]) -> list[int]:
    """Let a party change what it sends, by number of its message; the numbers of its messages so far."""
    send, numbers = party.channel.send, []

    def tampered(to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        numbers.append(len(numbers))
        send(to, change(numbers[-1], bytes(content)))

    party.channel.send = tampered  # type: ignore[method-assign]
    return numbers


ROWS = np.arange(8, dtype=np.uint64).reshape(4, 2)


def refused(parties: Any, held: list[Words] | None = None) -> None:
    with pytest.raises(TrystError) as caught:
        permute(parties, held or shared(ROWS))
    assert caught.value.code is ErrorCode.DEVIATION
    assert STAGE in caught.value.where


@pytest.mark.parametrize("cheating", PARTIES)
def test_one_flipped_bit_in_any_message_is_found(cheating: ComputeParty) -> None:
    parties = local_parties()
    numbers = _tamper(parties[cheating], lambda number, content: content)
    permute(parties, shared(ROWS))
    draw = np.random.default_rng(cheating)
    assert len(numbers) >= 7
    for wrong in numbers:

        def flip(number: int, content: bytes, wrong: int = wrong) -> bytes:
            if number != wrong:
                return content
            bit = int(draw.integers(8 * len(content)))
            changed = int.from_bytes(content, "little") ^ 1 << bit
            return changed.to_bytes(len(content), "little")

        parties = local_parties()
        _tamper(parties[cheating], flip)
        refused(parties)


@pytest.mark.parametrize("change", [lambda content: content[:-8], lambda content: content + bytes(8)])
def test_a_message_of_another_length_is_found(change: Callable[[bytes], bytes]) -> None:
    for wrong in range(3):
        parties = local_parties()
        _tamper(parties[0], lambda number, content, wrong=wrong: change(content) if number == wrong else content)
        refused(parties)


class OtherOrder:
    """A party that, in one of its rounds, permutes by another order than agreed."""

    def __init__(self, party: Party, wrong_round: int) -> None:
        self._party, self._wrong, self._round = party, wrong_round, -1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._party, name)

    def random(self, shape: tuple[int, ...]) -> Words:
        drawn = self._party.random(shape)
        if shape == (4,):
            self._round += 1
            if self._round == self._wrong:
                return drawn ^ np.uint64(1)
        return drawn


@pytest.mark.parametrize("cheating", PARTIES)
def test_another_order_than_agreed_is_found(cheating: ComputeParty) -> None:
    """In the two rounds in which the party permutes; in the third it has no order."""
    for wrong in range(3):
        parties: list[Any] = list(local_parties())
        parties[cheating] = OtherOrder(parties[cheating], wrong)
        rows = np.arange(80, dtype=np.uint64).reshape(40, 2)
        if cheating in (wrong, ComputeParty(wrong).previous):
            refused(parties, shared(rows))
        else:
            assert sorted(value(permute(parties, shared(rows)))[:, 0].tolist()) == rows[:, 0].tolist()


def test_rows_changed_so_that_their_sum_stays_are_found() -> None:
    """The same error in two rows, which factors that are all alike would not show."""
    parties = local_parties()

    def change(number: int, content: bytes) -> bytes:
        if number != 1:
            return content
        words = np.frombuffer(content, dtype=np.uint64).reshape(4, 3).copy()
        words[:2, 0] ^= np.uint64(12345)
        return words.tobytes()

    _tamper(parties[0], change)
    refused(parties)


def test_an_error_passes_only_if_it_fits_the_key_that_nobody_knows() -> None:
    """With the key a party could change a row and its tag; without it, it cannot."""
    parties = local_parties()
    keys: list[Words] = run(parties, lambda party, _: party.random((2,)), shared(ROWS))
    before = run(parties, lambda party, rows: tagged(party, rows, keys[party.own], STAGE), shared(ROWS))
    alpha = value(keys)
    assert (value(before)[:, 2] == inner(ROWS, alpha)).all()
    error = np.array([3, 0, int(inner(np.array([[3, 0]], dtype=np.uint64), alpha)[0])], dtype=np.uint64)

    def check(added: Words) -> None:
        rows = [shares.copy() for shares in before]
        rows[0][0, 1] ^= added
        rows[2][1, 1] ^= added
        run(parties, lambda party, _: check_tags(party, rows[party.own], keys[party.own], STAGE), before)

    check(error)
    with pytest.raises(TrystError) as caught:
        check(error ^ np.array([0, 0, 1], dtype=np.uint64))
    assert caught.value.code is ErrorCode.DEVIATION


def test_nobody_learns_the_factors_before_all_have_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A party that holds its last message back does not get the coin meanwhile."""
    parties = local_parties()
    drawn, send = threading.Event(), parties[2].channel.send
    large: list[int] = []

    def late(to: ComputeParty, content: bytes | bytearray | memoryview) -> None:
        # Its tag part, and a message in each of two rounds; the last of them is held back.
        large.append(len(content))
        if len(large) == 3:
            assert not drawn.wait(0.3)
        send(to, content)

    parties[2].channel.send = late  # type: ignore[method-assign]
    for party in parties:
        coin = party.coin

        def watched(n: int, coin: Callable[[int], Words] = coin) -> Words:
            drawn.set()
            return coin(n)

        monkeypatch.setattr(party, "coin", watched)
    permute(parties, shared(ROWS))
    assert drawn.is_set()
    assert len(large) >= 3


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_inner_products_of_shares_are_the_shares_of_inner_products(n: int, width: int, seed: int) -> None:
    rows, factors = (np.random.default_rng(seed).integers(0, 2**64, (rows, width), dtype=np.uint64) for rows in (n, 1))
    held, by = shared(rows, seed), shared(factors[0], seed + 1)
    result = run(local_parties(), lambda party, own: inner_products(party, own, by[party.own], STAGE), held)
    assert value(result).tolist() == inner(rows, factors[0]).tolist()
