"""A message that is changed on its way, at any party and in any round, ends the session before anything is opened."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import ComputeParty
from gemel.shared.gates.gates import Shared
from gemel.shared.session.local_session import LocalParty, Parties, local_parties, together
from tests.carole.refusals import refusal
from tests.shared.gates.plain import shares_of, watched

RNG = np.random.default_rng(9)
X, Y = RNG.integers(0, 1 << 64, (2, 5, 40), dtype=np.uint64)
HELD = shares_of(X), shares_of(Y)
STAGE = "levels of pairs"


Messages = dict[tuple[ComputeParty, ComputeParty], list[int]]
"""By sender and receiver, the numbers of these messages among all of the sender's."""


def changing(sender: ComputeParty, number: int, place: float, cut: bool = False) -> Parties:
    """A party changes a bit of one message, or its length too."""

    def change(sent: int, content: bytes) -> bytes:
        if sent != number:
            return content
        changed = bytearray(content)
        bit = int(place * len(changed) * 8)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed[:-1] if cut else changed)

    return watched(sender, change)[0]


def computation(party: LocalParty) -> tuple[Shared, np.ndarray | None]:
    """Two rounds of gates, a check, and an output that one party gets."""
    party.stage = STAGE
    x, y = (held[party.own] for held in HELD)
    z = party.all_of([(party.all_of([(x, y)])[0], x ^ y)])[0]
    party.check(STAGE)
    opened = party.opened_to(ComputeParty.CAROLE, z, "output")
    party.check(STAGE)
    return z, opened


@pytest.fixture(scope="module")
def messages() -> Messages:
    parties, channels = watched()
    results = together(parties, computation)
    np.testing.assert_array_equal(results[0][1], (X & Y) & (X ^ Y))
    found: Messages = {}
    for sender, channel in channels.items():
        for number, (to, _) in enumerate(channel.sent):
            found.setdefault((sender, to), []).append(number)
    return found


@given(
    st.sampled_from([(a, b) for a in ComputeParty for b in ComputeParty if a != b]),
    st.floats(0, 0.999),
    st.floats(0, 0.999),
)
def test_one_changed_bit_ends_the_session(
    messages: Messages, link: tuple[ComputeParty, ComputeParty], number: float, place: float
) -> None:
    parties = changing(link[0], messages[link][int(number * len(messages[link]))], place)
    with refusal(ErrorCode.DEVIATION) as caught:
        together(parties, computation)
    assert caught.value.where == STAGE
    assert sum(party.title in caught.value.what for party in ComputeParty) == 2
    assert any(party.title in caught.value.got for party in ComputeParty)


@pytest.mark.parametrize("sender", tuple(ComputeParty))
def test_every_message_matters(messages: Messages, sender: ComputeParty) -> None:
    for to in (sender.previous, sender.next):
        for number in messages[sender, to]:
            with pytest.raises(GemelError, match=STAGE):
                together(changing(sender, number, 0.4), computation)


def cheats(party: LocalParty, errors: dict[int, int]) -> None:
    """Make a party add an error to the first word of its n-th message of gates, and go on with the wrong share."""
    sent, products = party.send, party.products
    number = -1

    def wrong(requests: list[tuple[Shared, Shared]]) -> list[Shared]:
        nonlocal number
        number += 1
        error = np.uint64(errors.get(number, 0))

        def send(to: ComputeParty, words: np.ndarray) -> None:
            words[0] ^= error
            sent(to, words)

        party.send = send  # type: ignore[method-assign]
        try:
            return products(requests)
        finally:
            party.send = sent  # type: ignore[method-assign]

    party.products = wrong  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize("sender", tuple(ComputeParty))
@pytest.mark.parametrize("gate", [0, 1])
def test_a_party_that_computes_a_wrong_gate_is_found_before_anything_is_opened(sender: ComputeParty, gate: int) -> None:
    parties = local_parties()
    cheats(parties[sender], {gate: 1 << 17})
    with pytest.raises(GemelError, match="results of gates differ"):
        together(parties, computation)
    assert {opening.what for party in parties for opening in party.openings} == {"check"}


@pytest.mark.parametrize("sender", tuple(ComputeParty))
def test_a_party_that_computes_a_wrong_random_gate_is_found(sender: ComputeParty) -> None:
    parties = local_parties()
    cheats(parties[sender], {2: 1 << 63})
    with pytest.raises(GemelError, match=r"random gates are wrong|results of gates differ"):
        together(parties, computation)


def test_a_wrong_gate_and_a_random_gate_that_fits_it_do_not_meet() -> None:
    """The order is drawn after both are made, so they meet once in 2^20 sessions."""
    for _ in range(10):
        parties = local_parties()
        cheats(parties[1], {1: (1 << 64) - 1, 2: (1 << 64) - 1})
        with pytest.raises(GemelError, match=r"random gates are wrong|results of gates differ"):
            together(parties, computation)


@pytest.mark.parametrize("sender", tuple(ComputeParty))
def test_each_honest_party_is_right_about_who_it_can_be(messages: Messages, sender: ComputeParty) -> None:
    parties = changing(sender, messages[sender, sender.previous][1], 0.7)
    errors: dict[ComputeParty, GemelError] = {}

    def run(party: LocalParty) -> None:
        try:
            computation(party)
        except GemelError as error:
            errors[party.own] = error

    together(parties, run)
    assert len(errors) == 3
    for own, error in errors.items():
        assert error.code is ErrorCode.DEVIATION
        assert own.title not in error.got
        if own != sender:
            assert sender.title in error.got


def test_a_cut_message_names_its_sender(messages: Messages) -> None:
    steward = ComputeParty.STEWARD
    parties = changing(steward, messages[steward, ComputeParty.COORDINATOR][0], 0.5, cut=True)
    with pytest.raises(GemelError, match="bytes instead of") as caught:
        together(parties, computation)
    assert caught.value.got == "a deviation of the steward"


def test_an_honest_session_goes_through_many_times() -> None:
    for _ in range(5):
        together(local_parties(), computation)


def test_gates_are_checked_in_between_where_they_would_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded, and a wrong gate of long ago is found without a call of `check`."""
    monkeypatch.setattr("gemel.shared.gates.party.GATE_WORDS", 500)

    def run(party: LocalParty) -> int:
        x, y = (held[party.own] for held in HELD)
        for _ in range(7):
            party.all_of([(x, y)])[0]
        return len(party.openings)

    assert min(together(local_parties(), run)) > 0
    parties = local_parties()
    cheats(parties[2], {0: 1})
    with pytest.raises(GemelError, match="results of gates differ"):
        together(parties, run)
