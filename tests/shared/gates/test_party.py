"""What three parties compute on shares, compared with the same on plain words."""

import numpy as np

from gemel.common.errors import ErrorCode
from gemel.common.parties import ComputeParty
from gemel.shared.gates.vouched_openings import MESSAGE_WORDS, Opening
from gemel.shared.session.local_session import local_parties, together
from tests.carole.refusals import refusal
from tests.shared.gates.plain import shares_of, value_of, watched

RNG = np.random.default_rng(5)


def words(*shape: int) -> np.ndarray:
    return RNG.integers(0, 1 << 64, shape, dtype=np.uint64)


def test_random_words_are_shared_and_zero_is_nothing() -> None:
    parties = local_parties()
    results = together(parties, lambda party: (party.random((2, 5)), party.zero(6)))
    drawn = value_of(tuple(random for random, _ in results))
    assert drawn.shape == (2, 5)
    assert len(np.unique(drawn)) == 10
    parts = [zero for _, zero in results]
    assert not (parts[0] ^ parts[1] ^ parts[2]).any()
    assert parts[0].all()


def test_public_words_are_the_value() -> None:
    value = words(4)
    results = together(local_parties(), lambda party: party.public(value))
    np.testing.assert_array_equal(value_of(results), value)


def test_what_is_opened_and_to_whom() -> None:
    x = words(4, 2)
    held = shares_of(x)

    def run(party):  # type: ignore[no-untyped-def]
        all_see = party.opened(held[party.own], "everything")
        one_sees = party.opened_to(ComputeParty.STEWARD, held[party.own], "something")
        party.check("opening")
        return all_see, one_sees, party.openings

    for own, (all_see, one_sees, openings) in zip(ComputeParty, together(local_parties(), run), strict=True):
        np.testing.assert_array_equal(all_see, x)
        if own is ComputeParty.STEWARD:
            np.testing.assert_array_equal(one_sees, x)
        else:
            assert one_sees is None
        assert [each for each in openings if each.what != "check"] == [
            Opening("everything", None, 8),
            Opening("something", ComputeParty.STEWARD, 8),
        ]


def test_a_long_list_is_opened_by_several_messages_and_a_wrong_word_of_the_last_is_found() -> None:
    """Of one message at most so much is taken: a party could else have another hold what it likes."""
    x = words(MESSAGE_WORDS // 2 + 1, 2)
    held = shares_of(x)
    wrong = held[0].copy()
    wrong[1, -1, -1] ^= np.uint64(1)

    def opened(shares):  # type: ignore[no-untyped-def]
        def run(party):  # type: ignore[no-untyped-def]
            value = party.opened_to(ComputeParty.STEWARD, shares[party.own], "something")
            party.check("opening")
            return value

        parties, channels = watched()
        value = together(parties, run)[ComputeParty.STEWARD]
        return value, max(length for channel in channels.values() for _, length in channel.sent)

    value, longest = opened(held)
    np.testing.assert_array_equal(value, x)
    assert longest == 8 * MESSAGE_WORDS
    with refusal(ErrorCode.DEVIATION):
        opened((wrong, *held[1:]))


def test_a_coin_is_the_same_for_all_and_another_each_time() -> None:
    parties = local_parties()
    coins = together(parties, lambda party: (party.coin(3), party.coin(3)))
    assert len({tuple(one.tolist()) for one, _ in coins}) == 1
    assert not np.array_equal(coins[0][0], coins[0][1])


def test_all_must_have_the_same_bytes() -> None:
    together(local_parties(), lambda party: party.compare(b"x", "the digest of a file"))
    with refusal(ErrorCode.DEVIATION, "the digest of a file") as caught:
        together(
            local_parties(),
            lambda party: party.compare(
                b"y" if party.own is ComputeParty.COORDINATOR else b"x", "the digest of a file"
            ),
        )
    assert "the coordinator" in caught.value.what


def test_right_gates_pass_the_check_whatever_their_number() -> None:
    x, y = words(70_001), words(70_001)
    held = shares_of(x), shares_of(y)

    def run(party):  # type: ignore[no-untyped-def]
        for n in (1, 3, 70_001):
            z = party.all_of([(held[0][party.own][:, :n], held[1][party.own][:, :n])])[0]
        party.check("gates")
        return party.opened(z, "z")

    for value in together(local_parties(), run):
        np.testing.assert_array_equal(value, x & y)
