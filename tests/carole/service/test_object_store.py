"""A Carole whose blobs are in a bucket: a run through server and worker, and one that waits for the store's mending."""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.carole.projects.project import RunState, State
from gemel.carole.service import supervisor
from gemel.carole.service.supervisor import Supervisor
from gemel.common.parties import Role, Side
from gemel.common.pki.provisioning import Provisioned
from tests.carole.deployment import Deployment
from tests.carole.service.test_readiness import get
from tests.carole.service.test_worker import COMMON, contribute, eventually, opened
from tests.carole.store.object_store import ObjectStore, object_server, object_store
from tests.ports import free_port

__all__ = ["object_server", "object_store"]


def test_a_run_with_blobs_in_a_bucket_waits_until_the_store_takes_its_credentials_again(
    parties: Provisioned, tmp_path: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        run = carole.coordinator().start("trial").run
        queued = lambda: [e for e in carole.store.audit.entries("trial") if e.action == "requeue-run"]  # noqa: E731
        eventually(lambda: len(queued()) > 0, 600)
        assert {entry.details["cause"] for entry in queued()} == {"storage failed"}
        object_store.allow("s3:*")
        eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE, 600)
        assert carole.store.runs.get("trial", run).attempt == 1
        assert carole.store.runs.get("trial", run).links == COMMON
        assert all(opened(carole, side, run)["links.parquet"] for side in Side)
        eventually(lambda: get(application.observability, "/readyz")[0] == 200)
        assert not (tmp_path / "carole" / "store" / "blobs").exists()
        carole.store.projects.erase("trial", Role.COORDINATOR, "coordinator")
        assert carole.store.projects.get("trial").state is State.ERASED
        assert set(object_store.objects()) == {"identity"}
    finally:
        carole.stop()
