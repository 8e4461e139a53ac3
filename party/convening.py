"""``gemel party convene``: the requests of all members become one file for everyone; then the coordinator joins too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.addresses import address_of, host_of
from gemel.common.pki.authority import Authority, read_request
from gemel.common.pki.certificates import (
    certificate_pem,
    host_names,
    public_key_bytes,
    read_certificates,
    read_public,
    spki_fingerprint,
)
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.enrolment import assemble, certify
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import new_folders, write_public
from gemel.party.comparison import compare
from gemel.party.configurations import Joined, Place, program
from gemel.party.joining import accepted, finish, own_request, refuse_joined
from gemel.party.membership_file import FILE, Membership, load_membership

PORT = "7443"


def carole_address(requests: Iterable[EnrolmentRequest], given: str = "") -> str:
    """Where Carole is reached: as given, or at the only host that her enrolment request names. Raises PARAMETER if it
    is no address; CONFIGURATION if her request does not name this host, or, with none given, not exactly one."""
    linkers = [each for each in requests if each.role is Role.LINKER]
    if len(linkers) != 1:
        raise _unfit(f"there must be exactly one {Role.LINKER}", f"{len(linkers)} enrolment requests", "give hers")
    requested = linkers[0].certificate
    where = f"enrolment request of {linkers[0].name}"
    known = [requested.dns] if isinstance(requested, CertifiedNames) else host_names(read_request(requested, where))
    known = [name for name in known if name]
    if not given:
        if len(known) == 1:
            return address_of(known[0], PORT)
        what = "the linker's request does not name exactly one host"
        raise _unfit(what, ", ".join(known) or "none", "give --address")
    host, port = host_of(given)
    if host.lower() not in known:
        what = "the linker's enrolment request is for another host than --address"
        got = f"{host}, where the request has {', '.join(known) or 'none'}"
        raise _unfit(what, got, "compare the address with the linkage unit; one of the two is wrong")
    return address_of(host, port)


def convene(
    requests: Sequence[EnrolmentRequest],
    carole: str,
    authority: Authority | None,
    certificates: Iterable[bytes] = (),
    authorities: bytes = b"",
) -> Membership:
    """Certify, by the authority, what is not certified yet, and put the file together.

    `certificates` (PEM, in any order) were issued by `authorities` of members' own. Raises CERTIFICATE or CONFIGURATION
    as `certify` and `assemble`; CERTIFICATE for a certificate of no request's.
    """
    given = {public_key_bytes(read_certificates(pem, "--certificate")[0]): pem for pem in certificates}
    found: dict[str, bytes] = {}
    issued = False
    for party in requests:
        if isinstance(party.certificate, CertifiedNames):
            continue
        key = public_key_bytes(read_request(party.certificate, f"enrolment request of {party.name}"))
        if key in given:
            found[party.name] = given.pop(key)
        elif authority is not None:
            found[party.name] = certify(authority, party)
            issued = True
    if given:
        what = "a certificate belongs to no enrolment request"
        got = f"{len(given)} of another key than all requests"
        remedy = "give the certificate of the request that this member sent last"
        raise GemelError(ErrorCode.CERTIFICATE, what, where="--certificate", got=got, remedy=remedy)
    pem = (authority.pem if issued and authority is not None else b"") + authorities
    members = assemble(requests, found, pem)
    known = b"".join(certificate_pem(each) for each in read_certificates(pem, "the authorities"))
    return Membership(carole, members, known, found)


def is_of(membership: Membership, requests: Sequence[EnrolmentRequest], carole: str) -> bool:
    """Whether a file has been made of exactly these requests: then it need not be made, nor sent, again."""
    listed = {
        (each.name, each.role, getattr(each.certificate, "key", each.certificate), each.identity, each.sealing)
        for each in membership.members
    }
    asked = {(each.name, each.role, _known_by(each), each.identity, each.sealing) for each in requests}
    return membership.carole == carole and listed == asked


def _known_by(party: EnrolmentRequest) -> str | CertifiedNames:
    if isinstance(party.certificate, CertifiedNames):
        return party.certificate
    return spki_fingerprint(read_request(party.certificate, f"enrolment request of {party.name}"))


def _unfit(what: str, got: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.CONFIGURATION, what, where="the enrolment requests", got=got, remedy=remedy)


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
        what = "the coordinator's own enrolment request is made by this command"
        remedy = "leave it out; another coordinator needs another name"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=f"the enrolment requests, {place.name}", remedy=remedy)
    carole = carole_address(others, address)
    requests = [*others, own_request(place)]
    path = place.folder / FILE
    if path.exists() and is_of(former := load_membership(path), requests, carole):
        # Members may have it already.
        typer.echo(f"{path} is there already, of the same requests. Send it to every member.")
        membership = former
    else:
        given = [read_public(each, "the certificate") for each in certificates]
        known = b"".join(read_public(each, "the authority") for each in authorities)
        needed = sum(isinstance(each.certificate, bytes) for each in requests) > len(given)
        membership = convene(requests, carole, _authority(place, authority_name) if needed else None, given, known)
        again = " again: what members have received before is void" if path.exists() else ""
        write_public(path, membership.text.encode())
        typer.echo(f"Wrote {path}{again}. Send it to every member.")
    acceptance = accepted(place, membership)
    compare(membership, place, typed)
    finish(Joined(place, membership), acceptance)


def make_authority(folder: Path, name: str) -> None:
    """Make an authority in a folder of its own."""
    with new_folders(folder.absolute().parent, folder.name) as staging:
        (staging / folder.name).mkdir(mode=0o700)
        Authority.create(name).save(staging / folder.name)


def _authority(place: Place, name: str) -> Authority:
    folder = place.folder / AUTHORITY
    if not folder.exists():
        make_authority(folder, name)
        typer.echo(f"Made the authority {folder}. Take it offline once all have joined: renewals need it.")
    return Authority.load(folder)
