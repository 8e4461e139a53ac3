"""A held run of a real Carole: her receivers are notified, and one that never answers delays nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.carole.commands.service import app
from gemel.carole.configuration import load_carole
from gemel.carole.projects.project import State
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.pki.provisioning import Provisioned
from tests.carole.deployment import Deployment, make_upload, people
from tests.carole.notification.receivers import trickling_server, web_server
from tests.carole.refusals import refusal
from tests.carole.service.test_stewardship import hold
from tests.carole.test_configuration import GOOD, written

MAIL = "way: email, server: 'x.example:587', sender: c@x.example, to: [a@x.example]"


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_held_run_is_reported_by_every_way_that_works(parties: Provisioned, tmp_path: Path) -> None:
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
            until(lambda: bool(server.messages) and server.messages[-1]["event"] == "held")
            until(lambda: kept.exists() and kept.read_text().endswith("\n"))
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
            until(lambda: mail.due(way.key) is not None)  # still there, to be tried again
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
def test_a_wrong_entry_is_refused_by_its_place_and_not_shown(tmp_path: Path, entry: str, match: str) -> None:
    text = GOOD.replace("log_level: info", f"notify:\n  - {{{entry}}}\nlog_level: info")
    with refusal(ErrorCode.CONFIGURATION, match) as caught:
        load_carole(written(tmp_path, text))
    assert "pass-word" not in str(caught.value)


def test_a_trial_says_which_receiver_took_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    text = f"notify:\n  - {{way: command, program: [/usr/bin/env, tee, {kept}]}}\n"
    path = written(tmp_path, GOOD.replace("log_level: info", f"{text}log_level: info"))
    done = CliRunner().invoke(app, ["try-notify", "--config", str(path)])
    assert (done.exit_code, done.output) == (0, "notify 1, command: sent.\n")
    assert json.loads(kept.read_text())["event"] == "trial"
    path.write_text(path.read_text().replace(f"tee, {kept}", "'false'"))
    done = CliRunner().invoke(app, ["try-notify", "--config", str(path)])
    assert (done.exit_code, done.output) == (1, "notify 1, command: the program ended with status 1.\n")


def test_check_reads_the_files_of_notify(parties: Provisioned, tmp_path: Path) -> None:
    notify = "notify:\n  - {way: webhook, url: 'https://x.example/', secret_file: missing}\nlog_level: info"
    deployment = Deployment(parties, tmp_path / "carole", ("log_level: info", notify))
    done = CliRunner().invoke(app, ["check", "--config", str(deployment.configuration)])
    assert done.exit_code == 1
    assert "cannot read the secret of a webhook" in done.output
