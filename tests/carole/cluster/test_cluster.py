"""A run by a scheduler and workers over TLS finds what this machine's threads find, to the last bit.

What fails in a cluster ends in the same result or in an error that says what to do, never in fewer pairs. Processes
are killed by the kernel's signal, files and bits are those of the store's folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gemel.carole.cluster import cluster_units as units
from gemel.carole.cluster.cluster_units import carried_out
from gemel.carole.cluster.settings import installed
from gemel.carole.cluster.tls import make_certificates, require_admitted
from gemel.carole.engine import Resources
from gemel.carole.engine.run.resources import LostUnitError
from gemel.carole.projects.project import RunState
from gemel.carole.service import supervisor
from gemel.carole.service.supervisor import Supervisor
from gemel.carole.store.results import rows_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import WrappingKeys
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.rpc.status import passes
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.coordinator.provisioning import Provisioned
from tests.carole import trial
from tests.carole.cluster.processes import HeldCluster, HeldStore, SetContribution, again, at, in_a_run, small_units
from tests.carole.deployment import Deployment, eventually
from tests.carole.engine.progress import quiet
from tests.carole.engine.test_shards import TEXT, people, sets_of
from tests.carole.refusals import refusal
from tests.carole.service.test_worker import COMMON, contribute
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", autouse=True)
def many_units() -> Iterator[None]:
    with small_units():
        yield


@pytest.fixture(scope="module")
def expected(held: HeldStore) -> list[Any]:
    return in_a_run(held, Resources(1 << 30, 2))


def refused(cluster: HeldCluster, code: ErrorCode, what: str, progress: Progress = quiet, **changed: Any) -> GemelError:
    """The error by which a run ends, whose first words are these."""
    with refusal(code) as caught:
        cluster.found(progress, **changed)
    assert caught.value.what.startswith(what)
    return caught.value


def test_a_run_by_two_workers_finds_what_threads_find(cluster: HeldCluster, expected: list[Any]) -> None:
    (rows, *_), _, _, counts = expected[:4]
    assert len(counts) > 20
    assert len(rows) > 100
    assert cluster.found() == expected
    for name in ("one", "two", "three"):
        assert '"unit failed"' not in cluster.log(name)
        assert "library" not in cluster.log(name)
        files = [path for path in cluster.scratch(name).rglob("*") if path.is_file()]
        assert [path.name for path in files if path.stat().st_size] == [], "nothing is written to a worker's disk"


@pytest.mark.parametrize(("stage", "name"), [pytest.param("count", "one", marks=pytest.mark.long), ("keep", "two")])
def test_a_worker_killed_in_either_pass_changes_nothing(
    cluster: HeldCluster, expected: list[Any], stage: str, name: str
) -> None:
    assert cluster.found(at(stage, 0.1, lambda: cluster.kill(name))) == expected


def test_the_next_attempt_of_a_run_whose_driver_was_killed_finds_the_same(
    held: HeldStore, cluster: HeldCluster, expected: list[Any]
) -> None:
    folder = held.blobs.parent
    held.keys.save(folder / "wrapping.key")
    program = [sys.executable, "-m", "tests.carole.cluster.driver", folder, cluster.keys / "carole", cluster.address]
    done = subprocess.run([*program, "keep"], cwd=ROOT, capture_output=True, timeout=200, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert cluster.found() == expected


@pytest.mark.parametrize("change", ["removed", "flipped"])
@pytest.mark.parametrize("stage", ["count", pytest.param("keep", marks=pytest.mark.long)])
def test_an_object_that_is_gone_or_has_another_bit_ends_the_run_with_its_shard(
    held: HeldStore, cluster: HeldCluster, expected: list[Any], change: str, stage: str
) -> None:
    file = again(held, Side.BOB)
    content = file.read_bytes()

    def act() -> None:
        if change == "removed":
            file.unlink()
        else:
            place = len(content) // 2
            file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])

    what = "a stored chunk cannot be read" if change == "removed" else "chunk 0 does not decrypt"
    try:
        error = refused(cluster, ErrorCode.VAULT, what, at(stage, 0.0, act))
    finally:
        file.write_bytes(content)
    place, _, payload = error.where.partition(": ")
    assert place.startswith("rule ")
    assert ", sets " in place
    assert payload.startswith("trial, contribution of bob, chunk 0 of 1")
    if change == "removed":
        assert '"unit failed"' in cluster.log("three")


def test_a_worker_of_another_version_is_sent_no_work(cluster: HeldCluster, tmp_path: Path) -> None:
    """Another version: this source with one line more."""
    for part in ("gemel", "protos", "common", "records", "custodian", "risk", "shared", "carole"):
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "carole" / "engine" / "pairs" / "shards.py"
    changed.write_text(changed.read_text() + "\n# Another version.\n")
    cluster.start("other", source=tmp_path)
    try:
        error = refused(cluster, ErrorCode.CONFIGURATION, "a worker must have the same installation as Carole")
    finally:
        cluster.kill("other")
    assert error.where.startswith("worker other at tls://127.0.0.1:")
    assert f"instead of {installed()['gemel']}" in error.got
    assert "numpy" not in error.got


def test_a_unit_reaches_no_worker_that_joined_with_another_version_meanwhile() -> None:
    with refusal(ErrorCode.CONFIGURATION, r"same installation as Carole, got numpy .* instead of 1\.2\.3"):
        carried_out({**installed(), "numpy": "1.2.3"}, os.getpid)
    assert carried_out(installed(), os.getpid) == os.getpid()


def test_certificates_of_another_authority_are_refused_on_both_sides(cluster: HeldCluster, tmp_path: Path) -> None:
    make_certificates(tmp_path / "theirs", ("carole", "worker"))
    theirs = {"keys": tmp_path / "theirs"}
    refused(cluster, ErrorCode.CERTIFICATE, "the scheduler's certificate is not one of this authority", **theirs)
    # With the scheduler's authority as `ca`, the scheduler refuses the other's certificate.
    shutil.copy(cluster.keys / "carole" / "ca.pem", tmp_path / "theirs" / "carole" / "ca.pem")
    what = "the scheduler refuses this certificate: it is of another authority"
    error = refused(cluster, ErrorCode.CERTIFICATE, what, **theirs)
    assert "unknown ca" in error.got


def test_no_other_version_of_tls_and_no_caller_without_a_certificate(cluster: HeldCluster) -> None:
    context = ssl.create_default_context(cafile=str(cluster.keys / "carole" / "ca.pem"))
    context.check_hostname = False
    host, _, port = cluster.address.removeprefix("tls://").rpartition(":")
    with (
        socket.create_connection((host, int(port)), 10) as plain,
        context.wrap_socket(plain) as connection,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate required"),
    ):
        connection.recv(1)
    require_admitted(cluster.address, cluster.engine())


def test_a_worker_without_the_wrapping_key_is_named_and_the_next_attempt_finds_the_same(
    cluster: HeldCluster, expected: list[Any]
) -> None:
    cluster.start("keyless", keys=WrappingKeys.create())
    try:
        error = refused(cluster, ErrorCode.VAULT, "the wrapping key of this data key is not here")
    finally:
        cluster.kill("keyless")
    assert error.where.startswith("worker keyless at tls://127.0.0.1:")
    assert cluster.found() == expected


def test_a_worker_that_is_too_small_for_a_shard_is_sent_none(cluster: HeldCluster) -> None:
    error = refused(cluster, ErrorCode.MEMORY, "the largest shard", worker_memory="64KiB")
    assert error.where == "engine.worker_memory"
    assert "of a worker's memory for each of its 1 threads" in error.what


@pytest.mark.long
def test_a_unit_that_ends_three_workers_ends(held: HeldStore, cluster: HeldCluster) -> None:
    more = ("four", "five")[: 3 - cluster.n_workers]
    for name in more:
        cluster.start(name, wait=False)
    cluster.ready(*more)
    a, _ = held.parts()
    with (
        units.cluster_units(cluster.engine(), [a.reference(0)]) as pool,
        pytest.raises(LostUnitError, match="the end of 3 workers in the midst of it, the last of them "),
    ):
        pool.executor.submit(os._exit, 1).result(100)


# Carole's service with an engine of kind dask: her worker process sends shards to a cluster, and nothing else.


@pytest.fixture
def no_workers(cluster: HeldCluster) -> Iterator[HeldCluster]:
    """The scheduler alone."""
    cluster.kill_workers()
    yield cluster
    cluster.kill_workers()


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
    parties: Provisioned, tmp_path: Path, no_workers: HeldCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = WrappingKeys.load(parties.parties["carole"].path / "wrapping.key")
    found = []
    for name, changed in (("local", ()), ("dask", (of_dask(no_workers.address, no_workers.files("carole")),))):
        carole = Deployment(parties, tmp_path / name, *changed)
        try:
            carole.start(Supervisor)
            if changed:
                no_workers.worker("worker", keys=keys, blobs=carole.root / "store" / "blobs", threads=2)
            found.append(compared(carole, requested(carole, monkeypatch)))
        finally:
            carole.stop()
    assert len(found[0]) == 2
    assert len(found[0][0]) > 100
    assert found[0] == found[1]
    assert '"address"' in no_workers.log("worker")


@pytest.mark.long
def test_a_run_without_a_scheduler_is_queued_again_and_begins_when_there_is_one(
    parties: Provisioned, tmp_path: Path, no_workers: HeldCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE_SECONDS", 0.01)
    keys = WrappingKeys.load(parties.parties["carole"].path / "wrapping.key")
    no_workers.stop()
    carole = Deployment(parties, tmp_path / "late", of_dask(no_workers.address, no_workers.files("carole")))
    try:
        carole.start(Supervisor)
        run = requested(carole, monkeypatch)
        eventually(lambda: any(e.action == "requeue-run" for e in carole.store.audit.entries("trial")))
        no_workers.scheduler()
        no_workers.worker("late", keys=keys, blobs=carole.root / "store" / "blobs")
        assert all(compared(carole, run))
        assert carole.store.runs.get("trial", run).attempt == 1
    finally:
        carole.stop()


def test_a_run_of_mode_open_stays_here_whatever_the_engine(
    parties: Provisioned, tmp_path: Path, no_workers: HeldCluster
) -> None:
    """Nothing listens where its scheduler would be."""
    changed = of_dask(f"tls://127.0.0.1:{free_port()}", no_workers.files("carole"))
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


def test_without_workers_a_run_waits_for_some_and_without_a_scheduler_it_is_queued_again(
    cluster: HeldCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one: it leaves nothing."""
    cluster.kill_workers()
    monkeypatch.setattr(units, "WORKER_SECONDS", 1)
    unreachable = "the scheduler cannot be reached"
    assert refused(cluster, ErrorCode.UNAVAILABLE, unreachable).got == "no worker in 1 seconds"
    cluster.kill("scheduler")
    error = refused(cluster, ErrorCode.UNAVAILABLE, unreachable)
    assert passes(error.code), "the run goes back to the queue"
