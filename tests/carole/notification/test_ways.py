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

import pytest

from gemel.carole.notification.message import Event, Message
from gemel.carole.notification.section import CommandWay, MailWay, WebhookWay
from gemel.carole.notification.ways import DeliveryError, send
from gemel.common.errors import GemelError
from tests.carole.notification.receivers import mail_server, trickling_server, web_server
from tests.ports import free_port

SECRET = "0123456789abcdef" * 2
HELD = Message("a" * 32, Event.HELD, 1_800_000_000_000, "births", "b" * 32, "HELD", ("ann", "eve"))
ON = threading.Event()
"""Of a Carole that does not stop."""


def private(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.fixture
def tls(parties):
    """Of a server on 127.0.0.1, by an authority of its own."""
    folder = parties.parties["carole"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder.certificate, folder.tls_key)
    return context


@pytest.fixture
def authorities(parties):
    return parties.parties["alice"].linker


def hook(folder, url, **more):
    return WebhookWay(way="webhook", url=url, secret_file=private(folder / "secret", f"{SECRET}\n"), **more)


def letter(server, **more):
    return MailWay(way="email", server=server, sender="carole@unit.example", to=("ann@x.example",), **more)


def program(folder, text, *words):
    script = folder / "tell.py"
    script.write_text(text)
    return CommandWay(way="command", program=(sys.executable, str(script), *words))


def test_a_webhook_is_posted_by_tls_and_signed(tmp_path, tls, authorities):
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


def test_a_webhooks_redirection_is_not_followed(tmp_path):
    with web_server() as elsewhere, web_server() as server:
        server.status, server.location = 307, elsewhere.url
        with pytest.raises(DeliveryError, match="status 307, a redirection, which is not followed"):
            send(hook(tmp_path, server.url), HELD, ON)
    assert (len(server.received), elsewhere.received) == (1, [])


def test_a_receiver_that_is_away_or_draws_it_out_is_a_failure(tmp_path):
    with pytest.raises(DeliveryError, match="cannot be reached: ConnectionRefusedError"):
        send(hook(tmp_path, f"http://127.0.0.1:{free_port()}/"), HELD, ON)
    stopping, record = threading.Event(), b"\x16\x03\x03\x3f\xff"
    stopping.set()
    greeting = b"220 here\r\n250-here\r\n250 STARTTLS\r\n220 go on\r\n"
    for answers, way, ends, seconds in (
        ((b"HTTP/1.1 200 OK\r\nX: ",), lambda place: hook(tmp_path, f"http://{place}/"), ON, 0.3),
        ((b"220 ",), lambda place: letter(place, security="none"), ON, 0.3),
        # What Carole's end cuts off, also while TLS begins: the head of its first message, and then no more of it.
        ((record,), lambda place: hook(tmp_path, f"https://{place}/"), stopping, 3600),
        ((record,), lambda place: letter(place, security="tls"), stopping, 3600),
        ((greeting, record), letter, stopping, 3600),
    ):
        with trickling_server(*answers) as place, pytest.raises(DeliveryError, match="no answer within"):
            send(way(place), HELD, ends, seconds=seconds)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_an_e_mail_is_sent_by_tls_after_a_login(tmp_path, tls, authorities, security):
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


def test_no_e_mail_goes_without_tls_where_it_is_required(tls):
    with mail_server(tls) as server:
        server.offers_tls = False
        with pytest.raises(DeliveryError, match="the mail server refused: SMTPNotSupportedError"):
            send(letter(server.server), HELD, ON)
        send(letter(server.server, security="none"), HELD, ON)
        server.takes = False
        with pytest.raises(DeliveryError, match=r"^the mail server answered with code 451$"):
            send(letter(server.server, security="none"), HELD, ON)
    assert [secure for _, _, secure in server.received] == [False]


def test_a_command_gets_the_message_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "swordfish")
    kept = tmp_path / "kept.json"
    text = "import json, os, sys\n"
    text += "json.dump([json.load(sys.stdin), dict(os.environ), os.getcwd()], open(sys.argv[1], 'w'))\n"
    send(program(tmp_path, text, str(kept)), HELD, ON)
    message, environment, folder = json.loads(kept.read_text())
    assert message == json.loads(HELD.dump())
    assert environment.keys() - {"LC_CTYPE"} == {"PATH", "LANG"}  # Python adds that one by itself
    assert folder == "/"


def test_a_command_that_fails_or_goes_on_is_a_failure_and_leaves_no_process(tmp_path):
    with pytest.raises(DeliveryError, match="ended with status 3"):
        send(program(tmp_path, "raise SystemExit(3)"), HELD, ON)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    # A child that holds the pipe open for as long as it lives.
    text = "import subprocess, sys, time\nopen_ = open(sys.argv[1], 'wb')\n"
    text += "subprocess.Popen(['sleep', '600'], stdout=open_)\nopen_.write(b'x')\nopen_.flush()\ntime.sleep(600)\n"
    with pytest.raises(DeliveryError, match="no answer within"):
        send(program(tmp_path, text, str(fifo)), HELD, ON, seconds=3)
    os.set_blocking(reading, True)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == b"x"  # up to the end: no process holds the pipe any more


def test_files_that_cannot_be_used_are_named(tmp_path):
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
