"""This custodian's share of a result, as Carole sealed it: read with bounds before any of it is believed.

A share is an uncompressed zip of ``statistics.json`` and, when links are granted, ``links.parquet`` with the columns
``row`` (the place in this custodian's upload), ``link_id`` (random, the same for both custodians), and the three
numbers of the link. When pairs are granted, ``pairs.parquet`` holds the same of every pair that came near to a link,
under a ``pair_id``, and whether it is ``linked``.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from common.errors import ErrorCode, TrystError

MAX_STATISTICS_BYTES = 64 << 20
MAX_LINKS_PER_ROW = 1000
"""Without one-to-one assignment a row can have several links; more than this is no linkage."""

LINKS = "links.parquet"
PAIRS = "pairs.parquet"
STATISTICS = "statistics.json"

_NUMBERS = ("match_probability", "link_probability", "match_weight")
_SCHEMAS = {
    LINKS: {"row": pl.UInt32(), "link_id": pl.String(), **dict.fromkeys(_NUMBERS, pl.Float64())},
    PAIRS: {
        "row": pl.UInt32(),
        "pair_id": pl.String(),
        **dict.fromkeys(_NUMBERS, pl.Float64()),
        "linked": pl.Boolean(),
    },
}
_ID = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class Share:
    """What was in a share."""

    tables: dict[str, pl.DataFrame]
    """By file name, with pseudonyms; empty when statistics only were granted."""
    statistics: dict[str, Any]

    @property
    def n_links(self) -> int:
        """Number of links of this custodian's rows."""
        return self.tables[LINKS].height if LINKS in self.tables else 0


def read_share(path: Path, n_rows: int) -> Share:
    """Read an opened share.

    Parameters
    ----------
    n_rows
        Rows of this custodian's upload.

    Raises
    ------
    TrystError
        SEALED if the share is not of the form above, or names rows that were never uploaded.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if STATISTICS not in entries or not entries.keys() <= {STATISTICS, *_SCHEMAS}:
                raise _malformed(f"{len(entries)} files, or others than {STATISTICS}, {LINKS} and {PAIRS}")
            for entry in entries.values():
                # Stored, not compressed: then nothing in it is longer than what came over the wire.
                if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > path.stat().st_size:
                    raise _malformed("a compressed file")
            if entries[STATISTICS].file_size > MAX_STATISTICS_BYTES:
                raise _malformed(f"statistics longer than {MAX_STATISTICS_BYTES} bytes")
            statistics = json.loads(archive.read(STATISTICS))
            if not isinstance(statistics, dict):
                raise _malformed("statistics that are no object")
            tables = {name: _read_table(name, archive.read(name), n_rows) for name in _SCHEMAS if name in entries}
    except (zipfile.BadZipFile, ValueError, RecursionError, NotImplementedError, EOFError):
        raise _malformed("a damaged archive") from None
    return Share(tables, statistics)


def identified(table: pl.DataFrame, identifiers: pl.Series) -> pl.DataFrame:
    """A share's table with the custodian's own identifier in the place of the pseudonym, in the order of its ids.

    Returns
    -------
    DataFrame
        Columns identifier, link_id or pair_id, match_probability, link_probability, match_weight, and for pairs linked.
    """
    own = identifiers.gather(table.get_column("row")).alias("identifier")
    return table.drop("row").insert_column(0, own).sort(pl.nth(1))


def _read_table(name: str, content: bytes, n_rows: int) -> pl.DataFrame:
    try:
        scan = pl.scan_parquet(io.BytesIO(content))
        if dict(scan.collect_schema()) != _SCHEMAS[name]:
            raise _malformed(f"{name} with other columns")
        # The footer tells the number of rows before any is decoded.
        if (count := scan.select(pl.len()).collect().item()) > n_rows * MAX_LINKS_PER_ROW:
            raise _malformed(f"{count} pairs of {n_rows} rows in {name}")
        table = scan.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _malformed(f"{name} that is no Parquet file") from None
    good = table.select(
        rows=(pl.col("row") < n_rows).all(),
        ids=pl.nth(1).str.contains(_ID).all(),
        there=pl.all_horizontal(pl.all().is_not_null()).all(),
        finite=pl.all_horizontal(pl.col(_NUMBERS).is_finite()).all(),
    )
    if not all(good.row(0)):
        raise _malformed(f"{name} with rows that were not uploaded, or without an id or a number")
    return table


def _malformed(got: str) -> TrystError:
    return TrystError(
        ErrorCode.SEALED,
        "the share of the result is not of the form both sides agreed on",
        where="share",
        got=got,
        remedy="run the same version of Tryst as Carole; if you do, tell her operator",
    )


def safe_name(name: str) -> str:
    """A run's name, if it can be a folder's name.

    Raises
    ------
    TrystError
        PARAMETER otherwise.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise TrystError(
            ErrorCode.PARAMETER,
            "a run's name has 1 to 64 letters, digits, _ and -",
            where="FETCH task",
            got=f"{len(name)} characters",
        )
    return name
