"""What values add where names are poor, over several pairs of files: ``python -m benchmarks latent_rehearsal``.

Two insurers' invented files are linked by given name, month of birth, sex and driving quality; Alice holds six more
traits of a driver, Bob four (`coordinator.demonstration.people.insured`). Each pair of files is cleaned, signed and
linked as the services do it, once by agreement alone and once with the extended latent step. Means over the seeds with
their 95 % intervals (Student's t); differences are within seeds. ``tryst demo --variables`` is one such linkage through
the services themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from benchmarks._in_process import persons, signed
from tryst.carole.engine import LinkagePlan, Resources, link
from tryst.carole.engine.specified import plan_of
from tryst.carole.evaluation import calibration, matching_pairs, number_of_matches, quality
from tryst.common.encoding.signature_sets import SignatureSet
from tryst.common.parties import Side
from tryst.coordinator.demonstration.people import two_files
from tryst.coordinator.demonstration.people.insured import insured_specification, with_traits

MEASURES = ("precision", "recall", "F1", "Brier sum", "claimed/true")
SPEC = insured_specification("insurers")


def files(seed: int, n: int, changed: float) -> tuple[list[SignatureSet], list[np.ndarray]]:
    """Two signature sets and who their rows are."""
    rng = np.random.default_rng(seed)
    frames = with_traits(*two_files(n, n, n // 2, 0.2, rng), rng, changed=changed)
    sets, people = zip(*(signed(frame, SPEC, side) for side, frame in zip(Side, frames, strict=True)), strict=True)
    return list(sets), list(persons(*people))


def judged(sets: list[SignatureSet], people: list[np.ndarray], plan: LinkagePlan) -> list[float]:
    """The measures of one linkage."""
    linkage = link(sets[0], sets[1], plan, Resources(2**31, 2), lambda stage, done: None)
    pairs = linkage.pairs
    truth = matching_pairs(people[0], people[1], pairs.row_a, pairs.row_b)
    matches = number_of_matches(people[0], people[1])
    found = quality(truth[linkage.links], matches)
    brier = float(((pairs.link_probability - truth) ** 2).sum())
    claimed = calibration(pairs.link_probability, truth).expected[-1] / matches
    return [found.precision, found.recall, found.f1, brier, float(claimed)]


def interval(values: Sequence[float] | np.ndarray) -> str:
    """Mean with the half width of its 95 % interval."""
    column = np.asarray(values)
    half = stats.t.ppf(0.975, len(column) - 1) * column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else 0.0
    return f"{column.mean():.3f} ± {half:.3f}"


def main(arguments: Sequence[str]) -> int:
    """Link, judge, print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks latent_rehearsal", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="pairs of files")
    parser.add_argument("--records", type=int, default=600, help="records in each file, half of them in both")
    parser.add_argument("--changed", type=float, default=0.1, help="share of Bob's records with another key")
    options = parser.parse_args(arguments)
    plan = plan_of(SPEC)
    found: dict[str, list[list[float]]] = {"agreement alone": [], "with values": []}
    for seed in range(options.seeds):
        sets, people = files(seed, options.records, options.changed)
        found["agreement alone"].append(judged(sets, people, replace(plan, latent=None)))
        found["with values"].append(judged(sets, people, plan))
    print(f"{options.seeds} pairs of files of {options.records} records, seeds 0 to {options.seeds - 1}\n")
    print(f"| | {' | '.join(MEASURES)} |\n| --- |{' ---: |' * len(MEASURES)}")
    table = {what: np.array(rows) for what, rows in found.items()}
    table["difference"] = table["with values"] - table["agreement alone"]
    for what, rows in table.items():
        print(f"| {what} | {' | '.join(interval(column) for column in rows.T)} |")
    return 0
