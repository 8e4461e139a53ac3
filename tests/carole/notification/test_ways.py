"""Each way, to a real receiver: what arrives, what a failure says, and that no receiver draws it out."""

from __future__ import annotations

import email
import email.message
import email.policy
import hashlib
import hmac
import json
import os
import ssl
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gemel.carole.notification import ways as command
from gemel.carole.notification import ways as mail
from gemel.carole.notification import ways as webhook
from gemel.carole.notification.courier import send
from gemel.carole.notification.message import Event, Message
from gemel.carole.notification.section import CommandWay, MailWay, WebhookWay
from gemel.carole.notification.ways import DeliveryError
from gemel.common.errors import GemelError
from gemel.common.pki.provisioning import Provisioned
from tests.carole.notification.receivers import mail_server, trickling_server, web_server
from tests.ports import free_port

SECRET = "0123456789abcdef" * 2
HELD = Message("a" * 32, Event.HELD, 1_800_000_000_000, "births", "b" * 32, "HELD", ("ann", "eve"))
ON = threading.Event()
"""Of a Carole that does not stop."""


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.fixture
def tls(parties: Provisioned) -> ssl.SSLContext:
    """Of a server on 127.0.0.1, by an authority of its own."""
    folder = parties.parties["carole"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder.certificate, folder.tls_key)
    return context


@pytest.fixture
def authorities(parties: Provisioned) -> Path:
    return parties.parties["alice"].linker


def hook(folder: Path, url: str, **more: Any) -> WebhookWay:
    return WebhookWay(way="webhook", url=url, secret_file=private(folder / "secret", f"{SECRET}\n"), **more)


def letter(server: str, **more: Any) -> MailWay:
    return MailWay(way="email", server=server, sender="carole@unit.example", to=("ann@x.example",), **more)


def program(folder: Path, text: str, *words: str) -> CommandWay:
    script = folder / "tell.py"
    script.write_text(text)
    return CommandWay(way="command", program=(sys.executable, str(script), *words))


def test_a_webhook_is_posted_by_tls_and_signed(tmp_path: Path, tls: ssl.SSLContext, authorities: Path) -> None:
    with web_server(tls) as server:
        send(hook(tmp_path, server.url, authorities=authorities), HELD, ON)
        with pytest.raises(DeliveryError, match="TLS failed: CERTIFICATE_VERIFY_FAILED"):
            send(hook(tmp_path, server.url), HELD, ON)
    [(path, headers, body)] = server.received
    assert path == "/gemel?room=3"
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert (headers["Gemel-Signature"], headers["Gemel-Id"]) == (f"sha256={signed}", HELD.id)
    assert json.loads(body) == {
        "version": 1,
        "id": "a" * 32,
        "event": "held",
        "at": "2027-01-15T08:00:00Z",
        "project": "births",
        "run": "b" * 32,
        "state": "HELD",
        "waiting_for": ["ann", "eve"],
        "ends": "",
    }


def test_a_webhooks_redirection_is_not_followed(tmp_path: Path) -> None:
    with web_server() as elsewhere, web_server() as server:
        server.status, server.location = 307, elsewhere.url
        with pytest.raises(DeliveryError, match="status 307, a redirection, which is not followed"):
            webhook.post(hook(tmp_path, server.url), HELD, ON)
    assert (len(server.received), elsewhere.received) == (1, [])


def test_a_receiver_that_is_away_or_draws_it_out_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="cannot be reached: ConnectionRefusedError"):
        webhook.post(hook(tmp_path, f"http://127.0.0.1:{free_port()}/"), HELD, ON)
    with trickling_server(b"HTTP/1.1 200 OK\r\nX: ") as place, pytest.raises(DeliveryError, match="no answer within"):
        webhook.post(hook(tmp_path, f"http://{place}/"), HELD, ON, seconds=0.3)
    with trickling_server(b"220 ") as place, pytest.raises(DeliveryError, match="no answer within"):
        mail.send(letter(place, security="none"), HELD, ON, seconds=0.3)
    # What Carole's end cuts off, also while TLS begins: the head of its first message, and then no more of it.
    stopping, record = threading.Event(), b"\x16\x03\x03\x3f\xff"
    stopping.set()
    greeting = b"220 here\r\n250-here\r\n250 STARTTLS\r\n220 go on\r\n"
    with trickling_server(record) as place, pytest.raises(DeliveryError, match="no answer within"):
        webhook.post(hook(tmp_path, f"https://{place}/"), HELD, stopping, seconds=3600)
    with trickling_server(record) as place, pytest.raises(DeliveryError, match="no answer within"):
        mail.send(letter(place, security="tls"), HELD, stopping, seconds=3600)
    with trickling_server(greeting, record) as place, pytest.raises(DeliveryError, match="no answer within"):
        mail.send(letter(place), HELD, stopping, seconds=3600)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_an_e_mail_is_sent_by_tls_after_a_login(
    tmp_path: Path, tls: ssl.SSLContext, authorities: Path, security: str
) -> None:
    with mail_server(tls, from_the_beginning=security == "tls") as server:
        password = private(tmp_path / "password", "pass word \n")
        way = letter(server.server, security=security, authorities=authorities, user="carole", password_file=password)
        send(way, HELD, ON)
        with pytest.raises(DeliveryError, match="TLS failed: CERTIFICATE_VERIFY_FAILED"):
            send(letter(server.server, security=security), HELD, ON)
    assert server.logins == [("carole", "pass word ")]
    [(to, text, is_secure)] = server.received
    assert (to, is_secure) == (("ann@x.example",), True)
    read = email.message_from_string(text, policy=email.policy.default)
    assert isinstance(read, email.message.EmailMessage)
    assert (read["Subject"], read["From"]) == ("[gemel] held: births", "carole@unit.example")
    assert read["Message-ID"].startswith(f"<{HELD.id}.")
    first, _, rest = read.get_content().partition("\n")
    assert first.strip() == f"Run {HELD.run} of project births is held and waits for a steward: ann, eve."
    assert "time: 2027-01-15T08:00:00Z" in rest


def test_no_e_mail_goes_without_tls_where_it_is_required(tls: ssl.SSLContext) -> None:
    with mail_server(tls) as server:
        server.offers_tls = False
        with pytest.raises(DeliveryError, match="the mail server refused: SMTPNotSupportedError"):
            mail.send(letter(server.server), HELD, ON)
        mail.send(letter(server.server, security="none"), HELD, ON)
        server.takes = False
        with pytest.raises(DeliveryError, match=r"^the mail server answered with code 451$"):
            mail.send(letter(server.server, security="none"), HELD, ON)
    assert [secure for _, _, secure in server.received] == [False]


def test_a_command_gets_the_message_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "swordfish")
    kept = tmp_path / "kept.json"
    text = "import json, os, sys\n"
    text += "json.dump([json.load(sys.stdin), dict(os.environ), os.getcwd()], open(sys.argv[1], 'w'))\n"
    send(program(tmp_path, text, str(kept)), HELD, ON)
    message, environment, folder = json.loads(kept.read_text())
    assert message == json.loads(HELD.dump())
    assert environment.keys() - {"LC_CTYPE"} == {"PATH", "LANG"}  # Python adds that one by itself
    assert folder == "/"


def test_a_command_that_fails_or_goes_on_is_a_failure_and_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="ended with status 3"):
        send(program(tmp_path, "raise SystemExit(3)"), HELD, ON)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    # A child that holds the pipe open for as long as it lives.
    text = "import subprocess, sys, time\nopen_ = open(sys.argv[1], 'wb')\n"
    text += "subprocess.Popen(['sleep', '600'], stdout=open_)\nopen_.write(b'x')\nopen_.flush()\ntime.sleep(600)\n"
    with pytest.raises(DeliveryError, match="no answer within"):
        command.run(program(tmp_path, text, str(fifo)), HELD, ON, seconds=3)
    os.set_blocking(reading, True)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == b"x"  # up to the end: no process holds the pipe any more


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    way = hook(tmp_path, "https://x.example/")
    way.check()
    way.secret_file.chmod(0o640)
    with pytest.raises(GemelError, match="the secret of a webhook is open to other users"):
        way.check()
    private(way.secret_file, "short")
    with pytest.raises(GemelError, match=r"at least 16 characters, got 5 characters"):
        way.check()
    with pytest.raises(GemelError, match="cannot read the password of a mail server"):
        letter("x.example:587", user="u", password_file=tmp_path / "missing").check()
    pem = private(tmp_path / "no.pem", "nothing")
    with pytest.raises(GemelError, match="expected certificates of authorities in PEM"):
        letter("x.example:587", authorities=pem).check()
    with pytest.raises(GemelError, match="cannot be started"):
        CommandWay(way="command", program=(str(pem), "x")).check()
