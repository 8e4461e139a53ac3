"""Commands to be stopped, and what they are stopped at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gemel.common.parties import Role, Side
from tests.e2e.deployment import STATE, Deployment, specification
from tests.e2e.interrupted.terminal import Command, command_of

PROJECT = "stopped"
TEXT = specification(PROJECT)


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Command]]:
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
    made = Deployment(tmp_path_factory.mktemp("stopped") / "d", [TEXT], more={"analyst": Role.ANALYST})
    try:
        made.start_carole()
        for side in Side:
            made.start(side)
        made.wait_for(made.create(TEXT), STATE.PROJECT_STATE_CONTRIBUTED)
        made.coordinator.start(PROJECT)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="package")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A store and configurations; nothing runs."""
    made = Deployment(tmp_path_factory.mktemp("idle") / "d", [TEXT])
    try:
        yield made
    finally:
        made.close()
