"""Sends what waits for one way, on a thread of its own: a receiver that does not answer keeps no other one waiting."""

from __future__ import annotations

import threading

from gemel.carole.notification.message import Message
from gemel.carole.notification.section import WayConfiguration
from gemel.carole.notification.ways import DeliveryError, send
from gemel.carole.store.outbox import Notice, Outbox
from gemel.common.errors import GemelError
from gemel.common.logging_setup import log, place_of

LOOK_SECONDS = 2.0

MAX_ATTEMPTS = 16
"""For one message, over about 28 hours: a receiver that is away for a night has it in the morning."""

FIRST_PAUSE_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 6 * 3600.0

STOP_SECONDS = 3.0


def pause(attempts: int) -> float:
    """Seconds until a message is tried again that was tried so often: twice as long each time, up to the longest."""
    return min(FIRST_PAUSE_SECONDS * 2.0 ** (attempts - 1), LONGEST_PAUSE_SECONDS)


class Courier:
    """Delivers the messages of one way, each until it is taken or was tried `MAX_ATTEMPTS` times.

    `begin_to_stop`: cuts off what is being sent: it is sent again after the next start.
    """

    def __init__(self, way: WayConfiguration, outbox: Outbox, entry: int = 1) -> None:
        self._entry, self._way, self._outbox = entry, way, outbox
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"notify-{way.way}", daemon=True)
        self.start, self.begin_to_stop = self._thread.start, self._stopping.set

    def stop(self) -> None:
        """Wait for the end, but not for a connection that is still being made."""
        self.begin_to_stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def deliver(self) -> None:
        while not self._stopping.is_set():
            notice = self._outbox.due(self._way.key)
            if notice is None:
                return
            failure = self._failure(notice)
            if self._stopping.is_set() and failure:
                return
            self._note(notice, failure)

    def _failure(self, notice: Notice) -> str:
        """Why a message was not taken; empty if it was."""
        try:
            send(self._way, Message.of(notice.text), self._stopping)
        except DeliveryError as error:
            return str(error)
        except GemelError as error:
            return f"{error.code.name}: {error.what}"
        except Exception as error:  # noqa: BLE001 - one message must not keep the others
            return f"{type(error).__name__} at {place_of(error)}"
        return ""

    def _note(self, notice: Notice, failure: str) -> None:
        named = {"way": self._way.way, "entry": self._entry, "id": notice.id, "attempt": notice.attempts + 1}
        if not failure:
            self._outbox.close(notice)
            log.info("notified", **named)
        elif notice.attempts + 1 < MAX_ATTEMPTS:
            again = pause(notice.attempts + 1)
            self._outbox.postpone(notice, again)
            log.warning("notification not sent", **named, error=failure, again_seconds=again)
        else:
            self._outbox.close(notice)
            log.error("notification given up", **named, error=failure)

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self.deliver()
            except Exception as error:  # noqa: BLE001 - the database may be back the next time
                log.error("outbox not read", type=type(error).__name__, at=place_of(error))
