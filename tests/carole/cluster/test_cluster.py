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
from pathlib import Path
from typing import Any

import pytest

from gemel.carole.cluster import cluster_units as units
from gemel.carole.cluster.cluster_units import carried_out
from gemel.carole.cluster.settings import installed
from gemel.carole.cluster.tls import make_certificates, require_admitted
from gemel.carole.engine import Resources
from gemel.carole.engine.run.resources import LostUnitError
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import WrappingKeys
from gemel.common.parties import Side
from gemel.common.rpc.status import passes
from tests.carole.cluster.processes import HeldCluster, HeldStore, again, at, in_a_run, small_units

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", autouse=True)
def many_units() -> Iterator[None]:
    with small_units():
        yield


@pytest.fixture(scope="module")
def expected(held: HeldStore) -> list[Any]:
    return in_a_run(held, Resources(1 << 30, 2))


def refused(held: HeldStore, resources: Resources, **run: Any) -> GemelError:
    with pytest.raises(GemelError) as caught:
        in_a_run(held, resources, **run)
    return caught.value


def test_a_run_by_two_workers_finds_what_threads_find(
    held: HeldStore, cluster: HeldCluster, expected: list[Any]
) -> None:
    (rows, *_), _, _, counts = expected[:4]
    assert len(counts) > 20
    assert len(rows) > 100
    assert in_a_run(held, cluster.resources()) == expected
    for name in ("one", "two", "three"):
        assert '"unit failed"' not in cluster.log(name)
        assert "library" not in cluster.log(name)
        files = [path for path in cluster.scratch(name).rglob("*") if path.is_file()]
        assert [path.name for path in files if path.stat().st_size] == [], "nothing is written to a worker's disk"


@pytest.mark.parametrize(("stage", "name"), [pytest.param("count", "one", marks=pytest.mark.long), ("keep", "two")])
def test_a_worker_killed_in_either_pass_changes_nothing(
    held: HeldStore, cluster: HeldCluster, expected: list[Any], stage: str, name: str
) -> None:
    assert in_a_run(held, cluster.resources(), at(stage, 0.1, lambda: cluster.kill(name))) == expected


def test_the_next_attempt_of_a_run_whose_driver_was_killed_finds_the_same(
    held: HeldStore, cluster: HeldCluster, expected: list[Any]
) -> None:
    folder = held.blobs.parent
    held.keys.save(folder / "wrapping.key")
    program = [sys.executable, "-m", "tests.carole.cluster.driver", folder, cluster.keys / "carole", cluster.address]
    done = subprocess.run([*program, "keep"], cwd=ROOT, capture_output=True, timeout=200, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert in_a_run(held, cluster.resources()) == expected


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

    try:
        error = refused(held, cluster.resources(), progress=at(stage, 0.0, act))
    finally:
        file.write_bytes(content)
    assert error.code is ErrorCode.VAULT
    place, _, payload = error.where.partition(": ")
    assert place.startswith("rule ")
    assert ", sets " in place
    assert payload.startswith("trial, contribution of bob, chunk 0 of 1")
    assert error.what == ("a stored chunk cannot be read" if change == "removed" else "chunk 0 does not decrypt")
    if change == "removed":
        assert '"unit failed"' in cluster.log("three")


def test_a_worker_of_another_version_is_sent_no_work(held: HeldStore, cluster: HeldCluster, tmp_path: Path) -> None:
    """Another version: this source with one line more."""
    for part in ("gemel", "protos", "common", "records", "custodian", "risk", "shared", "carole"):
        shutil.copytree(ROOT / part, tmp_path / part, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    changed = tmp_path / "carole" / "engine" / "pairs" / "shards.py"
    changed.write_text(changed.read_text() + "\n# Another version.\n")
    cluster.start("other", source=tmp_path)
    try:
        error = refused(held, cluster.resources())
    finally:
        cluster.kill("other")
    assert error.code is ErrorCode.CONFIGURATION
    assert error.what == "a worker must have the same installation as Carole"
    assert error.where.startswith("worker other at tls://127.0.0.1:")
    assert f"instead of {installed()['gemel']}" in error.got
    assert "numpy" not in error.got


def test_a_unit_reaches_no_worker_that_joined_with_another_version_meanwhile() -> None:
    with pytest.raises(GemelError, match=r"same installation as Carole, got numpy .* instead of 1\.2\.3"):
        carried_out({**installed(), "numpy": "1.2.3"}, os.getpid)
    assert carried_out(installed(), os.getpid) == os.getpid()


def test_certificates_of_another_authority_are_refused_on_both_sides(
    held: HeldStore, cluster: HeldCluster, tmp_path: Path
) -> None:
    make_certificates(tmp_path / "theirs", ("carole", "worker"))
    error = refused(held, cluster.resources(keys=tmp_path / "theirs"))
    assert error.code is ErrorCode.CERTIFICATE
    assert error.what.startswith("the scheduler's certificate is not one of this authority")
    # With the scheduler's authority as `ca`, the scheduler refuses the other's certificate.
    shutil.copy(cluster.keys / "carole" / "ca.pem", tmp_path / "theirs" / "carole" / "ca.pem")
    error = refused(held, cluster.resources(keys=tmp_path / "theirs"))
    assert error.code is ErrorCode.CERTIFICATE
    assert error.what.startswith("the scheduler refuses this certificate: it is of another authority")
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
    held: HeldStore, cluster: HeldCluster, expected: list[Any]
) -> None:
    cluster.start("keyless", keys=WrappingKeys.create())
    try:
        error = refused(held, cluster.resources())
    finally:
        cluster.kill("keyless")
    assert error.code is ErrorCode.VAULT
    assert error.what == "the wrapping key of this data key is not here"
    assert error.where.startswith("worker keyless at tls://127.0.0.1:")
    assert in_a_run(held, cluster.resources()) == expected


def test_a_worker_that_is_too_small_for_a_shard_is_sent_none(held: HeldStore, cluster: HeldCluster) -> None:
    error = refused(held, cluster.resources(worker_memory="64KiB"))
    assert (error.code, error.where) == (ErrorCode.MEMORY, "engine.worker_memory")
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


def test_without_workers_a_run_waits_for_some_and_without_a_scheduler_it_is_queued_again(
    held: HeldStore, cluster: HeldCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one: it leaves nothing."""
    cluster.kill_workers()
    monkeypatch.setattr(units, "WORKER_SECONDS", 1)
    error = refused(held, cluster.resources())
    assert (error.code, error.got) == (ErrorCode.UNAVAILABLE, "no worker in 1 seconds")
    cluster.kill("scheduler")
    error = refused(held, cluster.resources())
    assert (error.code, error.what) == (ErrorCode.UNAVAILABLE, "the scheduler cannot be reached")
    assert passes(error.code), "the run goes back to the queue"
