"""When the certificates that a service works with end."""

from __future__ import annotations

from datetime import datetime

from tryst.common.pki.certificates import read_certificates, read_public
from tryst.common.pki.checks import utc_now
from tryst.common.pki.folders import PartyFolder

DAY_SECONDS = 86_400.0


def certificate_ends(folder: PartyFolder) -> dict[str, datetime]:
    """The end of every certificate in a party's folder, read now.

    Returns
    -------
    dict
        By ``own``, ``linker-1``, ``callers-1`` and so on: a party's certificate, and the authorities it trusts, by
        their place in the file. No name of an organisation is shown.

    Raises
    ------
    TrystError
        CONFIGURATION or CERTIFICATE for a file that cannot be read.
    """
    own = read_certificates(read_public(folder.certificate, "the certificate"), str(folder.certificate))
    found = {"own": own[0].not_valid_after_utc}
    for path in (folder.linker, folder.callers):
        authorities = read_certificates(read_public(path, "the authorities"), str(path))
        found |= {f"{path.stem}-{i}": each.not_valid_after_utc for i, each in enumerate(authorities, 1)}
    return found


def days_left(end: datetime) -> float:
    """Days until a certificate ends; negative afterwards."""
    return (end - utc_now()).total_seconds() / DAY_SECONDS
