"""Carole's database down, its disk full, the blobs' disk full: what the caller reads, what her log states, and after.

The disks are real: small file systems in memory, filled by a file and emptied by its removal. They are mounted outside
pytest's folders: PostgreSQL's user must reach them, and whenever another run of the tests begins, pytest bars other
users from the folder above all runs.
"""

from __future__ import annotations

import io
import json
import os
import pwd
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import pytest
import structlog
from sqlalchemy import create_engine, text

from gemel.carole.projects.project import State
from gemel.carole.service import supervisor
from gemel.carole.service.health import check_health
from gemel.carole.service.supervisor import Supervisor
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.rpc.status import METADATA_KEY
from gemel.coordinator.rehearsal.processes import ServiceProcess
from gemel.protos.linkage.v1 import coordination_pb2, custody_pb2
from tests.carole.deployment import SPECIFICATION, Deployment, coordination, eventually, get, raw_error
from tests.carole.refusals import refusal
from tests.carole.service.small_disk import disk
from tests.carole.service.test_worker import contribute, waits_until
from tests.carole.store.conftest import Postgres, postgres
from tests.carole.store.object_store import object_server, object_store
from tests.carole.trial import erase
from tests.ports import free_port

__all__ = ["disk", "object_server", "object_store", "postgres"]


LARGE = SPECIFICATION + "#" + "x" * 200_000 + "\n"
"""A specification that no page of a database has room for."""


@pytest.fixture
def stack(disk):
    """Closed before the disks are unmounted."""
    with ExitStack() as opened:
        yield opened


@contextmanager
def _on_disk(server, folder):
    """The URL of a new database whose tables lie in `folder`."""
    database = server.database()
    name = database.partition("@/")[2].partition("?")[0]
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    engine = create_engine(database.replace(name, "postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE TABLESPACE space_{name} LOCATION '{folder}'"))
        connection.execute(text(f"ALTER DATABASE {name} SET TABLESPACE space_{name}"))
        try:
            yield database
        finally:  # or the server, which other tests use, does not start again without its disk
            connection.execute(text(f"DROP DATABASE {name}"))
            connection.execute(text(f"DROP TABLESPACE space_{name}"))
    engine.dispose()


@contextmanager
def carole(parties, root, *replaced):
    made = Deployment(parties, root, *replaced)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@contextmanager
def logged():
    """The lines that are logged meanwhile, complete at its end."""
    written, lines = io.StringIO(), []
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(written),
        cache_logger_on_first_use=False,
    )
    try:
        yield lines
    finally:
        structlog.reset_defaults()
        lines += [json.loads(line) for line in written.getvalue().splitlines()]


def refusal_of(call, *secrets):
    """Status and code of a refused call, of whose answer nothing may hold any of the secrets."""
    status, details, metadata = raw_error(call)
    payload = dict(metadata)[METADATA_KEY]
    for secret in secrets:
        assert secret not in payload.decode() + details
    return status, ErrorCode(json.loads(payload)["code"])


def failures(lines):
    return [line for line in lines if line["event"] == "service failed a call"]


def create(deployment):
    stub = coordination(deployment.connect("coordinator"))
    return lambda: stub.CreateProject(coordination_pb2.CreateProjectRequest(specification=LARGE), timeout=20)


def test_the_blobs_disk_is_full(parties, tmp_path, uploads, disk):
    small, upload = disk("16m"), uploads[Side.ALICE]
    with carole(parties, tmp_path / "carole", ("blobs: store/blobs", f"blobs: {small.folder}/blobs")) as deployment:
        deployment.keyed()
        alice = deployment.custodian(Side.ALICE)
        alice.begin(upload)
        small.fill()
        with logged() as lines, pytest.raises(GemelError) as caught:
            alice.put(upload, 0)
        assert caught.value.code is ErrorCode.STORAGE_FULL
        assert str(small.folder) not in str(caught.value)
        (line,) = failures(lines)
        assert (line["level"], line["member"], line["code"]) == ("error", "alice", "STORAGE_FULL")
        assert str(small.folder) in str(line["error"])
        assert "make room" in str(line["error"])
        small.empty()
        alice.contribute(upload)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_databases_disk_is_full(kind, request, parties, tmp_path, disk, stack):
    if kind == "sqlite":
        small = disk("2m")
        database, secret = f"sqlite:///{small.folder}/carole.db", "carole.db"
    else:
        small = disk("12m")
        database = stack.enter_context(_on_disk(request.getfixturevalue("postgres"), small.folder))
        secret = database.partition("host=")[2]
    with carole(parties, tmp_path / "carole", ("sqlite:///store/carole.db", database)) as deployment:
        call = create(deployment)
        small.fill()
        with logged() as lines:
            assert refusal_of(call, secret) == (grpc.StatusCode.RESOURCE_EXHAUSTED, ErrorCode.STORAGE_FULL)
        (line,) = failures(lines)
        assert (line["level"], line["member"]) == ("error", "coordinator")
        assert "disk is full" in str(line["error"])
        small.empty()
        call()


def test_the_database_is_down(parties, tmp_path, postgres):
    database = postgres.database()
    with carole(parties, tmp_path / "carole", ("sqlite:///store/carole.db", database)) as deployment:
        call = create(deployment)
        alice = deployment.custodian(Side.ALICE)
        alice.next_task()
        postgres.stop()
        try:
            with logged() as lines:
                host = database.partition("host=")[2]
                assert refusal_of(call, host) == (grpc.StatusCode.UNAVAILABLE, ErrorCode.DATABASE)
                poll = lambda: alice.stub.NextTask(custody_pb2.NextTaskRequest(), timeout=20)  # noqa: E731
                assert refusal_of(poll, host) == (grpc.StatusCode.UNAVAILABLE, ErrorCode.DATABASE)
        finally:
            postgres.start()
        assert [(line["level"], line["member"]) for line in failures(lines)] == [
            ("error", "coordinator"),
            ("error", "alice"),
        ]
        call()
        assert alice.next_task().kind == custody_pb2.TASK_KIND_APPROVE


# ``/readyz``, ``/livez`` and ``gemel carole health`` of a Carole that is a process, while what she needs is away.

FAILED = {"database": "failed", "blobs": "ok", "tenure": "failed", "keys": "ok", "clock": "failed", "serving": "ok"}


@pytest.fixture
def database():
    """A PostgreSQL for one test, which stops it."""
    with tempfile.TemporaryDirectory(prefix="gemel-pg-", ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder))
        yield server
        server.stop()


def test_ready_is_true_of_the_database_and_the_keys_and_alive_is_of_the_process(database, parties, tmp_path):
    page = f"127.0.0.1:{free_port()}"
    changes = ('listen: ""', f'listen: "{page}"'), ("sqlite:///store/carole.db", database.database())
    deployment = Deployment(parties, tmp_path / "carole", *changes)
    carole = ServiceProcess("carole", deployment.configuration, tmp_path)
    carole.start()
    try:
        assert carole.wait_ready()["observability"] == page
        assert get(page, "/readyz")[0] == 200
        check_health(deployment.configuration)

        database.stop()
        eventually(lambda: get(page, "/readyz") == (503, {"ready": False, "checks": FAILED}))
        assert get(page, "/livez")[0] == 200
        with refusal(ErrorCode.UNAVAILABLE, r"answers but is not ready, got database: failed, tenure: failed"):
            check_health(deployment.configuration)
        # Why is in the log, once, however often she is probed.
        events = [json.loads(line) for line in carole.log.read_text().splitlines()]
        reasons = [event for event in events if event["event"] == "not ready"]
        assert sorted(reason["check"] for reason in reasons) == ["clock", "database", "tenure"]
        assert all("the database failed" in reason["error"] for reason in reasons)

        database.start()
        eventually(lambda: get(page, "/readyz")[0] == 200)
        check_health(deployment.configuration)
    finally:
        carole.kill()
    with refusal(ErrorCode.UNAVAILABLE, "Carole does not answer"):
        check_health(deployment.configuration)


# A Carole whose blobs are in a bucket: a run through server and worker, and one that waits for the store's mending.


def test_a_run_with_blobs_in_a_bucket_waits_until_the_store_takes_its_credentials_again(
    parties, tmp_path, object_store, monkeypatch
):
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.01)
    objects = f"{{endpoint: {object_store.endpoint}, credentials: {object_store.credentials}}}"
    page = ('listen: ""', f'listen: "127.0.0.1:{free_port()}"')
    where = ("blobs: store/blobs", f"blobs: s3://gemel-bucket/carole\n  objects: {objects}")
    carole = Deployment(parties, tmp_path / "carole", where, page)
    try:
        application = carole.start(Supervisor)
        contribute(carole)
        eventually(lambda: get(application.observability, "/readyz")[0] == 200)
        object_store.allow("s3:ListBucket")
        eventually(lambda: get(application.observability, "/readyz")[1]["checks"]["blobs"] == "failed")
        waits_until(carole, application, lambda: object_store.allow("s3:*"))
        assert not (tmp_path / "carole" / "store" / "blobs").exists()
        erase(carole.store)
        assert carole.store.projects.get("trial").state is State.ERASED
        assert set(object_store.objects()) == {"identity"}
    finally:
        carole.stop()
