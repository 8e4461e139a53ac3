"""Erasure that completes under a kill at any point, beside writers, with a proof in the audit log."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import select, text, update

from gemel.carole.projects.project import State
from gemel.carole.projects.transitions import Action
from gemel.carole.store import Store
from gemel.carole.store.database import Database
from gemel.carole.store.retention import Swept
from gemel.carole.store.runs import Lease
from gemel.carole.store.tables import chunks, payloads
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal
from tests.carole.store.conftest import pass_days
from tests.carole.store.test_migrations import transaction
from tests.carole.trial import PROJECT, UPLOADS, contributed, erase, intact, keyed, taken, tiny

ROOT = Path(__file__).resolve().parents[3]
SHARES = {str(Role.CUSTODIAN_A): [b"a" * 100], str(Role.COORDINATOR): [b"{}"]}


@dataclass
class Kept:
    """What the database and the folder still have."""

    keys: list[bytes]
    files: int


def kept(url, blobs):
    with transaction(url) as connection:
        found = connection.execute(select(payloads.c.wrapped_key).where(payloads.c.wrapped_key.is_not(None)))
        keys = [bytes(key) for key in found.scalars()]
    return Kept(keys, sum(path.is_file() for folder in blobs.iterdir() if folder.is_dir() for path in folder.iterdir()))


Running = tuple[Store, Lease, Callable[[str], int]]


@pytest.fixture
def running(open_store, url, tmp_path, keys, identity_key, clock):
    """A store with a run that a worker holds, and a function that starts a dying process and returns how it ended."""
    store = open_store()
    contributed(store, tiny())
    lease = taken(store, "1" * 32)
    keys.save(tmp_path / "wrapping.key")
    identity_key.save(tmp_path / "identity.key")

    def dies(point):
        arguments = point, url, str(tmp_path), store.holder, lease.run, str(clock.now)
        command = [sys.executable, "-m", "tests.carole.store.dying", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=120).returncode

    return store, lease, dies


def test_what_a_worker_leaves_that_is_killed_while_it_seals(running, url, tmp_path):
    store, lease, dies = running
    before = kept(url, tmp_path / "blobs")
    assert dies("sealing") == -signal.SIGKILL
    left = kept(url, tmp_path / "blobs")
    assert (len(left.keys), left.files) == (len(before.keys) + 1, before.files + 1)
    assert store.sweep() == Swept(0, 0), "for all that is known it may still be sealing"
    assert store.runs.abandon(lease.owner) == 1
    assert store.sweep() == Swept(1, 0), "its file went with its key"
    assert kept(url, tmp_path / "blobs") == before
    (orphan,) = set(left.keys) - set(before.keys)
    proof = store.audit.entries(PROJECT)[-1]
    assert proof.action == Action.DESTROY_KEYS
    assert proof.details == {"keys": 1, "sha256": hashlib.sha256(orphan).hexdigest()}
    assert store.uploads.open(PROJECT, Side.ALICE).read(0)


def test_a_worker_that_seals_beside_an_erasure_leaves_nothing(running, url, tmp_path):
    store, _, dies = running
    status = dies("sealing beside an erasure")
    assert store.projects.get(PROJECT).state is State.ERASED
    store.sweep()
    assert kept(url, tmp_path / "blobs") == Kept([], 0)
    assert status == 1, "no second key is made for an erased project"


def test_a_kill_between_an_erasure_and_the_removal_of_its_files(running, url, tmp_path):
    store, _, dies = running
    keys = kept(url, tmp_path / "blobs").keys
    assert dies("erased") == -signal.SIGKILL
    left = kept(url, tmp_path / "blobs")
    assert (left.keys, left.files) == ([], 2)
    assert store.sweep() == Swept(0, 2)
    assert kept(url, tmp_path / "blobs").files == 0
    proof = store.audit.entries(PROJECT)[-1]
    assert proof.action == Action.DESTROY_KEYS
    assert proof.details["sha256"] == " ".join(sorted(hashlib.sha256(key).hexdigest() for key in keys))


@pytest.mark.parametrize(
    ("point", "left"), [("within an erasure by retention", (2, 2)), ("after an erasure by retention", (1, 2))]
)
def test_a_kill_while_retention_erases(running, open_store, url, tmp_path, clock, identity, point, left):
    store, lease, dies = running
    keys = kept(url, tmp_path / "blobs").keys
    store.runs.fail(lease, "it failed")
    pass_days(store, clock, 7)
    assert dies(point) == -signal.SIGKILL
    found = kept(url, tmp_path / "blobs")
    assert (len(found.keys), found.files) == left
    store = open_store()
    assert store.retention.enforce() == left[0], "what was due and is not erased yet"
    assert kept(url, tmp_path / "blobs") == Kept([], 0)
    log = store.audit.entries(PROJECT)
    assert [entry.action for entry in log].count(Action.EXPIRE_UPLOAD) == 2
    proofs = [str(entry.details["sha256"]) for entry in log if entry.action == Action.DESTROY_KEYS]
    assert sorted(proofs) == sorted(hashlib.sha256(key).hexdigest() for key in keys)
    assert intact(url, identity)


def test_a_kill_while_what_a_worker_left_is_swept(running, open_store, url, tmp_path):
    store, lease, dies = running
    before = kept(url, tmp_path / "blobs")
    assert dies("sealing") == -signal.SIGKILL
    store.runs.abandon(lease.owner)
    assert dies("while it sweeps") == -signal.SIGKILL
    store = open_store()
    assert kept(url, tmp_path / "blobs") == before
    assert store.audit.entries(PROJECT)[-1].action == Action.DESTROY_KEYS


def test_a_key_that_no_row_reaches_is_destroyed_whatever_made_it(store, url):
    """Without a writer, as no code leaves it."""
    contributed(store, tiny())
    with transaction(url) as connection:
        first = connection.execute(text("SELECT payload FROM uploads WHERE side = 'alice'")).scalar_one()
        connection.execute(text("UPDATE uploads SET ended = 'erased' WHERE side = 'alice'"))
    assert store.sweep() == Swept(1, 0)
    with transaction(url) as connection:
        assert connection.execute(select(payloads.c.wrapped_key).where(payloads.c.id == first)).scalar() is None
    assert store.sweep() == Swept(0, 0)


def test_sweeping_beside_writers_removes_nothing_that_is_being_written(store, contributions, url, tmp_path):
    """Chunks are put from four threads, some of them often, and a share is sealed slowly, while two others sweep."""
    keyed(store)
    given = contributions[Side.ALICE]
    for side in Side:
        store.uploads.begin(PROJECT, side, str(side), UPLOADS[side], contributions[side].layout)
    ended = threading.Event()

    def sweep():
        while not ended.is_set():
            store.sweep()

    def slowly():
        for _ in range(4):
            store.sweep()
            yield b"x" * (1 << 20)

    with ThreadPoolExecutor(6) as threads:
        sweepers = [threads.submit(sweep) for _ in range(2)]
        try:
            puts = [threads.submit(contributions[side].put, store, side, UPLOADS[side]) for side in (*Side, *Side)]
            for put in puts:
                put.result()
            for side in Side:
                contributions[side].commit(store, side, UPLOADS[side])
            lease = taken(store, "1" * 32)
            store.runs.finish(lease, 3, {str(Role.CUSTODIAN_A): slowly(), str(Role.COORDINATOR): slowly()})
        finally:
            ended.set()
        for sweeper in sweepers:
            sweeper.result()
    assert store.uploads.open(PROJECT, Side.ALICE).read(0).layout == given.sets[0].layout
    assert store.uploads.open(PROJECT, Side.BOB).read(0)
    for index in range(4):
        assert store.results.fetch(PROJECT, Role.CUSTODIAN_A, lease.run, index).data == b"x" * (1 << 20)
    with transaction(url) as connection:
        named = {tuple(row) for row in connection.execute(select(chunks.c.payload, chunks.c.file))}
    blobs = tmp_path / "blobs"
    assert named == {(path.parent.name, path.name) for path in blobs.glob("*/*") if path.is_file()}


def test_a_payload_that_the_database_does_not_know_is_left_alone(store, tmp_path):
    """The database may have been put back to an older state under her; at the next start she refuses it."""
    unknown = tmp_path / "blobs" / ("f" * 32)
    unknown.mkdir()
    (unknown / "0").write_bytes(b"x")
    assert store.sweep() == Swept(0, 0)
    assert (unknown / "0").exists()


def test_a_worker_whose_run_was_taken_makes_no_key(running, url, tmp_path):
    store, lease, _ = running
    before = kept(url, tmp_path / "blobs")
    store.runs.abandon(lease.owner)
    with refusal(ErrorCode.WRONG_STATE):
        store.runs.finish(lease, 1, SHARES)
    assert kept(url, tmp_path / "blobs") == before
    with transaction(url) as connection:
        connection.execute(update(payloads).values(writer=lease.owner))
    assert store.sweep() == Swept(0, 0), "what rows reach is not judged by who wrote it"


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_reader_delays_neither_an_erasure_nor_for_long_the_end_of_its_traces(running, url, tmp_path):
    """A backup reads for long. What it holds back in SQLite's write-ahead log is gone after the next sweep."""
    store, _, _ = running
    keys = kept(url, tmp_path / "blobs").keys

    def traces():
        content = b"".join(path.read_bytes() for path in tmp_path.glob("carole.db*"))
        return sum(key in content for key in keys)

    reader = Database(url)
    with reader.read() as connection:
        connection.execute(select(payloads.c.id)).all()
        erase(store)
        assert kept(url, tmp_path / "blobs") == Kept([], 0)
        assert traces()
    reader.close()
    store.sweep()
    assert not traces()
