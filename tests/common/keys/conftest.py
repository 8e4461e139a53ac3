"""Where keys can be that never leave their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.common.keys.key_stores import TransitServer, softhsm


@pytest.fixture(scope="session")
def pin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the PIN of a token, one for the process: its library is opened once."""
    return softhsm(tmp_path_factory.mktemp("softhsm"))


@pytest.fixture
def transit(tmp_path: Path) -> Iterator[TransitServer]:
    """A vault."""
    folder = tmp_path / "vault"
    folder.mkdir()
    server = TransitServer(folder)
    yield server
    server.stop()
