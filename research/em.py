"""EM on counts: 10^9 pairs' comparison vectors counted in bounded memory, and EM's time beside the number of pairs.

First comparison vectors of 10^9 pairs, drawn from a model of matches and non-matches, are counted as the engine counts
them, in parts that are forgotten, and EM is run on the counts: rates, and the memory that came on top. Then the same
comparison vectors with counts times 1, 1000 and 1,000,000: EM's time must not change. Then exact populations of up to
a million cells, of which EM recovers the parameters.
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks._figures import peak_bytes
from gemel.carole.comparison.counting import PatternCounter, summed
from gemel.carole.engine.run.contribution import Packing
from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.model import Model, PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels

PART = 1 << 17
"""Pairs of a part, as in the engine."""


def distributions(n_levels: list[int], rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """m that rises with the level and u that falls, one row per field, zeros above its levels."""
    m, u = (np.zeros((len(n_levels), max(n_levels))) for _ in range(2))
    for q, n in enumerate(n_levels):
        rising, falling = np.arange(1.0, n + 1) ** 2, 0.35 ** np.arange(n)
        rising[-1] = rising[:-1].sum() * rng.uniform(3, 9)
        falling *= rng.uniform(0.7, 1.4, n)
        m[q, :n], u[q, :n] = rising / rising.sum(), falling / falling.sum()
    return m, u


def exact_counts(
    m: NDArray[np.float64], u: NDArray[np.float64], p: float, n_levels: list[int], n_pairs: int
) -> PatternCounts:
    """Counts of every comparison vector, as the model expects them among `n_pairs` pairs."""
    gamma = np.indices(n_levels).reshape(len(n_levels), -1).T.astype(np.int8)
    matches, others = np.full(len(gamma), p), np.full(len(gamma), 1 - p)
    for q in range(len(n_levels)):
        matches *= m[q, gamma[:, q]]
        others *= u[q, gamma[:, q]]
    count = np.rint((matches + others) * n_pairs).astype(np.int64)
    count[np.argmax(count)] += n_pairs - count.sum()
    return PatternCounts(gamma, np.zeros(len(gamma), dtype=np.uint32), count)


def timed_fit(patterns: PatternCounts, n_levels: list[int], side: int, settings: Estimation) -> tuple[Model, float]:
    """A model of `side` by `side` records, and the seconds it took."""
    fields = [FieldLevels(f"field {q}", n) for q, n in enumerate(n_levels)]
    started = time.perf_counter()
    model = fit(patterns, fields, side, side, settings)
    return model, time.perf_counter() - started


def independence(rounds: int, rng: np.random.Generator) -> None:
    """Time of EM on the same vectors, counts times 1, 10^3 and 10^6."""
    n_levels = [8, 8, 8, 4, 2]
    side, p = 10_000, 1e-3
    m, u = distributions(n_levels, rng)
    patterns = exact_counts(m, u, p, n_levels, side * side)
    factors = (1, 1_000, 1_000_000)
    seconds: dict[int, list[float]] = {factor: [] for factor in factors}
    first: Model | None = None
    for _ in range(rounds + 1):
        for factor in factors:
            more = PatternCounts(patterns.gamma, patterns.mask, patterns.count * factor)
            # As many records a side as give the pairs, and a start at the same share of matches.
            larger = int(side * factor**0.5) + 1
            start = 0.01 * larger**2
            settings = Estimation(prior=0, one_to_one=False, u="free", tolerance=1e-9, expected_matches=start)
            more.count[0] += larger * larger - more.n_pairs
            model, took = timed_fit(more, n_levels, larger, settings)
            seconds[factor].append(took)
            first = first or model
    print(f"\nThe same {patterns.n_patterns:,} comparison vectors ({rounds} rounds)\n")
    print(f"{'pairs':>22} {'median':>9} {'min':>9} {'max':>9}  seconds of EM")
    for factor in factors:
        times = seconds[factor][1:]
        print(f"{side * side * factor:>22,} {statistics.median(times):9.3f} {min(times):9.3f} {max(times):9.3f}")


def recovery(rng: np.random.Generator, largest: int = 6) -> None:
    """Parameters of an exact population over a million cells."""
    print("\nParameters of an exact population, u free, no prior\n")
    print(f"{'cells':>10} {'pairs':>22} {'iterations':>11} {'seconds':>9}  largest error of m, u, p")
    for n_levels in ([4, 3, 2], *([10] * n for n in (3, 6) if n <= largest)):
        side, p = 10**9, 0.01
        m, u = distributions(n_levels, rng)
        patterns = exact_counts(m, u, p, n_levels, side * side)
        settings = Estimation(prior=0, one_to_one=False, u="free", tolerance=1e-10, max_iterations=5000)
        model, took = timed_fit(patterns, n_levels, side, settings)
        error = max(float(np.abs(model.m - m).max()), float(np.abs(model.u - u).max()), abs(model.p - p))
        print(f"{patterns.n_patterns:>10,} {side * side:>22,} {model.iterations:>11} {took:9.2f}  {error:.1e}")


def streaming(n_pairs: int, threads: int, seed: int) -> None:
    """Comparison vectors of many pairs, drawn part by part and counted."""
    n_levels = [8, 8, 8, 8, 4, 2]
    rng = np.random.default_rng(seed)
    m, u = distributions(n_levels, rng)
    side = round(n_pairs**0.5)
    p = 0.5 / side
    packing = Packing([str(q) for q in range(len(n_levels))], n_levels)
    cumulative = np.stack([np.cumsum(u, axis=1), np.cumsum(m, axis=1)])
    cumulative[:, range(len(n_levels)), np.array(n_levels) - 1] = 1.0
    strides = np.array(packing.strides, dtype=np.int64)
    maximum = int(np.prod([n + 1 for n in n_levels]))
    before = peak_bytes()
    counters = [PatternCounter(maximum) for _ in range(threads)]
    n_parts = -(-side * side // PART)

    def count(worker: int) -> tuple[int, float]:
        code, mask = np.empty(PART, dtype=np.int64), np.zeros(PART, dtype=np.uint32)
        one = np.ones(1, dtype=np.int64)
        done, counting = 0, 0.0
        for part in range(worker, n_parts, threads):
            n = min(PART, side * side - part * PART)
            _draw(code[:n], cumulative, strides, np.array(n_levels), p, np.uint64(seed * 1_000_003 + part))
            drawn = time.thread_time()
            if not counters[worker].add(code, mask, one, n):
                raise AssertionError("the table holds the whole pattern space")
            counting += time.thread_time() - drawn
            done += n
        return done, counting

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        total, counting = (sum(column) for column in zip(*pool.map(count, range(threads)), strict=True))
    code, mask, counted = summed([counter.items() for counter in counters])
    took = time.perf_counter() - started
    patterns = PatternCounts(packing.unpack(code), mask, counted)
    model, em = timed_fit(patterns, n_levels, side, Estimation(u="corrected", max_iterations=5000))
    print(f"{total:,} pairs, drawn and counted in parts of {PART:,} ({threads} threads, seed {seed})\n")
    print(f"took           {took:9.1f} s   {total / took / 1e6:.0f} million pairs per second, drawing them included")
    print(f"counting alone {counting:9.1f} s   of one core: {total / counting / 1e6:.0f} million pairs per second")
    print(f"distinct       {patterns.n_patterns:9,}     comparison vectors, of {maximum:,} possible")
    print(f"EM in          {em:9.2f} s   {model.iterations} iterations, converged: {model.converged}")
    print(f"matches        {model.expected_matches:9.0f}     expected, {p * total:.0f} on average drawn")
    print(f"largest error  {max(np.abs(model.m - m).max(), np.abs(model.u - u).max()):9.1e}     of m and u")
    peak = peak_bytes()
    print(f"peak memory    {peak / 2**20:9.0f} MiB     of the process, {(peak - before) / 2**20:.0f} on top")


@njit(nogil=True, cache=True)
def _draw(
    code: NDArray[np.int64],
    cumulative: NDArray[np.float64],
    strides: NDArray[np.int64],
    n_levels: NDArray[np.int64],
    p: float,
    seed: np.uint64,
) -> None:
    """Comparison vectors of random pairs, packed: a match with probability p, fields independent given that."""
    # Not a multiple of the generator's own step: parts would run through the same numbers, one draw apart.
    state = (seed ^ (seed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = (state ^ (state >> np.uint64(31))) * np.uint64(0xD1B54A32D192ED03)
    for i in range(code.size):
        total = np.int64(0)
        match = 0
        for q in range(-1, n_levels.size):
            # splitmix64
            state += np.uint64(0x9E3779B97F4A7C15)
            z = state
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            uniform = np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
            if q < 0:
                match = 1 if uniform < p else 0
                continue
            level = 0
            while uniform >= cumulative[match, q, level]:
                level += 1
            total += strides[q] * level
        code[i] = total


def main(arguments: list[str]) -> int:
    """Run all three."""
    parser = argparse.ArgumentParser(prog="python -m research em", description=__doc__)
    parser.add_argument("--pairs", type=float, default=1e9, help="pairs streamed")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the first measurement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    streaming(int(options.pairs), options.threads, options.seed)
    independence(options.rounds, np.random.default_rng(options.seed))
    recovery(np.random.default_rng(options.seed))
    return 0
