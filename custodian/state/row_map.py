"""The pseudonym map: the custodian's own identifier of each row of an upload, and which rows are decoys.

A row's pseudonym is its place in the upload. The map is kept encrypted, for the number of days in the specification.
Where a resolver is to link by values too, it also has the codes that were uploaded of each record: the file may have
changed when they are requested.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import polars as pl

from gemel.common.arrays import I16, I64
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

        Raises `GemelError`: CONFIGURATION or CERTIFICATE, before anything is sent to anyone.
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
        what = "the membership list names another identity for the other custodian than `peer` in the configuration"
        remedy = "telephone the other custodian and compare the fingerprint it reads out with both"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=where, got=listed.identity.fingerprint, remedy=remedy)
    return listed.identity


_COLUMN = "identifier"
_DECOY = "decoy"
_CODE = "code "
"""Before the name of a variable."""
_MARK = b"gemel row map 1\n"
_LENGTH_BYTES = 8
_ROWS_AT_ONCE = 1 << 18


class RowMapWriter:
    """Writes a map in parts, in the order of the upload's rows: its mark, then each part behind its length."""

    def __init__(self, write: Callable[[bytes], None], n_records: int, decoys: int = 0) -> None:
        self._write, self._n_records, self._decoys = write, n_records, decoys
        write(_MARK)

    def add(self, identifiers: pl.Series, order: I64, codes: Mapping[str, I16] = MappingProxyType({})) -> None:
        """Add some rows: the identifier of each, null for a decoy or a dummy, and the record of the file.

        Numbers past the file's end are decoys, and after these dummies; shape (n_rows,). `codes` are by variable, where
        these are rows of codes that are kept.
        """
        table = identifiers.alias(_COLUMN).to_frame()
        table = table.with_columns(pl.Series(_CODE + name, of_rows) for name, of_rows in codes.items())
        if self._decoys:
            number = (pl.Series(order) - self._n_records).cast(pl.Int64)
            is_decoy = (number >= 0) & (number < self._decoys)
            table = table.with_columns(number.set(~is_decoy, None).alias(_DECOY))
        for begin in range(0, table.height, _ROWS_AT_ONCE):
            buffer = io.BytesIO()
            table.slice(begin, _ROWS_AT_ONCE).write_parquet(buffer, compression="zstd")
            self._write(len(buffer.getvalue()).to_bytes(_LENGTH_BYTES, "little") + buffer.getvalue())


def unpack_map(packed: bytes) -> pl.Series:
    """The identifiers in the order of the upload's rows, null for a decoy or a dummy; VAULT if the bytes are no map."""
    return _table(packed).get_column(_COLUMN)


def unpack_decoys(packed: bytes) -> pl.Series:
    """A number for the decoy that each row is, the same for its rows under all rules; null for other rows."""
    table = _table(packed)
    if _DECOY not in table.columns:
        return pl.repeat(None, table.height, dtype=pl.Int64, eager=True)
    return table.get_column(_DECOY)


def unpack_codes(packed: bytes) -> dict[str, I16]:
    """The codes of each row by variable, -1 where it has none; empty where none are kept."""
    table = _table(packed)
    names = [name for name in table.columns if name.startswith(_CODE)]
    return {name.removeprefix(_CODE): table[name].fill_null(-1).to_numpy().astype(np.int16) for name in names}


def _table(packed: bytes) -> pl.DataFrame:
    try:
        if not packed.startswith(_MARK):
            raise ValueError("another format")
        parts, begin = [], len(_MARK)
        while begin < len(packed):
            end = begin + _LENGTH_BYTES + int.from_bytes(packed[begin : begin + _LENGTH_BYTES], "little")
            parts.append(pl.read_parquet(io.BytesIO(packed[begin + _LENGTH_BYTES : end])))
            begin = end
        return pl.concat(parts, how="diagonal") if parts else pl.DataFrame(schema={_COLUMN: pl.String})
    except (pl.exceptions.PolarsError, ValueError):
        remedy = "restore the state folder from its backup"
        raise GemelError(ErrorCode.VAULT, "the pseudonym map is malformed", remedy=remedy) from None
