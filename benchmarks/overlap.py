"""Files that have few, some and many people in common: ``python -m benchmarks overlap``.

Invented people with families, linked by the draft as it comes. Beside the precision and the number of matches that the
model claims stands what is true. Means over seeds with 95 % intervals; *worst* is the seed with the lowest precision.
Few people in common is where a household is most easily taken for a person; *kin* is a population all of whose
families are in the files.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from benchmarks._in_process import JudgedLinks, linked
from gemel.coordinator.demonstration.people import two_files

ROWS = (
    (1000, 0, 0.05), (1000, 10, 0.05), (1000, 50, 0.05), (1000, 400, 0.05), (1000, 1000, 0.05),
    (5000, 0, 0.05), (5000, 50, 0.05), (5000, 250, 0.05), (5000, 2500, 0.05), (5000, 5000, 0.05),
    (1000, 100, 1.0), (5000, 250, 1.0), (5000, 2500, 1.0),
)  # fmt: skip
"""Records in each file, people in common, and the share of the population that is in the files."""

HEAD = (
    "| records | in common | kin | links | precision | claimed | worst | recall | claimed | F1 | probabilities |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def main(arguments: list[str]) -> int:
    """Print a row for each overlap."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks overlap", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="pairs of files of each kind")
    parser.add_argument("--errors", type=float, default=0.2, help="share of records with errors")
    parser.add_argument("--records", type=int, default=0, help="only files of this size")
    given = parser.parse_args(arguments)
    print(f"seeds 1 to {given.seeds}, {given.errors:.0%} of records with errors\n\n{HEAD}")
    for records, common, sampled in ROWS:
        if given.records in (0, records):
            claims = [_claim(records, common, sampled, given.errors, seed) for seed in range(1, given.seeds + 1)]
            print(_row(records, common, sampled, claims), flush=True)
    return 0


def _claim(records: int, common: int, sampled: float, errors: float, seed: int) -> JudgedLinks:
    files = two_files(records, records, common, errors, np.random.default_rng(seed), sampled=sampled)
    return linked(*files, block=records > 1000)[1]


def _row(records: int, common: int, sampled: float, claims: list[JudgedLinks]) -> str:
    def each(name: str) -> NDArray[np.float64]:
        return np.array([getattr(claim, name) for claim in claims], dtype=np.float64)

    ratio = f"{each('claimed_matches').sum() / max(1, each('matches').sum()):.4f}"
    cells = [
        f"{records:,}", f"{common:,}", "all" if sampled == 1 else f"{sampled:.0%}", f"{each('links').mean():,.1f}",
        _interval(each("precision")), _mean(each('claimed_precision')), f"{each('precision').min():.4f}",
        _interval(each("recall")), _mean(each('claimed_recall')), f"{each('f1').mean():.4f}",
        ratio if common else f"{each('claimed_matches').mean():.2f} in all",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _mean(values: NDArray[np.float64]) -> str:
    """Of the runs that claim something."""
    claimed = values[np.isfinite(values)]
    return f"{claimed.mean():.4f}" if len(claimed) else "–"


def _interval(values: NDArray[np.float64]) -> str:
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.4f} ± {half:.4f}"
