"""How an organisation becomes a member without sending a private key anywhere.

Each organisation, on its own machine, makes its keys and an *enrolment request* with its public keys by `enrol`, which
its identity signs; `certify` checks it and issues the certificate. From all of them the coordinator makes the
membership list by `assemble`, and everyone takes it (`acceptance`) after comparing fingerprints over the phone.

`coordinator.provisioning` does all of it at once for parties that share a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from cryptography import x509

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.private_files import write_private
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.keys.vault import WrappingKeys
from gemel.common.parties import Role
from gemel.common.pki.authority import Authority, new_request, read_request
from gemel.common.pki.certificates import (
    Names,
    Validity,
    certificate_pem,
    key_pem,
    new_key,
    read_certificate,
    read_certificates,
    role_of,
    spki_fingerprint,
)
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.pki.checks import check_issued, utc_now
from gemel.common.pki.enrolment_requests import EnrolmentRequest
from gemel.common.pki.folders import PartyFolder, new_folders, write_public
from gemel.common.pki.member_entries import NAME
from gemel.common.pki.members import Member, Members


def enrol(
    folder: Path,
    name: str,
    role: Role,
    names: Iterable[str] = (),
    identity: Identity | None = None,
    pki: CertifiedNames | None = None,
    suite: Suite = Suite.DEFAULT,
) -> EnrolmentRequest:
    """Make a party's keys and its enrolment request in a new folder, on the party's own machine.

    The folder appears complete or not at all. `names` are the linker's hosts and addresses; `identity` is one made
    before on a token or in a vault, by default a new one in a file; with `pki`, what the organisation's own PKI knows
    its certificates by, no TLS key is made. Raises EXISTS if the folder or a file of this name exists; CERTIFICATE or
    CONFIGURATION for an invalid name.
    """
    if not NAME.fullmatch(name):
        what = "a member's name has 1 to 32 of a-z, 0-9 and -, and no - at either end"
        raise GemelError(ErrorCode.CONFIGURATION, what, got=repr(name[:40]))
    hosts = Names.of(names)
    folder = folder.absolute()
    with new_folders(folder.parent, folder.name) as staging:
        return make_keys(staging / folder.name, name, role, hosts, identity, pki, suite)


def make_keys(
    folder: Path,
    name: str,
    role: Role,
    hosts: Names,
    identity: Identity | None = None,
    pki: CertifiedNames | None = None,
    suite: Suite = Suite.DEFAULT,
) -> EnrolmentRequest:
    folder.mkdir(mode=0o700)
    party = PartyFolder(folder)
    sealing = SealingKey.create(suite)
    if identity is None:
        kept = IdentityKey.create()
        kept.save(party.identity)
        identity = Identity(kept)
    requested: bytes | CertifiedNames
    if pki is None:
        tls = new_key()
        write_private(party.tls_key, key_pem(tls))
        requested = new_request(tls, name, role, hosts)
    else:
        requested = pki
    enrolment_request = EnrolmentRequest(name, role, identity.public, sealing.public, requested)
    sealing.save(party.sealing)
    WrappingKeys.create().save(party.wrapping)
    write_public(party.enrolment_request, enrolment_request.signed(identity).encode())
    return enrolment_request


def certify(authority: Authority, enrolment_request: EnrolmentRequest, validity: Validity | None = None) -> bytes:
    """Issue the certificate (PEM) of an enrolment request. Raises CERTIFICATE as `Authority.certify`, or if the party's
    own PKI issues its certificates."""
    request = enrolment_request.certificate
    if isinstance(request, CertifiedNames):
        what = "this party's certificates are issued by its organisation's own PKI"
        where = f"enrolment request of {enrolment_request.name}"
        remedy = "leave it out here, and give it to `gemel party assemble`"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy=remedy)
    return certificate_pem(authority.certify(request, enrolment_request.name, enrolment_request.role, validity))


def assemble(
    enrolment_requests: Iterable[EnrolmentRequest],
    certificates: Mapping[str, bytes],
    authorities: bytes,
    now: datetime | None = None,
) -> Members:
    """Make the membership list of each party's certificate (PEM), by its name, and all authorities involved.

    Raises CERTIFICATE if a certificate is missing, is not for the key and role of its enrolment request, is not valid
    now or was issued by none of the authorities; CONFIGURATION as `Members`.
    """
    known = read_certificates(authorities, "the authorities")
    moment = now or utc_now()
    return Members(
        Member(
            party.name,
            party.role,
            party.certificate
            if isinstance(party.certificate, CertifiedNames)
            else _pinned(party, party.certificate, certificates.get(party.name), known, moment),
            party.identity,
            party.sealing,
        )
        for party in enrolment_requests
    )


def _pinned(
    party: EnrolmentRequest, request: bytes, pem: bytes | None, known: list[x509.Certificate], now: datetime
) -> PinnedKey:
    """What the list pins of the certificate that was issued for a request."""
    where = f"the certificate of {party.name}"
    if pem is None:
        raise GemelError(ErrorCode.CERTIFICATE, "is missing", where=where, remedy="have the request certified")
    certificate = read_certificate(pem, where)
    if spki_fingerprint(certificate) != spki_fingerprint(read_request(request, where)):
        what = "the certificate is for another key than the enrolment request"
        remedy = "certify the enrolment request that the party sent last"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy=remedy)
    if role_of(certificate, where) is not party.role:
        raise GemelError(ErrorCode.CERTIFICATE, f"the certificate must be for {party.role}", where=where)
    return PinnedKey(spki_fingerprint(_issuer(certificate, known, now, where)), spki_fingerprint(certificate))


def _issuer(
    certificate: x509.Certificate, authorities: Iterable[x509.Certificate], now: datetime, where: str
) -> x509.Certificate:
    refusal: GemelError | None = None
    for authority in authorities:
        try:
            check_issued(certificate, authority, now, where)
        except GemelError as error:
            # The issuer's own refusal, such as an expiry, is more precise than that another authority did not issue it.
            if refusal is None or authority.subject == certificate.issuer:
                refusal = error
        else:
            return authority
    assert refusal is not None  # noqa: S101 - there is at least one authority
    raise refusal
