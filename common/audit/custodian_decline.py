"""A custodian's signed refusal to take part under a specification."""

from __future__ import annotations

from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose


def sign_decline(identity: Identity, project: str, specification_digest: bytes, reason: str) -> bytes:
    """The signature over a refusal, 64 bytes; `reason` as `normalized_reason` returns it."""
    return identity.sign(SigningPurpose.DECLINE, *_parts(project, specification_digest, reason))


def verify_decline(
    identity: PublicIdentity, signature: bytes, project: str, specification_digest: bytes, reason: str
) -> None:
    """Refuse a refusal that this identity has not signed."""
    identity.verify(signature, SigningPurpose.DECLINE, *_parts(project, specification_digest, reason))


def _parts(project: str, specification_digest: bytes, reason: str) -> tuple[bytes, ...]:
    return project.encode(), specification_digest, reason.encode()
