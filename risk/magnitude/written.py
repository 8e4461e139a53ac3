"""The protected table as a file for publication."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gemel.common.durable import write_text
from gemel.risk.magnitude.assessment import table_values
from gemel.risk.magnitude.contributors import Contributions
from gemel.risk.magnitude.tables import LinkedTables


def write_table(path: Path, tables: LinkedTables, found: Contributions, assessment: Mapping[str, Any]) -> None:
    """Write every cell as a row: the level of each variable, ``Total`` for a sum, and the value, empty where withheld.

    `reader.read_published` reads it.
    """
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*(c.name for c in tables.classifications), "value"])
    for row in table_values(tables, found, assessment):
        value = row.pop("value")
        rows.writerow([*row.values(), "" if value is None else f"{value:.15g}"])
    write_text(path, text.getvalue())
