"""Claims of the combined assessment beside the truth: ``python -m benchmarks claimed_combined``.

Two linked samples of a public population, see `_claimed_combined`. eusilc and ses are kept out of all tuning.
"""

from __future__ import annotations

import argparse

from benchmarks._claimed_combined import ERRORS, SPLITS, run


def main(arguments: list[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks claimed_combined", description=__doc__)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--populations", nargs="+", choices=SPLITS, default=tuple(SPLITS))
    parser.add_argument("--errors", nargs="+", type=int, choices=range(len(ERRORS)), help="cases, by their number")
    given = parser.parse_args(arguments)
    errors = ERRORS if given.errors is None else tuple(ERRORS[k] for k in given.errors)
    print(f"{given.replicates} replicates, seed {given.seed}; {100 * errors[0].missed:g} % of the matches missed.\n")
    for line in run(tuple(given.populations), errors, given.replicates, given.seed):
        print(line, flush=True)
    return 0
