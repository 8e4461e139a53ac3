"""The maximum size of a message, at both ends of a connection, and how soon threads give way to each other."""

from __future__ import annotations

MAX_MESSAGE_BYTES = 2 << 20
"""Twice a chunk. A larger message is refused before it is read."""

SWITCH_SECONDS = 0.0005
"""After which a thread that computes gives way, in a process that answers calls or carries messages. A call goes from
the event loop to a thread and to the database and back, and would wait at each, by Python's own setting up to 5 ms."""
