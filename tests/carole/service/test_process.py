"""Carole as the process that operators run: ready, stopped, killed, started wrongly."""

from __future__ import annotations

import base64
import itertools
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc
from typer.testing import CliRunner

from gemel.carole.__main__ import main as carole_main
from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.protos.linkage.v1 import custody_pb2, project_pb2
from tests.carole.deployment import (
    CANARY,
    DIGEST,
    KEY_CHECK,
    SPECIFICATION,
    Deployment,
    eventually,
    make_upload,
    people,
    put_request,
)
from tests.carole.refusals import refusal
from tests.fork_server import started_by_exec

ROOT = Path(__file__).resolve().parents[3]


class Process:
    """``python -m gemel.carole``."""

    def __init__(self, configuration, folder, **environment):
        self.ready_file = folder / "ready"
        self.ready_file.unlink(missing_ok=True)
        self.log = folder / "log"
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "gemel.carole", "--config", configuration, "--ready-file", self.ready_file],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=os.environ | environment,
            )

    def address(self):
        end = time.monotonic() + 60
        while not self.ready_file.exists():
            assert self.popen.poll() is None, self.log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        return str(json.loads(self.ready_file.read_text())["address"])

    def end(self, how):
        if self.popen.poll() is None:
            self.popen.send_signal(how)
        return self.popen.wait(30)


@pytest.fixture
def launch(parties, tmp_path):
    deployment = Deployment(parties, tmp_path / "carole")
    started: list[Process] = []

    def start(level="info"):
        text = deployment.configuration.read_text()
        deployment.configuration.write_text(text.replace("log_level: info", f"log_level: {level}"))
        started.append(Process(deployment.configuration, tmp_path))
        deployment.connect_to(started[-1].address())
        return started[-1], deployment

    yield start
    for process in started:
        process.end(signal.SIGKILL)


def events(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_ready_then_stopped_on_request(launch):
    with started_by_exec():  # she and her worker, as her operator starts her
        process, deployment = launch()
    with deployment.connect("coordinator") as connection:
        assert connection.address == process.address()
    assert process.end(signal.SIGTERM) == 0
    logged = events(process.log)
    ready = next(event for event in logged if event["event"] == "ready")
    assert ready["address"] == process.address()
    assert [event["event"] for event in logged][-2:] == ["stopping", "stopped"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(ready["worker"])), 0)


def test_the_worker_of_a_killed_service_ends_by_itself(launch):
    process, _ = launch()
    # The ready file is there a moment before the log has it.
    deadline = time.monotonic() + 60
    while not (ready := [event for event in events(process.log) if event["event"] == "ready"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    worker = int(str(ready[0]["worker"]))
    process.end(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while b"service.worker" in command_line(worker):
        assert time.monotonic() < deadline, "the worker goes on without its service"
        time.sleep(0.05)


def command_line(pid):
    """Empty once the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_killed_between_two_chunks_the_upload_goes_on(launch, uploads):
    process, deployment = launch()
    deployment.keyed()
    upload = uploads[Side.ALICE]
    alice = deployment.custodian(Side.ALICE)
    alice.begin(upload)
    alice.put(upload, 1)
    process.end(signal.SIGKILL)
    process, _ = launch()
    alice = deployment.custodian(Side.ALICE)
    missing = [index for gap in alice.begin(upload).missing for index in range(gap.first, gap.last + 1)]
    assert missing == [index for index in range(len(upload.chunks)) if index != 1]
    for index in missing:
        alice.put(upload, index)
    alice.commit(upload)
    deployment.custodian(Side.BOB).contribute(uploads[Side.BOB])
    coordinator = deployment.coordinator()
    assert coordinator.get("trial")[0].state == project_pb2.PROJECT_STATE_CONTRIBUTED
    *_, last = coordinator.watch("trial", coordinator.start("trial").run)
    assert last.state == project_pb2.RUN_STATE_DONE
    process.end(signal.SIGTERM)


def test_stopped_with_calls_under_way_all_end_or_are_called_again(launch, uploads):
    """A long poll waits, and chunks are put from several threads, when SIGTERM comes."""
    process, deployment = launch()
    deployment.keyed()
    upload = uploads[Side.ALICE]
    alice, bob = (deployment.custodian(side) for side in Side)
    bob.next_task()  # he has contributed nothing: a poll that names this task waits
    alice.begin(upload)
    polls = [deployment.custodian(Side.BOB) for _ in range(4)]
    acknowledged, refused = threading.Event(), []

    def outcome(call):
        """None for an answer; else the status."""
        try:
            call()
        except grpc.RpcError as error:
            return error.code()
        return None

    def put():
        """How often chunk 0 was acknowledged, until it is refused."""
        request = put_request(upload, 0)
        for count in itertools.count():
            status = outcome(lambda: alice.stub.PutChunk(request, timeout=20))
            if status is not None:
                refused.append(status)
                return count
            acknowledged.set()
        raise AssertionError

    waiting = custody_pb2.NextTaskRequest(wait_ms=20_000, waiting=("trial",))
    with ThreadPoolExecutor(8) as threads:
        polled = [threads.submit(outcome, lambda each=each: each.stub.NextTask(waiting, timeout=40)) for each in polls]
        puts = [threads.submit(put) for _ in range(4)]
        assert acknowledged.wait(60)
        assert process.end(signal.SIGTERM) == 0
        assert all(each.result() >= 0 for each in puts)
        again = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
        assert {each.result() for each in polled} <= {None, *again}
    assert set(refused) <= again, "the statuses after which a client tries again"
    process, _ = launch()
    alice = deployment.custodian(Side.ALICE)
    missing = [index for gap in alice.begin(upload).missing for index in range(gap.first, gap.last + 1)]
    assert missing == list(range(1, len(upload.chunks)))
    for index in missing:
        alice.put(upload, index)
    alice.commit(upload)
    process.end(signal.SIGTERM)


def test_no_log_line_and_no_error_holds_what_a_custodian_sent(launch):
    """A whole run with refusals of every kind, at the most verbose log level, searched for planted values."""
    process, deployment = launch("debug")
    coordinator = deployment.coordinator()
    coordinator.create(SPECIFICATION)
    coordinator.approve("trial", DIGEST)
    deployment.records = 60
    alice, bob = (deployment.custodian(side) for side in Side)
    reported: list[str] = []

    def refused(call, *arguments, **named):
        with pytest.raises(GemelError) as caught:
            call(*arguments, **named)
        reported.append(str(caught.value))

    planted = b"planted-by-alice"
    refused(alice.approve, signature=planted)
    alice.approve()
    bob.approve()
    alice.post(1, planted + b"-letter")
    refused(alice.post, 1, planted + b"-another-letter")
    alice.report_keys()
    refused(bob.report_keys, check=b"planted!", canary=(planted * 2)[:32])
    bob.report_keys()
    for side, who in ((Side.ALICE, alice), (Side.BOB, bob)):
        upload, _ = make_upload(side, people(60), side[0] * 32)
        who.begin(upload)
        refused(who.put, upload, 0, planted)
        refused(who.put, upload, 9, planted)
        who.put(upload, 0)
        refused(who.put, upload, 0, (planted * len(upload.payload))[: len(upload.payload)])
        who.commit(upload)
        odd, _ = make_upload(side, people(10), "planted-by-alice", project="planted-by-alice")
        refused(who.begin, odd)
        refused(who.fetch, "planted-by-alice")
    refused(coordinator.create, SPECIFICATION.replace("surname", "planted by alice"))
    *_, last = coordinator.watch("trial", coordinator.start("trial").run)
    assert last.state == project_pb2.RUN_STATE_DONE
    process.end(signal.SIGTERM)
    written = process.log.read_text()
    assert written.count('"event": "refused"') >= 8
    reported.pop()  # the coordinator's own specification may be shown to the coordinator
    signature = make_upload(Side.ALICE, people(1), "a" * 32)[0].payload[:16]
    for secret in (planted, b"planted!", KEY_CHECK, CANARY, signature):
        for form in (secret.hex(), repr(secret)[2:-1], base64.b64encode(secret).decode()):
            assert form not in written
            assert form not in "".join(reported)


Refused = Callable[[Path], str]


@pytest.fixture
def issue(capfd):
    """What a service that does not start reports, in this process."""

    def refused(configuration):
        capfd.readouterr()
        try:
            assert carole_main(["--config", str(configuration)]) == 1
        finally:
            structlog.reset_defaults()
        _, _, reported = ("\n" + capfd.readouterr().err).partition("\nError: ")
        assert reported
        return reported

    return refused


def test_configuration_errors_are_reported_as_such(parties, tmp_path, issue):
    deployment = Deployment(parties, tmp_path / "carole")
    good = deployment.configuration.read_text()

    def configured(old, new):
        assert old in good
        deployment.configuration.write_text(good.replace(old, new))
        return issue(deployment.configuration)

    assert "lisssten" in configured("listen:", "lisssten:")
    assert "3 parsecs" not in configured("memory: 3GiB", "memory: 3 parsecs")
    assert "alice" not in configured("sqlite:///store/carole.db", "mysql://alice:secretword@host/db").lower()
    keys = str(parties.parties["carole"].path)
    assert "custodian-a" in configured(keys, str(parties.parties["alice"].path))
    assert "certificate" in configured(keys, str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot listen" in configured("127.0.0.1:0", f"127.0.0.1:{taken.getsockname()[1]}")
    assert "no-such-file" in issue(tmp_path / "no-such-file.yaml")
    command = [sys.executable, "-m", "gemel.carole", "--config", tmp_path / "no-such-file.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    assert (done.returncode, done.stderr.startswith("Error: ")) == (1, True), done.stderr
    deployment.configuration.write_text(good)
    deployment.start()
    assert "another service is using this folder" in issue(deployment.configuration)
    deployment.stop()


def test_without_her_database_she_neither_starts_nor_sweeps(launch, uploads, issue):
    process, deployment = launch()
    deployment.keyed()
    deployment.custodian(Side.ALICE).contribute(uploads[Side.ALICE])
    gemel("backup", str(deployment.root / "backup"), "--config", str(deployment.configuration))
    process.end(signal.SIGTERM)
    store = deployment.root / "store"
    before = {path for path in (store / "blobs").rglob("*") if path.is_file()}
    assert len(before) > 2
    (store / "carole.db").rename(store / "elsewhere.db")
    assert "there is no database" in issue(deployment.configuration)
    assert not (store / "carole.db").exists()
    assert {path for path in (store / "blobs").rglob("*") if path.is_file()} == before
    store.rename(deployment.root / "lost")
    assert "there is no database" in issue(deployment.configuration)
    gemel("restore", str(deployment.root / "backup"), "--config", str(deployment.configuration))
    process, _ = launch()
    assert deployment.custodian(Side.ALICE).begin(uploads[Side.ALICE]).committed


def gemel(*words):
    result = CliRunner().invoke(app, ["carole", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_a_database_renamed_while_she_runs_ends_writes_and_health_until_it_is_back(launch):
    process, deployment = launch()
    coordinator = deployment.coordinator()
    coordinator.create(SPECIFICATION)
    health = deployment.connect("coordinator").stub(health_pb2_grpc.HealthStub)

    def serving():
        found = health.Check(health_pb2.HealthCheckRequest(), timeout=20)
        return bool(found.status == health_pb2.HealthCheckResponse.SERVING)

    assert serving()
    store = deployment.root / "store"
    (store / "carole.db").rename(store / "elsewhere.db")
    with refusal(ErrorCode.DATABASE):
        coordinator.approve("trial", DIGEST)
    eventually(lambda: not serving())
    (store / "elsewhere.db").rename(store / "carole.db")
    coordinator.approve("trial", DIGEST)
    eventually(serving)
    process.end(signal.SIGTERM)
    assert [event["standing"] for event in events(process.log) if event["event"] == "tenure"] == ["unreachable", "held"]


def test_a_carole_that_was_taken_over_ends(launch):
    process, deployment = launch()
    with sqlite3.connect(deployment.root / "store" / "carole.db") as database:
        database.execute("UPDATE tenure SET holder = 'another'")
    database.close()
    assert process.popen.wait(60) == 1
    assert "another Carole has taken over the store" in process.log.read_text()
