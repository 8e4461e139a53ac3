"""A resolver's signature on its result, which the audit log keeps."""

from __future__ import annotations

from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose


def sign_result(identity: Identity, project: str, run: str, root: bytes) -> bytes:
    """The signature on a run's result, 64 bytes; `root` is the root digest of its chunks."""
    return identity.sign(SigningPurpose.RESULT, *_parts(project, run, root))


def verify_result(identity: PublicIdentity, signature: bytes, project: str, run: str, root: bytes) -> None:
    """Refuse a result that this identity has not signed."""
    identity.verify(signature, SigningPurpose.RESULT, *_parts(project, run, root))


def _parts(project: str, run: str, root: bytes) -> tuple[bytes, ...]:
    return project.encode(), run.encode(), root
