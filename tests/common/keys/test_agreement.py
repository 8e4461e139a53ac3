"""Seed agreement: two honest custodians end with one seed, whatever the mailbox between them does."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.agreement import Agreement
from tryst.common.keys.agreement_messages import MESSAGE_LIMIT, Confirmation, Offer, Terms
from tryst.common.keys.framing import frame
from tryst.common.keys.identity import Identity, PublicIdentity
from tryst.common.keys.identity_key import IdentityKey
from tryst.common.keys.vault import Vault
from tryst.common.keys.wrapping import WrappingKeys
from tryst.common.parties import Side

ALICE, BOB, CAROLE = Identity(IdentityKey.create()), Identity(IdentityKey.create()), Identity(IdentityKey.create())
TERMS = Terms("febrl4", bytes(range(32)), 1)
CANARY = hashlib.sha256(b"canary").digest()


def alice(terms: Terms = TERMS, peer: PublicIdentity = BOB.public) -> Agreement:
    return Agreement(terms, Side.ALICE, ALICE, peer)


def bob(terms: Terms = TERMS, peer: PublicIdentity = ALICE.public) -> Agreement:
    return Agreement(terms, Side.BOB, BOB, peer)


def with_offers() -> tuple[Agreement, Agreement]:
    one, other = alice(), bob()
    one.accept_offer(other.offer)
    other.accept_offer(one.offer)
    return one, other


def refusal(attempt: Callable[[], object]) -> TrystError:
    with pytest.raises(TrystError) as caught:
        attempt()
    assert caught.value.remedy
    return caught.value


def test_two_custodians_agree() -> None:
    one, other = with_offers()
    from_alice, from_bob = one.confirm(CANARY), other.confirm(CANARY)
    one.accept_confirmation(from_bob)
    other.accept_confirmation(from_alice)
    assert one.is_agreed
    assert other.is_agreed
    assert one.seed == other.seed == one.candidate
    again, _ = with_offers()
    assert again.candidate != one.seed


def test_the_seed_is_as_documented() -> None:
    """The derivation repeated from the messages' public parts and one private key, with nothing but hashlib."""
    one, other = with_offers()
    ephemeral = one.export()
    parts = []
    while ephemeral:
        length = int.from_bytes(ephemeral[:4], "big")
        parts.append(ephemeral[4 : 4 + length])
        ephemeral = ephemeral[4 + length :]
    private = X25519PrivateKey.from_private_bytes(parts[7])  # behind version, terms, side and identities
    own, others = private.public_key().public_bytes_raw(), other.offer[-100:-68]
    shared = private.exchange(X25519PublicKey.from_public_bytes(others))
    transcript = hashlib.sha256(
        frame(
            b"tryst seed agreement transcript 1",
            b"febrl4",
            bytes(range(32)),
            (1).to_bytes(4, "big"),
            ALICE.public.raw,
            own,
            BOB.public.raw,
            others,
        )
    ).digest()
    extracted = hmac.digest(transcript, shared, "sha256")
    expanded = hmac.digest(extracted, frame(b"tryst seed 1") + b"\x01", "sha256")
    assert one.candidate.reveal() == expanded


def test_messages_are_frozen() -> None:
    """The same keys give the same messages in every version; made by this program, checked by their hashes."""
    identities = [Identity(IdentityKey(Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32))) for n in (1, 2)]
    ephemerals = [X25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (3, 4)]
    one, other = (
        Agreement(TERMS, side, identities[n], identities[1 - n].public, _ephemeral=ephemerals[n])
        for n, side in enumerate(Side)
    )
    one.accept_offer(other.offer)
    found = [hashlib.sha256(message).hexdigest()[:32] for message in (one.offer, other.offer, one.confirm(CANARY))]
    assert found == GOLDEN
    assert hashlib.sha256(one.candidate.reveal()).hexdigest()[:32] == GOLDEN_SEED


GOLDEN = [
    "ff5309023de38d52917f36953eb2e5f3",
    "f7f27c11e3ef720c3b440138db55b763",
    "8ef26dfb2708c90230a76abc12940010",
]
GOLDEN_SEED = "75b489ea9cc9ba5ba649ac08fcc06513"


def test_waiting_encrypted_changes_nothing() -> None:
    vault = Vault(WrappingKeys.create())

    def wait(agreement: Agreement, identity: Identity, peer: Identity) -> Agreement:
        stored = vault.protect("febrl4 agreement", agreement.export())
        return Agreement.resume(vault.reveal("febrl4 agreement", stored), identity, peer.public)

    one, other = alice(), bob()
    offer = one.offer
    one = wait(one, ALICE, BOB)
    assert one.offer == offer
    other.accept_offer(one.offer)
    other = wait(other, BOB, ALICE)
    assert other.has_peer_offer
    from_bob = other.confirm(CANARY)
    other = wait(other, BOB, ALICE)
    assert other.is_confirmed
    assert other.confirm(CANARY) == from_bob
    one.accept_offer(other.offer)
    from_alice = one.confirm(CANARY)
    one.accept_confirmation(from_bob)
    one = wait(one, ALICE, BOB)
    other.accept_confirmation(from_alice)
    assert one.is_agreed
    assert one.seed == other.seed


def test_a_stored_state_is_bound_to_both_identities_and_strict() -> None:
    state = alice().export()
    assert refusal(lambda: Agreement.resume(state, CAROLE, BOB.public)).code is ErrorCode.CONFIGURATION
    assert refusal(lambda: Agreement.resume(state, ALICE, CAROLE.public)).code is ErrorCode.CONFIGURATION
    for malformed in (b"", state[:-1], state + b"\0", state.replace(b"state 1", b"state 2")):
        error = refusal(lambda malformed=malformed: Agreement.resume(malformed, ALICE, BOB.public))
        assert error.code is ErrorCode.VAULT


def test_the_order_is_kept() -> None:
    one, other = alice(), bob()
    assert refusal(lambda: one.candidate).code is ErrorCode.WRONG_STATE
    assert refusal(lambda: one.seed).code is ErrorCode.WRONG_STATE
    assert refusal(lambda: one.confirm(CANARY)).code is ErrorCode.WRONG_STATE
    assert refusal(lambda: one.accept_confirmation(b"")).code is ErrorCode.WRONG_STATE
    one.accept_offer(other.offer)
    other.accept_offer(one.offer)
    assert refusal(lambda: one.seed).code is ErrorCode.WRONG_STATE
    from_bob = other.confirm(CANARY)
    assert refusal(lambda: one.accept_confirmation(from_bob)).code is ErrorCode.WRONG_STATE
    one.confirm(CANARY)
    assert refusal(lambda: one.seed).code is ErrorCode.WRONG_STATE
    one.accept_confirmation(from_bob)
    assert one.seed == one.candidate


def test_the_same_again_is_harmless_and_another_is_refused() -> None:
    one, other = with_offers()
    one.accept_offer(other.offer)
    assert refusal(lambda: one.accept_offer(bob().offer)).code is ErrorCode.WRONG_STATE
    message = one.confirm(CANARY)
    assert one.confirm(CANARY) == message
    assert refusal(lambda: one.confirm(bytes(32))).code is ErrorCode.WRONG_STATE
    from_bob = other.confirm(CANARY)
    one.accept_confirmation(from_bob)
    one.accept_confirmation(from_bob)
    assert one.is_agreed


def test_ones_own_messages_sent_back_are_refused() -> None:
    one, other = alice(), bob()
    error = refusal(lambda: one.accept_offer(one.offer))
    assert error.code is ErrorCode.SIGNATURE
    assert "own offer" in error.what
    one.accept_offer(other.offer)
    message = one.confirm(CANARY)
    assert refusal(lambda: one.accept_confirmation(message)).code is ErrorCode.SIGNATURE


def test_one_cannot_agree_with_oneself() -> None:
    assert refusal(lambda: alice(peer=ALICE.public)).code is ErrorCode.CONFIGURATION


def test_an_identity_that_was_not_configured_is_refused() -> None:
    impostor = Agreement(TERMS, Side.BOB, CAROLE, ALICE.public)
    error = refusal(lambda: alice().accept_offer(impostor.offer))
    assert error.code is ErrorCode.SIGNATURE
    assert BOB.public.fingerprint in error.got


def test_an_offer_that_names_another_identity_than_its_signers_is_refused() -> None:
    claimed = Offer(TERMS, Side.BOB, CAROLE.public.raw, X25519PrivateKey.generate().public_key().public_bytes_raw())
    error = refusal(lambda: alice().accept_offer(claimed.signed(BOB)))
    assert "another identity" in error.what


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        (Terms("febrl5", TERMS.encoding_digest, 1), ErrorCode.SIGNATURE),
        (Terms("febrl4", bytes(32), 1), ErrorCode.ENCODING_MISMATCH),
        (Terms("febrl4", TERMS.encoding_digest, 2), ErrorCode.EPOCH_MISMATCH),
    ],
    ids=["project", "encoding", "epoch"],
)
def test_messages_of_other_terms_are_refused(terms: Terms, code: ErrorCode) -> None:
    """Replay: the other custodian has really signed these, for something else."""
    elsewhere = bob(terms)
    elsewhere.accept_offer(alice(terms).offer)
    one, _ = with_offers()
    fresh = alice()
    assert refusal(lambda: fresh.accept_offer(elsewhere.offer)).code is code
    assert not fresh.has_peer_offer
    one.confirm(CANARY)
    assert refusal(lambda: one.accept_confirmation(elsewhere.confirm(CANARY))).code is code
    assert not one.is_agreed


def test_the_wrong_side_is_refused() -> None:
    second_alice = Agreement(TERMS, Side.ALICE, BOB, ALICE.public)
    error = refusal(lambda: alice().accept_offer(second_alice.offer))
    assert error.code is ErrorCode.SIGNATURE
    assert "side" in error.what


@pytest.mark.parametrize(
    "raw",
    [
        bytes(32),
        (1).to_bytes(32, "little"),
        (2**255 - 20).to_bytes(32, "little"),
        (2**255 - 19).to_bytes(32, "little"),
        (2**255 - 18).to_bytes(32, "little"),
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    ],
    ids=bytes.hex,
)
def test_a_point_of_low_order_is_refused(raw: bytes) -> None:
    offer = Offer(TERMS, Side.BOB, BOB.public.raw, raw).signed(BOB)
    one = alice()
    error = refusal(lambda: one.accept_offer(offer))
    assert error.code is ErrorCode.SIGNATURE
    assert "low order" in error.what
    assert not one.has_peer_offer


def test_ones_own_ephemeral_key_offered_by_the_other_is_refused() -> None:
    one = alice()
    own = one.offer[-100:-68]
    offer = Offer(TERMS, Side.BOB, BOB.public.raw, own).signed(BOB)
    assert "own ephemeral key" in refusal(lambda: one.accept_offer(offer)).what


def test_different_offers_shown_to_each_are_found() -> None:
    """Bob really made both offers (he lost his state and began again); the mailbox shows Alice the former."""
    former, later, one = bob(), bob(), alice()
    one.accept_offer(former.offer)
    later.accept_offer(one.offer)
    one.confirm(CANARY)
    error = refusal(lambda: one.accept_confirmation(later.confirm(CANARY)))
    assert error.code is ErrorCode.KEY_MISMATCH
    assert "different offers" in error.what


def test_a_confirmation_without_the_secret_is_refused() -> None:
    one, other = with_offers()
    one.confirm(CANARY)
    transcript = other.confirm(CANARY)[-(32 + 36 + 36 + 68) :][:32]
    forged = Confirmation(TERMS, Side.BOB, transcript, CANARY, bytes(32)).signed(BOB)
    error = refusal(lambda: one.accept_confirmation(forged))
    assert error.code is ErrorCode.KEY_MISMATCH
    assert "key confirmation" in error.what
    assert not one.is_agreed


def test_another_canary_is_distinguished_from_another_key() -> None:
    one, other = with_offers()
    one.confirm(CANARY)
    error = refusal(lambda: one.accept_confirmation(other.confirm(bytes(32))))
    assert error.code is ErrorCode.CANARY_MISMATCH
    assert not one.is_agreed


@settings(deadline=None)
@given(st.data())
def test_any_changed_bit_of_either_message_is_refused(data: st.DataObject) -> None:
    one, other = with_offers()
    one.confirm(CANARY)
    fresh = alice()
    for message, take in ((other.offer, fresh.accept_offer), (other.confirm(CANARY), one.accept_confirmation)):
        changed = bytearray(message)
        changed[data.draw(st.integers(0, len(message) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        assert refusal(lambda take=take, changed=changed: take(bytes(changed))).code is ErrorCode.SIGNATURE
    assert not fresh.has_peer_offer
    assert not one.is_agreed


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_malformed_messages_are_refused(message: bytes) -> None:
    assert refusal(lambda: alice().accept_offer(message)).code is ErrorCode.SIGNATURE


def test_cut_lengthened_long_and_wrong_messages_are_refused() -> None:
    one, other = with_offers()
    offer = other.offer
    fresh = alice()
    for message in (offer[:-1], offer[:40], offer + b"\0", bytes(MESSAGE_LIMIT + 1), other.confirm(CANARY)):
        assert refusal(lambda message=message: fresh.accept_offer(message)).code is ErrorCode.SIGNATURE
    one.confirm(CANARY)
    assert refusal(lambda: one.accept_confirmation(offer)).code is ErrorCode.SIGNATURE


@pytest.mark.parametrize(
    "make",
    [
        lambda: Terms("", bytes(32), 1),
        lambda: Terms("x" * 257, bytes(32), 1),
        lambda: Terms("febrl4", bytes(31), 1),
        lambda: Terms("febrl4", bytes(32), -1),
        lambda: Terms("febrl4", bytes(32), 2**32),
    ],
)
def test_terms_have_bounds(make: Callable[[], Terms]) -> None:
    with pytest.raises(TrystError) as caught:
        make()
    assert caught.value.code is ErrorCode.PARAMETER


def test_messages_hold_no_secret_and_are_short() -> None:
    one, other = with_offers()
    messages = [one.offer, other.offer, one.confirm(CANARY), other.confirm(CANARY)]
    assert max(map(len, messages)) < 500
    for secret in (one.candidate.reveal(), one.export()[-68 - 32 :]):
        assert all(secret not in message for message in messages)
    assert one.candidate.reveal().hex() not in repr(one)


@dataclass
class Custodian:
    """One side with its store: what it has written down survives it."""

    side: Side
    identity: Identity
    peer: Identity
    stored: bytes = b""

    def agreement(self) -> Agreement:
        if not self.stored:
            self.stored = Agreement(TERMS, self.side, self.identity, self.peer.public).export()
        return Agreement.resume(self.stored, self.identity, self.peer.public)


class Mailbox(RuleBasedStateMachine):
    """Random operations of a hostile mailbox: drop, repeat, reorder, reflect, change, forge; and restarts.

    A failure is a seed that only one side could hold, a seed other than the honest one, or an honest pair that can
    no longer agree once messages are delivered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.custodians = [
            Custodian(Side.ALICE, ALICE, BOB),
            Custodian(Side.BOB, BOB, ALICE),
        ]
        self.messages: list[bytes] = []
        self.refused = 0

    def act(self, which: int, what: Callable[[Agreement], object]) -> None:
        custodian = self.custodians[which]
        agreement = custodian.agreement()
        try:
            what(agreement)
        except TrystError:
            self.refused += 1
        else:
            custodian.stored = agreement.export()

    @rule(which=st.integers(0, 1))
    def post_offer(self, which: int) -> None:
        self.act(which, lambda agreement: self.messages.append(agreement.offer))

    @rule(which=st.integers(0, 1))
    def post_confirmation(self, which: int) -> None:
        self.act(which, lambda agreement: self.messages.append(agreement.confirm(CANARY)))

    @precondition(lambda self: self.messages)
    @rule(which=st.integers(0, 1), data=st.data(), change=st.booleans())
    def deliver(self, which: int, data: st.DataObject, change: bool) -> None:
        message = bytearray(data.draw(st.sampled_from(self.messages)))
        if change:
            message[data.draw(st.integers(0, len(message) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        taken = data.draw(st.sampled_from(["accept_offer", "accept_confirmation"]))
        self.act(which, lambda agreement: getattr(agreement, taken)(bytes(message)))

    @rule(which=st.integers(0, 1), side=st.sampled_from(list(Side)))
    def forge(self, which: int, side: Side) -> None:
        forger = Agreement(TERMS, side, CAROLE, self.custodians[which].identity.public)
        self.act(which, lambda agreement: agreement.accept_offer(forger.offer))

    @invariant()
    def a_seed_is_the_others_candidate(self) -> None:
        one, other = (custodian.agreement() for custodian in self.custodians)
        for agreed, peer in ((one, other), (other, one)):
            if agreed.is_agreed:
                assert peer.is_confirmed
                assert agreed.seed == peer.candidate

    def teardown(self) -> None:
        one, other = (custodian.agreement() for custodian in self.custodians)
        one.accept_offer(other.offer)
        other.accept_offer(one.offer)
        from_alice, from_bob = one.confirm(CANARY), other.confirm(CANARY)
        one.accept_confirmation(from_bob)
        other.accept_confirmation(from_alice)
        assert one.seed == other.seed


TestMailbox = Mailbox.TestCase
TestMailbox.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
