"""Deployments that end with their tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment


@pytest.fixture
def deploy(tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    """Makes deployments: ``deploy(text, ...)``."""
    made: list[Deployment] = []

    def make(*specifications: str, **settings: object) -> Deployment:
        made.append(Deployment(tmp_path / f"deployment-{len(made)}", specifications, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for deployment in made:
        deployment.close()
