"""Secrets between each two of three parties, and messages that begin another session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.framing import frame, unframe
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import ComputeParty
from gemel.common.pki.members import Member, PinnedKey
from gemel.shared.session.handshake import _PARTS, Handshake, SessionTerms
from tests.carole.refusals import refusal

CAROLE, COORDINATOR, STEWARD = ComputeParty
NAMES = ("carole", "cora", "stefan")
TERMS = SessionTerms("trial", "0" * 32, b"s" * 16, b"d" * 32, NAMES)
IDENTITIES = [Identity(IdentityKey.create()) for _ in ComputeParty]
KEYS = [SealingKey.create() for _ in ComputeParty]
MEMBERS = [
    Member(NAMES[party], party.role, PinnedKey("", ""), IDENTITIES[party].public, KEYS[party].public)
    for party in ComputeParty
]


def handshake(own: ComputeParty, terms: SessionTerms = TERMS, identity: Identity | None = None) -> Handshake:
    return Handshake(own, terms, MEMBERS, identity or IDENTITIES[own], KEYS[own])


def test_each_two_parties_have_secrets_of_their_own() -> None:
    parties = {own: handshake(own) for own in ComputeParty}
    offers = {(own, to): parties[own].offer(to) for own in ComputeParty for to in ComputeParty if own is not to}
    keys = {(to, sender): parties[to].agreed(sender, offer) for (sender, to), offer in offers.items()}
    for (own, other), found in keys.items():
        theirs = keys[other, own]
        assert (found.shares, found.sending, found.receiving) == (theirs.shares, theirs.receiving, theirs.sending)
    assert len({each for found in keys.values() for each in (found.shares, found.sending, found.receiving)}) == 9


def test_secrets_are_of_one_session() -> None:
    shares = set()
    for _ in range(2):
        one, other = handshake(CAROLE), handshake(STEWARD)
        one.offer(STEWARD)
        shares.add(one.agreed(STEWARD, other.offer(CAROLE)).shares)
    assert len(shares) == 2


def changed(offer: bytes) -> bytes:
    return offer[:-1] + bytes([offer[-1] ^ 1])


def resealed(offer: bytes) -> bytes:
    """Another sealed secret under the same signature."""
    domain, _, signature = unframe(offer, _PARTS)
    _, sealed, _ = unframe(handshake(COORDINATOR).offer(CAROLE), _PARTS)
    return frame(domain, sealed, signature)


OTHERS = {
    "session": replace(TERMS, session=b"t" * 16),
    "run": replace(TERMS, run="1" * 32),
    "project": replace(TERMS, project="another"),
    "specification": replace(TERMS, specification_digest=b"e" * 32),
    "steward": replace(TERMS, members=("carole", "cora", "susan")),
}


@pytest.mark.parametrize(
    ("made", "got"),
    [
        *((lambda t=terms: handshake(COORDINATOR, t).offer(CAROLE), "not signed") for terms in OTHERS.values()),
        (lambda: handshake(COORDINATOR, identity=IDENTITIES[STEWARD]).offer(CAROLE), "not signed"),
        (lambda: handshake(COORDINATOR).offer(STEWARD), "not signed"),
        (lambda: handshake(STEWARD).offer(CAROLE), "not signed"),
        (lambda: handshake(CAROLE).offer(COORDINATOR), "not signed"),
        (lambda: changed(handshake(COORDINATOR).offer(CAROLE)), "not signed"),
        (lambda: resealed(handshake(COORDINATOR).offer(CAROLE)), "not signed"),
        (lambda: handshake(COORDINATOR).offer(CAROLE)[:-5], "cut off"),
        (lambda: handshake(COORDINATOR).offer(CAROLE) + b"x", "follow"),
        (lambda: b"", "missing"),
    ],
    ids=[*OTHERS, "signer", "recipient", "sender", "sent-back", "changed", "resealed", "cut", "longer", "empty"],
)
def test_a_message_of_another_session_begins_none(made: Callable[[], bytes], got: str) -> None:
    own = handshake(CAROLE)
    own.offer(COORDINATOR)
    with refusal(ErrorCode.DEVIATION, got) as caught:
        own.agreed(COORDINATOR, made())
    assert caught.value.where == "from the coordinator to Carole"
