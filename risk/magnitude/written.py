"""The protected table as a file for publication."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tryst.risk.magnitude.assessment import table_values
from tryst.risk.magnitude.contributors import Contributions
from tryst.risk.magnitude.tables import LinkedTables


def write_table(path: Path, tables: LinkedTables, found: Contributions, assessment: Mapping[str, Any]) -> None:
    """Write every cell as a row: the level of each variable, ``Total`` for a sum, and the value, empty where withheld.

    `reader.read_published` reads it.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([*(c.name for c in tables.classifications), "value"])
        for row in table_values(tables, found, assessment):
            value = row.pop("value")
            rows.writerow([*row.values(), "" if value is None else f"{value:.15g}"])
