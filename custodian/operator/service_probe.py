"""What answers at a service's address, looked at step by step: where a call would only report that there was no answer.

Nothing is sent but the beginning of a TLS handshake: no certificate of this party's, and no request.
"""

from __future__ import annotations

import socket
import ssl

from cryptography import x509

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.certificates import spki_fingerprint
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.checks import check_dates, utc_now
from gemel.common.pki.members import Member

SECONDS = 10.0


def shown_certificate(address: str) -> x509.Certificate:
    """The certificate that the service at an address shows; whether it is the right one is not looked at.

    `address`: ``host:port``. Raises `GemelError`: UNAVAILABLE, with what fails: the name, the connection, or TLS.
    """
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS) as connected:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE  # it is compared with the list by its key, in `check_shown`
            context.set_alpn_protocols(["h2"])
            with context.wrap_socket(connected) as secured:
                shown = secured.getpeercert(binary_form=True)
    except socket.gaierror:
        raise _unreachable("this name cannot be resolved", address, "compare the address with its operator") from None
    except (ssl.SSLError, ConnectionResetError, EOFError) as error:
        what = "what answers here is no service of Gemel: it speaks no TLS"
        raise _unreachable(what, address, "compare the port with its operator", type(error).__name__) from None
    except OSError as error:
        remedy = "have its operator start it and let the port in; compare the address"
        reason = "no answer in time" if isinstance(error, TimeoutError) else (error.strerror or type(error).__name__)
        raise _unreachable("nothing answers here", address, remedy, reason.lower()) from None
    if shown is None:
        raise _unreachable("what answers here shows no certificate", address, "compare the port with its operator")
    return x509.load_der_x509_certificate(shown)


def check_shown(shown: x509.Certificate, member: Member, address: str) -> None:
    """Refuse a certificate that is not the listed member's, or is out of its dates; CERTIFICATE."""
    known = member.certificate
    found = spki_fingerprint(shown)
    is_hers = known.are_in(shown) if isinstance(known, CertifiedNames) else known.key == found
    if not is_hers:
        what = f"what answers here is not the {member.role} of the membership list: its certificate is another"
        remedy = "compare the address with its operator; if it is right, compare the list with the other members"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=address, got=f"the key {found[:16]}", remedy=remedy)
    check_dates(shown, utc_now(), f"{address}, {member.name}")


def _unreachable(what: str, address: str, remedy: str, got: str = "") -> GemelError:
    return GemelError(ErrorCode.UNAVAILABLE, what, where=address, got=got, remedy=remedy)
