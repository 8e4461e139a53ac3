"""Sites with the former release's processes, which end with their tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.upgrades.former_release import Release, former_release
from tests.upgrades.site import Site


@pytest.fixture(scope="session")
def former(request: pytest.FixtureRequest) -> Release:
    """The former release."""
    return former_release(request.config.cache.mkdir("former-release"))


@pytest.fixture
def site(former: Release, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes a site: ``site(projects, ...)``."""
    made: list[Site] = []

    def make(projects: tuple[str, ...], database: str = "") -> Site:
        made.append(Site(tmp_path / "site", former, projects, database))
        return made[-1]

    yield make
    for each in made:
        each.kill()
