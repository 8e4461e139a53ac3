"""All files of parties that share one machine: `gemel init`, and throw-away parties for a rehearsal.

The result is a folder per party and one for the authority. Each appears complete or not at all, and nothing existing is
overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.suite import Suite
from gemel.common.parties import PARTIES, Role
from gemel.common.pki.acceptance import checked
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Names, Validity
from gemel.common.pki.enrolment import assemble, certify, make_keys
from gemel.common.pki.enrolment_requests import EnrolmentRequest
from gemel.common.pki.folders import PartyFolder, new_folders, write_public
from gemel.common.pki.member_entries import NAME
from gemel.common.pki.members import Members

AUTHORITY_FOLDER = "authority"

_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")

Configure = Callable[[PartyFolder, Members], Mapping[str, str]]
"""Makes a party's configuration files: file name to text. The folder's path is not its final one: write relative
paths."""


@dataclass(frozen=True)
class Provisioned:
    """The folders that were made."""

    root: Path
    parties: Mapping[str, PartyFolder]
    members: Members

    @property
    def authority(self) -> Path:
        """The folder of the authority; whoever has its key can make members."""
        return self.root / AUTHORITY_FOLDER


def provision(
    root: Path,
    *,
    linker_names: Iterable[str] = LOCAL_NAMES,
    validity: Validity | None = None,
    parties: Mapping[str, Role] = PARTIES,
    configure: Mapping[str, Configure] | None = None,
    authority_name: str = "Gemel authority",
    suite: Suite = Suite.DEFAULT,
) -> Provisioned:
    """Make an authority and, per party, a folder with keys, certificate, membership list and configuration.

    `linker_names` are hosts and addresses of the linker, `configure` makes a party's configuration files. Authority and
    certificates are valid for ten years and 397 days by default; hours are enough for a rehearsal. Raises EXISTS if any
    of the folders exists; CONFIGURATION or CERTIFICATE for invalid parameters. Nothing is left behind then.
    """
    for name in parties:
        if not NAME.fullmatch(name) or name == AUTHORITY_FOLDER:
            what = f"a party's name has 1 to 32 of a-z, 0-9 and -, and is not '{AUTHORITY_FOLDER}'"
            raise GemelError(ErrorCode.CONFIGURATION, what, got=repr(name[:40]))
    hosts = Names.of(linker_names)
    root = root.absolute()
    with new_folders(root, AUTHORITY_FOLDER, *parties) as staging:
        authority = Authority.create(authority_name, validity)
        (staging / AUTHORITY_FOLDER).mkdir(mode=0o700)
        authority.save(staging / AUTHORITY_FOLDER)
        enrolment_requests: list[EnrolmentRequest] = []
        certificates: dict[str, bytes] = {}
        for name, role in parties.items():
            reached = hosts if role is Role.LINKER else Names()
            enrolment_request = make_keys(staging / name, name, role, reached, suite=suite)
            enrolment_requests.append(enrolment_request)
            certificates[name] = certify(authority, enrolment_request, validity)
        members = assemble(enrolment_requests, certificates, authority.pem)
        text = members.dump()
        for name in parties:
            checked(staging / name, name, certificates[name], text, authority.pem).put()
            if configure and name in configure:
                _write_configuration(PartyFolder(staging / name), configure[name], members)
    return Provisioned(root, {name: PartyFolder(root / name) for name in parties}, members)


def _write_configuration(party: PartyFolder, configure: Configure, members: Members) -> None:
    for file, text in configure(party, members).items():
        if not _FILE.fullmatch(file) or file in party.reserved:
            what = "a configuration file must have a plain name that no key file has"
            raise GemelError(ErrorCode.CONFIGURATION, what, where=str(party.path), got=repr(file[:40]))
        write_public(party.path / file, text.encode())
