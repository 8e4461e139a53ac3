"""The context of all servicers, and the checks of identifiers that every call begins with."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

import grpc

from gemel.carole.projects import Project
from gemel.carole.projects.operations import Detail
from gemel.carole.projects.ownership import require_owner
from gemel.carole.service.conditions import Conditions
from gemel.carole.store import Store
from gemel.carole.store.quota import Quota
from gemel.carole.store.view import not_found
from gemel.common.errors import parameter
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.pki.ending import EndingCertificate
from gemel.common.pki.members import Member
from gemel.common.rpc.dispatch import may_wait
from gemel.common.specification import Specification, load_specification

_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_ID = re.compile(r"[0-9a-f]{32}")
_REQUEST = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POLL_SECONDS = 0.1

Response = TypeVar("Response")


@dataclass(frozen=True)
class Limits:
    """Limits on a custodian's uploads."""

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
    """Which members' certificates end soon, by the members' names."""

    def specification(self, name: str) -> tuple[str, Specification]:
        """A project's specification, as text and parsed.

        Raises
        ------
        GemelError
            NOT_FOUND.
        """
        text = self.store.projects.specification(name)
        return text, _parsed(text, name)

    def require_owner(self, name: str, member: Member, doing: str) -> None:
        """Refuse a coordinator that a project does not belong to, where nothing of the project changes.

        Raises
        ------
        GemelError
            NOT_ADMITTED, NOT_FOUND.
        """
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
    """A caller's own name for a request."""
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

    What a custodian states of its `file` goes to the audit log with it.

    Raises
    ------
    GemelError
        SIGNATURE if it is not this member's over this project, digest and epoch; else as `operations.approve`.
    """
    member.identity.verify(signature, SigningPurpose.APPROVAL, *approval_parts(name, digest, epoch))
    return service.store.projects.approve(name, member.role, member.name, digest, signature, epoch, file)
