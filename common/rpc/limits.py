"""The maximum size of a message, at both ends of a connection."""

from __future__ import annotations

MAX_MESSAGE_BYTES = 2 << 20
"""Twice a chunk. A larger message is refused before it is read."""
