"""Commands to be stopped, and what they are stopped at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gemel.common.parties import Role
from tests.e2e.deployment import Deployment, specification
from tests.e2e.interrupted.terminal import Command, Start, command_of

PROJECT = "stopped"
TEXT = specification(PROJECT)


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts a command in an empty folder; ``start(arguments)``."""
    started: list[Command] = []

    def begin(arguments: str) -> Command:
        assert command_of(arguments) in request.function.interrupts, "declare it by `interrupts`"
        folder = tmp_path / f"at-{len(started)}"
        folder.mkdir()
        started.append(Command(arguments, folder))
        return started[-1]

    yield begin
    for command in started:
        command.clean_up()


@pytest.fixture(scope="package")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Carole in this process, without a worker: a run that waits in her queue."""
    with Deployment(tmp_path_factory.mktemp("stopped") / "d", [TEXT], more={"analyst": Role.ANALYST}) as made:
        made.start_all()
        made.contributed(TEXT)
        made.coordinator.start(PROJECT)
        yield made


@pytest.fixture(scope="package")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A store and configurations; nothing runs."""
    with Deployment(tmp_path_factory.mktemp("idle") / "d", [TEXT]) as made:
        yield made
