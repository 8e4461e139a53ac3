"""Identifying the caller: a peer's certificate, checked against the membership list.

A caller is a member if its certificate has the pinned public key, was issued by the authority pinned *for that
member*, is within its dates, names the member's role and is issued for clients. Where the list has the names of an own
PKI in place of the key, the certificate must have these names, and a chain from it must lead to an authority pinned for
that member; its role is then the list's. So one organisation's authorities can vouch for that organisation only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.pki.certificates import names_role, public_key_bytes, read_certificates, role_of, spki_fingerprint
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey
from gemel.common.pki.checks import check_dates, check_issued, is_authority, utc_now
from gemel.common.pki.members import Member, Members

# Chains from a certificate of an organisation's own PKI to an authority that is pinned for it.
#
# The rules are RFC 5280's, as the library `cryptography` has them: signatures, dates, basic constraints, key usages,
# path lengths and name constraints. Constraints on URIs it does not know, and refuses.

_ADD = "add the certificate of the authority {}"
MAX_INTERMEDIATES = 4
MAX_RSA_BITS, RSA_EXPONENT = 4096, 65537
"""Of every key in a chain: with others one verification takes as long as its maker likes."""


def check_chain(
    chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], now: datetime, where: str
) -> None:
    leaf, *intermediates = chain
    if is_authority(leaf):
        raise GemelError(ErrorCode.CERTIFICATE, "expected a party's certificate", where=where, got="an authority's")
    check_dates(leaf, now, where)
    if len(intermediates) > MAX_INTERMEDIATES:
        what = f"a chain has at most {MAX_INTERMEDIATES} intermediate authorities"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got=str(len(intermediates)))
    if not all(_is_bounded(one) for one in chain) or len({public_key_bytes(one) for one in chain}) < len(chain):
        # Several certificates of one key would make the paths to be tried many.
        what = (
            f"each certificate of a chain has a key of its own; an RSA key has at most {MAX_RSA_BITS} bits and the "
            f"exponent {RSA_EXPONENT}"
        )
        remedy = "let the certificate's file hold it and its own intermediate authorities, once each"
        raise GemelError(ErrorCode.CERTIFICATE, what, where=where, got="another chain", remedy=remedy)
    policy = verification.PolicyBuilder().store(verification.Store(list(authorities))).time(now)
    try:
        policy.max_chain_depth(MAX_INTERMEDIATES).build_client_verifier().verify(leaf, intermediates)
    except verification.VerificationError as error:
        raise GemelError(
            ErrorCode.CERTIFICATE,
            "no chain leads from the certificate to an authority pinned for this member",
            where=where,
            got=str(error).partition(" (")[0],
            remedy="compare the authorities with the membership list, and have the certificate's file hold the "
            "intermediate ones behind the certificate",
        ) from None


def _is_bounded(certificate: x509.Certificate) -> bool:
    key = certificate.public_key()
    return not isinstance(key, RSAPublicKey) or (
        key.key_size <= MAX_RSA_BITS and key.public_numbers().e == RSA_EXPONENT
    )


class Admission:
    """Finds the member behind a peer's certificate, by default among all members: a custodian's own service admits
    itself alone. Raises CONFIGURATION if a member to be admitted has an authority that is not among `authorities`."""

    def __init__(
        self, members: Members, authorities: Iterable[x509.Certificate], *, only: Iterable[str] | None = None
    ) -> None:
        self._members = members
        # Of two certificates of one key, as after a renewal, the one that ends last.
        self._authorities: Mapping[str, x509.Certificate] = {
            spki_fingerprint(authority): authority
            for authority in sorted(authorities, key=lambda each: each.not_valid_after_utc)
        }
        self._only = frozenset(only) if only is not None else frozenset(member.name for member in members)
        code, what = ErrorCode.CONFIGURATION, "the certificate of the authority pinned for this member is missing"
        got = f"authorities {', '.join(sorted(digits[:16] for digits in self._authorities)) or 'none'}"
        pinned = [(member, digits) for member in members for digits in member.certificate.authorities]
        errors = [
            GemelError(code, what, where=f"member {member.name}", got=got, remedy=_ADD.format(digits[:16]))
            for member, digits in pinned
            if member.name in self._only and digits not in self._authorities
        ]
        if errors:
            raise GemelErrors(code, errors, where="membership list")

    @classmethod
    def from_pem(cls, members: Members, authorities: bytes, *, only: Iterable[str] | None = None) -> Admission:
        return cls(members, read_certificates(authorities, "the authorities of the membership list"), only=only)

    def __call__(self, peer: bytes, now: datetime | None = None) -> Member:
        """The member whose certificate (PEM, with the intermediate authorities shown with it) this is.

        The error (NOT_ADMITTED) states the reason, for the log of the called service. The caller must not see it: to
        callers who are not members, every refusal looks the same.
        """
        where = "the caller's certificate"
        try:
            chain = read_certificates(peer, where)
            member = self._members.with_key(spki_fingerprint(chain[0])) or self._named(chain[0])
            where = f"the certificate of {member.name}"
            self._check(member, chain, now or utc_now(), where)
        except GemelError as error:
            if error.code is ErrorCode.NOT_ADMITTED:
                raise
            code = ErrorCode.NOT_ADMITTED
            raise GemelError(code, error.what, where=error.where, got=error.got, remedy=error.remedy) from None
        except Exception as error:  # noqa: BLE001 - its maker chooses what fails, and reads no exception of ours
            # A part that is parsed only when it is accessed: an extension, a name, the public key.
            got = type(error).__name__
            raise GemelError(ErrorCode.NOT_ADMITTED, "the certificate is malformed", where=where, got=got) from None
        return member

    def _named(self, certificate: x509.Certificate) -> Member:
        """The one member whose names the certificate has; that it is the member's is not shown yet."""
        found = [
            member
            for member in self._members
            if isinstance(member.certificate, CertifiedNames) and member.certificate.are_in(certificate)
        ]
        if len(found) != 1:
            none, several = "no member has this public key, or these names", "the names of several members"
            what = f"{several} are in one certificate" if found else none
            where, got = "the caller's certificate", f"public key {spki_fingerprint(certificate)[:16]}"
            remedy = "if this is a new certificate, change the membership list"
            raise GemelError(ErrorCode.NOT_ADMITTED, what, where=where, got=got, remedy=remedy)
        return found[0]

    def _check(self, member: Member, chain: Sequence[x509.Certificate], now: datetime, where: str) -> None:
        if member.name not in self._only:
            raise GemelError(ErrorCode.NOT_ADMITTED, "this member is not admitted here", where=where)
        certificate, authorities = chain[0], [self._authorities[each] for each in member.certificate.authorities]
        pinned = isinstance(member.certificate, PinnedKey)
        if pinned:
            check_issued(certificate, authorities[0], now, where)
        else:
            check_chain(chain, authorities, now, where)
        role = role_of(certificate, where) if pinned or names_role(certificate) else member.role
        if role is not member.role:
            what = f"the certificate must name the member's role {member.role}"
            remedy = "have it issued for the role in the membership list"
            raise GemelError(ErrorCode.NOT_ADMITTED, what, where=where, got=str(role), remedy=remedy)
        if not is_for(certificate, ExtendedKeyUsageOID.CLIENT_AUTH):
            what = "the certificate is not issued for clients"
            remedy = "have it issued by 'gemel init' or 'gemel certify', or by the own PKI for both usages"
            raise GemelError(ErrorCode.NOT_ADMITTED, what, where=where, remedy=remedy)


def is_for(certificate: x509.Certificate, usage: x509.ObjectIdentifier) -> bool:
    try:
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return usage in uses
