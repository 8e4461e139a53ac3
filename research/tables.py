"""Attribution risk: bounds from all two-way margins, SAP of tables of 12 to 1,000 cells, T11's table 1.

A number here is one machine's; what it means for a method (bounds proven tight, sampling error) is stated beside it.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations

import numpy as np

from gemel.risk.attribution.cell_bounds import bounds
from gemel.risk.attribution.laws import Conventional
from gemel.risk.attribution.release import Table
from gemel.risk.attribution.sap import sap
from gemel.risk.attribution.shuttle import lattice, shuttle
from research._thesis_tables import anonymous, exact_margins, total_sap


def bound_tables(seconds: float) -> None:
    """Shuttle alone, and shuttle followed by integer programming within a time limit."""
    print(f"Bounds from all two-way margins (counts Poisson, mean 5; {seconds:.0f} s allowed)")
    print(f"{'table':>6} {'cells':>6} {'recoded':>10} {'shuttle':>9} {'with programming':>17} {'proven tight':>13}")
    for name, shape in (("2^6", (2,) * 6), ("2^10", (2,) * 10), ("4^6", (4,) * 6)):
        truth = Table(anonymous(shape), np.random.default_rng(1).poisson(5, shape))
        release = exact_margins(truth, list(combinations(truth.names, 2)))
        begun = time.perf_counter()
        cells = lattice(release)
        settled = shuttle(release, cells)
        alone = time.perf_counter() - begun
        found = bounds(release, seconds=seconds)
        low, high = settled.base()
        assert (low <= truth.counts.ravel()).all()
        assert (found.lower <= truth.counts).all()
        assert (found.upper.ravel() <= high).all()
        proven = (found.lower_tight.mean() + found.upper_tight.mean()) / 2
        print(
            f"{name:>6} {release.cells:>6,} {cells.size:>10,} {alone:>8.2f}s {found.seconds:>16.2f}s {proven:>12.1%}",
            flush=True,
        )


def sap_curves() -> None:
    """All k at once, every cell published exactly (the dearest case: all cells count)."""
    print("\nSAP(0..N) of an exact table (counts 1 + Poisson, mean 2)")
    print(f"{'cells':>6} {'people':>7} {'all k':>9} {'SAP(1)':>8}")
    for cells in (12, 100, 1_000):
        counts = np.random.default_rng(2).poisson(2, cells) + 1
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            curve = sap(counts)
            times.append(time.perf_counter() - begun)
        print(f"{cells:>6,} {counts.sum():>7,} {min(times) * 1e3:>7.2f}ms {curve[1]:>8.4f}")


def table_1() -> None:
    """1,200 tables of 2 x 6, Poisson mean 2, conventional base 5 with a rounded total."""
    law = Conventional(5)
    tables = np.random.default_rng(3).poisson(2, (1_200, 12))
    begun = time.perf_counter()
    certain = 0
    for counts in tables:
        low, high = law.bounds((counts + 2) // 5 * 5)
        top = int(law.bounds((counts.sum() + 2) // 5 * 5)[1])
        curve = total_sap(counts, low, high, top)
        certain += bool(curve[min(24, len(curve) - 1)] > 1 - 1e-12)
    spent = time.perf_counter() - begun
    print(f"\nTable 1: 1,200 tables, all k, in {spent:.2f} s; SAP(24) = 1 for {certain} of them (861 printed)")


def main(arguments: list[str]) -> int:
    """Run all three."""
    parser = argparse.ArgumentParser(prog="python -m research tables", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time for the bounds of each table")
    options = parser.parse_args(arguments)
    bound_tables(options.seconds)
    sap_curves()
    table_1()
    return 0
