"""Reports as pages of their own: rendered once for each content, and shown without script in a frame of a page."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable

from starlette.responses import HTMLResponse, Response

from gemel.console.web.guard import REPORT_POLICY

_KEPT = 8


class RenderedReports:
    """The newest reports that were rendered: drawing one takes two seconds, and both roles look at it again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[bytes, str] = OrderedDict()

    def answer(self, content: bytes, render: Callable[[], str]) -> Response:
        """The answer with a report of this content, rendered if it was not yet."""
        key = hashlib.sha256(content).digest()
        with self._lock:
            found = self._found.get(key)
            if found is None:
                found = self._found[key] = render()
                while len(self._found) > _KEPT:
                    self._found.popitem(last=False)
        return HTMLResponse(found, headers={"content-security-policy": REPORT_POLICY, "x-frame-options": "SAMEORIGIN"})
