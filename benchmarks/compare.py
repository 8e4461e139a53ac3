"""Raw comparison: pairs of distinct random signatures per second, beside anonlink's on the same machine.

Both sides compare every pair of the same random bit strings. Gemel writes the similarity level of every pair
(8 levels, EM(8) of Smith and Shlomo 2014); anonlink computes the Dice coefficient in native code and returns
the pairs above a threshold, of which random strings have none. The rounds alternate, so that whatever else the
machine is doing weighs on both. anonlink runs on one core; the ratio is taken per round, one thread to one.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._figures import print_spread, ratios
from gemel.carole.comparison.levels import FieldComparison
from gemel.common.signatures.signature_sets import FieldSignatures

EM8 = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("--bits", type=int, nargs="+", default=[1024, 512], help="lengths of the signatures")
    parser.add_argument("--rows", type=int, default=6000, help="signatures on each side")
    parser.add_argument("--rounds", type=int, default=9, help="alternating rounds")
    parser.add_argument("--threads", type=int, default=2, help="threads of the second measurement")
    parser.add_argument("--threshold", type=float, default=0.9, help="anonlink's Dice threshold")
    options = parser.parse_args(arguments)
    peer = _anonlink()
    if peer is None:
        print("anonlink is not installed (pip install .[bench]); only Gemel is measured.\n")
    else:
        print(f"anonlink {metadata.version('anonlink')}, {options.rounds} alternating rounds, seed 1\n")
    rng = np.random.default_rng(1)
    print(f"{'bits':>5} {'what':32} {'median':>9} {'min':>9} {'max':>9}  million pairs per second")
    for bits in options.bits:
        _measure(bits, options, rng, peer)
    return 0


def _measure(bits: int, options: argparse.Namespace, rng: np.random.Generator, peer: Any) -> None:
    n = options.rows
    side_a, side_b = (rng.integers(0, 2**64, (n, bits // 64), dtype=np.uint64) for _ in range(2))
    rows = np.arange(n, dtype=np.int32)
    a, b = FieldSignatures(bits, side_a, rows), FieldSignatures(bits, side_b, rows)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(options.threads) as several:
        # What is ready before the clock starts: the compiled kernel, and anonlink's bit arrays.
        FieldComparison(a, b, EM8).level_table(one)
        runs: dict[str, Callable[[], Any]] = {
            "gemel, 1 thread": lambda: FieldComparison(a, b, EM8).level_table(one),
            f"gemel, {options.threads} threads": lambda: FieldComparison(a, b, EM8).level_table(several),
        }
        if peer is not None:
            filters = _bit_arrays(side_a), _bit_arrays(side_b)
            runs["anonlink, 1 core"] = lambda: peer(filters, options.threshold, None)
        rates: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, run in runs.items():
                started = time.perf_counter()
                run()
                rates[name].append(n * n / (time.perf_counter() - started) / 1e6)
    for name, values in rates.items():
        _row(bits, name, values, ".0f")
    names = list(runs)
    _row(bits, f"ratio of {options.threads} threads to 1", ratios(rates[names[1]], rates[names[0]]), ".2f")
    if peer is not None:
        _row(bits, "ratio to anonlink, per core", ratios(rates[names[0]], rates["anonlink, 1 core"]), ".2f")


def _row(bits: int, name: str, values: list[float], form: str) -> None:
    print_spread(f"{bits:5d} {name:32}", values, form, 9)


def _anonlink() -> Any:
    """anonlink's native Dice comparison, or None where it is not installed."""
    try:
        return importlib.import_module("anonlink.similarities").dice_coefficient_accelerated
    except ImportError:
        return None


def _bit_arrays(signatures: NDArray[np.uint64]) -> list[Any]:
    """The same strings as anonlink takes them."""
    bitarray = importlib.import_module("bitarray").bitarray
    arrays = []
    for row in signatures:
        array = bitarray()
        array.frombytes(row.tobytes())
        arrays.append(array)
    return arrays
