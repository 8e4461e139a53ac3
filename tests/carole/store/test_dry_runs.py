"""Dry runs of what changes a store: all of it is done, and nothing stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gemel.carole.store import Store
from gemel.carole.store.backup import BLOBS, restore
from gemel.carole.store.database import Database
from gemel.carole.store.migrations import schema_version
from gemel.carole.store.provision import confirm_clock, upgrade
from gemel.carole.store.restoring import declare_restored
from gemel.carole.store.store import milliseconds
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.versions import STORE
from tests.carole.refusals import refusal
from tests.carole.store.test_backup import backup, running
from tests.carole.store.test_provision import another_database

__all__ = ["backup", "running"]


def test_a_store_is_left_as_it_was(
    open_store: Callable[[], Store], url: str, tmp_path: Path, identity: Identity
) -> None:
    store = open_store()
    before = store.audit.entries()
    store.close()
    place = url, tmp_path / "blobs", identity, milliseconds
    assert upgrade(*place, dry_run=True) == (STORE, STORE)
    confirm_clock(*place, dry_run=True)
    assert declare_restored(*place, dry_run=True) == len(before)
    assert open_store().audit.entries() == before
    open_store().close()
    assert declare_restored(*place) == len(before)
    assert len(open_store().audit.entries()) == len(before) + 1


def test_a_restoration_is_checked_and_not_made(
    running: Store, backup: Path, url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    place, blobs = another_database(url, request, tmp_path), tmp_path / "restored"
    made, version = restore(backup, place, blobs, identity, milliseconds, dry_run=True)
    assert (made.entries, version) == (len(running.audit.entries()), STORE)
    assert not blobs.exists()
    if place.startswith("sqlite"):
        assert not (tmp_path / "another.db").exists()
    else:
        found: list[int | None] = []
        Database(place, prepare=lambda connection, _: found.append(schema_version(connection))).close()
        assert found == [None]
    assert restore(backup, place, blobs, identity, milliseconds)[0] == made


def test_what_could_not_be_restored_is_an_error_of_the_dry_run(
    running: Store, backup: Path, url: str, tmp_path: Path, identity: Identity, request: pytest.FixtureRequest
) -> None:
    another = another_database(url, request, tmp_path)
    with refusal(ErrorCode.DATABASE):
        restore(backup, url, tmp_path / "restored", identity, milliseconds, dry_run=True)
    with pytest.raises(GemelError):
        restore(backup, another, tmp_path / "blobs", identity, milliseconds, dry_run=True)
    shutil.rmtree(next((backup / BLOBS).iterdir()))
    with pytest.raises(GemelError, match="not a complete backup"):
        restore(backup, another, tmp_path / "restored", identity, milliseconds, dry_run=True)
