"""A regression on linked records, a twentieth of them wrong: ``python -m research linked_analysis``.

x is in one file and y in the other. Two files are linked by few fields, so that about 5 % of the links are wrong, and
the slope of y on x is estimated from the links taken for the truth, from the most probable of them, from all with their
probabilities, and from drawn linkages with and without the correction of docs/analysing.md. Printed is how often the
95 % interval contains the slope, with the binomial interval of that share.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from gemel.coordinator.analysis.drawn_estimates import Combined, combined_slope
from research.draws import Drawn, linked

LEVELS, ERROR = (60, 30, 14), 0.06
"""Values of each compared field, and how often one is another in the second file: links of precision near .95."""
SURE = 0.9
ANALYSES = (
    "links taken for the truth",
    f"links of {SURE:g} or more alone",
    "links, with their probabilities",
    "draws taken for the truth",
    "draws, corrected",
)

Line = tuple[float, float, bool]
"""Estimate, standard error, and whether the interval contains the slope."""


def once(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Links as two equal draws, between which nothing varies."""
    return np.repeat(np.arange(2), len(values)), np.tile(values, 2)


def analyses(found: Drawn) -> list[Combined]:
    """The slope by each of `ANALYSES`."""
    p, ones = found.probability, np.ones(len(found.probability))
    sure = found.links[p[found.links] >= SURE]
    drawn = found.draws.draw.astype(np.int64), found.draws.pair.astype(np.int64)
    cases = ((once(found.links), ones), (once(sure), ones), (once(found.links), p), (drawn, ones), (drawn, p))
    return [combined_slope(draw, found.x[pair], found.y[pair], weight[pair]) for (draw, pair), weight in cases]


def study(runs: int, draws: int, n: int, common: int, slope: float) -> list[float]:
    """Print coverage by analysis; return the shares."""
    table = np.zeros((runs, len(ANALYSES), 3))
    wrong, missed, started = np.zeros(runs), np.zeros(runs), time.perf_counter()
    for seed in range(runs):
        found = linked(seed, n, common, LEVELS, ERROR, slope, draws)
        wrong[seed] = 1 - found.true[found.links].mean()
        missed[seed] = 1 - found.true[found.links].sum() / common
        for k, result in enumerate(analyses(found)):
            low, high = result.interval()
            table[seed, k] = result.estimate, result.standard_error, low <= slope <= high
    seconds = (time.perf_counter() - started) / runs
    print(
        f"{runs} linkages of {n} x {n} records, {common} in common, {draws} draws; {wrong.mean():.1%} of the links"
        f" wrong, {missed.mean():.1%} of the matches missed; slope {slope:g}; {seconds:.1f} s each"
    )
    print(
        f"{'':34s} {'slope':>7s} {'spread':>7s} {'std.err.':>8s} {'covered':>8s}   95 % interval of it (nominal .950)"
    )
    shares = []
    for k, name in enumerate(ANALYSES):
        estimate, error, inside = table[:, k].T
        interval = binomtest(int(inside.sum()), runs).proportion_ci(method="wilson")
        shares.append(float(inside.mean()))
        print(
            f"{name:34s} {estimate.mean():7.3f} {estimate.std(ddof=1):7.3f} {error.mean():8.3f} {inside.mean():8.3f}"
            f"   {interval.low:.3f} to {interval.high:.3f}"
        )
    return shares


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m research linked_analysis", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--records", type=int, default=240)
    parser.add_argument("--common", type=int, default=180)
    parser.add_argument("--slope", type=float, default=2.0)
    chosen = parser.parse_args(arguments)
    study(chosen.runs, chosen.draws, chosen.records, chosen.common, chosen.slope)
    return 0
