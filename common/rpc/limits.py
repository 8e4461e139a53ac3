"""How large a message may be, at both ends of a connection."""

from __future__ import annotations

MAX_MESSAGE_BYTES = 2 << 20
"""Twice a chunk. Whatever is larger is refused before it is read."""
