"""Carole's service with an engine of kind dask: her worker process sends shards to a cluster, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.cluster import ClusterProcesses
from gemel.carole.projects.project import RunState
from gemel.carole.service import supervisor
from gemel.carole.service.supervisor import Supervisor
from gemel.carole.store.results import rows_of
from gemel.common.errors import ErrorCode
from gemel.common.keys.vault import WrappingKeys
from gemel.common.parties import Side
from gemel.common.pki.provisioning import Provisioned
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.common.wire.row_handles import RowHandlesRequest
from tests.carole import trial
from tests.carole.cluster.processes import SetContribution
from tests.carole.deployment import Deployment, eventually
from tests.carole.engine.test_shards import TEXT, people, sets_of
from tests.carole.refusals import refusal
from tests.carole.service.test_worker import COMMON, contribute
from tests.ports import free_port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    made = ClusterProcesses(tmp_path_factory.mktemp("cluster"))
    yield made
    made.stop()


def of_dask(address: str, files: str) -> tuple[str, str]:
    """What changes the configuration's template."""
    return "log_level: info", f"engine: {{kind: dask, address: '{address}', {files}}}\nlog_level: info"


def requested(carole: Deployment, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run in mode block_keyed, just requested."""
    text = TEXT.replace("shards", "trial", 1)
    spec = load_specification(text)
    digest = specification_digest(spec)
    monkeypatch.setattr(trial, "DIGEST", digest)
    new = replace(trial.NEW, specification=text, specification_digest=digest, encoding_digest=encoding_digest(spec))
    given = {side: SetContribution(sets_of(people(200, 1), 60), 200) for side in Side}
    trial.contributed(carole.store, given, new)
    carole.store.runs.start("trial", "coordinator", "a", "a" * 32)
    return carole.store.projects.get("trial").runs[-1].run


def compared(carole: Deployment, run: str) -> list[list[int]]:
    """The rows that custodians are asked for after the first half of a run, in their order."""
    eventually(lambda: carole.store.runs.get("trial", run).state not in (RunState.QUEUED, RunState.RUNNING))
    assert carole.store.runs.get("trial", run).state is RunState.RESOLVING, carole.store.runs.get("trial", run)
    found = [carole.store.artifacts.read(run, rows_of(side)) for side in Side]
    return [RowHandlesRequest.unpack(content).rows.tolist() for content in found if content is not None]


def test_a_run_of_mode_block_keyed_by_a_cluster_asks_for_the_same_rows(
    parties: Provisioned, tmp_path: Path, cluster: ClusterProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = WrappingKeys.load(parties.parties["carole"].path / "wrapping.key")
    found = []
    for name, changed in (("local", ()), ("dask", (of_dask(cluster.address, cluster.files("carole")),))):
        carole = Deployment(parties, tmp_path / name, *changed)
        try:
            carole.start(Supervisor)
            if changed:
                cluster.worker("worker", keys=keys, blobs=carole.root / "store" / "blobs", threads=2)
            found.append(compared(carole, requested(carole, monkeypatch)))
        finally:
            carole.stop()
    assert len(found[0]) == 2
    assert len(found[0][0]) > 100
    assert found[0] == found[1]
    assert '"address"' in cluster.log("worker")


@pytest.mark.long
def test_a_run_without_a_scheduler_is_queued_again_and_begins_when_there_is_one(
    parties: Provisioned, tmp_path: Path, cluster: ClusterProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.01)
    keys = WrappingKeys.load(parties.parties["carole"].path / "wrapping.key")
    cluster.stop()
    carole = Deployment(parties, tmp_path / "late", of_dask(cluster.address, cluster.files("carole")))
    try:
        carole.start(Supervisor)
        run = requested(carole, monkeypatch)
        eventually(lambda: any(e.action == "requeue-run" for e in carole.store.audit.entries("trial")))
        cluster.scheduler()
        cluster.worker("late", keys=keys, blobs=carole.root / "store" / "blobs")
        assert all(compared(carole, run))
        assert carole.store.runs.get("trial", run).attempt == 1
    finally:
        carole.stop()


def test_a_run_of_mode_open_stays_here_whatever_the_engine(
    parties: Provisioned, tmp_path: Path, cluster: ClusterProcesses
) -> None:
    """Nothing listens where its scheduler would be."""
    changed = of_dask(f"tls://127.0.0.1:{free_port()}", cluster.files("carole"))
    carole = Deployment(parties, tmp_path / "carole", changed)
    try:
        carole.start(Supervisor)
        contribute(carole)
        run = carole.coordinator().start("trial").run
        eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE)
        assert carole.store.runs.get("trial", run).links == COMMON
    finally:
        carole.stop()


def test_carole_does_not_start_without_the_files_of_her_engine(parties: Provisioned, tmp_path: Path) -> None:
    changed = of_dask("tls://127.0.0.1:8786", "ca: no.pem, certificate: no.pem, key: no.pem")
    carole = Deployment(parties, tmp_path / "carole", changed)
    with refusal(ErrorCode.CONFIGURATION, "the certificate of the cluster's authority cannot be read"):
        carole.start()
