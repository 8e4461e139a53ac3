"""What a dependence of two fields does where `model.dependence` is none: ``python -m research ignored_dependence``.

Two files of 400 people, half of them in both, compared by four fields: one of 150 values, one of two or more that
depends on the first (as sex on the given name), one of 12 values and one of 6 or 30. The second follows from the first
with a certain probability, which decides how many times as often two people agree on both as independence has it.
Linked one to one with independent fields, as `none` has it, and by default, with kinds of pairs. *claimed* is
the expected number of matches over their true number, *precision* that of the links; means over the seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.dependence import Neighbours, counted, linked
from gemel.carole.evaluation.link_quality import quality
from gemel.carole.fellegi_sunter.settings import FieldLevels

FIELDS = [
    FieldLevels("first", 2, describes="name"),
    FieldLevels("second", 2),
    FieldLevels("third", 2, describes="birth"),
    FieldLevels("fourth", 2, describes="birth"),
]
FIRST, THIRD = 150, 12
RECORDS, COMMON = 400, 200

STRENGTHS = ((2, 0.0), (2, 0.32), (2, 0.5), (2, 0.71), (2, 1.0), (4, 1.0), (8, 1.0))
"""Values of the second field, and the probability that it follows from the first."""

MODELS = (("none", "none"), ("default", "auto"))
"""Name, and dependence of the model."""


def files(rng: np.random.Generator, values: int, follows: float, fourth: int) -> Neighbours:
    """Two files in which the second field, of so many values, follows from the first with a probability."""
    of_first = rng.permutation(FIRST) % values

    def people(n: int) -> np.ndarray:
        first = rng.integers(0, FIRST, n)
        second = np.where(rng.random(n) < follows, of_first[first], rng.integers(0, values, n))
        return np.column_stack([first, second, rng.integers(0, THIRD, n), rng.integers(0, fourth, n)])

    a = people(RECORDS)
    b = np.vstack([a[:COMMON], people(RECORDS - COMMON)])
    for q, error in enumerate((0.1, 0.02, 0.1, 0.1)):
        wrong = rng.random(RECORDS) < error
        b[wrong, q] = rng.integers(1000, 2000, int(wrong.sum()))
    return counted(a, b, COMMON)


def ratio(values: int, follows: float) -> float:
    """How many times as often two people agree on both fields as independence has it."""
    return 1.0 + (values - 1) * follows**2


def main(arguments: Sequence[str]) -> int:
    """Link, judge, print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m research ignored_dependence", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="pairs of files of each kind")
    options = parser.parse_args(arguments)
    columns = [f"{what}, {name}" for name, *_ in MODELS for what in ("claimed", "precision")]
    print(f"seeds 0 to {options.seeds - 1}\n\n| fourth field | times as often | {' | '.join(columns)} | warned |")
    print(f"|{'---|' * (len(columns) + 3)}")
    for fourth in (6, 30):
        for values, follows in STRENGTHS:
            cells, warned = [], 0
            for _, kind in MODELS:
                rows = []
                for seed in range(options.seeds):
                    case = files(np.random.default_rng(seed), values, follows, fourth)
                    model, _, _, links = linked(case, kind, FIELDS)
                    warned += any(warning.code == "dependence_ignored" for warning in model.warnings)
                    rows.append([model.expected_matches / COMMON, quality(case.is_match[links], COMMON).precision])
                half = 1.96 * np.std(rows, axis=0, ddof=min(1, len(rows) - 1)) / np.sqrt(len(rows))
                cells += [f"{mean:.3f} ± {width:.3f}" for mean, width in zip(np.mean(rows, axis=0), half, strict=True)]
            of = options.seeds * sum(kind == "none" for _, kind in MODELS)
            print(
                f"| {fourth} values | {ratio(values, follows):.2f} | {' | '.join(cells)} | {warned} of {of} |",
                flush=True,
            )
    return 0
