"""Members who have the file and have compared nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gemel.party import membership_file
from tests.party.machines import ROLES, Machines


@pytest.fixture(scope="package", autouse=True)
def _keys_are_derived_once() -> Iterator[None]:
    """A file's digits are slow to derive, on purpose, and all members of a test derive them of the same few files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership_file, "authentication_key", cache(membership_file.authentication_key))
        yield


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
