"""Make the table of name frequencies that the package ships.

The sources are two files of the 1990 census of the United States: surnames (name, per cent, cumulative per cent,
rank; blank separated) and first names (CSV with name, gender, frequency). The surname file prints shares to three
decimals, so four names in five read 0.000; the cumulative column still distinguishes them. Ranks are therefore cut
into blocks that grow by a twentieth with the rank, and the names of a block get its mean share, taken from the rise
of the cumulative column. That keeps the skew of the head and the slope of the tail, and lets the names of one weight
be sorted, which is what makes 40,000 of them fit in some hundred kilobytes.

The result is a CSV file compressed by xz, with the columns group, weight and names, a row per weight. Within a row
a name is written as the number of letters it shares with the one before (one digit) and its remaining letters.
Weights count people in ten million.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

#: Surnames kept: what fits in about a hundred kilobytes, 84 per cent of the people counted.
SURNAMES_KEPT = 40_000

PER_CENT = 100_000  # people in ten million

_GROWTH = 0.05


def front_code(names: Sequence[str]) -> str:
    """Write sorted `names` one after the other, each as a shared-prefix digit and its remaining letters."""
    written = []
    before = ""
    for name in names:
        shared = 0
        while shared < min(len(before), len(name), 9) and before[shared] == name[shared]:
            shared += 1
        written.append(f"{shared}{name[shared:]}")
        before = name
    return "".join(written)


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < n:
        end = min(n, start + max(1, int(_GROWTH * start)))
        yield start, end
        start = end


def surname_lines(path: Path, kept: int = SURNAMES_KEPT) -> list[str]:
    """Weight and names of each block of surnames, commonest first."""
    rows = [line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    names = [row[0].lower() for row in rows]
    cumulative = [0.0, *(float(row[2]) for row in rows)]
    lines = []
    for start, end in _blocks(min(kept, len(names))):
        weight = max(1, round((cumulative[end] - cumulative[start]) / (end - start) * PER_CENT))
        lines.append(f"{weight},{front_code(sorted(names[start:end]))}")
    return lines


def first_name_lines(path: Path, gender: str) -> list[str]:
    """Weight and names of each share of one `gender` (``female`` or ``male``), commonest first."""
    by_weight: dict[int, list[str]] = defaultdict(list)
    with path.open(encoding="ascii", newline="") as file:
        for row in csv.DictReader(file):
            if row["gender"] == gender:
                by_weight[max(1, round(float(row["frequency"]) * PER_CENT))].append(row["name"].lower())
    return [f"{weight},{front_code(sorted(by_weight[weight]))}" for weight in sorted(by_weight, reverse=True)]


def compile_table(surnames: Path, first_names: Path) -> bytes:
    """Compress the two sources into the table; the same sources give the same text."""
    groups = {"surname": surname_lines(surnames)}
    for gender in ("female", "male"):
        groups[gender] = first_name_lines(first_names, gender)
    lines = ["group,weight,names", *(f"{group},{line}" for group, lines in groups.items() for line in lines)]
    return lzma.compress(("\n".join(lines) + "\n").encode("ascii"), preset=9 | lzma.PRESET_EXTREME)


def main() -> None:
    """Command line: SURNAMES FIRSTNAMES OUT."""
    parser = argparse.ArgumentParser(description="Make the table of name frequencies that the package ships.")
    parser.add_argument("surnames", type=Path, help="surnames: name, per cent, cumulative per cent, rank")
    parser.add_argument("first_names", type=Path, help="first names: CSV with name, gender, frequency")
    parser.add_argument("out", type=Path, help="the table to write")
    arguments = parser.parse_args()
    table = compile_table(arguments.surnames, arguments.first_names)
    arguments.out.write_bytes(table)
    sys.stdout.write(f"{arguments.out}: {len(table)} bytes\n")


if __name__ == "__main__":
    main()
