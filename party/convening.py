"""``gemel party convene``: the requests of all members become one file for everyone; then the coordinator joins too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import read_public
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import new_folders, write_public
from gemel.party.assembling import carole_address, convene, is_of
from gemel.party.comparison import compare
from gemel.party.configurations import Joined, program
from gemel.party.joining import accepted, finish, own_request, refuse_joined
from gemel.party.membership_file import FILE, Membership, load_membership
from gemel.party.place import Place

AUTHORITY = "authority"


def make_and_join(
    place: Place,
    paths: Sequence[Path],
    *,
    address: str = "",
    certificates: Sequence[Path] = (),
    authorities: Sequence[Path] = (),
    authority_name: str = "Gemel authority",
    typed: Sequence[str] = (),
) -> None:
    """Make the file for all members from their requests and the coordinator's own, and join by it."""
    program(place.role)
    refuse_joined(place)
    others = [load_enrolment_request(path) for path in paths]
    if any(each.name == place.name for each in others):
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "the coordinator's own enrolment request is made by this command",
            where=f"the enrolment requests, {place.name}",
            remedy="leave it out; another coordinator needs another name",
        )
    carole = carole_address(others, address)
    requests = [*others, own_request(place)]
    membership = _made(place, requests, carole, certificates, authorities, authority_name)
    acceptance = accepted(place, membership)
    compare(membership, place, typed)
    finish(Joined(place, membership), acceptance)


def _made(
    place: Place,
    requests: Sequence[EnrolmentRequest],
    carole: str,
    certificates: Sequence[Path],
    authorities: Sequence[Path],
    authority_name: str,
) -> Membership:
    """The file, as it was made before of the same requests: members may have it already."""
    path = place.folder / FILE
    if path.exists() and is_of(former := load_membership(path), requests, carole):
        typer.echo(f"{path} is there already, of the same requests. Send it to every member.")
        return former
    given = [read_public(each, "the certificate") for each in certificates]
    known = b"".join(read_public(each, "the authority") for each in authorities)
    needed = sum(isinstance(each.certificate, bytes) for each in requests) > len(given)
    membership = convene(requests, carole, _authority(place, authority_name) if needed else None, given, known)
    again = " again: what members have received before is void" if path.exists() else ""
    write_public(path, membership.text.encode())
    typer.echo(f"Wrote {path}{again}. Send it to every member.")
    return membership


def _authority(place: Place, name: str) -> Authority:
    folder = place.folder / AUTHORITY
    if not folder.exists():
        with new_folders(place.folder, AUTHORITY) as staging:
            (staging / AUTHORITY).mkdir(mode=0o700)
            Authority.create(name).save(staging / AUTHORITY)
        typer.echo(f"Made the authority {folder}. Take it offline once all have joined: renewals need it.")
    return Authority.load(folder)
