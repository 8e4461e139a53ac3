"""What a service tells the service manager that started it: that it is ready, that it is alive, how its checks stand.

The protocol is sd_notify(3)'s: datagrams of ``KEY=value`` to the socket that the environment names. Without one, as in
containers and on a terminal, nothing is sent; there the probes over HTTP say the same.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping

import structlog

from gemel.serving.readiness import Readiness, State, is_ready

UNTIL_READY_SECONDS = 1.0
"""Between the checks until all have been well for the first time."""
STATUS_SECONDS = 30.0
"""Between two reports, where the manager expects no sign of life."""

log = structlog.get_logger()


class ServiceManager:
    """The service manager, if there is one: in the environment it names its socket and its watchdog's time."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._socket = environment.get("NOTIFY_SOCKET", "")
        ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        watchdog = int(environment.get("WATCHDOG_USEC", "0")) / 1e6 if ours else 0.0
        # Three signs in the time in which one is expected.
        self._seconds = min(STATUS_SECONDS, watchdog / 3) if watchdog else STATUS_SECONDS

    def wait(self, ended: threading.Event, readiness: Readiness, vital: str = "") -> None:
        """Return once `ended` is set; until then report.

        Ready is reported when all checks have been well for the first time. A sign of life is withheld while a check
        has not ended, or while the check named `vital` fails: a new start may help there. Other checks that fail, such
        as a full disk's, are shown, and no reason for one.
        """
        ready = False
        while self._socket and not ended.is_set():
            checks = readiness()
            failing = ", ".join(f"{name}: {state}" for name, state in checks.items() if state is not State.OK)
            news = [f"STATUS=not ready ({failing})" if failing else "STATUS=ready"]
            if is_ready(checks):
                ready = True
                news.append("READY=1")
            if State.NO_ANSWER not in checks.values() and checks.get(vital, State.OK) is State.OK:
                news.append("WATCHDOG=1")
            self._notify(*news)
            _pause(ended, self._seconds if ready else UNTIL_READY_SECONDS)
        while not ended.is_set():
            _pause(ended, STATUS_SECONDS)
        self._notify("STOPPING=1", "STATUS=stopping")

    def _notify(self, *news: str) -> None:
        if not self._socket:
            return
        # A name that begins with @ is in the abstract namespace.
        name = f"\0{self._socket[1:]}" if self._socket.startswith("@") else self._socket
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.connect(name)
                channel.sendall("\n".join(news).encode())
        except OSError as error:
            log.warning("the service manager does not listen", error=error.strerror)


def _pause(ended: threading.Event, seconds: float) -> None:
    """Wait in short waits, so that a signal's handler runs in between on every platform."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and not ended.wait(min(left, 0.5)):
        pass
