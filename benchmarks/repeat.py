"""Repeat: what changes when a linkage is repeated, under the same keys and under others.

Under the same seed and the same noise keys nothing may change; the status is 1 if a single bit of a probability does.
Other keys draw other samples for u and make other signatures, which estimate similarities with chance errors: this is
what a probability depends on beside the records.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.modes import NOISE, Linked, link_in, people
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Side


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks repeat", description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000, help="generated people in each file")
    parser.add_argument("--seeds", type=int, default=2, help="pairs of generated files")
    parser.add_argument("--keys", type=int, default=4, help="other keys for each")
    options = parser.parse_args(arguments)
    columns = "mode", "files", "keys", "pairs", "changed", "above .01", "above .1", "greatest", "links", "other links"
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    repeatable = True
    for mode in ("open", "block_keyed"):
        for seed in range(1, options.seeds + 1):
            spec, files = people(options.rows, 0.3, seed)
            first = link_in(mode, spec, files, key(0))
            for other in range(options.keys + 1):
                own = {side: NoiseKey(bytes([other, at] * 16)) for at, side in enumerate(Side)}
                again = link_in(mode, spec, files, key(other), own if other else NOISE)
                change, links = compared(first, again)
                keys = f"others, {other}" if other else "the same"
                print(
                    f"| {mode} | {seed} | {keys} | {len(change):,} | {np.count_nonzero(change):,} "
                    f"| {np.count_nonzero(change > 0.01)} | {np.count_nonzero(change > 0.1)} | {change.max():.2g} "
                    f"| {len(first.links):,} | {links} |",
                    flush=True,
                )
                repeatable &= bool(other) or not change.any()
    return 0 if repeatable else 1


def key(number: int) -> Seed:
    """A seed of a number, so that figures can be had again."""
    return Seed(bytes([number, *range(1, 32)]))


def compared(first: Linked, again: Linked) -> tuple[np.ndarray, int]:
    """Change of each pair's link probability, 0 where it was not kept; and links that only one of the two has."""
    probability = []
    for run in (first, again):
        pairs = run.linkage.pairs
        rows = zip(pairs.row_a.tolist(), pairs.row_b.tolist(), strict=True)
        probability.append(dict(zip(rows, pairs.link_probability.tolist(), strict=True)))
    both = probability[0].keys() | probability[1].keys()
    change = np.array([abs(probability[0].get(pair, 0.0) - probability[1].get(pair, 0.0)) for pair in both])
    links = [{tuple(link) for link in run.links.tolist()} for run in (first, again)]
    return change, len(links[0] ^ links[1])
