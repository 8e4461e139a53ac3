"""Time and memory of the extended latent step at a million, ten million and a hundred million candidate pairs.

Two files of people of the network of drivers, each with a surname and a month of birth, all pairs compared; each size
in a process of its own. Passes over the pairs stream, so memory does not grow with them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks._figures import peak_bytes
from gemel.carole.engine.run.resources import in_order
from gemel.carole.evaluation.link_quality import curve_of, tied_classes
from gemel.carole.extended_latent import Values, Variable, fit_extended
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.schemes import fit_scheme
from gemel.common.progress import StageProgress
from gemel.coordinator.demonstration.people.insured import driver_network
from gemel.coordinator.demonstration.people.names import name_tables
from research._attribution import attribute

ALICE = ("SeniorTrain", "RiskAversion", "VehicleYear", "GoodStudent", "DrivingSkill", "SocioEcon")
FIELDS = ("quality", "surname", "year", "month")
BOUNDS = ((0.5, 1.0),) * len(FIELDS)
PART = 1 << 17
DAMAGED = 0.15


@dataclass(frozen=True)
class ProductPairs:
    """Every pair of two files, its pattern made on the way: what the engine does, without signatures."""

    keys_a: NDArray[np.int32]
    keys_b: NDArray[np.int32]
    threads: int

    @property
    def n_pairs(self) -> int:
        """Their number."""
        return len(self.keys_a) * len(self.keys_b)

    def map(self, visit: Callable[..., object], progress: StageProgress) -> Iterator[object]:
        """Visit stretches of A's rows, each with all rows of B."""
        n_b = len(self.keys_b)
        rows = max(1, PART // n_b)
        every = np.arange(n_b, dtype=np.int32)

        def one(start: int) -> object:
            some = np.arange(start, min(start + rows, len(self.keys_a)), dtype=np.int32)
            pattern = np.zeros((len(some), n_b), dtype=np.int32)
            for q in range(self.keys_a.shape[1]):
                pattern += (self.keys_a[some, q, None] == self.keys_b[None, :, q]).astype(np.int32) << q
            return visit(np.repeat(some, n_b), np.tile(every, len(some)), pattern.ravel())

        with ThreadPoolExecutor(self.threads) as pool:
            starts = range(0, len(self.keys_a), rows)
            for done, result in enumerate(in_order(pool, one, starts, 2 * self.threads)):
                yield result
                progress((done + 1) / len(starts))


def run(n_pairs: int, threads: int, seed: int) -> dict[str, float]:
    """One size: sides of sqrt(n_pairs) records, three fifths of them in both files."""
    rng = np.random.default_rng([seed, n_pairs])
    side = round(n_pairs**0.5)
    network = driver_network()
    names = name_tables()["surname"]
    population = int(side / 0.6)
    everyone = network.sample(population, rng)
    surname = np.searchsorted(np.cumsum(names.weights), rng.integers(0, names.weights.sum(), population), side="right")
    birth = np.column_stack([rng.integers(0, 70, population), rng.integers(0, 12, population)])
    in_a, in_b = rng.permutation(population)[:side], rng.permutation(population)[:side]
    quality = network.names.index("DrivQuality")
    keys = np.column_stack([everyone[:, quality], surname, birth])
    keys_a, keys_b = keys[in_a].copy(), keys[in_b].copy()
    for q, levels in enumerate((3, len(names.weights), 70, 12)):
        wrong = rng.random(side) < DAMAGED
        keys_b[wrong, q] = rng.integers(0, levels, int(wrong.sum()))
    distinct, codes = np.unique(np.concatenate([keys_a[:, 1], keys_b[:, 1]]), return_inverse=True)
    keys_a[:, 1], keys_b[:, 1] = codes[:side], codes[side:]
    variables = (
        *(
            Variable(str(name), "both" if v == quality else "alice" if name in ALICE else "bob", n)
            for v, (name, n) in enumerate(zip(network.names, network.levels, strict=True))
        ),
        Variable("Surname", "both", len(distinct)),
    )
    a = np.column_stack([everyone[in_a], keys_a[:, 1]]).astype(np.int32)
    b = np.column_stack([everyone[in_b], keys_b[:, 1]]).astype(np.int32)
    b[:, quality] = keys_b[:, 0]
    for v, variable in enumerate(variables):
        if variable.holder == "bob":
            a[:, v] = -1
        elif variable.holder == "alice":
            b[:, v] = -1
    values = Values(variables, a, b)
    pairs = ProductPairs(keys_a.astype(np.int32), keys_b.astype(np.int32), threads)
    # Once over a few pairs: compiling is no part of what is timed.
    _steps(_first(values, 50), ProductPairs(pairs.keys_a[:50], pairs.keys_b[:50], 1), in_a[:50], in_b[:50])
    found = _steps(values, pairs, in_a, in_b)
    found["peak"] = peak_bytes() / 2**20
    return found


def _counted(a: NDArray[np.int32], b: NDArray[np.int32], pattern: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.bincount(pattern, minlength=1 << len(FIELDS))


def _first(values: Values, n: int) -> Values:
    return Values(values.variables, values.codes_a[:n], values.codes_b[:n])


def _steps(
    values: Values, pairs: ProductPairs, person_a: NDArray[np.int64], person_b: NDArray[np.int64]
) -> dict[str, float]:
    seconds: dict[str, float] = {}
    started = time.process_time()
    counts = np.zeros(1 << len(FIELDS), dtype=np.int64)
    for part in pairs.map(_counted, lambda done: None):
        counts += part
    gamma = (np.arange(len(counts))[:, None] >> np.arange(len(FIELDS)) & 1).astype(np.int8)
    patterns = PatternCounts(gamma, np.zeros(len(counts), np.uint32), counts)
    fitted = fit_scheme("multinomial", patterns, FIELDS, BOUNDS, values.n_a, values.n_b)
    seconds["plain"] = time.process_time() - started
    marks: dict[str, float] = {}

    def progress(stage: str, done: float) -> None:
        marks.setdefault(stage, time.process_time())
        marks[f"{stage} end"] = time.process_time()

    started = time.process_time()
    fit = fit_extended(values, pairs, patterns, fitted, BOUNDS, progress=progress)
    seconds["extended"] = time.process_time() - started
    seconds["learn pass"] = marks["learn end"] - started
    seconds["value model"] = marks["count"] - marks["learn end"]
    seconds["count pass"] = marks["count end"] - marks["count"]
    seconds["em"] = marks["model"] - marks["count end"]
    started = time.process_time()
    kept = fit.keep(pairs, patterns, -fit.log_prior_odds / np.log(2) - 7)
    seconds["keep pass"] = time.process_time() - started
    truth = person_a[kept.row_a] == person_b[kept.row_b]
    weights = fit.match_weights(kept.row_a, kept.row_b, gamma[kept.pattern])
    probability = fit.match_probabilities(kept.row_a, kept.row_b, gamma[kept.pattern])
    started = time.process_time()
    attribute(values, fit.joint, "HomeBase", kept.row_a, kept.row_b, probability)
    seconds["attribution"] = time.process_time() - started
    matches = len(np.intersect1d(person_a, person_b))
    plain = fitted.match_weights(gamma)[kept.pattern]
    return seconds | {
        "classes": len(fit.classes.count),
        "kept": len(kept.row_a),
        "area": curve_of(tied_classes(weights, truth), matches).auc,
        "area plain": curve_of(tied_classes(plain, truth), matches).auc,
    }


def main(arguments: list[str]) -> int:
    """Run the sizes and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks latent", description=__doc__)
    parser.add_argument("--pairs", type=float, nargs="*", default=[1e6, 1e7, 1e8])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="one size in this process; prints JSON")
    options = parser.parse_args(arguments)
    if options.alone:
        print(json.dumps(run(int(options.pairs[0]), options.threads, options.seed)))
        return 0
    columns = ("plain", "learn pass", "value model", "count pass", "em", "keep pass", "attribution")
    print(f"{options.threads} threads; CPU seconds of all of them, and peak memory of the process in MiB\n")
    print(f"| pairs | {' | '.join(columns)} | peak | classes | kept pairs | area, plain | area, extended |")
    print("|---|" + "---|" * (len(columns) + 5))
    for n in options.pairs:
        command = [sys.executable, "-m", "benchmarks", "latent", "--alone", "--pairs", str(n)]
        command += ["--threads", str(options.threads), "--seed", str(options.seed)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        cells = [f"{found[column]:.2f}" for column in columns]
        cells += [f"{found['peak']:.0f}", f"{found['classes']:,}", f"{found['kept']:,}"]
        cells += [f"{found['area plain']:.3f}", f"{found['area']:.3f}"]
        print(f"| {n:,.0f} | {' | '.join(cells)} |", flush=True)
    return 0
