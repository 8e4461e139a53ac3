"""SUDA: seconds for 50,000 records with 8, 10, 12 keys; growth with records to 1,000,000 and with keys to 20.

Two kinds of file: `survey` (few levels, dependent keys, as household surveys are) and `sparse` (most records unique).
The work grows with the minimal sample uniques, so their number is printed beside the time. Each time is the best of
three; processor seconds of all threads beside it, since a busy machine stretches the others.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda import minimal_uniques

# sdcMicro in C++ on a similar file of 50,000 records and two such cores, as measured before: seconds by number of keys.
PEER = {8: 0.31, 10: 0.82, 12: 1.31}

_SURVEY = (2, 5, 3, 9, 4, 9, 2, 6, 3, 4, 2, 5, 3, 2, 4, 6, 3, 2, 5, 4)
_SPARSE = (2, 9, 17, 8, 4, 7, 5, 6, 3, 10, 4, 12, 3, 2, 5, 8, 6, 4, 7, 3)


def records(kind: str, n: int, keys: int, seed: int = 1) -> KeyFile:
    """A file drawn from a mixture of 12 classes of people."""
    rng = np.random.default_rng(seed)
    levels, spread = (_SURVEY, 0.25) if kind == "survey" else (_SPARSE, 0.4)
    group = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    columns = {}
    for q, size in enumerate(levels[:keys]):
        cumulative = rng.dirichlet(np.full(size, spread), 12).cumsum(axis=1)
        values = (rng.random(n)[:, None] > cumulative[group]).sum(axis=1)
        columns[f"k{q:02d}"] = np.minimum(values, size - 1)
    file = KeyFile.from_columns(columns, 0.05)
    _ = file.sizes, file.uniques  # coded and counted beforehand
    return file


def timed(file: KeyFile, maximum: int | None = None, repeats: int = 3) -> tuple[float, float, int]:
    """Best time by the clock and by the processors, and the number of minimal sample uniques."""
    best, spent, number = np.inf, np.inf, 0
    for _ in range(repeats):
        begun, used = time.perf_counter(), time.process_time()
        number = len(minimal_uniques(file, maximum).subsets)
        best = min(best, time.perf_counter() - begun)
        spent = min(spent, time.process_time() - used)
    return best, spent, number


def row(kind: str, n: int, keys: int, maximum: int | None, repeats: int = 3) -> None:
    """Measure and print."""
    file = records(kind, n, keys)
    seconds, spent, number = timed(file, maximum, repeats)
    against = ""
    if n == 50_000 and maximum is None and keys in PEER:
        against = f"{seconds / PEER[keys]:6.2f} x {PEER[keys]} s"
    print(
        f"{kind:7s} {n:>9,} {keys:>5} {'any' if maximum is None else maximum:>5} {len(file.uniques):>9,} {number:>10,} "
        f"{seconds:>8.2f} {spent:>9.2f} {against}",
        flush=True,
    )


def main(arguments: list[str]) -> int:
    """Run all, or without the long ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks risk", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only 50,000 records")
    options = parser.parse_args(arguments)
    minimal_uniques(records("survey", 1_000, 4))  # compiled
    print(
        f"{'file':7s} {'records':>9} {'keys':>5} {'size':>5} {'unique':>9} {'MSUs':>10} "
        f"{'seconds':>8} {'processor':>9} beside the peer"
    )
    for kind in ("survey", "sparse"):
        for keys in (8, 10, 12):
            row(kind, 50_000, keys, None)
    if options.quick:
        return 0
    for n in (10_000, 100_000, 300_000, 1_000_000):
        row("survey", n, 10, None)
    for keys in (12, 14, 16, 18, 20):
        row("survey", 50_000, keys, 4)
    row("survey", 1_000_000, 20, 3, repeats=1)
    return 0
