"""Denied calls, written into the audit log: who asked for what it may not have."""

from __future__ import annotations

import threading
import time

from tryst.carole.store import Store
from tryst.carole.store.store import milliseconds

AGAIN_SECONDS = 3600.0
"""The same caller at the same method is written down once in this time, so that nobody can fill the log."""

MAX_REMEMBERED = 1000


class Denials:
    """Told of every denied call; see `common.rpc.interceptor.Denied`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._reported: dict[tuple[str, str], float] = {}

    def __call__(self, actor: str, method: str) -> None:
        """Write a denied call down, unless that was done a short while ago."""
        now = time.monotonic()
        with self._lock:
            recent = {key: at for key, at in self._reported.items() if now - at < AGAIN_SECONDS}
            # Methods and members are few; strangers are all one. A full memory means that something else is wrong.
            self._reported = recent
            if (actor, method) in recent or len(recent) >= MAX_REMEMBERED:
                return
            recent[actor, method] = now
        self._store.audit.deny(actor, method, milliseconds())
