"""A cluster's own certificate authority, and the certificates of those who belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from gemel.common.errors import ErrorCode, file_error, parameter
from gemel.common.keys.private_files import write_private
from gemel.common.pki.authority import CERTIFICATE_FILE, Authority
from gemel.common.pki.certificates import certificate_pem, key_pem, new_key

CA, CERTIFICATE, KEY = "ca.pem", "certificate.pem", "key.pem"
"""The files of one who belongs to a cluster."""


def make_certificates(folder: Path, names: Iterable[str]) -> list[str]:
    """Make an authority in a folder, unless there is one, and certificates of those who have none; their names.

    Raises
    ------
    GemelError
        PARAMETER for a name that is none; CONFIGURATION if the folder cannot be written.
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
                raise parameter(
                    "worker", "a name of letters, digits, points and hyphens", repr(name), "name it by its machine"
                )
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
