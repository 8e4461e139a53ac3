"""Seed agreement: two honest custodians end with one seed, whatever the mailbox between them does."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP384R1,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM1024PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.framing import frame
from gemel.common.keys.identity import Identity, IdentityKey, PublicIdentity
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.custodian.agreement.agreement import Agreement
from gemel.custodian.agreement.agreement_messages import MESSAGE_LIMIT, Confirmation, Offer, Terms
from gemel.custodian.agreement.agreement_state import AgreementState
from gemel.custodian.agreement.key_exchange import ALGORITHMS
from tests.carole.refusals import refusal
from tests.vectors.make_formats import ALICE as GOLDEN_ALICE
from tests.vectors.make_formats import BOB as GOLDEN_BOB
from tests.vectors.make_formats import PATH

ALICE, BOB, CAROLE = Identity(IdentityKey.create()), Identity(IdentityKey.create()), Identity(IdentityKey.create())
TERMS = Terms("febrl4", bytes(range(32)), 1)
POINT = X25519PrivateKey.generate().public_key().public_bytes_raw()
HALF = bytes(ALGORITHMS[Suite.DEFAULT].ciphertext_bytes)
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


def refused(code: ErrorCode, words: str, attempt: Callable[..., object], *given: object) -> GemelError:
    with refusal(code) as caught:
        attempt(*given)
    assert caught.value.remedy
    assert words in caught.value.what
    return caught.value


def refused_offer(offer: bytes, code: ErrorCode, words: str, to: Agreement | None = None) -> None:
    """Whoever receives it, Alice by default, does not take it."""
    one = to or alice()
    refused(code, words, one.accept_offer, offer)
    assert not one.has_peer_offer


def by_bob(
    ephemeral: bytes, half: bytes = HALF, identity: Identity = BOB, side: Side = Side.BOB, suite: Suite = Suite.DEFAULT
) -> bytes:
    """An offer that Bob has signed, whatever is in it."""
    return Offer(TERMS, side, identity.public.raw, ephemeral, half, suite).signed(BOB)


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


def by_x25519(private: bytes, offered: bytes) -> tuple[bytes, bytes]:
    curve = X25519PrivateKey.from_private_bytes(private)
    return curve.public_key().public_bytes_raw(), curve.exchange(X25519PublicKey.from_public_bytes(offered))


def by_p384(private: bytes, offered: bytes) -> tuple[bytes, bytes]:
    curve = derive_private_key(int.from_bytes(private, "big"), SECP384R1())
    point = EllipticCurvePublicKey.from_encoded_point(SECP384R1(), offered)
    own = curve.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return own, curve.exchange(ECDH(), point)


@pytest.mark.parametrize(
    ("suite", "version", "curve", "lattice", "lengths"),
    [
        (Suite.DEFAULT, b"1", by_x25519, MLKEM768PrivateKey, (32 + 32, 32, 1088)),
        (Suite.APPROVED, b"2", by_p384, MLKEM1024PrivateKey, (32 + 48, 97, 1568)),
    ],
    ids=["default", "approved"],
)
def test_the_seed_is_as_documented(
    suite: Suite, version: bytes, curve: Callable, lattice: Any, lengths: tuple[int, int, int]
) -> None:
    """The derivation repeated from the messages' public parts and one side's private keys, with nothing but hashlib.

    The secret of the curve is behind that of ML-KEM.
    """
    one, other = with_offers(suite)
    private, offered = parts_of(one.export()), parts_of(other.offer)  # [7:9] are behind version, terms, identities
    key = lattice.from_seed_bytes(private[8])
    ephemeral, secret = curve(private[7], offered[7])
    shared = key.decapsulate(offered[8]) + secret
    assert (len(shared), len(offered[7]), len(offered[8])) == lengths
    terms = b"febrl4", bytes(range(32)), (1).to_bytes(4, "big")
    own = ephemeral, key.public_key().public_bytes_raw()
    ends = ALICE.public.raw, *own, BOB.public.raw, *offered[7:9]
    transcript = hashlib.sha256(frame(b"gemel seed agreement transcript " + version, *terms, *ends)).digest()
    extracted = hmac.digest(transcript, shared, "sha256")
    expanded = hmac.digest(extracted, frame(b"gemel seed 1") + b"\x01", "sha256")
    assert one.candidate.reveal() == other.candidate.reveal() == expanded


@pytest.mark.parametrize("sides", [(Suite.DEFAULT, Suite.APPROVED), (Suite.APPROVED, Suite.DEFAULT)])
def test_no_message_leads_from_one_suite_to_the_other(sides: tuple[Suite, Suite]) -> None:
    """Each custodian takes the suite from the specification that it approved; there is nothing to negotiate."""
    one, other = alice(suite=sides[0]), bob(suite=sides[1])
    words = "another suite of algorithms than the specification names"
    refused_offer(one.offer, ErrorCode.WRONG_STATE, words, other)
    (one, _), (_, other) = map(with_offers, sides)
    one.confirm(CANARY)
    refused(ErrorCode.WRONG_STATE, words, one.accept_confirmation, other.confirm(CANARY))
    assert not one.is_agreed


def test_what_is_no_point_of_the_curve_is_refused() -> None:
    """Signed by Bob, so that nothing but the check of the point can refuse it."""
    one, ours = alice(suite=Suite.APPROVED), bob(suite=Suite.APPROVED)
    ours.accept_offer(one.offer)
    *_, good, half, _ = parts_of(ours.offer)
    for point in (good[:-1] + bytes([good[-1] ^ 1]), b"\4" + bytes(96), b"\2" + good[1:49] + bytes(48)):
        refused_offer(by_bob(point, half, suite=Suite.APPROVED), ErrorCode.SIGNATURE, "no point of P-384", one)


@pytest.mark.parametrize("suite", Suite)
@pytest.mark.parametrize("broken", ["the curve", "ML-KEM"])
def test_one_of_the_two_secrets_is_not_enough(broken: str, suite: Suite) -> None:
    """Who has recorded the messages and then breaks one of the two has, of Alice, all but the other's key."""
    one, other = with_offers(suite)
    known = AgreementState.unpack(one.export())
    thief = alice(suite=suite)
    taken = AgreementState.unpack(thief.export())
    kept = "ephemeral" if broken == "the curve" else "encapsulation"
    mixed = replace(taken, peer_offer=other.offer, **{kept: getattr(known, kept)})
    assert Agreement.resume(mixed.pack(), ALICE, BOB.public).candidate != one.candidate
    both = replace(taken, ephemeral=known.ephemeral, encapsulation=known.encapsulation, peer_offer=other.offer)
    assert Agreement.resume(both.pack(), ALICE, BOB.public).candidate == one.candidate


def test_an_agreement_is_frozen() -> None:
    """Both private halves, Bob's messages and the seed that follows: made by this program, drawn once."""
    golden = json.loads(PATH.read_text(encoding="utf-8"))["seed agreement: state"]["bytes"]
    agreed = Agreement.resume(bytes.fromhex(golden), GOLDEN_ALICE, GOLDEN_BOB.public)
    assert agreed.is_agreed
    assert hashlib.sha256(agreed.seed.reveal()).hexdigest()[:32] == GOLDEN_SEED


def test_bob_answers() -> None:
    one, other = alice(), bob()
    assert (one.has_offer, other.has_offer) == (True, False)
    refused(ErrorCode.WRONG_STATE, "has not arrived", getattr, other, "offer")
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
    sender, receiver = (ALICE, bob()) if side is Side.ALICE else (BOB, alice())
    offer = Offer(TERMS, side, sender.public.raw, POINT, half, Suite.DEFAULT).signed(sender)
    refused_offer(offer, ErrorCode.SIGNATURE, what, receiver)


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
    refused(ErrorCode.KEY_MISMATCH, "key confirmation", fresh.accept_confirmation, other.confirm(CANARY))


GOLDEN_SEED = "57bb804fb5c9150dc973700222cccc0a"


def test_a_stored_state_is_bound_to_both_identities_and_strict() -> None:
    state = alice().export()
    for identities in ((CAROLE, BOB.public), (ALICE, CAROLE.public)):
        refused(ErrorCode.CONFIGURATION, "an identity has changed", Agreement.resume, state, *identities)
    for malformed in (b"", state[:-1], state + b"\0", state.replace(b"state 1", b"state 2")):
        refused(ErrorCode.VAULT, "malformed", Agreement.resume, malformed, ALICE, BOB.public)


def test_the_order_is_kept() -> None:
    one = alice()
    for attribute in ("candidate", "seed"):
        refused(ErrorCode.WRONG_STATE, "", getattr, one, attribute)
    refused(ErrorCode.WRONG_STATE, "offer has not arrived", one.confirm, CANARY)
    refused(ErrorCode.WRONG_STATE, "after the own one only", one.accept_confirmation, b"")
    other = bob()
    other.accept_offer(one.offer)
    one.accept_offer(other.offer)
    from_bob = other.confirm(CANARY)
    refused(ErrorCode.WRONG_STATE, "not agreed yet", getattr, one, "seed")
    refused(ErrorCode.WRONG_STATE, "after the own one only", one.accept_confirmation, from_bob)
    one.confirm(CANARY)
    refused(ErrorCode.WRONG_STATE, "not agreed yet", getattr, one, "seed")
    one.accept_confirmation(from_bob)
    assert one.seed == one.candidate


def test_the_same_again_is_harmless_and_another_is_refused() -> None:
    one, other = with_offers()
    one.accept_offer(other.offer)
    refused(ErrorCode.WRONG_STATE, "a second, different offer", one.accept_offer, answering(bob()).offer)
    message = one.confirm(CANARY)
    assert one.confirm(CANARY) == message == Agreement.resume(one.export(), ALICE, BOB.public).confirm(CANARY)
    refused(ErrorCode.WRONG_STATE, "another canary digest", one.confirm, bytes(32))
    from_bob = other.confirm(CANARY)
    one.accept_confirmation(from_bob)
    one.accept_confirmation(from_bob)
    assert one.is_agreed


def test_ones_own_messages_sent_back_are_refused() -> None:
    one, other = alice(), answering(bob())
    refused_offer(one.offer, ErrorCode.SIGNATURE, "own offer", one)
    refused_offer(by_bob(parts_of(one.offer)[7]), ErrorCode.SIGNATURE, "own ephemeral key", one)
    one.accept_offer(other.offer)
    refused(ErrorCode.SIGNATURE, "", one.accept_confirmation, one.confirm(CANARY))


def test_other_identities_and_sides_are_refused() -> None:
    refused(ErrorCode.CONFIGURATION, "this custodian's own", alice, TERMS, ALICE.public)
    impostor = answering(Agreement(TERMS, Side.BOB, CAROLE, ALICE.public))
    error = refused(
        ErrorCode.SIGNATURE, "is not signed by the configured identity", alice().accept_offer, impostor.offer
    )
    assert BOB.public.fingerprint in error.got
    refused_offer(by_bob(POINT, identity=CAROLE), ErrorCode.SIGNATURE, "another identity")
    second_alice = Agreement(TERMS, Side.ALICE, BOB, ALICE.public)
    refused_offer(second_alice.offer, ErrorCode.SIGNATURE, "this custodian's own side")


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
    refused_offer(elsewhere.offer, code, "another")
    one.confirm(CANARY)
    refused(code, "another", one.accept_confirmation, elsewhere.confirm(CANARY))
    assert not one.is_agreed


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
    refused_offer(by_bob(raw), ErrorCode.SIGNATURE, "low order")


def test_different_offers_shown_to_each_are_found() -> None:
    """Bob really made both offers (he lost his state and began again); the mailbox shows Alice the first."""
    lost, later, one = bob(), bob(), alice()
    for each in (lost, later):
        each.accept_offer(one.offer)
    one.accept_offer(lost.offer)
    one.confirm(CANARY)
    refused(ErrorCode.KEY_MISMATCH, "different offers", one.accept_confirmation, later.confirm(CANARY))


def test_a_confirmation_without_the_secret_is_refused() -> None:
    one, other = with_offers()
    one.confirm(CANARY)
    transcript = other.confirm(CANARY)[-(32 + 36 + 36 + 68) :][:32]
    forged = Confirmation(TERMS, Side.BOB, transcript, CANARY, bytes(32)).signed(BOB)
    refused(ErrorCode.KEY_MISMATCH, "key confirmation", one.accept_confirmation, forged)
    assert not one.is_agreed


def test_another_canary_is_distinguished_from_another_key() -> None:
    one, other = with_offers()
    one.confirm(CANARY)
    refused(
        ErrorCode.CANARY_MISMATCH, "same test records differently", one.accept_confirmation, other.confirm(bytes(32))
    )
    assert not one.is_agreed


@given(st.data())
def test_any_changed_bit_of_either_message_is_refused(data: st.DataObject) -> None:
    one, other = with_offers()
    one.confirm(CANARY)
    fresh = alice()
    for message, take in ((other.offer, fresh.accept_offer), (other.confirm(CANARY), one.accept_confirmation)):
        changed = bytearray(message)
        changed[data.draw(st.integers(0, len(message) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        refused(ErrorCode.SIGNATURE, "", take, bytes(changed))
    assert not fresh.has_peer_offer
    assert not one.is_agreed


@given(st.binary(max_size=300))
def test_malformed_messages_are_refused(message: bytes) -> None:
    refused_offer(message, ErrorCode.SIGNATURE, "")


def test_cut_lengthened_long_and_wrong_messages_are_refused() -> None:
    one, other = with_offers()
    offer = other.offer
    for message in (offer[:-1], offer[:40], offer + b"\0", bytes(MESSAGE_LIMIT + 1), other.confirm(CANARY)):
        refused_offer(message, ErrorCode.SIGNATURE, "")
    one.confirm(CANARY)
    refused(ErrorCode.SIGNATURE, "", one.accept_confirmation, offer)


@pytest.mark.parametrize(
    ("project", "digest", "epoch"),
    [("", 32, 1), ("x" * 257, 32, 1), ("febrl4", 31, 1), ("febrl4", 32, -1), ("febrl4", 32, 2**32)],
)
def test_terms_have_bounds(project: str, digest: int, epoch: int) -> None:
    with refusal(ErrorCode.PARAMETER):
        Terms(project, bytes(digest), epoch)


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
