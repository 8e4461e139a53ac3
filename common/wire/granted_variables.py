"""Columns of a custodian's linked records on their way to a recipient (`release.variables`), as bytes.

Before it is sealed to the recipient, a message is::

    "gemel variables 1\n" | signature (64) | length (8) | content | zeros

The content is an uncompressed zip of Parquet tables: ``values.parquet``, with the id of a link, or of a pair in a drawn
linkage, and the granted columns as text; to an analyst, who has no share, also ``links.parquet`` and, with drawn
linkages, ``draws.parquet``, the sender's share without its identifiers. The rows are in the order of the ids, which are
random, so that their order discloses nothing of the file's.

The custodian signs it for one project, run, specification, sender and recipient: Carole, who passes it on, can neither
replace nor replay it. Zeros bring the length up to one of few [1]_, so that it shows little of what the
values are.

References
----------
.. [1] Nikitin, Barman, Lueks, Underwood, Hubaux, Ford, Reducing metadata leakage from encrypted files and
   communication with PURBs, PoPETs 2019(4), section 4. doi:10.2478/popets-2019-0056
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import SIGNATURE_BYTES, Identity, PublicIdentity, SigningPurpose
from gemel.common.keys.sealing import SealContext, seal
from gemel.common.keys.sealing_key import SealingKey, SealingPublicKey
from gemel.common.keys.suite import Suite
from gemel.common.parties import Side
from gemel.common.wire.signed_form import Forged, SignedForm

VALUES, LINKS, DRAWS = "values", "links", "draws"
ID = "id"
"""Of a link, or of a pair in a drawn linkage: the column of `VALUES` beside the granted ones."""

SHARE_SCHEMAS: Mapping[str, Mapping[str, pl.DataType]] = MappingProxyType(
    {
        LINKS: {"link_id": pl.String(), "link_probability": pl.Float64()},
        DRAWS: {"pair_id": pl.String(), "link_probability": pl.Float64(), "draw": pl.UInt32()},
    }
)
"""What an analyst receives beside the values."""

MAX_ROWS = 1 << 31
"""Of a table, for a recipient that cannot know how many there are."""

_FORM = SignedForm(b"gemel variables 1\n", SigningPurpose.VARIABLES)
_LENGTH_BYTES = 8
_SMALLEST = 4096
"""Bytes of the shortest message."""

_ID_FORM = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class VariablesContext:
    """What a message is bound to; it is not valid in any other."""

    project: str
    run: str
    sender: Side
    specification: bytes
    """Digest of the specification that the sender approved."""
    recipient: str
    suite: Suite = Suite.DEFAULT

    @property
    def sealing(self) -> SealContext:
        return SealContext(self.project, self.run, self.recipient, self.suite)

    @property
    def where(self) -> str:
        return f"project {self.project}, run {self.run}, columns of {self.sender.title()}"

    def parts(self, content: bytes) -> tuple[bytes, ...]:
        texts = (self.project, self.run, str(self.sender), self.recipient)
        return *(text.encode() for text in texts), self.specification, hashlib.sha256(content).digest()


@dataclass(frozen=True)
class Expected:
    """What a message must hold."""

    columns: Sequence[str]
    ids: pl.Series | None = field(default=None, repr=False)
    """Of the records whose values they are; None for a recipient that receives the ids with them."""
    tables: Sequence[str] = ()


def seal_variables(
    identity: Identity, key: SealingPublicKey, about: VariablesContext, tables: Mapping[str, pl.DataFrame]
) -> Iterable[bytes]:
    """A message, signed by the custodian and sealed to its recipient: `VALUES`, and to an analyst `LINKS`, perhaps
    `DRAWS`."""
    content = _archive(tables)
    head = b"".join(_FORM.signed(identity, about.parts, content)) + len(content).to_bytes(_LENGTH_BYTES, "big")
    size = len(head) + len(content)
    return seal(key, about.sealing, (head, content, bytes(padded_bytes(size) - size)))


def open_variables(
    key: SealingKey, custodian: PublicIdentity, about: VariablesContext, sealed: Iterable[bytes], expected: Expected
) -> dict[str, pl.DataFrame]:
    """Open a message with the recipient's key and verify the custodian's signature, by the membership list.

    Returns `VALUES`, with a row for each id and the columns `ID` and the granted ones as text, and the expected tables.
    Raises SEALED if it does not open; SIGNATURE if this custodian did not sign it for this context; UPLOAD_CORRUPT if
    the signed content has another form, other columns, or values of other records than expected.
    """
    forged = Forged(
        f"the columns that Carole passed on were not signed by {about.sender.title()} for this run and recipient",
        about.where,
        "they were replaced on their way: report it to Carole's operator and the custodian",
    )

    def content_of(rest: bytes) -> bytes | None:
        length = int.from_bytes(rest[:_LENGTH_BYTES], "big")
        end = _LENGTH_BYTES + length
        head = len(_FORM.mark) + SIGNATURE_BYTES
        is_whole = len(rest) >= _LENGTH_BYTES and head + len(rest) == padded_bytes(head + end)
        return rest[_LENGTH_BYTES:end] if is_whole and not any(rest[end:]) else None

    content = _FORM.open(
        key,
        custodian,
        about.sealing,
        about.parts,
        sealed,
        malformed=lambda got: _malformed(about, got),
        forged=forged,
        content_of=content_of,
    )
    return _unpacked(about, content, expected)


def padded_bytes(size: int) -> int:
    """The length to which a message of `size` bytes is brought: at most an eighth more, and never below 4096."""
    if size <= _SMALLEST:
        return _SMALLEST
    exponent = size.bit_length() - 1
    unit = 1 << (exponent - exponent.bit_length())
    return -(-size // unit) * unit


def _archive(tables: Mapping[str, pl.DataFrame]) -> bytes:
    archived = io.BytesIO()
    with zipfile.ZipFile(archived, "w", zipfile.ZIP_STORED) as archive:
        for name, table in tables.items():
            content = io.BytesIO()
            table.write_parquet(content)
            archive.writestr(f"{name}.parquet", content.getvalue())
    return archived.getvalue()


def _unpacked(about: VariablesContext, content: bytes, expected: Expected) -> dict[str, pl.DataFrame]:
    names = {f"{name}.parquet": name for name in (VALUES, *expected.tables)}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if sorted(entry.filename for entry in entries) != sorted(names):
                raise _malformed(about, "other tables than were granted")
            # Stored, not compressed: then no table is larger than the bytes received.
            if any(entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(content) for entry in entries):
                raise _malformed(about, "a compressed table")
            read = {name: archive.read(file) for file, name in names.items()}
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError):
        raise _malformed(about, "a damaged archive") from None
    schemas = {VALUES: dict.fromkeys((ID, *expected.columns), pl.String()), **SHARE_SCHEMAS}
    max_rows = MAX_ROWS if expected.ids is None else len(expected.ids)
    tables = {name: _table(about, table, schemas[name], max_rows) for name, table in read.items()}
    ids = tables[VALUES][ID]
    if ids.null_count() or not ids.str.contains(_ID_FORM).all() or ids.n_unique() != len(ids):
        raise _malformed(about, "rows without an id, or several of one")
    due = (
        expected.ids if expected.ids is not None else pl.concat([tables[name].to_series(0) for name in expected.tables])
    )
    if set(due.to_list()) != set(ids.to_list()):
        known = due.n_unique()
        raise _malformed(about, f"values of {len(ids)} links, of {known} that there are, or of other links")
    if any(not _sound(tables[name]) for name in expected.tables):
        raise _malformed(about, "links without a probability")
    return tables


def _table(about: VariablesContext, content: bytes, schema: Mapping[str, pl.DataType], max_rows: int) -> pl.DataFrame:
    try:
        scan = pl.scan_parquet(io.BytesIO(content))
        if list(scan.collect_schema().items()) != list(schema.items()):
            raise _malformed(about, "other columns than were granted")
        # The footer holds the number of rows, which is checked before any is decoded.
        if (count := scan.select(pl.len()).collect().item()) > max_rows:
            raise _malformed(about, f"{count} rows, of {max_rows} links that there are")
        return scan.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _malformed(about, "a table that is no Parquet file") from None


def _sound(table: pl.DataFrame) -> bool:
    there = not any(table.null_count().row(0))
    return there and bool(table["link_probability"].is_between(0, 1).all())


def _malformed(about: VariablesContext, got: str) -> GemelError:
    what = "the columns sent by the custodian do not have the expected form"
    remedy = "run the same version of Gemel everywhere; if you do, report it to the custodian"
    return GemelError(ErrorCode.UPLOAD_CORRUPT, what, where=about.where, got=got, remedy=remedy)
