"""What is signed beside approvals, and the audit log keeps: refusals, decisions, results, statements of files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from gemel.common.audit.checkpoint import Checkpoint
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose

MIN_REASON = 10
MAX_REASON = 1000
"""Minimum and maximum number of characters. A reason is a sentence that will be read years later."""


def normalized_reason(reason: str) -> str:
    """The reason as recorded in the log: one line of printable characters.

    Raises PARAMETER if it is too short or too long.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not MIN_REASON <= len(text) <= MAX_REASON:
        what = f"a decision needs a reason of {MIN_REASON} to {MAX_REASON} characters"
        remedy = "state the grounds so that a reader of the audit log understands them years later"
        raise parameter("reason", what, f"{len(text)} characters", remedy)
    return text


class Statement(ABC):
    """What is signed for one purpose, as the parts that the signature binds."""

    PURPOSE: ClassVar[SigningPurpose]

    @abstractmethod
    def parts(self) -> tuple[bytes, ...]: ...

    def sign(self, identity: Identity) -> bytes:
        """The signature: 64 bytes."""
        return identity.sign(self.PURPOSE, *self.parts())

    def verify(self, identity: PublicIdentity, signature: bytes) -> None:
        """Refuse (SIGNATURE) a statement that this identity has not signed."""
        identity.verify(signature, self.PURPOSE, *self.parts())


@dataclass(frozen=True)
class CustodianDecline(Statement):
    """A custodian's refusal to take part under a specification; `reason` as `normalized_reason` returns it."""

    PURPOSE = SigningPurpose.DECLINE

    project: str
    specification_digest: bytes
    reason: str

    def parts(self) -> tuple[bytes, ...]:
        return self.project.encode(), self.specification_digest, self.reason.encode()


@dataclass(frozen=True)
class StewardDecision(Statement):
    """A steward's decision on a held result; `report` is the digest of the report it was made on."""

    PURPOSE = SigningPurpose.DECISION

    project: str
    run: str
    report: bytes
    release: bool
    reason: str

    def parts(self) -> tuple[bytes, ...]:
        decision = b"release" if self.release else b"refuse"
        return self.project.encode(), self.run.encode(), self.report, decision, self.reason.encode()


@dataclass(frozen=True)
class ResolverResult(Statement):
    """A resolver's word for its result; `root` is the root digest of its chunks."""

    PURPOSE = SigningPurpose.RESULT

    project: str
    run: str
    root: bytes

    def parts(self) -> tuple[bytes, ...]:
        return self.project.encode(), self.run.encode(), self.root


@dataclass(frozen=True)
class HandOver(Statement):
    """An offer of a project, signed by its owner, or by a steward for an owner that is no longer a member.

    It names the newest checkpoint of the audit log that its signer had verified: a statement of an earlier time, when
    the project had another owner, cannot be used again.
    """

    PURPOSE = SigningPurpose.HAND_OVER

    project: str
    former: str
    successor: str
    """The owner, and the coordinator that may take the project over: names in the membership list."""
    seen: Checkpoint
    reason: str
    """As `normalized_reason` returns it."""

    def parts(self) -> tuple[bytes, ...]:
        return (*_of_owners(self), self.reason.encode())


@dataclass(frozen=True)
class TakeOver(Statement):
    """A coordinator's act by which a project becomes its own; `seen` as in a `HandOver`."""

    PURPOSE = SigningPurpose.TAKE_OVER

    project: str
    former: str
    successor: str
    """The owner until then, and the signer."""
    seen: Checkpoint
    hand_over: bytes
    """The signature of the offer that is taken."""

    def parts(self) -> tuple[bytes, ...]:
        return (*_of_owners(self), self.hand_over)


def _of_owners(statement: HandOver | TakeOver) -> tuple[bytes, ...]:
    names = statement.project, statement.former, statement.successor, statement.seen.log, str(statement.seen.size)
    return (*(name.encode() for name in names), statement.seen.root)


@dataclass(frozen=True)
class RestorationDecision(Statement):
    """What a party signs when it accepts a log that was put back from a backup for a project, or refuses it."""

    PURPOSE = SigningPurpose.RESTORATION

    project: str
    restoration: int
    """Sequence number of the restoration's entry in the log."""
    restored: Checkpoint
    """The log as it was put back."""
    lost: Checkpoint | None
    """The newest checkpoint that the party had verified of what the log has lost; None if nothing."""
    accept: bool
    reason: str = ""
    runs: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """The runs that the party knows to have been released, with the root digest of the share that it fetched, or no
    bytes if it fetched none."""

    def parts(self) -> tuple[bytes, ...]:
        size, root = (0, b"") if self.lost is None else (self.lost.size, self.lost.root)
        return (
            self.restored.log.encode(),
            self.project.encode(),
            str(self.restoration).encode(),
            str(self.restored.size).encode(),
            self.restored.root,
            str(size).encode(),
            root,
            b"accept" if self.accept else b"refuse",
            self.reason.encode(),
            *(part for run, root in sorted(self.runs.items()) for part in (run.encode(), root)),
        )


MAX_ORIGIN = 200
"""Characters of `origin`."""

MAX_RECORDS = 1 << 40

TOLERANCE = 0.05
"""Share of the stated records by which a contribution may differ: a register that is in use changes in some weeks."""

SPARE = 10
"""Records by which it may differ in any case."""


@dataclass(frozen=True)
class FileStatement:
    """What a custodian states of its file before keys exist, as part of its approval of a specification.

    A contribution with another number of records is refused: records that are added after the specification was agreed,
    to learn of them by the links, show.
    """

    records: int
    """Number of records."""
    origin: str = ""
    """Where they come from, in a line of at most `MAX_ORIGIN` printable characters; empty if that is not stated."""

    def __post_init__(self) -> None:
        if not 0 <= self.records <= MAX_RECORDS:
            raise _wrong("records", f"0 to {MAX_RECORDS} records", str(self.records))
        if len(self.origin) > MAX_ORIGIN or not self.origin.isprintable():
            raise _wrong("origin", f"a line of at most {MAX_ORIGIN} characters", f"{len(self.origin)} characters")

    def sign(self, identity: Identity, project: str, specification_digest: bytes) -> bytes:
        """The signature over the statement, 64 bytes."""
        return identity.sign(SigningPurpose.FILE, *self._parts(project, specification_digest))

    def verify(self, identity: PublicIdentity, signature: bytes, project: str, specification_digest: bytes) -> None:
        """Refuse a statement that this identity has not signed."""
        identity.verify(signature, SigningPurpose.FILE, *self._parts(project, specification_digest))

    def _parts(self, project: str, specification_digest: bytes) -> tuple[bytes, ...]:
        return project.encode(), specification_digest, self.records.to_bytes(8, "big"), self.origin.encode()


def check_contributed(stated: int, contributed: int, where: str) -> None:
    """Refuse (UPLOAD_LIMIT) a contribution of another number of records, without decoys and dummies, than was stated.

    They may differ by `TOLERANCE` of those stated, or by `SPARE`.
    """
    if abs(contributed - stated) > max(SPARE, TOLERANCE * stated):
        raise GemelError(
            ErrorCode.UPLOAD_LIMIT,
            f"a contribution must have the number of records that its custodian has stated with its approval,"
            f" {stated:,}, within {TOLERANCE:.0%}",
            where=where,
            got=f"{contributed:,} records",
            remedy="contribute the file that was stated; if it has changed since, decline the specification and approve"
            " it again",
        )


def _wrong(where: str, what: str, got: str) -> GemelError:
    return parameter(f"file.{where}", f"a statement about a file has {what}", got)
