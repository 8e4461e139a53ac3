"""Secondary suppression of magnitude tables: cells, attacks, what is withheld beside the risky cells, and how long.

``python -m benchmarks magnitude --seconds 20``
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from gemel.risk.magnitude.assessment import Choice, assess
from gemel.risk.magnitude.rules import MinimumFrequency, PriorPosterior, contributions
from gemel.risk.magnitude.tables import Classification, LinkedTables

TABLES = (((4, 12), 200), ((4, 4, 3), 200), ((10, 12), 600), ((8, 8, 6), 2_500), ((30, 40), 6_000))
"""Levels of each variable, and records."""


def main(arguments: list[str]) -> int:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks magnitude", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="allowed for the exact method, each table")
    options = parser.parse_args(arguments)
    print("Log-normal amounts of units with one record on average; 3 contributors, p = 10; insiders attack")
    print("     table  cells  risky  attacks  secondary  above the bound  method             processor")
    for number, (shape, records) in enumerate(TABLES):
        generator = np.random.default_rng(number + 1)
        variables = [Classification.of(f"v{v}", [f"l{k}" for k in range(n)]) for v, n in enumerate(shape)]
        tables = LinkedTables.of(variables, [[c.name for c in variables]])
        nodes = np.stack([generator.integers(1, n + 1, records) for n in shape], axis=1)
        amounts = np.exp(generator.normal(5, 1.5, records)).round()
        found = contributions(tables, nodes, amounts, generator.integers(0, records, records))
        started = time.process_time()
        made = assess(tables, found, (MinimumFrequency(3), PriorPosterior(10.0)), Choice(seconds=options.seconds))
        spent = time.process_time() - started
        chosen, cells = made["suppression"], made["cells"]
        above = f"{chosen['cost'] / chosen['bound'] - 1:.1%}" if chosen["bound"] else "-"
        attacks = sum(made["attacks"].values())
        print(
            f"{'x'.join(map(str, shape)):>10s} {cells['all']:6,} {cells['primary']:6,} {attacks:8,}"
            f" {cells['secondary']:10,} {above:>16s}  {chosen['method']:17s} {spent:9.1f}s"
        )
        if made["breaches"] or made["recovered"]:
            raise AssertionError("an attack succeeds against the result")
    return 0
