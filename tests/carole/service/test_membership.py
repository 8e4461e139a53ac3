"""A membership list that changes while Carole runs, as a process, and while she does not."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gemel.common.audit import AuditEntry
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.members import Members
from gemel.common.pki.provisioning import Provisioned
from tests.carole.deployment import Deployment
from tests.carole.service.test_process import Process
from tests.carole.service.test_stewardship import steward


class Listed:
    """A Carole whose list is a file of the test's own."""

    def __init__(self, parties: Provisioned, folder: Path) -> None:
        self.folder = folder
        self.deployment = Deployment(parties, folder / "carole")
        self.all = parties.members
        self.file = folder / "members.yaml"
        self.write(self.all)
        configuration = self.deployment.configuration
        configuration.write_text(configuration.read_text() + f"members: {self.file}\n")
        self.process = self.start()

    def write(self, members: Members) -> None:
        self.file.write_text(members.dump())

    def start(self) -> Process:
        self.process = Process(self.deployment.configuration, self.folder)
        self.deployment.connect_to(self.process.address())
        return self.process

    def admits(self) -> bool:
        try:
            steward(self.deployment).assessed()
        except GemelError as error:
            if error.code is not ErrorCode.NOT_ADMITTED:
                raise
            return False
        return True


@pytest.fixture
def listed(parties: Provisioned, tmp_path: Path) -> Iterator[Listed]:
    made = Listed(parties, tmp_path)
    yield made
    made.deployment.stop()
    made.process.end(signal.SIGKILL)


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)


def test_a_steward_who_is_removed_is_refused_at_once_and_the_log_says_since_when(listed: Listed) -> None:
    assert listed.admits()
    fewer = Members(member for member in listed.all if member.name != "steward")
    listed.write(fewer)
    listed.process.popen.send_signal(signal.SIGHUP)
    eventually(lambda: not listed.admits())
    listed.write(listed.all)
    eventually(listed.admits)
    assert listed.process.end(signal.SIGTERM) == 0
    listed.write(fewer)
    listed.start()
    assert not listed.admits()
    listed.write(listed.all)
    eventually(listed.admits)

    def recorded() -> list[AuditEntry]:
        return [entry for entry in steward(listed.deployment).entries() if entry.action == "list-members"]

    # A list counts a moment before it is recorded.
    eventually(lambda: len(recorded()) == 5)
    found = recorded()
    changes = [(entry.details["added"], entry.details["removed"]) for entry in found]
    removed: tuple[list[str], list[str]] = ([], ["steward"])
    assert changes == [(sorted(m.name for m in listed.all), []), removed, removed[::-1], removed, removed[::-1]]
    assert set(found[-1].details["members"]) == {member.name for member in listed.all}
