"""A steward's signed decision on a held result."""

from __future__ import annotations

from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose


def sign_decision(identity: Identity, project: str, run: str, report: bytes, *, release: bool, reason: str) -> bytes:
    """The signature over a decision, 64 bytes; `report` is the digest of the report it was made on."""
    return identity.sign(SigningPurpose.DECISION, *_parts(project, run, report, release, reason))


def verify_decision(
    identity: PublicIdentity, signature: bytes, project: str, run: str, report: bytes, *, release: bool, reason: str
) -> None:
    """Refuse a decision that this identity has not signed."""
    identity.verify(signature, SigningPurpose.DECISION, *_parts(project, run, report, release, reason))


def _parts(project: str, run: str, report: bytes, release: bool, reason: str) -> tuple[bytes, ...]:
    return project.encode(), run.encode(), report, b"release" if release else b"refuse", reason.encode()
