"""Decomposable models: moves per second of MC3 and annealing, cached and not: ``python -m benchmarks models``.

Invented records of four latent classes, variables of 2 to 10 levels. *Warm* moves find every table in the cache; a
*cold* run starts with none; an *uncached* move counts all four of its tables afresh. The thesis's Python needed 10.7 s
for 21,000 moves on 12 variables (1,963 moves/s). Peak memory is the process's, with the compiler in it.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks._dynamic_trees import ADJACENCY, tree_array, wander
from benchmarks._figures import peak_bytes
from gemel.risk.models.annealing import anneal
from gemel.risk.models.chain_kernels import ILLEGAL, change, legal_rest
from gemel.risk.models.chains import Chain
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.graphs import empty_graph
from gemel.risk.models.mc3_search import mc3
from gemel.risk.models.scores import HyperDirichlet, count_and_score


@njit(cache=True, nogil=True)
def wander_by_search(tree, first, second):  # type: ignore[no-untyped-def]  # compiled
    """As `wander`, by searching the graph instead of rotating a tree (the rest of the tree goes stale): to
    compare speed."""
    changed = 0
    for i in range(len(first)):
        if legal_rest(tree[ADJACENCY], first[i], second[i]) != ILLEGAL:
            change(tree[ADJACENCY], first[i], second[i])
            changed += 1
    return changed


LEVELS = (2, 3, 4, 5, 2, 8, 3, 2, 2, 4, 10, 3, 4, 5, 6, 7)
THESIS = 21_000 / 10.7


def invented(variables: int, records: int, rng: np.random.Generator) -> SparseCounts:
    """Records of four latent classes with weak differences: many models are about as good, and chains move."""
    levels = [LEVELS[q % len(LEVELS)] for q in range(variables)]
    latent = rng.integers(0, 4, records)
    columns = []
    for n in levels:
        common = rng.dirichlet(np.full(n, 2.0))
        cumulative = (0.5 * common + 0.5 * rng.dirichlet(np.full(n, 0.7), size=4)).cumsum(axis=1)[latent]
        columns.append(np.minimum((rng.random(records)[:, None] > cumulative).sum(axis=1), n - 1))
    return SparseCounts.from_records(np.stack(columns, axis=1), levels)


@njit(cache=True)
def _recount(data, work, sets):  # type: ignore[no-untyped-def]  # compiled
    total = 0.0
    for i in range(len(sets)):
        total += count_and_score(data, work, sets[i])
    return total


def speed(counts: SparseCounts, moves: int, seed: int) -> dict[str, float]:
    """Moves per second of one chain, cold and warm, and what one uncached move costs."""
    scores = HyperDirichlet(counts)
    chain = Chain(scores, empty_graph(counts.names), np.random.default_rng(seed))
    start = time.perf_counter()
    chain.run(21_000)
    thesis = time.perf_counter() - start
    chain.run(moves)
    before = scores.tables_counted
    start = time.perf_counter()
    chain.run(moves)
    warm = time.perf_counter() - start
    sets: NDArray[np.int64] = scores.work.cached_sets[scores.work.cached_sets >= 0][:2000]
    start = time.perf_counter()
    _recount(scores.data, scores.work, sets)
    table = (time.perf_counter() - start) / len(sets)
    return {
        "cold": 21_000 / thesis,
        "warm": moves / warm,
        "counted": scores.tables_counted - before,
        "table": table,
        "uncached": 1 / (4 * table),
        "cache": scores.work.cached_sets.nbytes + scores.work.cached_scores.nbytes,
        "acceptance": float(chain.ladder.tally[0, 1] / chain.ladder.tally[0, 0]),
    }


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks models", description=__doc__)
    parser.add_argument("--moves", type=int, default=500_000, help="warm moves timed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="12 variables and 1,000 records only")
    given = parser.parse_args(arguments)
    rng = np.random.default_rng(given.seed)
    print(f"seed {given.seed}; one chain, single-edge moves")
    speed(invented(5, 50, rng), 1000, given.seed)  # compile
    shapes = [(v, r) for v in (8, 12, 16, 24, 40) for r in (1_000, 6_000)] + [(12, 60_000)]
    print(
        f"{'variables':>9} {'records':>8} {'cells declared':>15} {'occupied':>8} {'cold moves/s':>13} "
        f"{'warm moves/s':>13} {'uncached moves/s':>17} {'us/table':>9} {'acceptance':>10} {'cache MiB':>9}"
    )
    for variables, records in [(12, 1_000)] if given.quick else shapes:
        counts = invented(variables, records, rng)
        found = speed(counts, given.moves, given.seed)
        print(
            f"{variables:>9} {records:>8,} {math.prod(counts.levels):>15.2e} {len(counts.counts):>8,} "
            f"{found['cold']:>13,.0f} {found['warm']:>13,.0f} {found['uncached']:>17,.0f} "
            f"{found['table'] * 1e6:>9.1f} {found['acceptance']:>10.3f} {found['cache'] / 2**20:>9.2f}"
        )
    _legality(given.moves, given.seed)
    _searches(rng, given.seed, given.quick)
    if not given.quick:
        _mixing(rng, given.seed)
    print(f"peak memory {peak_bytes() / 2**20:.0f} MiB")
    return 0


def _legality(moves: int, seed: int) -> None:
    print("\ndeciding and making moves without scores (no data), moves/s")
    rng = np.random.default_rng(seed)
    for variables in (12, 16, 40):
        first = rng.integers(0, variables, moves)
        second = (first + rng.integers(1, variables, moves)) % variables
        line = f"{variables:>9} variables"
        for name, method in (("search", wander_by_search), ("rotations", wander)):
            tree = tree_array(empty_graph(variables))
            method(tree.copy(), first[:10], second[:10])
            start = time.perf_counter()
            method(tree, first, second)
            line += f"  {name} {moves / (time.perf_counter() - start):>12,.0f}"
        print(line)


def _searches(rng: np.random.Generator, seed: int, quick: bool) -> None:
    print("\nsearches, cold, with results and diagnostics")
    for variables, records in [(12, 1_000)] if quick else [(12, 1_000), (12, 6_000), (16, 1_000), (16, 6_000)]:
        counts = invented(variables, records, rng)
        size = f"{variables:>9} variables {records:>6,} records"
        start = time.perf_counter()
        scores = HyperDirichlet(counts)
        result = mc3(scores, np.random.default_rng(seed), moves=100_000, chains=4)
        took = time.perf_counter() - start
        print(
            f"{size}  MC3 4 x 110,000 moves {took:.2f} s, {440_000 / took:,.0f} moves/s, {result.visited:,} models, "
            f"acceptance {result.acceptance:.3f}, R-hat {result.r_hat:.4f}, edge spread {result.edge_spread:.3f}, "
            f"{scores.tables_counted:,} tables counted"
        )
        start = time.perf_counter()
        best = anneal(HyperDirichlet(counts), np.random.default_rng(seed), moves=100_000)
        took = time.perf_counter() - start
        gap = float(best.log_scores[0] - result.log_scores.max())
        print(f"{size}  annealing 100,000 moves {took:.2f} s, {1e5 / took:,.0f} moves/s; {gap:+.2f} on MC3's best")
    print(f"the thesis, 12 variables: {THESIS:,.0f} moves/s")


def _mixing(rng: np.random.Generator, seed: int) -> None:
    print("\nmixing, 16 variables, 6,000 records, 4 chains of 110,000 moves from different starts")
    counts = invented(16, 6_000, rng)
    for name, how in (
        ("single-edge moves (the thesis)", {"double_share": 0.0}),
        ("with double moves", {"double_share": 0.5}),
        ("double moves, 6 temperatures", {"double_share": 0.5, "temperatures": 6, "hottest": 10.0}),
    ):
        start = time.perf_counter()
        scores = HyperDirichlet(counts)
        found = mc3(scores, np.random.default_rng(seed), moves=100_000, chains=4, **how)  # type: ignore[arg-type]
        took = time.perf_counter() - start
        print(
            f"  {name:<32} {took:5.2f} s, R-hat {found.r_hat:.3f}, edge spread {found.edge_spread:.3f}, "
            f"{found.visited:,} models, acceptance {found.acceptance:.4f}, "
            f"swaps {np.round(found.swap_rate, 2).tolist()}"
        )
