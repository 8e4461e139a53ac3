"""Releases from CSV text: a row for each published cell, with its levels and its count.

Columns are variables, then ``count`` (empty for a withheld one), or ``lower`` and ``upper`` for ranges. A level called
``Total`` (or as given) makes the row a cell of a margin. Text in, dictionaries out: opening files is the command's
work.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from gemel.common.errors import ErrorCode, GemelError


def tables_of_csv(
    text: str, name: str, protection: Any = None, total: str = "Total", known: dict[str, list[str]] | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read published cells.

    Parameters
    ----------
    text
        The file's text, with a header.
    name
        Of the table; margins are called after it.
    protection
        Document of the law of the counts.
    total
        The level that means a variable is summed out.
    known
        Levels of each variable, in order, where they are declared; otherwise in order of appearance.

    Returns
    -------
    variables, tables
        Documents for `documents.release_of`.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows:
        raise GemelError(ErrorCode.SOURCE, "the file has no rows", where=name)
    header = [str(h) for h in rows[0]]
    ranged = "lower" in header and "upper" in header
    if "count" not in header and not ranged:
        raise GemelError(
            ErrorCode.SOURCE, "a column `count`, or `lower` and `upper`, is needed", where=name, got=", ".join(header)
        )
    names = [h for h in header if h not in ("count", "lower", "upper")]
    levels: dict[str, list[str]] = {n: list((known or {}).get(n, [])) for n in names}
    margins: dict[tuple[str, ...], dict[tuple[str, ...], Any]] = {}
    for number, row in enumerate(rows, start=2):
        own = tuple(n for n in names if (row[n] or "") != total)
        cell = tuple(row[n] or "" for n in own)
        for n, level in zip(own, cell, strict=True):
            if level not in levels[n]:
                if known and n in known:
                    raise GemelError(
                        ErrorCode.SOURCE,
                        f"a level that variable {n!r} does not have",
                        where=f"{name}, line {number}",
                        remedy=f"its levels are: {', '.join(known[n])}",
                    )
                levels[n].append(level)
        cells = margins.setdefault(own, {})
        if cell in cells:
            raise GemelError(ErrorCode.SOURCE, "a cell appears twice", where=f"{name}, line {number}")
        cells[cell] = _value(row, ranged, f"{name}, line {number}")
    tables = []
    for own, cells in margins.items():
        shown = name if len(own) == len(names) else f"{name}: {', '.join(own) or 'total'}"
        tables.append({"name": shown, "variables": list(own), "counts": _nested(own, levels, cells)})
        if protection is not None:
            tables[-1]["protection"] = protection
    return [{"name": n, "levels": levels[n]} for n in names], tables


def _value(row: dict[str, str], ranged: bool, where: str) -> Any:
    try:
        if ranged and (row.get("lower") or row.get("upper")):
            return {"low": int(row["lower"]), "high": int(row["upper"])}
        return int(row["count"]) if row.get("count") else None
    except ValueError as error:
        raise GemelError(
            ErrorCode.SOURCE, "a count must be a whole number, or empty when withheld", where=where
        ) from error


def _nested(own: tuple[str, ...], levels: dict[str, list[str]], cells: dict[tuple[str, ...], Any]) -> Any:
    """Nest cells by variable. A cell that a full table does not list is empty; one that a margin does not, withheld."""
    whole = len(own) == len(levels) and not any(v is None for v in cells.values())
    absent = 0 if whole else None

    def walk(chosen: tuple[str, ...]) -> Any:
        if len(chosen) == len(own):
            return cells.get(chosen, absent)
        return [walk((*chosen, level)) for level in levels[own[len(chosen)]]]

    return walk(())
