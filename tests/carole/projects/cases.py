"""Projects in their states, and the acts that bring them there, for tests of the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gemel.carole.projects.operations.consent import amend, approve, hand_over, open_epoch, report_keys
from gemel.carole.projects.operations.contribution import begin_upload, commit_upload
from gemel.carole.projects.operations.linking import resolve_run, start_run, take_run
from gemel.carole.projects.operations.outcome import Outcome
from gemel.carole.projects.operations.release import decide_restore, erase, override, refuse
from gemel.carole.projects.project import (
    Approval,
    Decline,
    Grant,
    KeyReport,
    NewEpoch,
    PendingHandOver,
    Policy,
    PolicyDecision,
    Project,
    ReleaseSignature,
    RestoreDecision,
    State,
    Terms,
    Upload,
)
from gemel.carole.projects.transitions import Action
from gemel.common.audit import Checkpoint
from gemel.common.audit.statements import HandOver, TakeOver
from gemel.common.parties import CUSTODIANS, Role, Side
from gemel.common.specification.model.granted_variables import Transfer

DIGEST, OTHER, THIRD = b"\1" * 32, b"\2" * 32, b"\3" * 32
GOOD, BAD = PolicyDecision({"risk": 0.1}, (), b"r" * 32), PolicyDecision({"risk": 0.5}, ("risk",), b"r" * 32)
GRANTS = dict.fromkeys(CUSTODIANS, Grant.LINKS) | {Role.COORDINATOR: Grant.STATISTICS}
TRANSFERS = (Transfer(Side.ALICE, "bob"), Transfer(Side.BOB, "institute"))
SEEN = Checkpoint("ab" * 16, 3, bytes(32), 1, b"s")
REPORTS = [KeyReport(b"k" * 8, b"c" * 32), KeyReport(b"x" * 8, b"c" * 32), KeyReport(b"k" * 8, b"y" * 32)]


def new(**changes):
    made = Project("p", DIGEST, OTHER, GRANTS, owner="coordinator", transfers=TRANSFERS)
    return replace(made, **changes)


def amendment(encoding=OTHER, **changes):
    """What another specification decides."""
    terms = {"specification_digest": THIRD, "encoding_digest": encoding, "grants": GRANTS, "policy": Policy.NONE}
    return Terms(**terms | changes)


def declining(side, digest=DIGEST):
    return Decline(str(side), digest, "we may not send the postcode", b"s")


def opened(epoch):
    return NewEpoch(epoch, "coordinator", "their canaries differ", f"signed {epoch}".encode())


def offered(project, to, member):
    """An offer of the project; the same one is the same, however often it is made."""
    statement = HandOver(project.name, project.owner, to, SEEN, "she leaves for the ministry")
    return PendingHandOver(statement, member, f"{member} to {to}".encode())


def taken(project, member):
    offer = b"" if project.hand_over is None else project.hand_over.signature
    consent = Approval(member, project.specification_digest, b"c", epoch=project.epoch)
    opening = None if project.new_epoch is None else replace(project.new_epoch, member=member)
    return TakeOver(project.name, project.owner, member, SEEN, offer), b"t", consent, opening


COORDINATORS: dict[Action, Callable[[Project, str], Outcome]] = {
    Action.APPROVE: lambda known, who: approve(
        known, Role.COORDINATOR, Approval(who, known.specification_digest, b"s", epoch=known.epoch)
    ),
    Action.AMEND: lambda known, who: amend(known, who, amendment(policy=known.policy)),
    Action.NEW_EPOCH: lambda known, who: open_epoch(known, replace(opened(known.epoch + 1), member=who)),
    Action.START_RUN: lambda known, who: start_run(known, who, "another", "run-another"),
    Action.RESOLVE_RUN: lambda known, who: resolve_run(known, who, "run-one", "ab", "cd"),
    Action.ERASE: lambda known, who: erase(known, Role.COORDINATOR, who),
    Action.HAND_OVER: lambda known, who: hand_over(known, Role.COORDINATOR, offered(known, who, who)),
    Action.ACCEPT_RESTORE: lambda known, who: decide_restore(
        known, RestoreDecision(known.restoration, Role.COORDINATOR, who, True), {}
    ),
    Action.REFUSE_RESTORE: lambda known, who: decide_restore(
        known, RestoreDecision(known.restoration, Role.COORDINATOR, who, False, "a reason"), {}
    ),
}
"""Everything that a project's owner may do, as its operation by a coordinator of this name."""
STEWARDS = {"steward": "aa", "second": "bb"}
"""Those of the membership list, and their identities."""


def decided(project, member, reason, name="run", *, release):
    """A steward's decision, whose signature has been verified."""
    given = ReleaseSignature(name, member, STEWARDS[member], b"r" * 32, b"s")
    if release:
        return override(project, given, reason, STEWARDS)
    return refuse(project, given, reason)


def through(project, *steps):
    """A project after operations, each with its arguments, one after the other."""
    for operation, *arguments in steps:
        project = operation(project, *arguments).project
    return project


def approved(project, digest=DIGEST):
    """A draft to which all consent."""
    for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B):
        assert project.state is State.DRAFT
        project = approve(project, role, Approval(str(role), digest, b"s")).project
    return project


def contributed(policy=Policy.NONE):
    """A project brought directly to CONTRIBUTED."""
    project = approved(new(policy=policy))
    assert project.state is State.APPROVED
    project = through(project, *((report_keys, side, str(side), 1, REPORTS[0]) for side in Side))
    assert project.state is State.KEYED
    for side in Side:
        upload = side, str(side), Upload(f"{side}-1", False, 5, 50)
        project = through(project, (begin_upload, *upload), (commit_upload, *upload))
    assert project.state is State.CONTRIBUTED
    return project


def queued(policy=Policy.NONE):
    """A project with a run that no worker has."""
    return start_run(contributed(policy), "coordinator", "r", "run").project


def running(project):
    """A project with a run that a worker has."""
    return through(project, (start_run, "coordinator", "r", "run"), (take_run, "run"))
