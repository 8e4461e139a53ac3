"""The log of a protection, which may go with the protected file, and whether a file is still what its log describes.

It holds what was done to which variable and how many values changed, the codebook of the published keys, and a digest
of the published values. It holds no value that the protected file does not show, nothing of the original file but the
number of its records, and no seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.coding import text_of
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.protection.candidate import Candidate
from gemel.risk.protection.changes import Change
from gemel.risk.protection.request import Request

DOCUMENT, VERSION = "gemel-protection", 1


def log_of(
    frame: pl.DataFrame, request: Request, chosen: Candidate, changes: Sequence[Change], decision: Mapping[str, Any]
) -> dict[str, Any]:
    """The log of a file that is published, with what judged it (`policy_decision`) but for the file before."""
    codebook = {}
    for name, level in zip(request.keys, chosen.node, strict=True):
        if name in frame.columns:
            column = text_of(frame[name], request.missing_values)
            categories = sorted(column.drop_nulls().unique().to_list())
            codebook[name] = {"level": level, "categories": categories, "missing_or_suppressed": column.null_count()}
    return {
        "document": DOCUMENT,
        "version": VERSION,
        "records": frame.height,
        "columns": frame.columns,
        "missing": request.missing,
        "missing_values": list(request.missing_values),
        "fraction": request.fraction,
        "policy": request.policy.limits,
        "reached": {
            "k": chosen.risk.k,
            "correct_matches": chosen.risk.correct_matches,
            "record_risk": chosen.risk.record_risk,
            "suppressed": chosen.share_suppressed,
        },
        "policy_decision": {
            "by": decision["by"],
            "limits": [{"limit": row["limit"], **row["after"]} for row in decision["limits"]],
            "why": decision["why"].get("after", ""),
        },
        "changes": [asdict(c) for c in changes],
        "codebook": codebook,
        "values": values_digest(frame),
    }


def values_digest(frame: pl.DataFrame) -> str:
    """SHA-256 of the columns' names and values as text, in their order; the same as CSV and as Parquet."""
    found = hashlib.sha256()
    for name in frame.columns:
        found.update(f"{len(name)}:{name}\n".encode())
        for value in text_of(frame[name], ("",)).to_list():
            found.update(b"-\n" if value is None else f"{len(value)}:{value}\n".encode())
    return found.hexdigest()


def verify(frame: pl.DataFrame, log: Mapping[str, Any], where: str) -> list[GemelError]:
    """How a file differs from what its log describes; nothing where it does not."""
    if log.get("document") != DOCUMENT or log.get("version") != VERSION:
        got = f"document {log.get('document')!r}, version {log.get('version')!r}"
        remedy = "give the file that `gemel risk protect --log` wrote"
        what = "this is not the log of a protection"
        raise GemelError(ErrorCode.MALFORMED, what, where="--verify", got=got, remedy=remedy)
    try:
        return _differences(frame, log, where)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = "the log lacks an entry, or has one of another kind"
        raise GemelError(ErrorCode.MALFORMED, what, where="--verify") from error


def _differences(frame: pl.DataFrame, log: Mapping[str, Any], where: str) -> list[GemelError]:
    found: list[GemelError] = []

    def differs(what: str, got: str, place: str = where, remedy: str = "") -> None:
        found.append(GemelError(ErrorCode.SOURCE, what, where=place, got=got, remedy=remedy))

    if frame.height != log["records"]:
        differs(f"the log describes {log['records']:,} records", f"{frame.height:,}")
    if frame.columns != log["columns"]:
        extra = [c for c in frame.columns if c not in log["columns"]]
        gone = [c for c in log["columns"] if c not in frame.columns]
        differs("the columns are not the log's", f"{len(extra)} others ({', '.join(extra)}), without {', '.join(gone)}")
    for name, own in log["codebook"].items():
        if name not in frame.columns:
            continue
        place, column = f"{where}, column {name}", text_of(frame[name], log["missing_values"])
        unknown, gone = column.drop_nulls().is_in(own["categories"]), own["missing_or_suppressed"]
        if not unknown.all():
            remedy = "protect the original again: what was not recoded is not protected"
            number = int((~unknown).sum())
            differs("the file has values that are not in its codebook", f"{number} such values", place, remedy)
        if column.null_count() != gone:
            differs(f"the log has {gone} missing or suppressed values", str(column.null_count()), place)
    keys = [name for name in log["codebook"] if name in frame.columns]
    k = log["policy"].get("k")
    if keys and frame.height and k is not None:
        columns, how = {name: frame[name] for name in keys}, {of: log[of] for of in ("missing", "missing_values")}
        fewer = int((KeyFile.from_columns(columns, log["fraction"], **how).frequency < k).sum())
        if fewer:
            differs(f"every record must agree with {k} records", f"{fewer} records that agree with fewer")
    if not found and values_digest(frame) != log["values"]:
        differs("values are not those that were written", "another digest of the values", remedy="write the file again")
    return found
