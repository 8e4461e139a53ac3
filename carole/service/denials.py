"""Denied calls, recorded in the audit log: who requested what it may not have."""

from __future__ import annotations

import threading
import time

from gemel.carole.store import Store
from gemel.carole.store.store import milliseconds

AGAIN_SECONDS = 3600.0
"""The same caller at the same method is recorded once in this time, so that no caller can fill the log."""

MAX_REMEMBERED = 1000


class Denials:
    """Called with every denied call; see `common.rpc.interceptor.Denied`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._reported: dict[tuple[str, str], float] = {}

    def __call__(self, actor: str, method: str) -> None:
        """Record a denied call, unless the same was recorded recently."""
        now = time.monotonic()
        with self._lock:
            recent = {key: at for key, at in self._reported.items() if now - at < AGAIN_SECONDS}
            # Methods and members are few; unknown callers count as one. A full memory indicates another error.
            self._reported = recent
            if (actor, method) in recent or len(recent) >= MAX_REMEMBERED:
                return
            recent[actor, method] = now
        self._store.audit.deny(actor, method, milliseconds())
