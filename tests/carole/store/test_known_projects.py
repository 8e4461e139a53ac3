"""Projects kept in memory: what is read is what is stored, whoever wrote it, and reading again costs one query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from sqlalchemy import event, text
from sqlalchemy.engine import Engine

from gemel.carole.store import Store
from gemel.carole.store.database import Database
from gemel.common.errors import ErrorCode
from gemel.common.keys.identity import Identity
from gemel.common.keys.vault import Vault
from gemel.common.parties import Side
from tests.carole.refusals import refusal
from tests.carole.store.conftest import Clock
from tests.carole.trial import NEW, PROJECT, UPLOADS, Contribution, keyed, taken

RUN = "c" * 32


@contextmanager
def statements() -> Iterator[list[str]]:
    """The queries that are sent in the block, by any store."""
    seen: list[str] = []

    def note(*arguments: object) -> None:
        seen.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_what_another_process_writes_is_seen_at_once(
    store: Store, url: str, tmp_path: Path, vault: Vault, identity: Identity, clock: Clock
) -> None:
    """A worker writes to the database with a store of its own: chunks and progress make no entry in the log."""
    worker = Store(url, tmp_path / "blobs", vault, identity, clock, holder=store.holder)

    def same() -> None:
        store.projects.all()  # what is kept is of before the next write
        read = Store(url, tmp_path / "blobs", vault, identity, clock)
        try:
            assert store.projects.all() == read.projects.all() == worker.projects.all()
            assert store.projects.get(PROJECT) == read.projects.get(PROJECT) == worker.projects.get(PROJECT)
        finally:
            read.close()

    try:
        keyed(worker)
        same()
        for side, given in {s: Contribution(n, rows=40, bits=64) for n, s in enumerate(Side)}.items():
            worker.uploads.begin(PROJECT, side, str(side), UPLOADS[side], given.layout)
            same()
            size = store.audit.checkpoint().size
            given.put(worker, side, UPLOADS[side])
            assert store.audit.checkpoint().size == size
            assert store.projects.get(PROJECT).uploads[side].received_bytes == len(given.payload)
            same()
            given.commit(worker, side, UPLOADS[side])
        lease = taken(worker, RUN)
        same()
        assert worker.runs.renew_lease(lease, "compare", 0.25)
        assert store.projects.get(PROJECT).runs[-1].fraction == 0.25
        same()
    finally:
        worker.close()


def test_reading_again_what_has_not_changed_takes_one_query(store: Store) -> None:
    keyed(store)
    store.projects.create(replace(NEW, name="another"), "coordinator")
    before = store.projects.all()
    with statements() as sent:
        assert store.projects.all() == before
        assert [store.projects.get(project.name) for project in before] == before
    queries = [one for one in sent if not one.startswith("BEGIN")]
    assert len(queries) == 3, queries
    assert all("meta" in one for one in queries)
    with refusal(ErrorCode.NOT_FOUND):
        store.projects.get("unknown")


def test_a_write_that_is_undone_changes_nothing_that_is_kept(store: Store, url: str) -> None:
    keyed(store)
    before = store.projects.all()
    database = Database(url)
    database.holder = store.holder
    try:
        with suppress(ZeroDivisionError), database.write() as connection:
            connection.execute(text("UPDATE projects SET epoch = 7"))
            assert store.projects.all() == before, "another transaction sees nothing of it"
            raise ZeroDivisionError
        assert store.projects.all() == before
        with database.write() as connection:
            connection.execute(text("UPDATE projects SET epoch = 7"))
        assert store.projects.get(PROJECT).epoch == 7
    finally:
        database.close()
