"""One Carole for all tests of consoles, with a draft of a project."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.coordinator.served import Served, served
from tests.e2e.deployment import Deployment, specification

DRAFT = specification("births-2026", bits=64)


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    made = Deployment(tmp_path_factory.mktemp("consoles") / "d", [DRAFT])
    try:
        made.start_carole()
        made.create(DRAFT, approve=False)
        yield made
    finally:
        made.close()


@pytest.fixture
def console(deployed: Deployment) -> Iterator[Served]:
    """A new console of the coordinator, which no one has entered."""
    with served(deployed.coordinator_yaml) as made:
        yield made
