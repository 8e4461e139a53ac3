"""A Carole who forks: her database is copied, and each custodian is shown a history of its own from then on.

Both histories have a run and its release, signed by her. At first each custodian is shown what the other had
countersigned before the fork; then what it has countersigned of the other history. All services are processes.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.coordinator.client.client_configuration import template
from gemel.coordinator.client.connection import connect
from gemel.coordinator.rehearsal.processes import ServiceProcess
from tests.carole.refusals import refusal
from tests.e2e.deployment import STATE, Deployment, people, specification
from tests.ports import free_port

PROJECT = "forked"
TEXT = specification(PROJECT, bits=256)
WAITS = "has not countersigned Carole's audit log up to the release yet"


@dataclass
class Fork:
    """The deployment, and Carole's database as each custodian is shown it."""

    made: Deployment
    databases: dict[Side, Path]
    copy: str
    """The address of the Carole that shows Bob her other history."""

    def countersigned(self, side: Side, custodian: Side) -> tuple[int, str, bytes]:
        """What Carole has of a custodian's countersignatures in the history that `side` is shown."""
        with sqlite3.connect(self.databases[side]) as database:
            query = "SELECT size, checkpoint, countersignature FROM audit_witnesses WHERE member = ?"
            row: tuple[int, str, bytes] = database.execute(query, (str(custodian),)).fetchone()
        return row

    def show(self, side: Side, theirs: tuple[int, str, bytes]) -> None:
        """Put the other custodian's countersignature into the history that `side` is shown."""
        with sqlite3.connect(self.databases[side], timeout=30) as database:
            statement = "UPDATE audit_witnesses SET size = ?, checkpoint = ?, countersignature = ? WHERE member = ?"
            assert database.execute(statement, (*theirs, str(side.other))).rowcount == 1

    def opened(self) -> list[Path]:
        folders = [self.made.folders[side] / "results" for side in Side]
        return [path for folder in folders if folder.exists() for path in folder.rglob("*")]


@pytest.fixture
def fork(tmp_path: Path) -> Iterator[Fork]:
    made = Deployment(tmp_path, [TEXT], people(40, 20))
    copied = None
    try:
        carole, _, bob = made.processes("carole", "alice", "bob")
        made.contributed(TEXT)
        for service in (bob, carole):
            service.dismiss()
        for service in (bob, carole):
            service.stop()
        folder = made.folders["carole"]
        other = shutil.copytree(folder, tmp_path / "copy")
        address = f"127.0.0.1:{free_port()}"
        text = made.carole_yaml.read_text().replace(made.address, address)
        (other / "carole.yaml").write_text(text)
        made.configure(Side.BOB, made.address, address)
        (tmp_path / "other").mkdir()
        copied = ServiceProcess("carole", other / "carole.yaml", tmp_path / "other")
        copied.start()
        made.processes("carole", "bob")
        copied.wait_ready()
        databases = {Side.ALICE: folder / "store" / "carole.db", Side.BOB: other / "store" / "carole.db"}
        yield Fork(made, databases, address)
    finally:
        made.close()
        if copied is not None:
            copied.kill()


def test_each_finds_the_fork_before_its_fetch_and_nothing_is_opened(fork: Fork, tmp_path: Path) -> None:
    made = fork.made
    coordinators = {Side.ALICE: made.coordinator_yaml, Side.BOB: tmp_path / "coordinator-at-bobs.yaml"}
    (tmp_path / "memory").mkdir()
    keys, memory = str(made.folders["coordinator"]), str(tmp_path / "memory")
    coordinators[Side.BOB].write_text(template(fork.copy, keys=keys, state=memory))
    for side in Side:
        with connect(coordinators[side]) as coordinator:
            coordinator.start(PROJECT)
            made.eventually(lambda at=coordinator: at.get(PROJECT)[0].state == STATE.PROJECT_STATE_RELEASED)
    for side in Side:
        expected = f"waits: {side.other.title()} {WAITS}"
        made.eventually(lambda side=side, expected=expected: made.shown(side, PROJECT).stage == expected)
    assert not fork.opened()
    # The forking Carole has nothing better than to show what the other has countersigned of its own history.
    made.eventually(lambda: len({fork.countersigned(side, side)[0] for side in Side}) == 1)
    theirs = {side: fork.countersigned(side.other, side.other) for side in Side}
    for side in Side:
        fork.show(side, theirs[side])
    for side in Side:
        error = made.blocking_error(side, PROJECT)
        assert f"has shown {side.other.title()} another audit log" in error
    assert not fork.opened()
    # A coordinator that is shown both finds it too, at its next command.
    coordinators[Side.BOB].write_text(template(fork.copy, keys=keys, state=keys))
    with refusal(ErrorCode.AUDIT, "does not begin with the one it has shown before"):
        connect(coordinators[Side.BOB]).__enter__()
