"""A held run of a real Carole: her receivers are notified, and one that never answers delays nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.carole.commands.service import app
from gemel.carole.configuration import load_carole
from gemel.carole.projects.project import RunState, State
from gemel.carole.service.supervisor import Supervisor
from gemel.common.configuration import parse_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.coordinator.provisioning import provision
from gemel.party.own_keys import WrappingSection
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.deployment import Deployment, Upload, eventually, get, make_upload, people
from tests.carole.notification.receivers import trickling_server, web_server
from tests.carole.refusals import refusal
from tests.carole.service.test_process import ROOT, Process
from tests.carole.service.test_stewardship import hold
from tests.carole.service.test_worker import contribute
from tests.carole.test_configuration import GOOD, written
from tests.common.keys.key_stores import softhsm

MAIL = "way: email, server: 'x.example:587', sender: c@x.example, to: [a@x.example]"


def test_a_held_run_is_reported_by_every_way_that_works(parties, tmp_path):
    secret = tmp_path / "webhook.secret"
    secret.write_text("s" * 32)
    secret.chmod(0o600)
    kept = tmp_path / "kept"
    with web_server() as server, trickling_server(b"220 ") as silent:
        notify = f"""notify:
  - {{way: webhook, url: '{server.url}', secret_file: {secret}}}
  - {{way: command, program: [/usr/bin/env, tee, -a, {kept}], events: [held, failed]}}
  - {{way: email, server: '{silent}', security: none, sender: c@x.example, to: [a@x.example]}}
log_level: info"""
        deployment = Deployment(parties, tmp_path / "carole", ("log_level: info", notify))
        deployment.start()
        try:
            deployment.records = 24
            deployment.keyed()
            run = hold(
                deployment,
                {
                    Side.ALICE: make_upload(Side.ALICE, people(24), "a" * 32)[0],
                    Side.BOB: make_upload(Side.BOB, people(24, offset=8), "b" * 32)[0],
                },
            )
            assert deployment.store.projects.get("trial").state is State.HELD
            eventually(lambda: bool(server.messages) and server.messages[-1]["event"] == "held")
            eventually(lambda: kept.exists() and kept.read_text().endswith("\n"))
        finally:
            began = time.monotonic()
            deployment.stop()  # which cuts off the receiver that never answers
            assert time.monotonic() - began < 60
        held = server.messages[-1]
        assert {name: held[name] for name in ("project", "run", "state", "waiting_for")} == {
            "project": "trial",
            "run": run,
            "state": "HELD",
            "waiting_for": ["steward"],
        }
        assert [json.loads(line) for line in kept.read_text().splitlines()] == [held]
        deployment.start()
        try:
            mail = deployment.store.outbox
            way = load_carole(deployment.configuration).notify[2]
            eventually(lambda: mail.due(way.key) is not None)  # still there, to be tried again
        finally:
            deployment.stop()


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ("way: pigeon", r"notify\[0\].way: must be webhook, email or command"),
        ("way: webhook, url: 'http://x.example/', secret_file: s", "without TLS only a receiver on this machine"),
        ("way: webhook, url: 'https://u:pass-word@x.example/', secret_file: s", "without a user or a password"),
        ("way: webhook, url: 'https://x.example/', secret: pass-word", "secret_file"),
        ("way: command, program: [tell]", "the absolute path of a program"),
        ("way: command, program: []", "has too few entries"),
        ("way: command, program: [/bin/true], events: [held, linked]", r"notify\[0\].*events\[1\]"),
        (
            "way: command, program: [/bin/true], events: [trial]",
            "must be held, failed, refused, released, waiting or certificate",
        ),
        (f"{MAIL}, user: u", "user and password_file are given together"),
        (f"{MAIL}, security: none", "is for a mail server on this machine"),
        (MAIL.replace("a@x.example", "'a@x.example, b@x.example'"), r"notify\[0\].*to"),
        (f"{MAIL}}}\n  - {{{MAIL}", "entries 1 and 2 have the same receiver"),
    ],
)
def test_a_wrong_entry_is_refused_by_its_place_and_not_shown(tmp_path, entry, match):
    text = GOOD.replace("log_level: info", f"notify:\n  - {{{entry}}}\nlog_level: info")
    with refusal(ErrorCode.CONFIGURATION, match) as caught:
        load_carole(written(tmp_path, text))
    assert "pass-word" not in str(caught.value)


def test_a_trial_says_which_receiver_took_it(tmp_path):
    kept = tmp_path / "kept"
    text = f"notify:\n  - {{way: command, program: [/usr/bin/env, tee, {kept}]}}\n"
    path = written(tmp_path, GOOD.replace("log_level: info", f"{text}log_level: info"))
    done = CliRunner().invoke(app, ["try-notify", "--config", str(path)])
    assert (done.exit_code, done.output) == (0, "notify 1, command: sent.\n")
    assert json.loads(kept.read_text())["event"] == "trial"
    path.write_text(path.read_text().replace(f"tee, {kept}", "'false'"))
    done = CliRunner().invoke(app, ["try-notify", "--config", str(path)])
    assert (done.exit_code, done.output) == (1, "notify 1, command: the program ended with status 1.\n")


def test_check_reads_the_files_of_notify(parties, tmp_path):
    notify = "notify:\n  - {way: webhook, url: 'https://x.example/', secret_file: missing}\nlog_level: info"
    deployment = Deployment(parties, tmp_path / "carole", ("log_level: info", notify))
    done = CliRunner().invoke(app, ["check", "--config", str(deployment.configuration)])
    assert done.exit_code == 1
    assert "cannot read the secret of a webhook" in done.output


# Files removed under a running Carole: clear words, nothing lost is acknowledged, and on with what is put back.


@pytest.fixture
def carole(parties, tmp_path):
    """Carole with a page, and keys of her own that a test may move away."""
    keys = shutil.copytree(parties.parties["carole"].path, tmp_path / "keys")
    made = Deployment(parties, tmp_path / "carole", ('listen: ""', 'listen: "127.0.0.1:0"'))
    text = made.configuration.read_text()
    made.configuration.write_text(text.replace(str(parties.parties["carole"].path), str(keys)))
    yield made
    made.stop()


def chunk_files(carole):
    return sorted(path for path in (carole.root / "store" / "blobs").glob("*/*") if path.is_file())


def test_a_chunk_that_is_gone_is_noticed_before_the_upload_is_acknowledged(carole, uploads):
    carole.start()
    carole.keyed()
    alice, upload = carole.custodian(Side.ALICE), uploads[Side.ALICE]
    alice.begin(upload)
    for index in range(len(upload.chunks)):
        alice.put(upload, index)
    chunk_files(carole)[0].unlink()
    with refusal(ErrorCode.VAULT) as caught:
        alice.commit(upload)
    assert "cannot read what it has stored" in str(caught.value)
    assert str(carole.root) not in str(caught.value)
    assert not carole.store.projects.get("trial").uploads[Side.ALICE].committed
    again = Upload(upload.sets, upload.side, "f" * 32, upload.payload, upload.manifest)
    alice.contribute(again)
    assert carole.store.projects.get("trial").uploads[Side.ALICE].committed


def test_a_run_whose_input_is_gone_fails_in_words_that_name_no_path(carole):
    carole.start(Supervisor)
    contribute(carole)
    chunk_files(carole)[0].unlink()
    coordinator = carole.coordinator()
    *_, last = coordinator.watch("trial", coordinator.start("trial").run)
    assert last.state == project_pb2.RUN_STATE_FAILED
    assert "cannot read what it has stored" in last.error
    assert str(carole.root) not in last.error
    assert carole.store.projects.get("trial").state is State.CONTRIBUTED
    coordinator.erase("trial")
    assert chunk_files(carole) == []


def test_without_the_folder_of_blobs_no_chunk_is_acknowledged(carole, uploads):
    application = carole.start()
    carole.keyed()
    alice, upload = carole.custodian(Side.ALICE), uploads[Side.ALICE]
    alice.begin(upload)
    alice.put(upload, 0)
    blobs, elsewhere = carole.root / "store" / "blobs", carole.root / "elsewhere"
    blobs.rename(elsewhere)
    with pytest.raises(GemelError) as caught:
        alice.put(upload, 1)
    assert str(carole.root) not in str(caught.value)
    status, found = get(application.observability, "/readyz")
    assert (status, found["checks"]["blobs"]) == (503, "failed")
    shutil.rmtree(blobs, ignore_errors=True)
    elsewhere.rename(blobs)
    missing = [index for gap in alice.begin(upload).missing for index in range(gap.first, gap.last + 1)]
    assert missing == list(range(1, len(upload.chunks))), "what was acknowledged is there, and nothing else"
    for index in missing:
        alice.put(upload, index)
    alice.commit(upload)


def test_a_run_waits_for_the_wrapping_key_that_was_moved_away(carole, tmp_path):
    application = carole.start(Supervisor)
    contribute(carole)
    key, elsewhere = tmp_path / "keys" / "wrapping.key", tmp_path / "wrapping.key"
    key.rename(elsewhere)
    former = application.worker_pid
    os.kill(former, signal.SIGKILL)
    run = carole.coordinator().start("trial").run
    eventually(lambda: application._supervisors[0].health()[1] > 1, 600)
    status, found = get(application.observability, "/readyz")
    assert (status, found["checks"]["keys"]) == (503, "failed")
    assert carole.store.runs.get("trial", run).state is RunState.QUEUED
    elsewhere.rename(key)
    eventually(lambda: carole.store.runs.get("trial", run).state is RunState.DONE, 600)
    assert carole.store.projects.get("trial").state is State.RELEASED


# Carole with her wrapping keys on a token, as a process with a worker: from the file to the token and on.

BLOCKS = re.findall(r"```yaml\n(wrapping:.*?)```", (ROOT / "deploy" / "README.md").read_text(), flags=re.DOTALL)


def test_both_blocks_of_the_manual_are_valid():
    read = [parse_configuration(block, WrappingSection, folder=Path(), where="README").wrapping for block in BLOCKS]
    assert [place.vault is None for place in read if place is not None] == [True, False]


def test_what_the_file_wrapped_is_read_and_linked_under_the_token(tmp_path):
    uploads = {side: make_upload(side, people(400, offset=200 * k), side[0] * 32)[0] for k, side in enumerate(Side)}
    made = provision(tmp_path / "parties")
    deployment = Deployment(made, tmp_path / "carole")
    process = Process(deployment.configuration, tmp_path)
    deployment.connect_to(process.address())
    deployment.records = 400
    deployment.keyed()
    deployment.custodian(Side.ALICE).contribute(uploads[Side.ALICE])
    assert process.end(signal.SIGTERM) == 0
    # The block of deploy/README.md as it stands, but for the file of the PIN.
    block = next(block for block in BLOCKS if "pkcs11" in block)
    block = block.replace("keys/token.pin", str(softhsm(tmp_path)))
    text = deployment.configuration.read_text() + block
    deployment.configuration.write_text(text.replace('listen: ""', 'listen: "127.0.0.1:0"'))
    create = [sys.executable, "-m", "gemel", "party", "wrapping-key", "--config", str(deployment.configuration)]
    assert "Made the wrapping key" in subprocess.run(create, check=True, capture_output=True, text=True).stdout
    process = Process(deployment.configuration, tmp_path)
    deployment.connect_to(process.address())
    deployment.custodian(Side.BOB).contribute(uploads[Side.BOB])
    assert process.end(signal.SIGTERM) == 0
    # At her start she has rewrapped all, so the file may go.
    made.parties["carole"].wrapping.unlink()
    process = Process(deployment.configuration, tmp_path)
    deployment.connect_to(process.address())
    try:
        coordinator = deployment.coordinator()
        *_, last = coordinator.watch("trial", coordinator.start("trial").run)
        assert last.state == project_pb2.RUN_STATE_DONE, last
        page = json.loads(process.ready_file.read_text())["observability"]
        with urllib.request.urlopen(f"http://{page}/readyz", timeout=30) as answer:
            assert json.load(answer)["checks"]["keys"] == "ok"
    finally:
        deployment.stop()
        process.end(signal.SIGKILL)
