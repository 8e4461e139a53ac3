"""Draws of the whole linkage: against enumeration, and the coverage of a slope: ``python -m research draws``.

First link probabilities on dense graphs of five records a side, every matching enumerated: by belief propagation, as
they are given, and by the Markov chain. Then the coverage of the 95 % interval of a slope, x being in one file and y in
the other, over many linkages of two small files by few fields, so that false links matter: with the links taken for the
truth, with the draws combined by Rubin's rules as if they were true, and with the correction of docs/analysing.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from gemel.carole.fellegi_sunter.candidate_graph import candidate_graph
from gemel.carole.fellegi_sunter.cores import without_cycles
from gemel.carole.fellegi_sunter.kinds.estimation import fit_joint
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import assigned
from gemel.carole.fellegi_sunter.linkage_draws import LinkageDraws, ModelDraws, draw_linkages
from gemel.carole.fellegi_sunter.linkage_sampler import average_links, choices
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.propagation import Propagation
from gemel.carole.fellegi_sunter.schemes import fit_scheme
from gemel.carole.fellegi_sunter.settings import Estimation
from gemel.coordinator.analysis.drawn_estimates import combined_slope

BOUNDS = (0.5, 1.0)
KEPT = 1e-4


def enumeration(graphs: int, sweeps: int) -> None:
    """Print the largest errors of link probabilities on dense 5 x 5 graphs."""
    rng = np.random.default_rng(5)
    a, b = (index.ravel() for index in np.indices((5, 5)))
    every = [
        chosen
        for size in range(6)
        for chosen in combinations(range(25), size)
        if len(set(a[list(chosen)])) == len(set(b[list(chosen)])) == size
    ]
    member = np.zeros((len(every), 25))
    for k, chosen in enumerate(every):
        member[k, list(chosen)] = 1
    graph = candidate_graph(a, b)
    worst = np.zeros((graphs, 3))
    for k in range(graphs):
        weight = rng.normal(0, 4, 25)
        log = member @ weight
        exact = np.exp(log - log.max()) @ member / np.exp(log - log.max()).sum()
        messages = Propagation(graph, weight)
        messages.run(0.0)
        by_propagation = messages.beliefs().probability
        given = np.empty(25)
        given[graph.order] = without_cycles(graph, messages.messages()).probability
        pull = np.clip(1.0 - np.bincount(b, by_propagation), 1e-9, 1.0)
        chain = choices(np.arange(0, 26, 5), b.astype(np.int64), np.exp(weight), pull, np.zeros(6))
        sampled = average_links(chain, np.zeros(25), sweeps, rng)
        worst[k] = [np.abs(found - exact).max() for found in (by_propagation, given, sampled)]
    print(f"{graphs} dense graphs of 5 x 5, {len(every):,} matchings each: largest error of a link probability")
    print(f"{'':28s} {'median':>8s} {'95 %':>8s} {'maximum':>9s}")
    for name, errors in zip(("propagation alone", "as given", f"chain, {sweeps:,} sweeps"), worst.T, strict=True):
        print(f"{name:28s} {np.median(errors):8.4f} {np.quantile(errors, 0.95):8.4f} {errors.max():9.2g}")


@dataclass(frozen=True)
class Drawn:
    """Two small files linked: kept pairs, their probabilities, links and draws, and x and y of the pairs."""

    links: NDArray[np.int64]
    draws: LinkageDraws
    probability: NDArray[np.float64]
    true: NDArray[np.bool_]
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def linked(seed: int, n: int, common: int, levels: tuple[int, ...], error: float, slope: float, draws: int) -> Drawn:
    """Two files of `n` people, some in common, whose values are changed with a probability; linked and drawn."""
    rng = np.random.default_rng(seed)
    a, b = (np.column_stack([rng.integers(0, maximum, n) for maximum in levels]) for _ in range(2))
    b[:common] = a[:common]
    for q, maximum in enumerate(levels):
        changed = rng.random(n) < error
        b[changed, q] = rng.integers(0, maximum, changed.sum())
    x = rng.normal(size=n)
    y = rng.normal(size=n) * np.sqrt(1 + slope**2)
    y[:common] = slope * x[:common] + rng.normal(size=common)
    gamma, member, count = np.unique(
        (a[:, None] == b[None]).astype(np.int8).reshape(n * n, -1), axis=0, return_inverse=True, return_counts=True
    )
    patterns = PatternCounts(gamma, np.zeros(len(gamma), dtype=np.uint32), count.astype(np.int64))
    bounds = [BOUNDS] * len(levels)
    fitted = fit_scheme("multinomial", patterns, [f"field {q}" for q in range(len(levels))], bounds, n, n)
    kept = np.flatnonzero(fitted.match_probabilities(gamma)[member.ravel()] > KEPT)
    row_a, row_b = np.divmod(kept, n)
    pattern = member.ravel()[kept]
    posterior = LinkPosterior("one_to_one", row_a, row_b, n, n)
    model, _, _ = fit_joint(fitted.model, patterns, "none", pairs=(posterior, pattern))
    fitted = fitted.scheme.of(model, bounds)
    found = posterior.probabilities(fitted.match_weights(gamma)[pattern])
    drawing = ModelDraws(fitted, bounds, patterns, Estimation())
    drawn = draw_linkages(posterior, pattern, found, drawing.weights, len(gamma), draws, rng)
    links = assigned(row_a, row_b, found.probability, 0.5, "one_to_one")
    return Drawn(links, drawn, found.probability, (row_a == row_b) & (row_a < common), x[row_a], y[row_b])


def coverage(runs: int, draws: int, n: int, common: int, slope: float) -> None:
    """Print how often the intervals contain the slope, by what the links are taken for."""
    names = ("links taken for the truth", "draws taken for the truth", "draws, corrected")
    inside, estimates, errors = np.zeros((runs, 3), dtype=np.bool_), np.zeros((runs, 3)), np.zeros((runs, 3))
    figures, started = np.zeros((runs, 5)), time.perf_counter()
    for seed in range(runs):
        found = linked(seed, n, common, (40, 20, 12), 0.08, slope, draws)
        twice = np.repeat(np.arange(2), len(found.links)), np.tile(found.links, 2)
        drawn = found.draws.draw, found.draws.pair
        ones = np.ones(len(found.probability))
        for k, ((draw, pair), p) in enumerate(((twice, ones), (drawn, ones), (drawn, found.probability))):
            result = combined_slope(draw, found.x[pair], found.y[pair], p[pair])
            low, high = result.interval()
            inside[seed, k], estimates[seed, k] = low <= slope <= high, result.estimate
            errors[seed, k] = result.standard_error
        share = found.true[found.draws.pair].mean(), found.probability[found.draws.pair].mean()
        figures[seed] = found.true[found.links].mean(), *share, found.draws.r_hat, found.draws.effective
    seconds = (time.perf_counter() - started) / runs
    precision, true, believed, r_hat, effective = figures.mean(axis=0)
    print(
        f"\n{n} x {n} records, {common} in common, three fields, slope {slope:g}; {runs} linkages of {draws} draws each"
    )
    print(f"links: precision {precision:.3f}; drawn links: {true:.3f} true, {believed:.3f} by their probabilities")
    print(
        f"split R-hat {r_hat:.3f}, at most {figures[:, 3].max():.2f}; {effective:.0f} effective draws; {seconds:.1f} s"
    )
    print(f"{'':28s} {'slope':>7s} {'spread':>7s} {'std.err.':>8s} {'covered':>8s}   95 % interval of it")
    for k, name in enumerate(names):
        interval = binomtest(int(inside[:, k].sum()), runs).proportion_ci(method="wilson")
        print(
            f"{name:28s} {estimates[:, k].mean():7.3f} {estimates[:, k].std(ddof=1):7.3f} {errors[:, k].mean():8.3f}"
            f" {inside[:, k].mean():8.3f}   {interval.low:.3f} to {interval.high:.3f}"
        )


def main(arguments: list[str]) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m research draws", description=__doc__)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--sweeps", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--records", type=int, default=150)
    parser.add_argument("--common", type=int, default=100)
    parser.add_argument("--slopes", type=float, nargs="+", default=[0.5, 1.0])
    chosen = parser.parse_args(arguments)
    enumeration(chosen.graphs, chosen.sweeps)
    for slope in chosen.slopes:
        coverage(chosen.runs, chosen.draws, chosen.records, chosen.common, slope)
    return 0
