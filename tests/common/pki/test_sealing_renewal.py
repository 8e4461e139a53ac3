"""A new sealing key, step by step: at no step can a share be sealed that its recipient does not open."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import Role
from gemel.common.pki import Members, PartyFolder, Provisioned, accept, assemble, provision
from gemel.common.pki.enrolment_requests import load_enrolment_request
from gemel.common.pki.sealing_renewal import renew_sealing_key, sealing_keys_of_another_suite
from tests.carole.refusals import refusal

CONTEXT = SealContext("trial", "r" * 32, "alice")


@pytest.fixture
def made(tmp_path: Path) -> Provisioned:
    return provision(tmp_path / "parties")


def listed(made: Provisioned) -> Members:
    return Members.load(made.parties["carole"].members)


def opens(made: Provisioned) -> bool:
    """Whether Alice opens what is sealed by Carole's list."""
    sealed = b"".join(seal(listed(made).in_role(Role.CUSTODIAN_A).sealing, CONTEXT, [b"share"]))
    return b"".join(open_sealed(SealingKey.load(made.parties["alice"].sealing), CONTEXT, [sealed])) == b"share"


def accepted(made: Provisioned) -> None:
    """A new list from everyone's request, and accepted by all."""
    folders = made.parties
    requests = [load_enrolment_request(party.enrolment_request) for party in folders.values()]
    certificates = {name: party.certificate.read_bytes() for name, party in folders.items()}
    authorities = (made.authority / "authority.pem").read_bytes()
    members = assemble(requests, certificates, authorities)
    for name, party in folders.items():
        accept(party.path, name, certificates[name], members.dump(), authorities)


def test_a_key_is_renewed_and_nothing_is_lost_on_the_way(made: Provisioned) -> None:
    alice = made.parties["alice"]
    before = SealingKey.load(alice.sealing)
    earlier = b"".join(seal(before.public, CONTEXT, [b"earlier"]))
    assert opens(made)
    renewed = renew_sealing_key(alice.path)
    assert renewed.sealing != before.public
    assert opens(made)  # still by the key before, which the list has
    # Again, as after a crash, before the list has the new key: no further one, which would drop the listed one.
    assert renew_sealing_key(alice.path).sealing == renewed.sealing
    assert load_enrolment_request(alice.enrolment_request).sealing == renewed.sealing
    accepted(made)
    assert listed(made).named("alice").sealing == renewed.sealing
    assert opens(made)
    assert b"".join(open_sealed(SealingKey.load(alice.sealing), CONTEXT, [earlier])) == b"earlier"
    # The next renewal is of the new key, and drops the first one.
    assert renew_sealing_key(alice.path).sealing != renewed.sealing
    assert opens(made)
    assert before.public not in SealingKey.load(alice.sealing).publics


def test_a_key_of_the_approved_suite_is_made_beside_the_listed_one(made: Provisioned) -> None:
    alice = made.parties["alice"]
    listed_key = SealingKey.load(alice.sealing).public
    first = renew_sealing_key(alice.path).sealing
    assert first.suite is Suite.DEFAULT
    # Another suite is wanted now: the key that no list has gives way, and the listed one stays.
    approved = renew_sealing_key(alice.path, suite=Suite.APPROVED).sealing
    assert approved.suite is Suite.APPROVED
    assert SealingKey.load(alice.sealing).publics == (approved, listed_key)
    assert renew_sealing_key(alice.path).sealing == approved
    assert sealing_keys_of_another_suite(Suite.APPROVED, [listed(made).named("alice")]) == ["alice"]
    accepted(made)
    assert sealing_keys_of_another_suite(Suite.APPROVED, [listed(made).named("alice")]) == []
    # The next is of the same suite, unless another is named.
    assert renew_sealing_key(alice.path).sealing.suite is Suite.APPROVED


def test_a_party_without_a_list_renews_once(made: Provisioned) -> None:
    alice = made.parties["alice"]
    alice.members.unlink()
    first = renew_sealing_key(alice.path).sealing
    assert first != made.members.named("alice").sealing
    assert renew_sealing_key(alice.path).sealing == first


def test_a_folder_whose_keys_are_not_listed_is_left_as_it_is(made: Provisioned) -> None:
    alice = PartyFolder(made.parties["alice"].path)
    alice.sealing.unlink()
    SealingKey.create().save(alice.sealing)
    before = alice.sealing.read_bytes()
    with refusal(ErrorCode.CONFIGURATION, "another sealing key for alice"):
        renew_sealing_key(alice.path)
    assert alice.sealing.read_bytes() == before
