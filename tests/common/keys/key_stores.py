"""Where keys can be that never leave it: a SoftHSM token, and a server that speaks the transit engine's API."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import ssl
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.x509.oid import NameOID

SOFTHSM = Path("/usr/lib/softhsm/libsofthsm2.so")
PIN, TOKEN = "4711", "gemel"


def softhsm(folder: Path) -> Path:
    """A token, of this process and those it starts, made once: its library opens once. The file with its PIN."""
    if _PINS:
        return _PINS[0]
    if not SOFTHSM.exists() or shutil.which("softhsm2-util") is None:
        pytest.skip("no SoftHSM on this machine: apt-get install softhsm2")
    (folder / "tokens").mkdir()
    configuration = folder / "softhsm2.conf"
    configuration.write_text(f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\n")
    os.environ["SOFTHSM2_CONF"] = str(configuration)
    made = ["softhsm2-util", "--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", "1147"]
    subprocess.run(made, check=True, capture_output=True)
    pin = folder / "pin"
    pin.touch(mode=0o600)
    pin.write_text(PIN)
    _PINS.append(pin)
    return pin


_PINS: list[Path] = []


class TransitServer:
    """A vault with keys in memory, over HTTPS: create, read, rotate, encrypt, decrypt, sign, each with a token."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.keys: dict[str, list[bytes]] = {}
        self.types: dict[str, str] = {}
        self.open_ways: tuple[str, ...] = ()
        self.moved_to = ""
        self.calls = 0
        self.token = "hvs." + secrets.token_hex(8)
        self.token_file = folder / "token"
        self.token_file.touch(mode=0o600)
        self.token_file.write_text(self.token + "\n")
        self.authorities = folder / "vault.pem"
        key_file = folder / "vault.key"
        _certificate(self.authorities, key_file)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.authorities, key_file)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self.address = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def rotate(self, name: str) -> None:
        """What `vault write -f transit/keys/NAME/rotate` does."""
        self.keys[name].append(secrets.token_bytes(32))

    def answer(self, action: str, name: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and data of one call."""
        if action == "create":
            self.keys.setdefault(name, [secrets.token_bytes(32)])
            self.types.setdefault(name, str(request["type"]))
            return 200, {}
        if name not in self.keys:
            return (404, {}) if action == "read" else (400, {})
        versions = self.keys[name]
        if action == "read":
            halves = [Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw() for key in versions]
            public = {str(i): {"public_key": base64.b64encode(half).decode()} for i, half in enumerate(halves, 1)}
            open_ways = {way: way in self.open_ways for way in ("exportable", "derived", "allow_plaintext_backup")}
            return 200, {"type": self.types[name], "latest_version": len(versions), "keys": public, **open_ways}
        if action == "sign":
            version = int(request["key_version"])
            key = Ed25519PrivateKey.from_private_bytes(versions[version - 1])
            signature = key.sign(base64.b64decode(request["input"]))
            return 200, {"signature": f"vault:v{version}:{base64.b64encode(signature).decode()}"}
        associated = base64.b64decode(request.get("associated_data", ""))
        if action == "encrypt":
            version = int(request.get("key_version") or len(versions))
            nonce = secrets.token_bytes(12)
            sealed = nonce + AESGCM(versions[version - 1]).encrypt(
                nonce, base64.b64decode(request["plaintext"]), associated
            )
            return 200, {"ciphertext": f"vault:v{version}:{base64.b64encode(sealed).decode()}"}
        _, version_text, text = str(request["ciphertext"]).split(":")
        sealed = base64.b64decode(text)
        try:
            plain = AESGCM(versions[int(version_text[1:]) - 1]).decrypt(sealed[:12], sealed[12:], associated)
        except InvalidTag:
            return 400, {}
        return 200, {"plaintext": base64.b64encode(plain).decode()}


def _handler(server: TransitServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self._reply(json.loads(self.rfile.read(length) or b"{}"))

        def _reply(self, request: dict[str, Any]) -> None:
            server.calls += 1
            if server.moved_to:
                self.send_response(307)
                self.send_header("Location", f"{server.moved_to}{self.path}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            _, version, mount, what, name = self.path.split("/", 4)
            assert (version, mount) == ("v1", "transit")
            action = {"GET": "read", "POST": "create"}[self.command] if what == "keys" else what
            status, data = server.answer(action, name, request)
            if self.headers.get("X-Vault-Token") != server.token:
                status, data = 403, {}
            content = json.dumps({"data": data} if status == 200 else {"errors": ["refused"]}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _certificate(certificate_file: Path, key_file: Path) -> None:
    """A certificate for 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "vault")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()))
