"""This custodian's share of a result, as Carole sealed it: bounds are checked before its contents are used.

A share is an uncompressed zip of ``statistics.json`` and of the tables that were granted: ``links.parquet``, and
``pairs.parquet`` with every pair that came near to a link. A table has ``row`` (the place in this custodian's upload),
an id (random, the same for both custodians) and the pair's link probability; of the pairs, also whether it is a link.
In mode block_keyed the place of these tables and of the draws is taken by ``resolved.bin`` and ``rows.bin``
(`resolved_tables`).
``copies.parquet`` names the custodian's own records that counted as one person, of which one is linked;
``entities.parquet``, under the assignment clusters, the entity of each own record that is linked or has a copy.
``draws.parquet`` has for each link of each drawn linkage the row, the pair's id, the number of the draw and the pair's
link probability.
Where it was granted there is also ``joint.json``, the joint distribution of both files' variables in codes.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from gemel.common.documents.document import CLASSES, EXACT, Provenance
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Side
from gemel.common.specification import Specification, encoding_digest, specification_digest
from gemel.common.specification.model.protection import CoarseningStep, step_name
from gemel.common.specification.model.section import folded_label
from gemel.custodian.encoding.categories import Coarsening

MAX_STATISTICS_BYTES = 64 << 20
MAX_PAIRS_PER_ROW = 10_000
"""A row may have several links without one-to-one assignment, and many pairs near a link, but never this many."""
STATISTICS = "statistics.json"
JOINT = "joint.json"
ROWS = "rows.bin"
RESOLVED = "resolved.bin"
_PROBABILITY = "link_probability"
_ROW = {"row": pl.UInt32()}
_VALUES = {_PROBABILITY: pl.Float64()}
SCHEMAS: Mapping[str, Mapping[str, pl.DataType]] = {
    "links": {**_ROW, "link_id": pl.String(), **_VALUES},
    "pairs": {**_ROW, "pair_id": pl.String(), **_VALUES, "linked": pl.Boolean()},
    "copies": {**_ROW, "copy_id": pl.String()},
    "entities": {**_ROW, "entity_id": pl.String()},
    "draws": {**_ROW, "pair_id": pl.String(), "draw": pl.UInt32(), "link_probability": pl.Float64()},
}
_ID = r"^[0-9a-f]{16}$"


@dataclass(frozen=True)
class Share:
    """The contents of a share."""

    tables: dict[str, pl.DataFrame] = field(repr=False)
    """By name and by pseudonym; none when statistics only were granted."""
    statistics: dict[str, Any]
    joint: dict[str, Any] | None = field(default=None, repr=False)
    """The joint distribution, in codes, where it was granted."""
    rows: bytes | None = field(default=None, repr=False)
    """In mode block_keyed, where pairs were granted: the request for handles whose pairs the resolver names."""
    resolved: bytes | None = field(default=None, repr=False)
    """And what the resolver has sealed to this custodian."""


def read_share(path: Path, n_rows: int) -> Share:
    files = {f"{name}.parquet": name for name in SCHEMAS}
    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if STATISTICS not in entries or not entries.keys() <= {STATISTICS, JOINT, ROWS, RESOLVED, *files}:
                raise malformed("other files than statistics and the tables that can be granted")
            if (ROWS in entries) != (RESOLVED in entries) or (RESOLVED in entries and entries.keys() & files.keys()):
                raise malformed("a resolver's pairs without their rows, or beside tables of Carole's")
            for entry in entries.values():
                # Stored, not compressed: then no file in it is larger than the bytes received.
                if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
                    raise malformed("a compressed file")
            if any(entries[name].file_size > MAX_STATISTICS_BYTES for name in (STATISTICS, JOINT) if name in entries):
                raise malformed(f"statistics longer than {MAX_STATISTICS_BYTES} bytes")
            statistics = json.loads(archive.read(STATISTICS))
            if not isinstance(statistics, dict):
                raise malformed("statistics that are not an object")
            joint = json.loads(archive.read(JOINT)) if JOINT in entries else None
            if joint is not None and not isinstance(joint, dict):
                raise malformed("a joint distribution that is not an object")
            tables = {
                name: _read_table(archive.read(file), name, n_rows) for file, name in files.items() if file in entries
            }
            rows, resolved = (archive.read(name) if name in entries else None for name in (ROWS, RESOLVED))
    except (zipfile.BadZipFile, ValueError, RecursionError, NotImplementedError, RuntimeError, EOFError):
        raise malformed("a damaged archive") from None
    return Share(tables, statistics, joint, rows, resolved)


def identified(table: pl.DataFrame, identifiers: pl.Series) -> pl.DataFrame:
    """A table with the custodian's own identifier in the place of the pseudonym, in the order of its ids.

    Rows of dummies, which have no identifier, are left out. Columns: identifier, the id, and what else the table has.
    """
    own = identifiers.gather(table.get_column("row")).alias("identifier")
    with_own = table.drop("row").insert_column(0, own).drop_nulls("identifier")
    return with_own.sort(*(["draw"] if "draw" in with_own.columns else []), with_own.columns[1])


def _read_table(content: bytes, name: str, n_rows: int) -> pl.DataFrame:
    try:
        scan = pl.scan_parquet(io.BytesIO(content))
        schema = dict(scan.collect_schema())
        if schema != SCHEMAS[name]:
            raise malformed(f"{name} with other columns")
        scan = scan.select(*SCHEMAS[name])
        # The footer holds the number of rows, which is checked before any is decoded.
        if (count := scan.select(pl.len()).collect().item()) > n_rows * MAX_PAIRS_PER_ROW:
            raise malformed(f"{count} {name} of {n_rows} rows")
        table = scan.collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise malformed(f"{name} that are not a Parquet file") from None
    good = table.select(
        rows=(pl.col("row") < n_rows).all(),
        ids=pl.col(table.columns[1]).str.contains(_ID).all(),
        there=pl.all_horizontal(pl.all().is_not_null()).all(),
        likely=(pl.col(_PROBABILITY).is_between(0, 1) if _PROBABILITY in table.columns else pl.lit(True)).all(),
    )
    if not all(good.row(0)):
        raise malformed(f"{name} of rows that were not uploaded, or without an id or a number")
    return table


def malformed(got: str, what: str = "the share of the result does not have the expected form") -> GemelError:
    """The refusal (SEALED) of what Carole has put into a share."""
    remedy = "run the same version of Gemel as Carole; if you do, report it to her operator"
    return GemelError(ErrorCode.SEALED, what, where="share", got=got, remedy=remedy)


def safe_name(name: str) -> str:
    """A run's name, if it can be a folder's name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise parameter("FETCH task", "a run's name has 1 to 64 letters, digits, _ and -", f"{len(name)} characters")
    return name


# The statistics name the step by which a variable is coarsened where a limit was breached. Values never leave a
# custodian with its links: whoever uses the linked records joins them with the file that is written here.

COARSENING = "coarsening.csv"


def coarsened_variables(statistics: Mapping[str, Any], spec: Specification) -> dict[str, Coarsening]:
    """The step of each variable that is released coarsened."""
    listed = statistics.get("coarsened")
    if listed is None:
        return {}
    found: dict[str, Coarsening] = {}
    for item in listed if isinstance(listed, list) else [None]:
        name = str(item.get("variable")) if isinstance(item, dict) else ""
        steps = {step_name(step): step for step in spec.coarsenings(name)}
        step = steps.get(str(item.get("coarsening"))) if isinstance(item, dict) else None
        if step is None or name in found:
            what = "the result is coarsened in a way that the approved specification does not allow"
            raise malformed("a variable twice" if name in found else "another one", what)
        found[name] = step
    return found


def coarsening_table(steps: Mapping[str, Coarsening], spec: Specification) -> pl.DataFrame:
    """Every category of the coarsened variables with what it is released as."""
    rows = [
        (name, label, step.group_of[folded_label(label)] if isinstance(step, CoarseningStep) else None)
        for name, step in steps.items()
        for label in spec.variable(name).categories
    ]
    columns = {"variable": pl.String, "category": pl.String, "released_as": pl.String}
    return pl.DataFrame(rows, schema=columns, orient="row")


def run_provenance(spec: Specification, run: str, table: str, sides: Iterable[Side], *, exact: bool) -> Provenance:
    """The provenance of a table that is made now, of the identifiers or variables of some sides."""
    content = {
        "project": spec.project,
        "run": run,
        "table": table,
        "sides": [str(side) for side in sides],
        "specification_digest": specification_digest(spec).hex(),
        "encoding_digest": encoding_digest(spec).hex(),
        "assignment": spec.links.assignment,
        "exact": exact,
        "probabilities": EXACT if exact else CLASSES,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("gemel"),
    }
    return Provenance.of(content, "provenance")
