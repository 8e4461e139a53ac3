"""Seed agreement: two honest custodians end with one seed, whatever the mailbox between them does."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP384R1,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM1024PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.identity import Identity, IdentityKey, PublicIdentity
from gemel.common.keys.suite import Suite
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import MESSAGE_LIMIT, Confirmation, Offer, Terms
from gemel.custodian.agreement.agreement_state import AgreementState
from gemel.custodian.agreement.encapsulation import CIPHERTEXT_BYTES
from tests.vectors.make_formats import ALICE as GOLDEN_ALICE
from tests.vectors.make_formats import BOB as GOLDEN_BOB
from tests.vectors.make_formats import PATH

ALICE, BOB, CAROLE = Identity(IdentityKey.create()), Identity(IdentityKey.create()), Identity(IdentityKey.create())
TERMS = Terms("febrl4", bytes(range(32)), 1)
HALF = bytes(CIPHERTEXT_BYTES[Suite.DEFAULT])
CANARY = hashlib.sha256(b"canary").digest()


def alice(terms: Terms = TERMS, peer: PublicIdentity = BOB.public, suite: Suite = Suite.DEFAULT) -> Agreement:
    return Agreement(terms, Side.ALICE, ALICE, peer, suite=suite)


def bob(terms: Terms = TERMS, peer: PublicIdentity = ALICE.public, suite: Suite = Suite.DEFAULT) -> Agreement:
    return Agreement(terms, Side.BOB, BOB, peer, suite=suite)


def with_offers(suite: Suite = Suite.DEFAULT) -> tuple[Agreement, Agreement]:
    one, other = alice(suite=suite), bob(suite=suite)
    other.accept_offer(one.offer)
    one.accept_offer(other.offer)
    return one, other


def answering(other: Agreement) -> Agreement:
    """Bob, who has accepted some offer of Alice's, so that he can make his own."""
    other.accept_offer(alice(other.terms).offer)
    return other


def refusal(attempt: Callable[[], object]) -> GemelError:
    with pytest.raises(GemelError) as caught:
        attempt()
    assert caught.value.remedy
    return caught.value


@pytest.mark.parametrize("suite", Suite)
def test_two_custodians_agree(suite: Suite) -> None:
    one, other = with_offers(suite)
    from_alice, from_bob = one.confirm(CANARY), other.confirm(CANARY)
    one.accept_confirmation(from_bob)
    other.accept_confirmation(from_alice)
    assert one.is_agreed
    assert other.is_agreed
    assert one.seed == other.seed == one.candidate
    again, _ = with_offers(suite)
    assert again.candidate != one.seed
    assert Agreement.resume(one.export(), ALICE, BOB.public).seed == other.seed
    assert len(one.offer) < len(other.offer) + 200 < MESSAGE_LIMIT


def parts_of(content: bytes) -> list[bytes]:
    """What a frame holds."""
    parts = []
    while content:
        length = int.from_bytes(content[:4], "big")
        parts.append(content[4 : 4 + length])
        content = content[4 + length :]
    return parts


def test_the_seed_is_as_documented() -> None:
    """The derivation repeated from the messages' public parts and one side's private keys, with nothing but hashlib."""
    one, other = with_offers()
    private, offered = parts_of(one.export()), parts_of(other.offer)
    curve = X25519PrivateKey.from_private_bytes(private[7])  # behind version, terms, side and identities
    lattice = MLKEM768PrivateKey.from_seed_bytes(private[8])
    shared = lattice.decapsulate(offered[8]) + curve.exchange(X25519PublicKey.from_public_bytes(offered[7]))
    transcript = hashlib.sha256(
        frame(
            b"gemel seed agreement transcript 1",
            b"febrl4",
            bytes(range(32)),
            (1).to_bytes(4, "big"),
            ALICE.public.raw,
            curve.public_key().public_bytes_raw(),
            lattice.public_key().public_bytes_raw(),
            BOB.public.raw,
            *offered[7:9],
        )
    ).digest()
    extracted = hmac.digest(transcript, shared, "sha256")
    expanded = hmac.digest(extracted, frame(b"gemel seed 1") + b"\x01", "sha256")
    assert one.candidate.reveal() == other.candidate.reveal() == expanded


def test_the_seed_of_the_approved_suite_is_as_documented() -> None:
    """The same by ML-KEM-1024 and P-384, whose secret is behind that of ML-KEM."""
    one, other = with_offers(Suite.APPROVED)
    private, offered = parts_of(one.export()), parts_of(other.offer)
    curve = derive_private_key(int.from_bytes(private[7], "big"), SECP384R1())
    lattice = MLKEM1024PrivateKey.from_seed_bytes(private[8])
    point = EllipticCurvePublicKey.from_encoded_point(SECP384R1(), offered[7])
    shared = lattice.decapsulate(offered[8]) + curve.exchange(ECDH(), point)
    assert (len(shared), len(offered[7]), len(offered[8])) == (32 + 48, 97, 1568)
    own = [parts_of(one.offer)[place] for place in (7, 8)]
    assert own[1] == lattice.public_key().public_bytes_raw()
    terms = b"febrl4", bytes(range(32)), (1).to_bytes(4, "big")
    ends = ALICE.public.raw, *own, BOB.public.raw, *offered[7:9]
    transcript = hashlib.sha256(frame(b"gemel seed agreement transcript 2", *terms, *ends)).digest()
    extracted = hmac.digest(transcript, shared, "sha256")
    expanded = hmac.digest(extracted, frame(b"gemel seed 1") + b"\x01", "sha256")
    assert one.candidate.reveal() == other.candidate.reveal() == expanded


@pytest.mark.parametrize("sides", [(Suite.DEFAULT, Suite.APPROVED), (Suite.APPROVED, Suite.DEFAULT)])
def test_no_message_leads_from_one_suite_to_the_other(sides: tuple[Suite, Suite]) -> None:
    """Each custodian takes the suite from the specification that it approved; there is nothing to negotiate."""
    one, other = alice(suite=sides[0]), bob(suite=sides[1])
    error = refusal(lambda: other.accept_offer(one.offer))
    assert error.code is ErrorCode.WRONG_STATE
    assert "another suite of algorithms than the specification names" in error.what
    assert not other.has_peer_offer


def test_what_is_no_point_of_the_curve_is_refused() -> None:
    """Signed by Bob, so that nothing but the check of the point can refuse it."""
    one = alice(suite=Suite.APPROVED)
    ours = bob(suite=Suite.APPROVED)
    ours.accept_offer(one.offer)
    parts = parts_of(ours.offer)
    beside = parts[7][:-1] + bytes([parts[7][-1] ^ 1])
    for point in (beside, b"\4" + bytes(96), b"\2" + parts[7][1:49] + bytes(48)):
        offer = Offer(TERMS, Side.BOB, BOB.public.raw, point, parts[8]).signed(BOB)
        error = refusal(lambda offer=offer: one.accept_offer(offer))
        assert "no point of P-384" in error.what
        assert not one.has_peer_offer


@pytest.mark.parametrize("suite", Suite)
@pytest.mark.parametrize("broken", ["the curve", "ML-KEM"])
def test_one_of_the_two_secrets_is_not_enough(broken: str, suite: Suite) -> None:
    """Who has recorded the messages and then breaks one of the two has, of Alice, all but the other's key."""
    one, other = with_offers(suite)
    known = AgreementState.unpack(one.export())
    thief = alice(suite=suite)
    taken = AgreementState.unpack(thief.export())
    if broken == "the curve":
        mixed = replace(taken, ephemeral=known.ephemeral, peer_offer=other.offer)
    else:
        mixed = replace(taken, encapsulation=known.encapsulation, peer_offer=other.offer)
    assert Agreement.resume(mixed.pack(), ALICE, BOB.public).candidate != one.candidate
    both = replace(taken, ephemeral=known.ephemeral, encapsulation=known.encapsulation, peer_offer=other.offer)
    assert Agreement.resume(both.pack(), ALICE, BOB.public).candidate == one.candidate


def test_confirmations_of_two_suites_do_not_meet() -> None:
    one, _ = with_offers()
    one.confirm(CANARY)
    _, other = with_offers(Suite.APPROVED)
    error = refusal(lambda: one.accept_confirmation(other.confirm(CANARY)))
    assert error.code is ErrorCode.WRONG_STATE
    assert not one.is_agreed


def test_an_agreement_is_frozen() -> None:
    """Both private halves, Bob's messages and the seed that follows: made by this program, drawn once."""
    golden = json.loads(PATH.read_text(encoding="utf-8"))["seed agreement: state"]["bytes"]
    agreed = Agreement.resume(bytes.fromhex(golden), GOLDEN_ALICE, GOLDEN_BOB.public)
    assert agreed.is_agreed
    assert hashlib.sha256(agreed.seed.reveal()).hexdigest()[:32] == GOLDEN_SEED


def test_bob_answers() -> None:
    one, other = alice(), bob()
    assert (one.has_offer, other.has_offer) == (True, False)
    assert refusal(lambda: other.offer).code is ErrorCode.WRONG_STATE
    other.accept_offer(one.offer)
    offer = other.offer
    other.accept_offer(one.offer)
    assert other.offer == offer == Agreement.resume(other.export(), BOB, ALICE.public).offer
    # Before it was stored the answer is another one: so nothing is sent before.
    assert bob().export() != bob().export()


@pytest.mark.parametrize(
    ("side", "half", "what"),
    [
        (Side.ALICE, b"\xff" * 1184, "no public key of ML-KEM-768"),
        (Side.ALICE, bytes(1088), "the length of the other side's"),
        (Side.BOB, bytes(1184), "the length of the other side's"),
        (Side.BOB, bytes(1087), "not a well-formed offer"),
        (Side.BOB, b"", "not a well-formed offer"),
    ],
)
def test_what_is_no_half_of_ml_kem_is_refused(side: Side, half: bytes, what: str) -> None:
    """Signed by the other custodian, whose program has gone wrong."""
    sender = ALICE if side is Side.ALICE else BOB
    raw = X25519PrivateKey.generate().public_key().public_bytes_raw()
    offer = Offer(TERMS, side, sender.public.raw, raw, half).signed(sender)
    one = bob() if side is Side.ALICE else alice()
    error = refusal(lambda: one.accept_offer(offer))
    assert error.code is ErrorCode.SIGNATURE
    assert what in error.what
    assert not one.has_peer_offer


def test_a_ciphertext_for_another_key_ends_in_no_agreement() -> None:
    """Signed by Bob, but not for this key of Alice's: both have a secret, not the same."""
    one, other = with_offers()
    foreign = answering(bob())
    mixed = replace(
        AgreementState.unpack(other.export()), encapsulation=AgreementState.unpack(foreign.export()).encapsulation
    )
    other = Agreement.resume(mixed.pack(), BOB, ALICE.public)
    fresh = Agreement.resume(replace(AgreementState.unpack(one.export()), peer_offer=b"").pack(), ALICE, BOB.public)
    fresh.accept_offer(other.offer)
    fresh.confirm(CANARY)
    error = refusal(lambda: fresh.accept_confirmation(other.confirm(CANARY)))
    assert error.code is ErrorCode.KEY_MISMATCH
    assert "key confirmation" in error.what


GOLDEN_SEED = "57bb804fb5c9150dc973700222cccc0a"


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
    one = alice()
    assert refusal(lambda: one.candidate).code is ErrorCode.WRONG_STATE
    assert refusal(lambda: one.seed).code is ErrorCode.WRONG_STATE
    assert refusal(lambda: one.confirm(CANARY)).code is ErrorCode.WRONG_STATE
    assert refusal(lambda: one.accept_confirmation(b"")).code is ErrorCode.WRONG_STATE
    other = bob()
    other.accept_offer(one.offer)
    one.accept_offer(other.offer)
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
    assert refusal(lambda: one.accept_offer(answering(bob()).offer)).code is ErrorCode.WRONG_STATE
    message = one.confirm(CANARY)
    assert one.confirm(CANARY) == message
    assert refusal(lambda: one.confirm(bytes(32))).code is ErrorCode.WRONG_STATE
    from_bob = other.confirm(CANARY)
    one.accept_confirmation(from_bob)
    one.accept_confirmation(from_bob)
    assert one.is_agreed


def test_ones_own_messages_sent_back_are_refused() -> None:
    one, other = alice(), answering(bob())
    error = refusal(lambda: one.accept_offer(one.offer))
    assert error.code is ErrorCode.SIGNATURE
    assert "own offer" in error.what
    one.accept_offer(other.offer)
    message = one.confirm(CANARY)
    assert refusal(lambda: one.accept_confirmation(message)).code is ErrorCode.SIGNATURE


def test_one_cannot_agree_with_oneself() -> None:
    assert refusal(lambda: alice(peer=ALICE.public)).code is ErrorCode.CONFIGURATION


def test_an_identity_that_was_not_configured_is_refused() -> None:
    impostor = answering(Agreement(TERMS, Side.BOB, CAROLE, ALICE.public))
    error = refusal(lambda: alice().accept_offer(impostor.offer))
    assert error.code is ErrorCode.SIGNATURE
    assert BOB.public.fingerprint in error.got


def test_an_offer_that_names_another_identity_than_its_signers_is_refused() -> None:
    claimed = Offer(
        TERMS, Side.BOB, CAROLE.public.raw, X25519PrivateKey.generate().public_key().public_bytes_raw(), HALF
    )
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
    elsewhere = answering(bob(terms))
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
    offer = Offer(TERMS, Side.BOB, BOB.public.raw, raw, HALF).signed(BOB)
    one = alice()
    error = refusal(lambda: one.accept_offer(offer))
    assert error.code is ErrorCode.SIGNATURE
    assert "low order" in error.what
    assert not one.has_peer_offer


def test_ones_own_ephemeral_key_offered_by_the_other_is_refused() -> None:
    one = alice()
    own = parts_of(one.offer)[7]
    offer = Offer(TERMS, Side.BOB, BOB.public.raw, own, HALF).signed(BOB)
    assert "own ephemeral key" in refusal(lambda: one.accept_offer(offer)).what


def test_different_offers_shown_to_each_are_found() -> None:
    """Bob really made both offers (he lost his state and began again); the mailbox shows Alice the first."""
    lost, later, one = bob(), bob(), alice()
    for each in (lost, later):
        each.accept_offer(one.offer)
    one.accept_offer(lost.offer)
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
    with pytest.raises(GemelError) as caught:
        make()
    assert caught.value.code is ErrorCode.PARAMETER


def test_messages_hold_no_secret_and_are_short() -> None:
    one, other = with_offers()
    messages = [one.offer, other.offer, one.confirm(CANARY), other.confirm(CANARY)]
    assert max(map(len, messages)) < 1700
    kept = parts_of(one.export())
    for secret in (one.candidate.reveal(), kept[7], kept[8], parts_of(other.export())[8][-32:]):
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
        except GemelError:
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
        if side is Side.BOB:
            forger.accept_offer(Agreement(TERMS, Side.ALICE, self.custodians[which].identity, CAROLE.public).offer)
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
        other.accept_offer(one.offer)
        one.accept_offer(other.offer)
        from_alice, from_bob = one.confirm(CANARY), other.confirm(CANARY)
        one.accept_confirmation(from_bob)
        other.accept_confirmation(from_alice)
        assert one.seed == other.seed


TestMailbox = Mailbox.TestCase
TestMailbox.settings = settings(stateful_step_count=25)
