"""A custodian's keys, and who the other custodian is."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity, fingerprint
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.vault import Vault
from gemel.common.keys.wrapping_configuration import open_wrapper
from gemel.common.parties import Party, Role
from gemel.common.pki import Member, PartyFolder
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.pki.reader import check_own
from gemel.common.rpc.tls import TlsFiles
from gemel.custodian.configuration import CustodianConfiguration, Peer


@dataclass(frozen=True)
class Keyring:
    """What a custodian's service signs, opens and encrypts with."""

    member: Member
    """This custodian in the membership list."""
    peer: PublicIdentity
    """The other custodian's identity, as its configuration and the membership list agree on it."""
    linker: Member
    """Carole, whose identity signs her audit log."""
    identity: Identity = field(repr=False)
    sealing: SealingKey = field(repr=False)
    vault: Vault = field(repr=False)
    tls: TlsFiles = field(repr=False)

    @classmethod
    def load(cls, configuration: CustodianConfiguration, party: Party, pin: ListPin = UNPINNED) -> Keyring:
        """Read the key folder, and check that it is this party's and fits the membership list that `pin` takes.

        Raises
        ------
        GemelError
            CONFIGURATION or CERTIFICATE, before anything is sent to anyone.
        """
        folder = PartyFolder(configuration.keys)
        tls = TlsFiles.load(configuration.keys, party.role)
        identity = open_identity(configuration.identity, folder.identity)
        sealing = SealingKey.load(folder.sealing)
        vault = Vault(open_wrapper(configuration.wrapping, folder.wrapping))
        members = pin.load(folder.members)
        member = members.in_role(party.role)
        check_own(member, {"identity": (identity.public,), "sealing": sealing.publics}, str(configuration.keys))
        peer = _checked(configuration.peer, members.in_role(party.side.other.role), str(folder.members))
        linker = members.in_role(Role.LINKER)
        return cls(member, peer, linker, identity, sealing, vault, tls)


def _checked(configured: Peer, listed: Member, where: str) -> PublicIdentity:
    """The other custodian's identity, if configuration and membership list agree on it."""
    if configured.identity is not None:
        agrees = configured.identity == listed.identity.hex
    else:
        agrees = configured.fingerprint == fingerprint(listed.identity.raw).hex()
    if not agrees:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "the membership list names another identity for the other custodian than `peer` in the configuration",
            where=where,
            got=listed.identity.fingerprint,
            remedy="telephone the other custodian and compare the fingerprint it reads out with both",
        )
    return listed.identity
