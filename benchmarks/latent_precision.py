"""What the prior precision of the value model does, fixed and chosen: ``python -m benchmarks latent_precision``.

The criterion (`carole.extended_latent.precision`) was designed on draws of three populations: Smith and Elliot's files,
a census-like population in households, a random network for each draw. It is judged on three that had no part in it:
the insurers' files of the demonstration, linked by the engine; a survey; kinds of people that no file holds. Areas are
under expected precision and recall, means over the draws; differences are within draws, with 95 %
intervals by Student's t.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchmarks._latent_populations import DESIGN, OTHERS
from gemel.carole.extended_latent.precision import PRECISIONS
from research.se17 import interval


def main(arguments: Sequence[str]) -> int:
    """Draw, link with every precision and with the chosen one, print tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks latent_precision", description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="pairs of files of each population, at least 2")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--populations", nargs="+", help="some only, by the first words of their names")
    options = parser.parse_args(arguments)
    if options.draws < 2:
        parser.error("an interval needs at least two draws")
    fixed = " | ".join(f"{precision:g}" for precision in PRECISIONS)
    print(f"| population | {fixed} | chosen | chosen less the best fixed | times chosen |")
    print("|---|" + "---|" * (len(PRECISIONS) + 3))
    chosen = tuple(options.populations or ("",))
    for number, (name, drawn) in enumerate(({**DESIGN, **OTHERS}).items()):
        if not name.startswith(chosen):
            continue
        areas, choices = [], Counter[float]()
        for r in range(options.draws):
            linked = drawn(np.random.default_rng([options.seed, number, r]))
            outcomes = [linked(precision) for precision in (*PRECISIONS, None)]
            areas.append([outcome.area for outcome in outcomes])
            choices[outcomes[-1].precision] += 1
        table = np.array(areas)
        best = int(np.nan_to_num(table[:, :-1].mean(axis=0)).argmax())
        mean, low, high = interval(table[:, -1] - table[:, best])
        cells = " | ".join(f"{area:.3f}" for area in table.mean(axis=0))
        times = ", ".join(f"{precision:g}: {n}" for precision, n in sorted(choices.items()))
        print(f"| {name} | {cells} | {mean:.3f} ({low:.3f} to {high:.3f}) | {times} |", flush=True)
    return 0
