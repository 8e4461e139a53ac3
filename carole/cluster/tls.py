"""Whether a scheduler can be called with a certificate, before Dask calls it: Dask tries again and says only that.

The handshake is as Dask's. By TLS 1.3 a server refuses a certificate after the client has taken the handshake for done,
so an answer is waited for: the scheduler speaks first.
"""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit

from gemel.carole.cluster.engine_section import Credentials
from gemel.common.errors import ErrorCode, GemelError

SECONDS = 10.0

_ISSUE = "issue certificates of scheduler, workers and Carole by the same authority, and name it as `ca`"


def require_admitted(address: str, credentials: Credentials) -> None:
    """Refuse a scheduler that this process does not admit, or that does not admit it.

    Raises
    ------
    GemelError
        CONFIGURATION for files that cannot be used; CERTIFICATE if either side refuses the other's certificate;
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
        raise GemelError(
            ErrorCode.CERTIFICATE,
            "the scheduler's certificate is not one of this authority, or has ended",
            where=address,
            remedy=_ISSUE,
        ) from None
    except ssl.SSLError as error:
        raise GemelError(
            ErrorCode.CERTIFICATE,
            "the scheduler refuses this certificate: it is of another authority, or has ended",
            where=str(credentials.certificate),
            got=(error.reason or "no reason").lower().replace("_", " "),
            remedy=_ISSUE,
        ) from None
    except OSError as error:
        raise unreachable(address, error.strerror or type(error).__name__) from None
    if not answered:
        raise unreachable(address, "a connection that ended at once")


def unreachable(address: str, got: str) -> GemelError:
    """The error where a scheduler does not answer; it passes."""
    return GemelError(
        ErrorCode.UNAVAILABLE,
        "the scheduler cannot be reached",
        where=address,
        got=got,
        remedy="start `gemel carole scheduler`, and check `engine.address` and what the network lets through",
    )


def _context(credentials: Credentials) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(credentials.ca))
        # As Dask: a scheduler is known by the authority, which certifies nothing else, and not by its name.
        context.check_hostname = False
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(str(credentials.certificate), str(credentials.key))
    except ssl.SSLError:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "these are not a certificate, its key and an authority's certificate, in PEM",
            where=f"{credentials.ca}, {credentials.certificate}, {credentials.key}",
            remedy="name the right files",
        ) from None
    return context
