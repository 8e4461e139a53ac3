"""What a service manager hears: ready when all checks are well, alive while they end, nothing if there is none."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.serving import service_manager
from gemel.serving.readiness import Readiness
from gemel.serving.service_manager import ServiceManager


class Heard:
    """A service manager's socket."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{path[1:]}" if path.startswith("@") else path)
        self._socket.settimeout(30)

    def next(self) -> set[str]:
        return set(self._socket.recv(4096).decode().splitlines())

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Heard]:
    name = str(tmp_path / "notify") if request.param == "path" else f"@gemel-test-{os.getpid()}"
    made = Heard(name)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_manager, "UNTIL_READY_SECONDS", 0.0)
    monkeypatch.setattr("gemel.serving.readiness.REMEMBERED_SECONDS", 0.0)


def waiting(heard: Heard, readiness: Readiness, vital: str = "") -> tuple[threading.Event, threading.Thread]:
    # A watchdog so short that signs of life follow each other at once.
    manager = ServiceManager({"NOTIFY_SOCKET": heard.path, "WATCHDOG_USEC": "1"})
    ended = threading.Event()
    thread = threading.Thread(target=manager.wait, args=(ended, readiness, vital), daemon=True)
    thread.start()
    return ended, thread


def failing(broken: threading.Event) -> None:
    if broken.is_set():
        raise GemelError(ErrorCode.UNAVAILABLE, "broken")


def test_ready_only_when_every_check_has_been_well(heard: Heard) -> None:
    broken = threading.Event()
    broken.set()
    ended, thread = waiting(heard, Readiness({"disk": lambda: None, "database": lambda: failing(broken)}))
    for _ in range(3):
        # Not ready, yet alive: a new start mends no database.
        assert heard.next() == {"STATUS=not ready (database: failed)", "WATCHDOG=1"}
    broken.clear()
    while "READY=1" not in (news := heard.next()):
        assert "STATUS=not ready (database: failed)" in news
    assert news == {"STATUS=ready", "READY=1", "WATCHDOG=1"}
    ended.set()
    while "STOPPING=1" not in (news := heard.next()):
        assert "READY=1" in news
    thread.join(30)
    assert not thread.is_alive()


def test_no_sign_of_life_when_what_is_vital_fails(heard: Heard) -> None:
    broken = threading.Event()
    ended, thread = waiting(heard, Readiness({"agent": lambda: failing(broken)}), vital="agent")
    assert "WATCHDOG=1" in heard.next()
    broken.set()
    while "WATCHDOG=1" in (news := heard.next()):
        pass
    assert news == {"STATUS=not ready (agent: failed)"}
    ended.set()
    thread.join(30)


def test_no_sign_of_life_while_a_check_hangs(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gemel.serving.readiness.PATIENCE_SECONDS", 0.01)
    released = threading.Event()
    ended, thread = waiting(heard, Readiness({"blobs": lambda: released.wait() and None}))
    assert heard.next() == {"STATUS=not ready (blobs: no answer)"}
    released.set()
    while "READY=1" not in heard.next():
        pass
    ended.set()
    thread.join(30)


def test_without_a_service_manager_no_check_is_made() -> None:
    ended = threading.Event()
    ended.set()
    ServiceManager({}).wait(ended, Readiness({"never": lambda: pytest.fail("checked")}))


def test_a_watchdog_of_another_process_is_not_ours(heard: Heard) -> None:
    theirs = {"NOTIFY_SOCKET": heard.path, "WATCHDOG_USEC": "1", "WATCHDOG_PID": str(os.getpid() + 1)}
    assert ServiceManager(theirs)._seconds == service_manager.STATUS_SECONDS
