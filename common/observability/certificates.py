"""The certificates that a service works with, by the names that its metrics show."""

from __future__ import annotations

from datetime import datetime

from cryptography import x509

from gemel.common.pki.certificates import read_certificates
from gemel.common.pki.checks import utc_now

DAY_SECONDS = 86_400.0


def certificates_in_use(own: bytes, linker: bytes, callers: bytes) -> dict[str, x509.Certificate]:
    """Every certificate that a service works with.

    Parameters
    ----------
    own, linker, callers
        PEM: the party's certificate, and the authorities that it trusts, as `common.rpc.tls.TlsFiles` has them.

    Returns
    -------
    dict
        By ``own``, ``linker-1``, ``callers-1`` and so on: authorities by their place. No organisation is named.
    """
    found = {"own": read_certificates(own, "own")[0]}
    for name, bundle in (("linker", linker), ("callers", callers)):
        found |= {f"{name}-{i}": each for i, each in enumerate(read_certificates(bundle, name), 1)}
    return found


def days_left(end: datetime) -> float:
    """Days until a certificate ends; negative afterwards."""
    return (end - utc_now()).total_seconds() / DAY_SECONDS
