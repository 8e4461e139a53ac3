"""Whom a custodian takes for a project's owner, whatever Carole names: a listed coordinator that has signed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.members import Member, Members
from gemel.custodian.steps.owner import listed_owner, owner_of
from gemel.custodian.steps.step_context import Task
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from tests.carole.deployment import DIGEST, ENCODING, SPEC, SPECIFICATION

IDENTITIES = {name: Identity(IdentityKey.create()) for name in ("alice", "bob", "carole", "one", "two", "steward")}
ROLES = {
    "alice": Role.CUSTODIAN_A,
    "bob": Role.CUSTODIAN_B,
    "carole": Role.LINKER,
    "one": Role.COORDINATOR,
    "two": Role.COORDINATOR,
    "steward": Role.STEWARD,
}


def members() -> Members:
    digits = (f"{number:064x}" for number in range(1000))
    return Members(
        Member(name, role, PinnedKey(next(digits), next(digits)), IDENTITIES[name].public, SealingKey.create().public)
        for name, role in ROLES.items()
    )


def signed(by: str, *, under: str = "", digest: bytes = DIGEST, epoch: int = 1) -> project_pb2.Approval:
    signature = IDENTITIES[by].sign(SigningPurpose.APPROVAL, *approval_parts("trial", digest, epoch))
    return project_pb2.Approval(member=under or by, specification_digest=digest, signature=signature)


def task(owner: str, *approvals: project_pb2.Approval, epoch: int = 1) -> Task:
    handles = custody_pb2.TASK_KIND_HANDLES
    made = Task(handles, "trial", SPEC, SPECIFICATION, DIGEST, ENCODING, epoch, (), "0" * 32)
    return replace(made, owner=owner, approvals=approvals)


def test_the_owner_is_the_coordinator_that_has_signed_the_specification() -> None:
    assert owner_of(members(), task("two", signed("one"), signed("two"))).name == "two"
    # The coordinator's consent of a former epoch stays valid when a new one is opened.
    assert owner_of(members(), task("two", signed("two"), epoch=2)).name == "two"
    assert owner_of(members(), task("two", signed("two", epoch=2), epoch=2)).name == "two"


@pytest.mark.parametrize(
    "approval",
    [
        signed("one"),
        signed("one", under="two"),
        signed("two", digest=b"x" * 32),
        signed("two", epoch=2),
        project_pb2.Approval(member="two", specification_digest=DIGEST),
    ],
    ids=["another's", "another's under this name", "of another specification", "of an epoch to come", "none"],
)
def test_carole_cannot_name_another_coordinator_as_the_reader_of_handles(approval: project_pb2.Approval) -> None:
    with pytest.raises(GemelError) as caught:
        owner_of(members(), task("two", approval))
    assert caught.value.code is ErrorCode.SIGNATURE
    assert caught.value.remedy


@pytest.mark.parametrize("owner", ["steward", "alice", "carole", "stranger", ""])
def test_who_is_no_listed_coordinator_owns_nothing(owner: str) -> None:
    for found in (listed_owner, owner_of):
        with pytest.raises(GemelError) as caught:
            found(members(), task(owner, *([signed(owner)] if owner in IDENTITIES else [])))
        assert caught.value.code is ErrorCode.NOT_ADMITTED
        assert owner in caught.value.got
