"""How an organisation becomes a member without sending a private key anywhere.

1. Each organisation, on its own machine, runs `enrol`: it makes its keys and an *enrolment request*, which holds its
   public keys and a certificate request and is signed by its identity.
2. It sends the enrolment request to whoever certifies: the coordinator's authority, or an authority of its own.
   `certify` checks it and issues the certificate.
3. From all enrolment requests, certificates and authorities the coordinator makes the membership list with `assemble`,
   and sends list and authorities to everyone, and each party its certificate.
4. Each organisation compares the fingerprints of the others' identities over the phone (`Member.identity`), and puts
   the received files into its folder with `accept`, which checks that its own keys are in the list.

`provision` does all of it at once for parties that share a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from cryptography import x509

from tryst.common.errors import ErrorCode, TrystError
from tryst.common.keys.identity import Identity, PublicIdentity
from tryst.common.keys.identity_configuration import open_identity
from tryst.common.keys.identity_key import IdentityKey
from tryst.common.keys.private_files import write_private
from tryst.common.keys.sealing_key import SealingKey, SealingPublicKey
from tryst.common.keys.wrapping import WrappingKeys
from tryst.common.parties import Role
from tryst.common.pki.authority import Authority
from tryst.common.pki.certificate_requests import new_request, read_request
from tryst.common.pki.certificates import (
    Names,
    Validity,
    certificate_pem,
    key_pem,
    load_key,
    new_key,
    public_key_bytes,
    read_certificate,
    read_certificates,
    role_of,
    spki_fingerprint,
)
from tryst.common.pki.checks import check_issued, utc_now
from tryst.common.pki.enrolment_requests import EnrolmentRequest
from tryst.common.pki.folders import PartyFolder, new_folders, write_public
from tryst.common.pki.members import NAME, Member, Members
from tryst.common.pki.own_keys import check_own


def enrol(
    folder: Path, name: str, role: Role, names: Iterable[str] = (), identity: Identity | None = None
) -> EnrolmentRequest:
    """Make a party's keys and its enrolment request in a new folder, on the party's own machine.

    Parameters
    ----------
    folder
        The folder to make; it appears complete or not at all.
    names
        For the linker: hosts and addresses at which it will be reached.
    identity
        The party's own, made before on a token or in a vault; None: a new one, in a file.

    Raises
    ------
    TrystError
        EXISTS if the folder or a file of this name exists; CERTIFICATE or CONFIGURATION for an invalid name.
    """
    if not NAME.fullmatch(name):
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "a member's name has 1 to 32 of a-z, 0-9 and -, and no - at either end",
            got=repr(name[:40]),
        )
    hosts = Names.of(names)
    folder = folder.absolute()
    with new_folders(folder.parent, folder.name) as staging:
        return make_keys(staging / folder.name, name, role, hosts, identity)


def make_keys(folder: Path, name: str, role: Role, hosts: Names, identity: Identity | None = None) -> EnrolmentRequest:
    """Make the folder and the files of `enrol`; not atomic."""
    folder.mkdir(mode=0o700)
    party = PartyFolder(folder)
    tls, sealing = new_key(), SealingKey.create()
    if identity is None:
        kept = IdentityKey.create()
        kept.save(party.identity)
        identity = Identity(kept)
    enrolment_request = EnrolmentRequest(
        name, role, identity.public, sealing.public, new_request(tls, name, role, hosts)
    )
    write_private(party.tls_key, key_pem(tls))
    sealing.save(party.sealing)
    WrappingKeys.create().save(party.wrapping)
    write_public(party.enrolment_request, enrolment_request.signed(identity).encode())
    return enrolment_request


def certify(authority: Authority, enrolment_request: EnrolmentRequest, validity: Validity | None = None) -> bytes:
    """Issue the certificate (PEM) of an enrolment request.

    Raises
    ------
    TrystError
        CERTIFICATE as `Authority.certify`.
    """
    return certificate_pem(
        authority.certify(enrolment_request.request, enrolment_request.name, enrolment_request.role, validity)
    )


def assemble(
    enrolment_requests: Iterable[EnrolmentRequest],
    certificates: Mapping[str, bytes],
    authorities: bytes,
    now: datetime | None = None,
) -> Members:
    """Make the membership list.

    Parameters
    ----------
    certificates
        Each party's certificate (PEM) by its name.
    authorities
        Certificates of all authorities involved, as PEM.

    Raises
    ------
    TrystError
        CERTIFICATE if a certificate is missing, is not for the key and role of its enrolment request, is not valid now
        or was issued by none of the authorities; CONFIGURATION as `Members`.
    """
    known = read_certificates(authorities, "the authorities")
    members = []
    for enrolment_request in enrolment_requests:
        where = f"the certificate of {enrolment_request.name}"
        if enrolment_request.name not in certificates:
            raise TrystError(ErrorCode.CERTIFICATE, "is missing", where=where, remedy="have the request certified")
        certificate = read_certificate(certificates[enrolment_request.name], where)
        if spki_fingerprint(certificate) != spki_fingerprint(read_request(enrolment_request.request, where)):
            raise TrystError(
                ErrorCode.CERTIFICATE,
                "the certificate is for another key than the enrolment request",
                where=where,
                remedy="certify the enrolment request that the party sent last",
            )
        if role_of(certificate, where) is not enrolment_request.role:
            raise TrystError(
                ErrorCode.CERTIFICATE, f"the certificate must be for {enrolment_request.role}", where=where
            )
        issuer = _issuer(certificate, known, now or utc_now(), where)
        members.append(
            Member(
                enrolment_request.name,
                enrolment_request.role,
                spki_fingerprint(issuer),
                spki_fingerprint(certificate),
                enrolment_request.identity,
                enrolment_request.sealing,
            )
        )
    return Members(members)


def accept(
    folder: Path, name: str, certificate: bytes, members: str, authorities: bytes, identity: Identity | None = None
) -> Members:
    """Put certificate, membership list and authorities into a party's folder, replacing former ones.

    Everything is checked before anything is written; accepting the same files again changes nothing.

    Parameters
    ----------
    identity
        The party's own, if it is not in the folder.

    Raises
    ------
    TrystError
        CERTIFICATE if the certificate is not for this party's key and role, is out of date or issued by another
        authority than the list pins; CONFIGURATION if the list does not hold this party's own keys.
    """
    party = PartyFolder(folder)
    listed = Members.parse(members)
    own = listed.named(name)
    leaf = read_certificate(certificate, f"the certificate of {name}")
    held: dict[str, PublicIdentity | SealingPublicKey | str] = {
        "certificate": spki_fingerprint(leaf),
        "identity": (identity or open_identity(None, party.identity)).public,
        "sealing": SealingKey.load(party.sealing).public,
    }
    if public_key_bytes(load_key(party.tls_key)) != public_key_bytes(leaf):
        raise TrystError(
            ErrorCode.CERTIFICATE,
            f"the certificate is not for the key in {party.tls_key.name}",
            where=str(folder),
            remedy="send the enrolment request in this folder to whoever certifies, and use the new certificate",
        )
    check_own(own, held, str(folder))
    known = {spki_fingerprint(one): one for one in read_certificates(authorities, "the authorities")}
    linker = listed.in_role(Role.LINKER)
    needed = {member.authority for member in (listed if own.role is Role.LINKER else (own, linker))}
    if missing := sorted(needed - known.keys()):
        raise TrystError(
            ErrorCode.CONFIGURATION,
            "the certificates of authorities in the membership list are missing",
            where="the authorities",
            got=f"none for {', '.join(digits[:16] for digits in missing)}",
            remedy="ask the coordinator for all of them",
        )
    check_issued(leaf, known[own.authority], utc_now(), f"the certificate of {name}")
    if role_of(leaf, f"the certificate of {name}") is not own.role:
        raise TrystError(
            ErrorCode.CERTIFICATE, f"the certificate must be for {own.role}", where=f"the certificate of {name}"
        )
    callers = sorted(needed) if own.role is Role.LINKER else [own.authority]
    write_public(party.callers, b"".join(certificate_pem(known[digits]) for digits in callers))
    write_public(party.linker, certificate_pem(known[linker.authority]))
    write_public(party.members, members.encode())
    write_public(party.certificate, certificate_pem(leaf))
    return listed


def _issuer(
    certificate: x509.Certificate, authorities: Iterable[x509.Certificate], now: datetime, where: str
) -> x509.Certificate:
    refusal: TrystError | None = None
    for authority in authorities:
        try:
            check_issued(certificate, authority, now, where)
        except TrystError as error:
            # The issuer's own refusal, such as an expiry, is more precise than that another authority did not issue it.
            if refusal is None or authority.subject == certificate.issuer:
                refusal = error
        else:
            return authority
    assert refusal is not None  # noqa: S101 - there is at least one authority
    raise refusal
