"""``/readyz``, ``/livez`` and ``gemel carole health`` of a Carole that is a process, while what she needs is away."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gemel.carole.service.health import check_health
from gemel.common.errors import ErrorCode
from gemel.common.observability.settings import host_and_port
from gemel.common.pki.provisioning import Provisioned
from gemel.coordinator.rehearsal.processes import ServiceProcess
from tests.carole.deployment import Deployment
from tests.carole.refusals import refusal
from tests.carole.store.conftest import Postgres
from tests.ports import free_port

FAILED = {"database": "failed", "blobs": "ok", "tenure": "failed", "keys": "ok", "clock": "failed", "serving": "ok"}


@pytest.fixture
def database() -> Iterator[Postgres]:
    """A PostgreSQL for one test, which stops it."""
    with tempfile.TemporaryDirectory(prefix="gemel-pg-", ignore_cleanup_errors=True) as folder:
        server = Postgres(Path(folder))
        yield server
        server.stop()


def get(address: str, path: str) -> tuple[int, dict[str, dict[str, str]]]:
    connection = HTTPConnection(*host_and_port(address), timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_ready_is_true_of_the_database_and_the_keys_and_alive_is_of_the_process(
    database: Postgres, parties: Provisioned, tmp_path: Path
) -> None:
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
        until(lambda: get(page, "/readyz") == (503, {"ready": False, "checks": FAILED}))
        assert get(page, "/livez")[0] == 200
        with refusal(ErrorCode.UNAVAILABLE, r"answers but is not ready, got database: failed, tenure: failed"):
            check_health(deployment.configuration)
        # Why is in the log, once, however often she is probed.
        events = [json.loads(line) for line in carole.log.read_text().splitlines()]
        reasons = [event for event in events if event["event"] == "not ready"]
        assert sorted(reason["check"] for reason in reasons) == ["clock", "database", "tenure"]
        assert all("the database failed" in reason["error"] for reason in reasons)

        database.start()
        until(lambda: get(page, "/readyz")[0] == 200)
        check_health(deployment.configuration)
    finally:
        carole.kill()
    with refusal(ErrorCode.UNAVAILABLE, "Carole does not answer"):
        check_health(deployment.configuration)
