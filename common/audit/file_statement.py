"""What a custodian states of its file before keys exist: how many records it has, and where they come from.

The statement is part of its approval, signed, and in the audit log. A contribution with another number of records is
refused: records that are added after the specification was agreed, to learn of them by the links, show.
"""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose

MAX_ORIGIN = 200
"""Characters of `origin`."""

MAX_RECORDS = 1 << 40

TOLERANCE = 0.05
"""Share of the stated records by which a contribution may differ: a register that is in use changes in some weeks."""

SPARE = 10
"""Records by which it may differ in any case."""


@dataclass(frozen=True)
class FileStatement:
    """A custodian's statement about its file."""

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
