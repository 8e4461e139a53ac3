"""Whether a party's own certificate is what the others will take for its own: found at its start, not by a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import SERVERS, Role
from gemel.common.pki.admission import Admission, is_for
from gemel.common.pki.certificates import certificate_pem, names_role, read_public, role_of
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members


def check_own_certificate(
    chain: Sequence[x509.Certificate], role: Role, party: PartyFolder, members: Path, now: datetime
) -> None:
    """Refuse a certificate that is not for the party's role.

    Parameters
    ----------
    chain
        What is in the party's file: the certificate, and intermediate authorities behind it.
    role
        Which it must name. One of the organisation's own PKI names none: it has to be as the list has it.
    members
        The list.

    Raises
    ------
    GemelError
        CERTIFICATE.
    """
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
        raise GemelError(
            ErrorCode.CERTIFICATE,
            f"expected a certificate for the role {role}",
            where=where,
            got=str(named),
            remedy="set `keys` in the configuration to this party's own folder",
        )


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
