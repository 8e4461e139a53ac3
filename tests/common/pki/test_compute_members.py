"""Who computes in mode shared is named, has the role, and is a machine of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import IdentityKey, PublicIdentity
from gemel.common.keys.sealing_key import DefaultKey
from gemel.common.parties import Role
from gemel.common.pki import Member, Members
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.pki.members import compute_members, require_apart
from gemel.common.specification import encoding_digest, load_specification
from tests.specifications import heading

ROLES = (Role.CUSTODIAN_A, Role.CUSTODIAN_B, Role.LINKER, Role.COORDINATOR, Role.STEWARD)
STEWARDS, OTHER = DefaultKey.create(), DefaultKey.create()
LISTED = [
    Member(
        role.value,
        role,
        PinnedKey("a" * 64, f"{number}" * 64),
        PublicIdentity(IdentityKey.create().public),
        (STEWARDS if role is Role.STEWARD else DefaultKey.create()).public,
    )
    for number, role in enumerate(ROLES)
]
TEXT = (
    heading("shares", "shared")
    + "fields: [{name: born, kind: date, date: {order: ymd}}]\nblocking: [{name: born, keys: [{field: born}]}]\n"
    + "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
)


def test_the_three_are_found_by_their_names() -> None:
    found = compute_members(Members(LISTED), load_specification(TEXT))
    assert [member.name for member in found] == ["linker", "coordinator", "steward"]


def test_shares_for_other_members_are_another_encoding() -> None:
    spec = load_specification(TEXT)
    other = spec.model_copy(update={"compute": spec.compute.model_copy(update={"steward": "another"})})
    assert encoding_digest(other) != encoding_digest(spec)
    plain = [each.model_copy(update={"mode": "block_keyed"}) for each in (spec, other)]
    assert encoding_digest(plain[0]) == encoding_digest(plain[1])


@pytest.mark.parametrize(
    ("named", "got"),
    [
        ("coordinator: stranger", "who is no member"),
        ("coordinator: steward", "a steward"),
        ("steward: coordinator", "a coordinator"),
        ("steward: custodian-a", "a custodian-a"),
        ("coordinator: linker", "a linker"),
    ],
)
def test_another_member_or_role_is_refused(named: str, got: str) -> None:
    spec = load_specification(TEXT)
    name, _, member = named.partition(": ")
    other = spec.compute.model_copy(update={name: member})
    with pytest.raises(GemelError, match=got) as error:
        compute_members(Members(LISTED), spec.model_copy(update={"compute": other}))
    assert error.value.code is ErrorCode.SPECIFICATION


@pytest.mark.parametrize(
    ("what", "shared"),
    [
        ("a name", {"name": "steward"}),
        ("a certificate's key", {"certificate": LISTED[4].certificate}),
        ("an identity", {"identity": LISTED[4].identity}),
        ("a sealing key", {"sealing": LISTED[4].sealing}),
        ("a sealing key", {"sealing": DefaultKey(OTHER.mlkem, STEWARDS.x25519).public}),
        ("a sealing key", {"sealing": DefaultKey(STEWARDS.mlkem, OTHER.x25519).public}),
    ],
)
@pytest.mark.parametrize("place", [0, 2, 3])
def test_one_machine_in_two_roles_is_refused(place: int, what: str, shared: dict[str, object]) -> None:
    require_apart(LISTED)
    members = list(LISTED)
    members[place] = replace(members[place], **shared)  # type: ignore[arg-type]
    with pytest.raises(GemelError, match=f"{what} in common.*one machine's key in two roles"):
        require_apart(members)


def test_names_that_a_pki_certifies_are_compared() -> None:
    names = CertifiedNames(("a" * 64,), "one.example", "")
    others = CertifiedNames(("a" * 64,), "two.example", "")
    first, second = (replace(LISTED[place], certificate=each) for place, each in ((2, names), (3, others)))
    require_apart((first, second))
    with pytest.raises(GemelError, match="a DNS name"):
        require_apart((first, replace(second, certificate=names)))
