"""Whether a scheduler can be called with a certificate, before Dask calls it: Dask tries again and says only that.

The handshake is as Dask's. By TLS 1.3 a server refuses a certificate after the client has taken the handshake for done,
so an answer is waited for: the scheduler speaks first.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from gemel.carole.cluster.engine_section import Credentials
from gemel.common.errors import ErrorCode, GemelError, file_error, parameter
from gemel.common.keys.private_files import write_private
from gemel.common.pki.authority import CERTIFICATE_FILE, Authority
from gemel.common.pki.certificates import certificate_pem, key_pem, new_key

SECONDS = 10.0

_ISSUE = "issue certificates of scheduler, workers and Carole by the same authority, and name it as `ca`"


def require_admitted(address: str, credentials: Credentials) -> None:
    """Refuse a scheduler that this process does not admit, or that does not admit it.

    Raises CONFIGURATION for files that cannot be used; CERTIFICATE if either side refuses the other's certificate;
    UNAVAILABLE if there is no answer.
    """
    credentials.check()
    context = _context(credentials)
    found = urlsplit(address)
    try:
        with (
            socket.create_connection((found.hostname, found.port), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=found.hostname) as connection,
        ):
            answered = connection.recv(1)
    except ssl.SSLCertVerificationError:
        what = "the scheduler's certificate is not one of this authority, or has ended"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=address, remedy=_ISSUE) from None
    except ssl.SSLError as error:
        what = "the scheduler refuses this certificate: it is of another authority, or has ended"
        where, got = str(credentials.certificate), (error.reason or "no reason").lower().replace("_", " ")
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=got, remedy=_ISSUE) from None
    except OSError as error:
        raise unreachable(address, error.strerror or type(error).__name__) from None
    if not answered:
        raise unreachable(address, "a connection that ended at once")


def unreachable(address: str, got: str) -> GemelError:
    """The error where a scheduler does not answer; it passes."""
    remedy = "start `gemel carole scheduler`, and check `engine.address` and what the network lets through"
    return GemelError(ErrorCode.UNAVAILABLE, "the scheduler cannot be reached", where=address, got=got, remedy=remedy)


def _context(credentials: Credentials) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(credentials.ca))
        # As Dask: a scheduler is known by the authority, which certifies nothing else, and not by its name.
        context.check_hostname = False
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(str(credentials.certificate), str(credentials.key))
    except ssl.SSLError:
        what = "these are not a certificate, its key and an authority's certificate, in PEM"
        where = f"{credentials.ca}, {credentials.certificate}, {credentials.key}"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=where, remedy="name the right files") from None
    return context


# A cluster's own certificate authority, and the certificates of those who belong to it.

CA, CERTIFICATE, KEY = "ca.pem", "certificate.pem", "key.pem"
"""The files of one who belongs to a cluster."""


def make_certificates(folder: Path, names: Iterable[str]) -> list[str]:
    """Make an authority in a folder, unless there is one, and certificates of those who have none; their names.

    Raises PARAMETER for a name that is none; CONFIGURATION if the folder cannot be written.
    """
    made = []
    try:
        own = folder / "authority"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (own / CERTIFICATE_FILE).exists():
            Authority.create("Gemel cluster").save(own)
        authority = Authority.load(own)
        for name in names:
            if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}", name) or name == "authority":
                what = "a name of letters, digits, points and hyphens"
                raise parameter("worker", what, repr(name), "name it by its machine")
            if not (folder / name / KEY).exists():
                _make(authority, folder / name, name)
                made.append(name)
    except OSError as error:
        raise file_error(ErrorCode.CONFIGURATION, "certificates cannot be written", folder, error) from None
    return made


def _make(authority: Authority, folder: Path, name: str) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    key = new_key()
    certificate = authority.issue_machine(key.public_key(), name)
    (folder / CA).write_bytes(authority.pem)
    (folder / CERTIFICATE).write_bytes(certificate_pem(certificate))
    write_private(folder / KEY, key_pem(key))
