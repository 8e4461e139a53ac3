"""Members who have the file and have compared nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.common.ceremony.machines import ROLES, Machines


@pytest.fixture(scope="package")
def convened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Up to where the coordinator has sent the file, and no one has compared anything."""
    made = Machines(tmp_path_factory.mktemp("convened"))
    for party in ROLES:
        assert "Path of the membership.yaml received" in made.join(party).output
    shown = made.convene().output
    assert "Digits that alice reads out" in shown
    return made.root


@pytest.fixture
def machines(convened: Path, tmp_path: Path) -> Machines:
    shutil.copytree(convened, tmp_path / "machines")
    return Machines(tmp_path / "machines")
