"""Attaching a custodian's own values to its links, on its own machine: labels and names never pass through Carole.

Both custodians' files are then joined by `link_id` by whoever may have them. Rows are in the order of their link ids,
which are random, and the custodian's own identifier is left out unless it is requested.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.records.registry import read_source
from gemel.common.records.sources import Source
from gemel.common.records.table import check_identifiers

LINK_COLUMNS = ("link_id", "link_probability")


def attach(
    links: Path, source: Source, identifier: str, columns: Sequence[str], out: Path, *, keep_identifier: bool = False
) -> int:
    """Write the links with the selected columns of their records; returns how many links.

    Parameters
    ----------
    links
        ``links.parquet`` of the results folder, or the folder.
    identifier
        The source's identifier column, as the specification names it.
    out
        A CSV or, by its suffix, a Parquet file; an existing one is not overwritten.

    Raises
    ------
    GemelError
        NOT_FOUND if a link's record is no longer in the source; SOURCE, FIELD_MISSING, DUPLICATE_IDENTIFIER as reading
        the source; CONFIGURATION if the links cannot be read or the file cannot be written; EXISTS.
    """
    selected = list(dict.fromkeys(columns))
    if clash := [name for name in selected if name in LINK_COLUMNS]:
        raise parameter("--columns", "a column has the same name as one of the links", clash[0])
    linked = _read_links(links)
    table = read_source(source, [identifier, *selected])
    identifiers = check_identifiers(table, identifier)
    own = table.frame.select(identifiers.alias("identifier"), *(pl.col(name).alias(f"own {name}") for name in selected))
    joined = linked.join(own, on="identifier", how="left", validate="m:1").sort("link_id")
    gone = linked.join(own, on="identifier", how="anti").height
    if gone:
        raise GemelError(
            ErrorCode.NOT_FOUND,
            "some linked records are no longer in the source",
            where=table.where,
            got=f"{gone} of {linked.height} links",
            remedy="use the source as it was when its signatures were uploaded",
        )
    first = [pl.col("identifier")] if keep_identifier else []
    shown = joined.select(*first, *LINK_COLUMNS, *(pl.col(f"own {name}").alias(name) for name in selected))
    _write(shown, out)
    return shown.height


def _read_links(path: Path) -> pl.DataFrame:
    file = path / "links.parquet" if path.is_dir() else path
    try:
        frame = pl.read_parquet(file, columns=["identifier", *LINK_COLUMNS])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "this file does not hold the links of a result",
            where=str(file),
            got=type(error).__name__,
            remedy="give the run's folder below the results folder; `status` shows it",
        ) from None
    return frame.with_columns(pl.col("identifier").cast(pl.String))


def _write(frame: pl.DataFrame, out: Path) -> None:
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise GemelError(
            ErrorCode.EXISTS, "the file exists already", where=str(out), remedy="give another name, or remove it"
        ) from None
    except OSError as error:
        raise GemelError(
            ErrorCode.CONFIGURATION,
            "the file cannot be written",
            where=str(out),
            got=(error.strerror or "output error").lower(),
        ) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            if out.suffix.lower() in (".parquet", ".pq"):
                frame.write_parquet(file)
            else:
                frame.write_csv(file)
    except BaseException:
        out.unlink(missing_ok=True)
        raise
