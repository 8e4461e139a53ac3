"""Checkpoints of the audit log and consistency proofs, to and from the wire."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gemel.common.audit import Checkpoint
from gemel.common.audit.checkpoint import LARGEST, NOTE_BYTES
from gemel.common.audit.merkle import HASH_BYTES
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import SIGNATURE_BYTES
from gemel.protos.linkage.v1 import audit_pb2

LONGEST_PROOF = 2 * 64
"""Hashes; a tree of the largest size that `Checkpoint` accepts needs fewer."""

_LOG = re.compile(r"[0-9a-f]{32}")


def checkpoint_to_wire(checkpoint: Checkpoint) -> audit_pb2.Checkpoint:
    return audit_pb2.Checkpoint(
        log=checkpoint.log,
        size=checkpoint.size,
        root=checkpoint.root,
        at_unix_ms=checkpoint.at,
        signature=checkpoint.signature,
        note_signature=checkpoint.note,
    )


def checkpoint_from_wire(message: audit_pb2.Checkpoint) -> Checkpoint:
    """A checkpoint from a message, bounded but not verified. Raises AUDIT if it is malformed."""
    lengths = len(message.root), len(message.signature)
    note = len(message.note_signature) in (0, NOTE_BYTES)
    if (
        not _LOG.fullmatch(message.log)
        or message.size > LARGEST
        or lengths != (HASH_BYTES, SIGNATURE_BYTES)
        or not note
    ):
        got = f"size {message.size}, a root of {lengths[0]} and a signature of {lengths[1]} bytes"
        raise GemelError(ErrorCode.AUDIT, "this is not a checkpoint of an audit log", where="checkpoint", got=got)
    return Checkpoint(
        message.log, message.size, message.root, message.at_unix_ms, message.signature, message.note_signature
    )


def proof_from_wire(hashes: Iterable[bytes]) -> list[bytes]:
    """A consistency proof from a message. Raises AUDIT if it is longer than any proof, or has an entry that is not a
    hash."""
    proof = list(hashes)
    if len(proof) > LONGEST_PROOF or any(len(part) != HASH_BYTES for part in proof):
        raise GemelError(
            ErrorCode.AUDIT, "this is not a consistency proof", where="checkpoint", got=f"{len(proof)} hashes"
        )
    return proof
