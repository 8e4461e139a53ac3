"""Sessions of a console: in this process only, named by a random cookie, ended when idle, when old, by signing out."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_SESSIONS = 200
"""The oldest ends when there is one more."""


@dataclass
class Session:
    """One person in one browser, who may do more than look if `acts`.

    `csrf` is what each form of the session has, and no other page can know; `began` and `used` are seconds of the
    clock, the latter of a person's last use. `messages` are shown once by the next page: of each its kind, ``done`` or
    ``note``, and its text.
    """

    user: str
    acts: bool
    began: float
    used: float
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    messages: list[tuple[str, str]] = field(default_factory=list)

    def taken_messages(self) -> list[tuple[str, str]]:
        """The messages, which are then no longer there."""
        taken, self.messages = self.messages, []
        return taken


class Sessions:
    """The sessions of a console; one ends when no one has used it for so long, and when it is so old.

    Kept by the digest of the cookie: what is in memory opens no session, and finding one compares no secret. `clock`
    gives seconds that never go back.
    """

    def __init__(
        self, idle_seconds: float, longest_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._idle, self._longest, self._clock = idle_seconds, longest_seconds, clock
        self._lock = threading.Lock()
        self._open: dict[bytes, Session] = {}

    def begin(self, user: str, *, acts: bool) -> str:
        """Begin a session; its cookie, which is kept nowhere here."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            while len(self._open) >= MAX_SESSIONS:
                self._open.pop(next(iter(self._open)))
            self._open[_name(cookie)] = Session(user, acts, now, now)
        return cookie

    def find(self, cookie: str, *, used: bool) -> Session | None:
        """The session of a cookie, unless it has ended; `used`: whether a person does something by this request."""
        now = self._clock()
        with self._lock:
            found = self._open.get(_name(cookie))
            if found is None:
                return None
            if now - found.used > self._idle or now - found.began > self._longest:
                del self._open[_name(cookie)]
                return None
            if used:
                found.used = now
            return found

    def end(self, cookie: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            self._open.pop(_name(cookie), None)


def _name(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
