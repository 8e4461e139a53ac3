"""A custodian and the epochs of a project, with a Carole that tries to open, close and mix them as she likes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, IdentityKey, SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role, Side
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.members import Member, Members
from gemel.common.specification import encoding_digest
from gemel.custodian.agreement.seed_file import new_seed_file
from gemel.custodian.steps.epochs import listed_owner, owner_of
from gemel.custodian.steps.step_context import Task
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from tests.carole.deployment import DIGEST, ENCODING, SPEC, SPECIFICATION
from tests.carole.refusals import refusal
from tests.custodian.test_flow import KEYED, eventually, running, shown

CONTRIBUTED = project_pb2.PROJECT_STATE_CONTRIBUTED
REASON = "Bob's library of dates was older than ours"


def signed(world, party: str, epoch: int, reason: str = REASON) -> project_pb2.NewEpoch:
    """The act that opens an epoch, signed by a party."""
    identity = open_identity(None, world.carole.parties.parties[party].identity)
    signature = sign_new_epoch(identity, "people", encoding_digest(world.carole.spec), epoch, reason)
    return project_pb2.NewEpoch(epoch=epoch, member=party, reason=reason, signature=signature)


def show_epoch(world, epoch: int, new: project_pb2.NewEpoch | None) -> None:
    """Carole goes to an epoch, and passes on what she says has opened it."""
    carole = world.carole
    with carole.changed():
        carole.state, carole.epoch, carole.new_epoch = project_pb2.PROJECT_STATE_DRAFT, epoch, new
        for store in (carole.approved, carole.messages, carole.reports, carole.current):
            store.clear()


def consent(folder) -> list[str]:
    """The operator's consent to what the service shows; the notes that it was shown."""
    with folder.control() as control:
        found = control.specification("people")
        with refusal(ErrorCode.EPOCH_MISMATCH):
            control.approve("people", found.digest)  # what was seen was the first epoch
        control.approve("people", found.digest, found.epoch)
    return list(found.notes)


def test_a_new_epoch_needs_the_operators_consent_and_gives_other_keys(make_world: Callable) -> None:
    world = make_world()
    carole = world.carole
    with running(world.alice, world.bob):
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        first = {side: carole.contribution(side).fields["postcode"].signatures for side in Side}
        messages = dict(carole.messages)
        show_epoch(world, 2, signed(world, "coordinator", 2))
        eventually(lambda: all(shown(folder).waits_for_operator for folder in world.folders))
        assert "consent to epoch 2" in shown(world.alice).stage
        assert not carole.approved  # whatever the policy approves
        notes = consent(world.alice)
        assert REASON in notes[0]
        assert "HAD agreed" in notes[1]  # Carole cannot make Alice believe that they had not
        assert "more bits of each signature" in notes[2]
        assert consent(world.bob)[:1] == notes[:1]
        carole.wait_for(lambda: carole.state == CONTRIBUTED)
        second = {side: carole.contribution(side).fields["postcode"].signatures for side in Side}
        assert all((first[side] != second[side]).any() for side in Side)
        assert (second[Side.ALICE] == second[Side.BOB]).all()
        assert not set(messages.values()) & set(carole.messages.values())
        # Back to the first.
        show_epoch(world, 1, None)
        eventually(lambda: "before 2" in shown(world.alice).blocking_error)
        assert not carole.approved


@pytest.mark.parametrize(
    ("by", "epoch", "shown_reason"),
    [
        ("", 2, REASON),
        ("bob", 2, REASON),
        ("carole", 2, REASON),
        ("coordinator", 3, REASON),
        ("coordinator", 2, "nothing of importance has happened"),
    ],
    ids=["by no one", "by Bob", "by Carole", "of another number", "of another reason"],
)
def test_only_the_coordinator_opens_an_epoch(make_world: Callable, by: str, epoch: int, shown_reason: str) -> None:
    world = make_world(20)
    new = signed(world, by, epoch) if by else None
    if new is not None:
        new.reason = shown_reason
    with running(world.alice):
        world.carole.wait_for(lambda: world.carole.approved == {Side.ALICE})
        show_epoch(world, 2, new)
        expected = ("without the coordinator's signature", "was not made by the expected identity")
        eventually(lambda: any(words in shown(world.alice).blocking_error for words in expected))
        assert not shown(world.alice).waits_for_operator
        with world.carole.changed():  # nor does she get work done in it
            world.carole.state = KEYED
        eventually(lambda: "epoch" in shown(world.alice).blocking_error)
    assert not any(world.carole.uploads.values())


def test_a_custodian_limits_the_epochs_by_itself(make_world: Callable) -> None:
    world = make_world(20)
    text = world.alice.config.read_text()
    world.alice.config.write_text(text.replace("policy:\n", "policy:\n  max_epochs: 2\n"))
    with running(world.alice):
        world.carole.wait_for(lambda: world.carole.approved == {Side.ALICE})
        show_epoch(world, 3, signed(world, "coordinator", 3))
        eventually(lambda: "2 epochs of a project at most" in shown(world.alice).blocking_error)


def test_a_seed_file_serves_one_epoch(make_world: Callable) -> None:
    world = make_world(20)
    seeds = [folder.config.parent / "people.seed" for folder in world.folders]
    new_seed_file(seeds[0], "people")
    seeds[1].write_bytes(seeds[0].read_bytes())
    seeds[1].chmod(0o600)
    for folder in world.folders:
        folder.config.write_text(folder.config.read_text() + "seed_file: people.seed\n")
    with running(world.alice, world.bob):
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)
        show_epoch(world, 2, signed(world, "coordinator", 2))
        eventually(lambda: all(shown(folder).waits_for_operator for folder in world.folders))
        notes = [consent(folder) for folder in world.folders]
        assert "used a seed file" in notes[0][1]
        eventually(lambda: all("seed of epoch 1" in shown(folder).blocking_error for folder in world.folders))
        seeds[0].unlink()
        new_seed_file(seeds[0], "people")
        seeds[1].write_bytes(seeds[0].read_bytes())
        world.carole.wait_for(lambda: world.carole.state == CONTRIBUTED)


# Whom a custodian takes for a project's owner, whatever Carole names: a listed coordinator that has signed.

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


def owner_signed(by: str, *, under: str = "", digest: bytes = DIGEST, epoch: int = 1) -> project_pb2.Approval:
    signature = IDENTITIES[by].sign(SigningPurpose.APPROVAL, *approval_parts("trial", digest, epoch))
    return project_pb2.Approval(member=under or by, specification_digest=digest, signature=signature)


def task(owner: str, *approvals: project_pb2.Approval, epoch: int = 1) -> Task:
    handles = custody_pb2.TASK_KIND_HANDLES
    made = Task(handles, "trial", SPEC, SPECIFICATION, DIGEST, ENCODING, epoch, (), "0" * 32)
    return replace(made, owner=owner, approvals=approvals)


def test_the_owner_is_the_coordinator_that_has_signed_the_specification() -> None:
    assert owner_of(members(), task("two", owner_signed("one"), owner_signed("two"))).name == "two"
    # The coordinator's consent of a former epoch stays valid when a new one is opened.
    assert owner_of(members(), task("two", owner_signed("two"), epoch=2)).name == "two"
    assert owner_of(members(), task("two", owner_signed("two", epoch=2), epoch=2)).name == "two"


@pytest.mark.parametrize(
    "approval",
    [
        owner_signed("one"),
        owner_signed("one", under="two"),
        owner_signed("two", digest=b"x" * 32),
        owner_signed("two", epoch=2),
        project_pb2.Approval(member="two", specification_digest=DIGEST),
    ],
    ids=["another's", "another's under this name", "of another specification", "of an epoch to come", "none"],
)
def test_carole_cannot_name_another_coordinator_as_the_reader_of_handles(approval: project_pb2.Approval) -> None:
    with refusal(ErrorCode.SIGNATURE) as caught:
        owner_of(members(), task("two", approval))
    assert caught.value.remedy


@pytest.mark.parametrize("owner", ["steward", "alice", "carole", "stranger", ""])
def test_who_is_no_listed_coordinator_owns_nothing(owner: str) -> None:
    for found in (listed_owner, owner_of):
        with refusal(ErrorCode.NOT_ADMITTED) as caught:
            found(members(), task(owner, *([owner_signed(owner)] if owner in IDENTITIES else [])))
        assert owner in caught.value.got
