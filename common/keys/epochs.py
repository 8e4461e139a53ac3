"""Epochs of a project: each has a seed of its own, and nothing of one can be used in another.

A project begins in epoch 1. The coordinator opens the next one where the custodians' keys or test records do not agree,
or a seed was lost: it signs the act with a reason, each custodian's operator consents to that epoch, and a new seed is
agreed. The epoch enters every derived key, the seed agreement's transcript, the manifest of an upload, and the
signatures of consent.

Each epoch in which records are uploaded gives Carole the same records under other keys, hence more bits of each
signature. Their number is therefore bounded, by her and by each custodian for itself (docs/threat-model.md).
"""

from __future__ import annotations

from gemel.common.keys.identity import Identity, PublicIdentity, SigningPurpose

MAX_EPOCHS = 3


def sign_new_epoch(identity: Identity, project: str, encoding_digest: bytes, epoch: int, reason: str) -> bytes:
    """The coordinator's signature that opens an epoch, 64 bytes; `reason` as `normalized_reason` returns it."""
    return identity.sign(SigningPurpose.NEW_EPOCH, *_opening(project, encoding_digest, epoch, reason))


def verify_new_epoch(
    identity: PublicIdentity, signature: bytes, project: str, encoding_digest: bytes, epoch: int, reason: str
) -> None:
    """Refuse an epoch that this identity has not opened."""
    identity.verify(signature, SigningPurpose.NEW_EPOCH, *_opening(project, encoding_digest, epoch, reason))


def approval_parts(project: str, specification_digest: bytes, epoch: int) -> tuple[bytes, ...]:
    """What an approval signs: a consent to one epoch is none to another."""
    return project.encode(), specification_digest, _number(epoch)


def _opening(project: str, encoding_digest: bytes, epoch: int, reason: str) -> tuple[bytes, ...]:
    return project.encode(), encoding_digest, _number(epoch), reason.encode()


def _number(epoch: int) -> bytes:
    return epoch.to_bytes(4, "big")
