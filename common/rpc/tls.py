"""TLS credentials from a party's folder: mutual, TLS 1.2 or later, and checked before anything connects.

A TLS library reports little more than that the handshake failed. So every cause that this side can detect is checked
first: a missing file, a certificate out of its dates or for another role, a key that does not belong to it.

gRPC's own lower bound is TLS 1.2, and a client certificate is required. TLS does *not* decide membership and role of a
caller; see `common.rpc.trust`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import grpc
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import SERVERS, Role
from gemel.common.pki.admission import Admission, is_for
from gemel.common.pki.certificates import (
    certificate_pem,
    key_pem,
    load_key,
    names_role,
    public_key_bytes,
    read_certificates,
    read_public,
    role_of,
)
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.checks import check_dates, is_authority, utc_now
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members


def check_own_certificate(
    chain: Sequence[x509.Certificate], role: Role, party: PartyFolder, members: Path, now: datetime
) -> None:
    """Refuse a certificate, with its intermediate authorities behind it, that is not for the party's role. One of the
    organisation's own PKI names no role: it has to be as the list has it. Raises CERTIFICATE."""
    where = str(party.certificate)
    if not names_role(chain[0]) and members.exists():
        listed = Members.load(members)
        known = {each.name: each.certificate for each in listed if each.role is role}
        names = {name: each for name, each in known.items() if isinstance(each, CertifiedNames)}
        if names:
            own = [name for name, each in names.items() if each.are_in(chain[0])]
            _check_listed(chain, role, party, listed, own, now)
            return
    named = role_of(chain[0], where)
    if named is not role:
        what = f"expected a certificate for the role {role}"
        remedy = "set `keys` in the configuration to this party's own folder"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=str(named), remedy=remedy)


def _check_listed(
    chain: Sequence[x509.Certificate], role: Role, party: PartyFolder, listed: Members, own: list[str], now: datetime
) -> None:
    """Refuse a certificate of an own PKI that is not as the list has it; `own` are the members with its names."""
    where = str(party.certificate)
    if not own:
        raise _otherwise("it has other names", where, "", "have it issued for the names in the list")
    shown = b"".join(certificate_pem(each) for each in chain)
    try:
        Admission.from_pem(listed, read_public(party.callers, "the authorities of callers"), only=own)(shown, now)
    except GemelError as error:
        raise _otherwise(error.what, where, error.got, error.remedy) from None
    if role in SERVERS and not is_for(chain[0], ExtendedKeyUsageOID.SERVER_AUTH):
        remedy = "have the own PKI issue it for both usages, of clients and of servers"
        raise GemelError(ErrorCode.CERTIFICATE, "the certificate is not issued for servers", where=where, remedy=remedy)


def _otherwise(what: str, where: str, got: str, remedy: str) -> GemelError:
    stated = f"the certificate is not as the membership list has it: {what}"
    return GemelError(ErrorCode.CERTIFICATE, stated, where=where, got=got, remedy=remedy)


@dataclass(frozen=True)
class TlsFiles:
    """A party's key, certificate and trusted authorities, checked, as PEM."""

    role: Role
    certificate: bytes
    callers: bytes
    linker: bytes
    _key: bytes = field(repr=False)

    @classmethod
    def load(cls, folder: Path, role: Role, now: datetime | None = None, members: Path | None = None) -> TlsFiles:
        """Read and check the files of a party's folder, as `gemel init` makes it, for the role that this program plays.

        The certificate must name the role, or, if it is of the organisation's own PKI, be that of the role's member in
        the list (by default the folder's). Raises CONFIGURATION if a file is missing, or a key is open to others;
        CERTIFICATE if the certificate is out of its dates (which the message gives), for another role or key, not as
        the list has it, or if no authority in a bundle is valid.
        """
        party, moment = PartyFolder(folder), now or utc_now()
        where = str(party.certificate)
        chain = read_certificates(read_public(party.certificate, "the certificate"), where)
        certificate = chain[0]
        check_dates(certificate, moment, where)
        check_own_certificate(chain, role, party, members or party.members, moment)
        key = load_key(party.tls_key)
        if public_key_bytes(key) != public_key_bytes(certificate):
            what = f"the certificate is not for the key in {party.tls_key.name}"
            remedy = "restore both files of the same party, or have the key in this folder certified"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=where, remedy=remedy)
        return cls(
            role,
            b"".join(certificate_pem(each) for each in chain),
            _authorities(party.callers, moment),
            _authorities(party.linker, moment),
            key_pem(key),
        )

    def served(self) -> grpc.ServerCertificateConfiguration:
        """For the party's own service: a caller needs a certificate of the authorities in ``callers.pem``."""
        return grpc.ssl_server_certificate_configuration(
            [(self._key, self.certificate)], root_certificates=self.callers
        )

    def channel(self, to: Role = Role.LINKER) -> grpc.ChannelCredentials:
        """For calling the linker, or, with the own role, the party's own service.

        The connection must verify the `server_name` of the called member, whatever the address: this name distinguishes
        the service from any other member. Raises PARAMETER for any other role: no other service is ever called.
        """
        if to is not Role.LINKER and to is not self.role:
            raise GemelError(ErrorCode.PARAMETER, f"a {self.role} does not call a {to}")
        roots = self.linker if to is Role.LINKER else self.callers
        return grpc.ssl_channel_credentials(
            root_certificates=roots, private_key=self._key, certificate_chain=self.certificate
        )


def channel_credentials(
    folder: Path, role: Role, to: Role = Role.LINKER, members: Path | None = None
) -> grpc.ChannelCredentials:
    """Credentials for calling the linker, or with `to` the own role the own service; raises as `TlsFiles.load`."""
    return TlsFiles.load(folder, role, members=members).channel(to)


def _authorities(path: Path, now: datetime) -> bytes:
    """The authorities in a bundle that are valid now, at least one."""
    found = read_certificates(read_public(path, "the authorities"), str(path))
    refusal: GemelError | None = None
    valid = []
    for certificate in found:
        if not is_authority(certificate):
            what = "expected certificates of authorities"
            got = "a certificate that may not sign others"
            remedy = "this file holds authorities; a party's certificate belongs into certificate.pem"
            raise GemelError(ErrorCode.CERTIFICATE, what, where=str(path), got=got, remedy=remedy)
        try:
            check_dates(certificate, now, str(path), "the authority's certificate")
        except GemelError as error:
            refusal = error
        else:
            valid.append(certificate_pem(certificate))
    if refusal is not None and not valid:
        raise refusal
    return b"".join(valid)
