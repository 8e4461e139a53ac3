"""The ways by which a message is sent: `email`, `webhook` and `command`, each with an end to what could last for ever.

A time of silence bounds a single read, and not all of them: a receiver is cut off.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import signal
import smtplib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.utils import formatdate
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from gemel.carole.notification.message import Message, iso
from gemel.carole.notification.section import CommandWay, MailWay, WayConfiguration, WebhookWay

SEND_SECONDS = 20.0
"""For one message by one way, from the connection to the receiver's answer."""

_LOOK_SECONDS = 0.05


class DeliveryError(Exception):
    """A message was not taken. Its text is for the log: no secret, no address, no word of the receiver's."""


@contextmanager
def cut_off(end: Callable[[], None], stopping: threading.Event, seconds: float = SEND_SECONDS) -> Iterator[None]:
    """A block that another thread ends, by `end`, once it lasts for `seconds` or Carole stops."""
    over, late = threading.Event(), threading.Event()
    until = time.monotonic() + seconds

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            if stopping.is_set() or time.monotonic() > until:
                late.set()
                end()  # again and again: a connection may only just have been made

    watching = threading.Thread(target=watch, name="notify-watch", daemon=True)
    watching.start()
    try:
        yield
    except Exception:
        # What ends so raises anything.
        if late.is_set():
            raise DeliveryError(f"no answer within {seconds:g} seconds") from None
        raise
    finally:
        over.set()
        watching.join()
    if late.is_set():
        raise DeliveryError(f"no answer within {seconds:g} seconds")


Connect = Callable[[str, int, ssl.SSLContext | None], socket.socket]


@contextmanager
def line_to(receiver: str, stopping: threading.Event, seconds: float) -> Iterator[Connect]:
    """A block that connects by the function it gets, by TLS where that has a context, and is cut off in time.

    No step of the connection may be silent for longer than `seconds`, and another thread can end it, also while TLS
    begins. Errors say what a log may have of them.
    """
    kept: list[socket.socket] = []

    def connect(host: str, port: int, context: ssl.SSLContext | None) -> socket.socket:
        raw = socket.create_connection((host, port), seconds)
        # Of the same connection: while TLS begins, the first socket is no longer one, and the next not there yet.
        kept.append(raw.dup())
        return raw if context is None else context.wrap_socket(raw, server_hostname=host)

    def shut() -> None:
        for line in kept:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    try:
        with cut_off(shut, stopping, seconds):
            yield connect
    except smtplib.SMTPResponseException as error:
        raise DeliveryError(f"{receiver} answered with code {error.smtp_code}") from None
    except smtplib.SMTPException as error:
        raise DeliveryError(f"{receiver} refused: {type(error).__name__}") from None
    except ssl.SSLError as error:
        raise DeliveryError(f"TLS failed: {error.reason or type(error).__name__}") from None
    except (OSError, HTTPException) as error:
        raise DeliveryError(f"{receiver} cannot be reached: {type(error).__name__}") from None
    finally:
        for line in kept:
            line.close()


# The way `email`: a short text by SMTP.


def written(way: MailWay, message: Message) -> EmailMessage:
    """The e-mail. Its Message-ID is made of the message's id: sent again, it is the same one."""
    mail = EmailMessage()
    about = message.project or ", ".join(message.waiting_for)
    mail["Subject"] = f"[gemel] {message.event}{f': {about}' if about else ''}"
    mail["From"] = way.sender
    mail["To"] = ", ".join(way.to)
    mail["Date"] = formatdate(message.at / 1000)
    mail["Message-ID"] = f"<{message.id}.{way.key}@{way.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = {"event": str(message.event), "project": message.project, "run": message.run, "state": message.state}
    lines |= {"waits for": ", ".join(message.waiting_for), "time": iso(message.at), "id": message.id}
    shown = "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
    mail.set_content(f"{message.sentence}\n\n{shown}\n")
    return mail


def _mail(way: MailWay, message: Message, stopping: threading.Event, seconds: float) -> None:
    """Send it by SMTP; it is sent once the server has accepted it for any of its recipients."""
    password, context = way.password(), way.context()
    # The machine's name as it is: that of the resolver may take long to come.
    client = smtplib.SMTP(timeout=seconds, local_hostname=socket.gethostname())
    host, port = way.place
    try:
        with line_to("the mail server", stopping, seconds) as connect:
            client.sock = connect(host, port, context if way.security == "tls" else None)
            # What the constructor keeps of a host, by which STARTTLS verifies the certificate; with it, it would
            # connect at once and out of reach.
            client._host = host  # type: ignore[attr-defined]
            code, _ = client.getreply()
            if code != 220:
                raise DeliveryError(f"the mail server answered with code {code}")
            if way.security == "starttls":
                client.starttls(context=context)
            if way.user:
                client.login(way.user, password)
            client.send_message(written(way, message))
    finally:
        with suppress(OSError, smtplib.SMTPException):
            client.close()


# The way `webhook`: a POST of the message's JSON, with an HMAC by which the receiver knows that Carole sent it.

SIGNATURE = "Gemel-Signature"
"""Header with ``sha256=`` and the HMAC-SHA256 of the payload under the secret, in hexadecimal digits."""


def signature(secret: bytes, payload: bytes) -> str:
    return f"sha256={hmac.new(secret, payload, hashlib.sha256).hexdigest()}"


def _post(way: WebhookWay, message: Message, stopping: threading.Event, seconds: float) -> None:
    """Send the message; any status of 200 to 299 is an acceptance. No redirection is followed, no proxy used."""
    payload = message.dump().encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "gemel",
        "Gemel-Event": str(message.event),
        "Gemel-Id": message.id,
        SIGNATURE: signature(way.secret(), payload),
    }
    found = urlsplit(way.url)
    secure = found.scheme == "https"
    connection = (HTTPSConnection if secure else HTTPConnection)(found.hostname or "", found.port, timeout=seconds)
    context = way.context() if secure else None
    target = (found.path or "/") + (f"?{found.query}" if found.query else "")
    try:
        with line_to("the receiver", stopping, seconds) as connect:
            connection.sock = connect(connection.host, connection.port, context)
            connection.request("POST", target, payload, headers)
            status = connection.getresponse().status
    finally:
        connection.close()
    if not 200 <= status < 300:
        moved = ", a redirection, which is not followed" if 300 <= status < 400 else ""
        raise DeliveryError(f"the receiver answered with status {status}{moved}")


# The way `command`: a program of the operator's, with the message on its standard input.

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
"""All that the program has: Carole's own environment may hold credentials."""


def _run(way: CommandWay, message: Message, stopping: threading.Event, seconds: float) -> None:
    """Start the program and wait for its end, which is to be status 0. What it leaves running is killed."""
    try:
        # Beside gRPC's threads, as a worker is started again: without code of its own between fork and exec, none of
        # their locks is needed.
        process = subprocess.Popen(
            way.program,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise DeliveryError(f"the program cannot be started: {(error.strerror or 'error').lower()}") from None

    def kill() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    try:
        with cut_off(kill, stopping, seconds):
            assert process.stdin is not None  # noqa: S101
            # A message is far shorter than what a pipe takes: this does not wait for the program.
            with suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(f"{message.dump()}\n".encode())
            status = process.wait()
    finally:
        kill()
        process.wait()
    if status != 0:
        raise DeliveryError(f"the program ended with status {status}")


def send(way: WayConfiguration, message: Message, stopping: threading.Event, seconds: float = SEND_SECONDS) -> None:
    """Send a message by its way.

    Raises `DeliveryError` if it was not taken, or not in time; CONFIGURATION for a file of the way's that cannot be
    used.
    """
    if isinstance(way, CommandWay):
        _run(way, message, stopping, seconds)
    elif isinstance(way, MailWay):
        _mail(way, message, stopping, seconds)
    else:
        _post(way, message, stopping, seconds)
