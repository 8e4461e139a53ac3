"""The one-time link that opens a console on loopback: who sees the terminal has it, and it opens one session."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

PATH = "/enter"
PAUSE_SECONDS = 10.0
"""No further link is printed sooner: whoever reaches the port could fill the terminal."""


class Entrance:
    """Makes links, of which the newest is good once."""

    def __init__(self, base: str, shown: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._base, self._shown, self._clock = base, shown, clock
        self._lock = threading.Lock()
        self._token = ""
        self._made = float("-inf")

    def show(self) -> bool:
        """Show a link, and make the one before it useless; False, and nothing shown, so soon after the last."""
        with self._lock:
            if self._clock() - self._made < PAUSE_SECONDS:
                return False
            self._token, self._made = secrets.token_urlsafe(32), self._clock()
            link = f"{self._base}{PATH}?token={self._token}"
        self._shown(link)
        return True

    def redeem(self, token: str) -> bool:
        """Whether this is the token of the newest link, not used yet; it is used now."""
        with self._lock:
            good = bool(self._token) and secrets.compare_digest(token.encode(), self._token.encode())
            if good:
                self._token = ""
            return good
