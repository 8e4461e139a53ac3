"""What a party accepts from the coordinator: its certificate, the membership list and the authorities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.pki.certificates import (
    certificate_pem,
    load_key,
    public_key_bytes,
    read_certificate,
    read_certificates,
    role_of,
    spki_fingerprint,
)
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.checks import check_issued, utc_now
from gemel.common.pki.folders import PartyFolder, write_public
from gemel.common.pki.members import Member, Members
from gemel.common.pki.reader import check_own


@dataclass(frozen=True)
class Acceptance:
    """Received files that have been checked, and nothing of which is in the party's folder yet."""

    members: Members
    own: Member
    """The party in it."""
    _files: tuple[tuple[Path, bytes], ...]

    def put(self) -> Members:
        """Put the files into the folder, replacing former ones; again changes nothing. The list that is there now."""
        for path, content in self._files:
            write_public(path, content)
        return self.members


def checked(
    folder: Path,
    name: str,
    certificate: bytes | None,
    members: str,
    authorities: bytes,
    identity: Identity | None = None,
) -> Acceptance:
    """Check certificate, membership list and authorities against a party's own keys; nothing is written.

    No certificate is given where the organisation's own PKI puts it into the folder, an identity where it is not in the
    folder. Raises CERTIFICATE if the certificate is not for this party's key and role, is out of date or issued by
    another authority than the list pins; CONFIGURATION if the list does not hold this party's own keys.
    """
    party = PartyFolder(folder)
    listed = Members.parse(members)
    own = listed.named(name)
    held = {
        "identity": ((identity or open_identity(None, party.identity)).public,),
        "sealing": SealingKey.load(party.sealing).publics,
    }
    check_own(own, held, str(folder))
    known = {spki_fingerprint(one): one for one in read_certificates(authorities, "the authorities")}
    linker = listed.in_role(Role.LINKER)
    whose = listed if own.role is Role.LINKER else (own, linker)
    needed = {authority for member in whose for authority in member.certificate.authorities}
    if missing := sorted(needed - known.keys()):
        what = "the certificates of authorities in the membership list are missing"
        got = f"none for {', '.join(digits[:16] for digits in missing)}"
        remedy = "ask the coordinator for all of them"
        raise GemelError(ErrorCode.CONFIGURATION, what, where="the authorities", got=got, remedy=remedy)
    leaf = _own_certificate(party, own, certificate, known)
    callers = sorted(needed) if own.role is Role.LINKER else own.certificate.authorities
    trusted = linker.certificate.authorities
    files = [
        (party.callers, b"".join(certificate_pem(known[digits]) for digits in callers)),
        (party.linker, b"".join(certificate_pem(known[digits]) for digits in trusted)),
        (party.members, members.encode()),
    ]
    if leaf is not None:
        files.append((party.certificate, certificate_pem(leaf)))
    return Acceptance(listed, own, tuple(files))


def _own_certificate(
    party: PartyFolder, own: Member, pem: bytes | None, known: Mapping[str, x509.Certificate]
) -> x509.Certificate | None:
    """The certificate that was issued for a party's enrolment request; None where its own PKI issues them."""
    where = f"the certificate of {own.name}"
    if isinstance(own.certificate, CertifiedNames) or pem is None:
        if isinstance(own.certificate, CertifiedNames) and pem is None:
            return None
        what = "is missing" if pem is None else "is put into the folder by the organisation's own PKI"
        remedy = "give --certificate" if pem is None else "leave --certificate out"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy=remedy)
    leaf = read_certificate(pem, where)
    if public_key_bytes(load_key(party.tls_key)) != public_key_bytes(leaf):
        what = f"the certificate is not for the key in {party.tls_key.name}"
        remedy = "send the enrolment request in this folder to whoever certifies, and use the new certificate"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=str(party.path), remedy=remedy)
    if spki_fingerprint(leaf) != own.certificate.key:
        what = f"the membership list has another certificate key for {own.name} than this party"
        remedy = "send the enrolment request in this folder to the coordinator again"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(party.path), remedy=remedy)
    check_issued(leaf, known[own.certificate.authority], utc_now(), where)
    if role_of(leaf, where) is not own.role:
        raise GemelError(ErrorCode.CERTIFICATE, f"the certificate must be for {own.role}", where=where)
    return leaf
