"""From the coordinator's configuration file to a connection with Carole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gemel.common.configuration import load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, PublicIdentity
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role
from gemel.common.periodic import Periodic
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import ListPin
from gemel.common.pki.members import Members
from gemel.common.pki.reader import Reader
from gemel.common.rpc.client import Connection
from gemel.common.rpc.dry_run import withheld_shown
from gemel.common.rpc.tls import channel_credentials
from gemel.common.rpc.trust import LOOK_SECONDS, Trust
from gemel.common.witnessing.log_reader import LogReader
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.coordinator.client.coordinator_client import Coordinator, ReleasedRuns
from gemel.coordinator.client.log_memory import FileMemory
from gemel.coordinator.client.terminal import show_ending

COMMANDS = {Role.COORDINATOR: "project", Role.STEWARD: "steward", Role.ANALYST: "analyst"}
"""The group of each party's commands."""


@dataclass(frozen=True)
class Client:
    """A party that calls Carole by commands.

    `linker` is whose signature the audit log's checkpoints must have; `trust` looks at the folder meanwhile, and has
    the newest list of members.
    """

    connection: Connection
    identity: Identity
    folder: PartyFolder
    linker: PublicIdentity
    members: Members
    memory: FileMemory
    log: LogReader
    trust: Trust

    @property
    def name(self) -> str:
        for member in self.members:
            if member.identity.hex == self.identity.public.hex:
                return member.name
        what = "the membership list does not have this folder's identity"
        remedy = "get the current membership list from the linkage unit"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(self.folder.members), remedy=remedy)

    def at_present(self) -> Client:
        """The same party, with the list of members as it is now."""
        return replace(self, members=self.trust.members)

    @property
    def released(self) -> ReleasedRuns:
        return ReleasedRuns(self.memory, self.log)


@contextmanager
def connect(config: Path, *, checked: bool = True, dry_run: bool = False) -> Iterator[Coordinator]:
    """A coordinator connected to the Carole of its configuration; parameters and errors as `client`."""
    with client(config, Role.COORDINATOR, checked=checked, dry_run=dry_run) as found:
        reader = Reader.load(found.folder, Role.COORDINATOR, found.members)
        yield Coordinator(found.connection, found.identity, reader, found.released)


@contextmanager
def client(config: Path, role: Role, *, checked: bool = True, dry_run: bool = False) -> Iterator[Client]:
    """A connection to the Carole of a configuration, whose audit log continues what the party has seen of it.

    That is verified if `checked`: not where a project is erased, or a restored log decided on, nor by an analyst, who
    reads no log. In a `dry_run` a call that changes something is withheld and shown, which ends the command. A
    certificate that ends soon is named on standard error.
    """
    settings = load_configuration(config, CoordinatorConfiguration)
    folder = PartyFolder(settings.keys)
    show_ending(folder)
    pin = ListPin(config.absolute())
    members = pin.load(folder.members)
    share, address = settings.observability.share_request_ids, settings.carole.address
    with (
        withheld_shown(),
        connection_of(
            address, settings.keys, role, share_request_ids=share, members=members, dry_run=dry_run
        ) as connection,
        _renewed(connection, settings.keys, role, pin) as trust,
    ):
        identity = open_identity(settings.identity, folder.identity)
        linker = members.in_role(Role.LINKER).identity
        memory = FileMemory((settings.state or config.absolute().parent) / f"{role}.seen.json")
        log = LogReader(connection, identity, linker, memory, f"gemel {COMMANDS[role]} accept-restore")
        if checked:
            log.check()
        yield Client(connection, identity, folder, linker, members, memory, log, trust)


@contextmanager
def _renewed(connection: Connection, keys: Path, role: Role, pin: ListPin) -> Iterator[Trust]:
    """Meanwhile calls show the newest certificate in the folder: a command may last longer than a certificate."""
    trust = Trust(keys, role, only=(), pin=pin)

    def look() -> bool:
        # Files that do not fit together yet change nothing.
        with suppress(GemelError):
            if trust.reload():
                connection.renew(trust.tls.channel(), trust.members.in_role(Role.LINKER).server_name)
        return True

    looking = Periodic("certificate", LOOK_SECONDS, look)
    looking.start()
    try:
        yield trust
    finally:
        looking.stop()


def connection_of(
    address: str,
    keys: Path,
    role: Role = Role.COORDINATOR,
    *,
    share_request_ids: bool = False,
    members: Members | None = None,
    dry_run: bool = False,
) -> Connection:
    """A connection to the Carole at `address`, with the certificate in the folder `keys`, and its list unless given."""
    credentials = channel_credentials(keys, role)
    linker = (members or Members.load(PartyFolder(keys).members)).in_role(Role.LINKER)
    return Connection(address, linker.server_name, credentials, share_request_ids=share_request_ids, dry_run=dry_run)
