"""Deployments that end with their tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.linked import Linked, link


@pytest.fixture
def deploy(tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    made: list[Deployment] = []

    def make(*specifications: str, **settings: object) -> Deployment:
        made.append(Deployment(tmp_path / f"deployment-{len(made)}", specifications, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for deployment in made:
        deployment.close()


@pytest.fixture(scope="session")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Linked:
    """A whole linkage with three processes; see `tests.e2e.linked`."""
    return link(tmp_path_factory.mktemp("linked") / "deployment")
