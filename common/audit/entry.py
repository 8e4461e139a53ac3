"""An entry of the audit log, and the bytes of it that are hashed.

An entry names who did what to which project, with details that hold no record's value. Its salt prevents guessing the
entries that a reader may not see (of other projects) from their hashes: without it, a neighbouring hash in a proof
could be tested against guessed entries.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gemel.common.audit.merkle import leaf_hash
from gemel.common.keys.framing import frame

SALT_BYTES = 16
_DOMAIN = b"gemel audit entry 1"


@dataclass(frozen=True)
class AuditEntry:
    """An entry as it is in the log."""

    sequence: int
    """Its number, from 1, without a gap."""
    at: int
    """Its time, in milliseconds since 1970, UTC."""
    project: str
    actor: str
    action: str
    text: str
    """The details, names, numbers and digests, as canonical JSON (see `canonical`)."""
    salt: bytes
    """16 random bytes."""

    @property
    def leaf(self) -> bytes:
        """Its hash in the tree: 32 bytes."""
        return leaf_hash(
            frame(
                _DOMAIN,
                str(self.sequence).encode(),
                str(self.at).encode(),
                self.project.encode(),
                self.actor.encode(),
                self.action.encode(),
                self.text.encode(),
                self.salt,
            )
        )

    @property
    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found


def canonical(details: Mapping[str, Any]) -> str:
    """Details as text: equal details are equal texts."""
    return json.dumps(dict(details), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)
