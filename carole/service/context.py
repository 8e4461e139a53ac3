"""The context of all servicers, the checks of identifiers that every call begins with, and the members' list."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import grpc

from gemel.carole.projects.operations import consent
from gemel.carole.projects.operations.outcome import Detail
from gemel.carole.projects.project import Approval, Project
from gemel.carole.projects.transitions import require_owner
from gemel.carole.store import Store
from gemel.carole.store.store import milliseconds
from gemel.carole.store.uploads import Quota
from gemel.carole.store.view import not_found
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.parties import Side
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.ending import EndingCertificate
from gemel.common.pki.members import Member, Members
from gemel.common.specification import Specification, load_specification
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from gemel.serving.dispatch import may_wait

# What the custodians' services report of themselves: when they last called, and why a project does not go on there.

MAX_CONDITIONS = 1000
"""Of one custodian; further ones are left out."""


@dataclass(frozen=True)
class Reported:
    """What is known of one custodian in one project; times are milliseconds since 1970, 0 for never."""

    condition: int = project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED
    since: int = 0
    last_poll: int = 0


class Conditions:
    """The newest report of each custodian."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._polls: dict[Side, int] = {}
        self._found: dict[Side, dict[str, tuple[int, int]]] = {side: {} for side in Side}

    def report(self, side: Side, conditions: Iterable[custody_pb2.ProjectCondition], projects: Iterable[str]) -> None:
        """Take a custodian's report, which replaces its former one; a condition that stays keeps its time.

        `projects`: names of all projects; what is reported of others is left out.
        """
        now, names = milliseconds(), frozenset(projects)
        with self._lock:
            self._polls[side] = now
            former, newest = self._found[side], {}
            for each in list(conditions)[:MAX_CONDITIONS]:
                kind = each.condition
                if kind not in project_pb2.CustodianCondition.values():  # of a newer version of Gemel
                    kind = project_pb2.CUSTODIAN_CONDITION_OTHER
                if each.project not in names or kind == project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED:
                    continue
                there = former.get(each.project)
                newest[each.project] = there if there is not None and there[0] == kind else (kind, now)
            self._found[side] = newest

    def of(self, side: Side, project: str) -> Reported:
        with self._lock:
            condition, since = self._found[side].get(project, (project_pb2.CUSTODIAN_CONDITION_UNSPECIFIED, 0))
            return Reported(condition, since, self._polls.get(side, 0))


_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_ID = re.compile(r"[0-9a-f]{32}")
_REQUEST = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POLL_SECONDS = 0.1

Response = TypeVar("Response")


@dataclass(frozen=True)
class Limits:
    max_upload_bytes: int
    max_rows: int
    quota: Quota


@dataclass(frozen=True)
class ServiceContext:
    """The store, the limits, whether the service is about to stop, and what is known of the members."""

    store: Store
    limits: Limits
    stopping: threading.Event = field(default_factory=threading.Event)
    conditions: Conditions = field(default_factory=Conditions)
    endings: Callable[[], Mapping[str, EndingCertificate]] = dict

    def specification(self, name: str) -> tuple[str, Specification]:
        """A project's specification, as text and parsed. Raises NOT_FOUND."""
        text = self.store.projects.specification(name)
        return text, _parsed(text, name)

    def require_owner(self, name: str, member: Member, doing: str) -> None:
        """Refuse a coordinator that a project does not belong to, where nothing of the project changes."""
        require_owner(self.store.projects.get(name), member.name, doing)

    def wait(
        self, look: Callable[[], Response | None], seconds: float, context: grpc.ServicerContext
    ) -> Response | None:
        """Look now and whenever a project has changed, until there is a result or the time is over.

        A member of whom too many calls wait already has an answer at once.
        """
        if seconds <= 0 or not may_wait(context):
            return look()
        deadline = time.monotonic() + seconds
        version = self.store.projects.version()
        found = look()
        while found is None and time.monotonic() < deadline and context.is_active():
            if self.stopping.wait(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
                break
            now = self.store.projects.version()
            if now != version:
                version, found = now, look()
        return found


@lru_cache(maxsize=64)
def _parsed(text: str, name: str) -> Specification:
    """Parsed once: calls that look at a specification are many, and of few projects."""
    return load_specification(text, f"specification of {name}")


def project_name(text: str) -> str:
    """A project's name from a request. An invalid name gets the same error as an unknown one."""
    if not _PROJECT.fullmatch(text):
        raise not_found()
    return text


def known_id(text: str) -> str:
    """The identifier of an existing run or upload."""
    if not _ID.fullmatch(text):
        raise not_found()
    return text


def new_id(text: str, what: str) -> str:
    """An identifier that the caller has chosen."""
    if not _ID.fullmatch(text):
        raise parameter(what, "expected 32 lower-case hexadecimal digits", f"{len(text)} characters")
    return text


def request_id(text: str) -> str:
    if not _REQUEST.fullmatch(text):
        raise parameter("request", "expected 1 to 64 letters, digits, '_' or '-'", f"{len(text)} characters")
    return text


def approve(
    service: ServiceContext,
    member: Member,
    name: str,
    digest: bytes,
    signature: bytes,
    epoch: int,
    file: Mapping[str, Detail] = MappingProxyType({}),
) -> Project:
    """Verify and keep a member's consent.

    What a custodian states of its `file` goes to the audit log with it. Raises SIGNATURE if it is not this member's
    over this project, digest and epoch; else as `operations.approve`.
    """
    member.identity.verify(signature, SigningPurpose.APPROVAL, *approval_parts(name, digest, epoch))
    return service.store.apply(
        name,
        lambda project, now: consent.approve(
            project, member.role, Approval(member.name, digest, signature, now, epoch), file
        ),
    )


# Changes of the membership list, recorded in the audit log: from when on Carole admits whom, by which keys.

SHOWN_DIGITS = 16
"""Of each public key."""


def record_members(store: Store, members: Members) -> bool:
    """Record the list, if it differs from the one recorded last; whether it does.

    The entry holds the whole list and what has changed: who was added, who was removed, and whose keys or role are
    others.
    """
    now = {member.name: _entry(member) for member in members}
    before: Mapping[str, Mapping[str, str]] = store.audit.last_members() or {}
    if now == before:
        return False
    details: dict[str, Any] = {
        "members": now,
        "added": sorted(now.keys() - before.keys()),
        "removed": sorted(before.keys() - now.keys()),
        "changed": {
            name: sorted(
                what for what in now[name].keys() | before[name].keys() if now[name].get(what) != before[name].get(what)
            )
            for name in sorted(now.keys() & before.keys())
            if now[name] != before[name]
        },
    }
    store.audit.list_members(details, milliseconds())
    return True


def refuse_reused_names(store: Store, members: Members) -> None:
    """Refuse a list that gives the name of a removed owner of projects to another party: that would own them.

    A member that is listed all the time may renew its keys: it is the same party, and the log has the change.
    """
    owners, last = store.projects.owners(), store.audit.last_members() or {}
    for member in members:
        if member.name not in owners or member.name in last:
            continue
        former = store.audit.last_as_member(member.name)
        if former is not None and former["identity"] != _entry(member)["identity"]:
            what = f"the name {member.name} was another member's, to whom projects belong"
            got = "another identity than when it was removed"
            remedy = (
                "list the new member under a name of its own; a steward hands the projects over to it "
                "(`gemel steward hand-over`)"
            )
            raise GemelError(ErrorCode.CONFIGURATION, what, where="membership list", got=got, remedy=remedy)


def _entry(member: Member) -> dict[str, str]:
    keys = {"identity": member.identity.hex, "sealing": member.sealing.hex}
    names: dict[str, str] = {}
    if isinstance(member.certificate, PinnedKey):
        keys |= {"authority": member.certificate.authority, "certificate": member.certificate.key}
    else:
        names = {"dns": member.certificate.dns, "spiffe": member.certificate.spiffe}
        names["authorities"] = " ".join(digits[:SHOWN_DIGITS] for digits in member.certificate.authorities)
    return {"role": str(member.role), **{what: digits[:SHOWN_DIGITS] for what, digits in keys.items()}, **names}
