"""From the enrolment requests of all members to the one file that everyone receives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.addresses import address_of, host_of
from gemel.common.pki.authority import Authority, read_request
from gemel.common.pki.certificates import (
    certificate_pem,
    host_names,
    public_key_bytes,
    read_certificates,
    spki_fingerprint,
)
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.pki.enrolment import assemble, certify
from gemel.common.pki.enrolment_requests import EnrolmentRequest
from gemel.common.pki.members import Members
from gemel.party.membership_file import Membership

PORT = "7443"
"""Carole's, unless another is given."""


def carole_address(requests: Iterable[EnrolmentRequest], given: str = "") -> str:
    """Where Carole is reached: as given, or at the only host that her enrolment request names.

    Raises
    ------
    GemelError
        PARAMETER if it is no address; CONFIGURATION if her request does not name this host, or, with none given, not
        exactly one.
    """
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
        raise _unfit(
            "the linker's request does not name exactly one host", ", ".join(known) or "none", "give --address"
        )
    host, port = host_of(given)
    if host.lower() not in known:
        raise _unfit(
            "the linker's enrolment request is for another host than --address",
            f"{host}, where the request has {', '.join(known) or 'none'}",
            "compare the address with the linkage unit; one of the two is wrong",
        )
    return address_of(host, port)


def convene(
    requests: Sequence[EnrolmentRequest],
    carole: str,
    authority: Authority | None,
    certificates: Iterable[bytes] = (),
    authorities: bytes = b"",
) -> Membership:
    """Certify what is not certified yet, and put the file together.

    Parameters
    ----------
    requests
        Of all members, one each.
    carole
        As `carole_address` gives it.
    authority
        Which issues the certificates that `certificates` does not have; None: it has all.
    certificates
        Issued by authorities of members' own, PEM, in any order.
    authorities
        Those authorities' certificates, PEM.

    Raises
    ------
    GemelError
        CERTIFICATE or CONFIGURATION as `certify` and `assemble`; CERTIFICATE for a certificate of no request's.
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
        raise GemelError(
            ErrorCode.CERTIFICATE,
            "a certificate belongs to no enrolment request",
            where="--certificate",
            got=f"{len(given)} of another key than all requests",
            remedy="give the certificate of the request that this member sent last",
        )
    pem = (authority.pem if issued and authority is not None else b"") + authorities
    members = assemble(requests, found, pem)
    known = b"".join(certificate_pem(each) for each in read_certificates(pem, "the authorities"))
    return Membership(carole, members, known, found)


def is_of(membership: Membership, requests: Sequence[EnrolmentRequest], carole: str) -> bool:
    """Whether a file has been made of exactly these requests: then it need not be made, nor sent, again."""
    return membership.carole == carole and _keys(membership.members) == {
        (each.name, each.role, _known_by(each), each.identity.hex, each.sealing.hex) for each in requests
    }


def _keys(members: Members) -> set[tuple[str, Role, str | CertifiedNames, str, str]]:
    return {
        (
            each.name,
            each.role,
            each.certificate.key if isinstance(each.certificate, PinnedKey) else each.certificate,
            each.identity.hex,
            each.sealing.hex,
        )
        for each in members
    }


def _known_by(party: EnrolmentRequest) -> str | CertifiedNames:
    if isinstance(party.certificate, CertifiedNames):
        return party.certificate
    return spki_fingerprint(read_request(party.certificate, f"enrolment request of {party.name}"))


def _unfit(what: str, got: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.CONFIGURATION, what, where="the enrolment requests", got=got, remedy=remedy)
