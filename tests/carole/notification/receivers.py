"""Receivers of notifications: real servers on this machine, of the standard library."""

from __future__ import annotations

import base64
import json
import socketserver
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Webhooks:
    """A web server and what it was sent."""

    url: str = ""
    status: int = 204
    location: str = ""
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def messages(self):
        return [json.loads(body) for _, _, body in self.received]


@contextmanager
def web_server(tls=None):
    """A web server that takes every POST with the status that is set."""
    found = Webhooks()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.received.append((self.path, dict(self.headers), body))
            self.send_response(found.status)
            if found.location:
                self.send_header("Location", found.location)
            self.end_headers()

        def log_message(self, *_): ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_): ...

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    found.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}/gemel?room=3"
    with served(server):
        yield found


@dataclass
class Mails:
    """A mail server and what it was sent.

    Attributes
    ----------
    offers_tls
        Whether it knows STARTTLS.
    takes
        Whether it accepts a message.
    logins
        Name and password, each in the clear.
    received
        The recipients, the text, and whether the connection had TLS.
    """

    server: str = ""
    offers_tls: bool = True
    takes: bool = True
    logins: list[tuple[str, str]] = field(default_factory=list)
    received: list[tuple[tuple[str, ...], str, bool]] = field(default_factory=list)


@contextmanager
def mail_server(tls=None, *, from_the_beginning=False):
    """A mail server that speaks as much of SMTP (RFC 5321, 3207, 4954) as a client needs."""
    found = Mails()

    class Handler(socketserver.StreamRequestHandler):
        def secure(self):
            self.connection = tls.wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", buffering=0)
            self.is_secure = True

        def say(self, *lines):
            for place, line in enumerate(lines):
                code, _, rest = line.partition(" ")
                last = place == len(lines) - 1
                self.wfile.write(f"{code}{' ' if last else '-'}{rest}\r\n".encode())

        def handle(self):
            self.is_secure = False
            if from_the_beginning:
                self.secure()
            to: list[str] = []
            self.say("220 here")
            while line := self.rfile.readline().decode().strip():
                verb, _, rest = line.partition(" ")
                if verb in ("ehlo", "EHLO"):
                    can = ["250 AUTH PLAIN"] if self.is_secure else ["250 STARTTLS"] * found.offers_tls
                    self.say("250 here", *can)
                elif verb == "STARTTLS":
                    self.say("220 go on")
                    self.secure()
                elif verb == "AUTH":
                    _, name, password = base64.b64decode(rest.split()[1]).decode().split("\0")
                    found.logins.append((name, password))
                    self.say("235 welcome")
                elif verb.lower() == "rcpt":
                    to.append(rest.partition("<")[2].partition(">")[0])
                    self.say("250 known")
                elif verb.lower() == "data":
                    self.say("354 go on")
                    text = b"".join(iter(self.rfile.readline, b".\r\n")).decode()
                    if found.takes:
                        found.received.append((tuple(to), text, self.is_secure))
                    self.say("250 taken" if found.takes else "451 the password is swordfish")
                else:
                    self.say("250 well")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, *_): ...

    server = Server(("127.0.0.1", 0), Handler)
    found.server = f"127.0.0.1:{server.server_address[1]}"
    with served(server):
        yield found


@contextmanager
def trickling_server(*greetings):
    """A server that sends `greetings`, a pause after each, and then a byte at a time, without an end; its host:port."""
    ended = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            try:
                for greeting in greetings:
                    self.request.sendall(greeting)
                    ended.wait(0.3 * (len(greetings) > 1))
                while not ended.wait(0.02):
                    self.request.sendall(b"x")
            except OSError:
                return

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    with served(server):
        yield f"127.0.0.1:{server.server_address[1]}"
        ended.set()


@contextmanager
def served(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
