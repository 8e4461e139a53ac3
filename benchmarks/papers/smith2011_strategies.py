"""T11 chapter 5, figures 31 and 32: seven matching strategies on 40 samples of 3 % from 10,000 people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from benchmarks import DOCS
from tryst.risk.identification import Attack, Frequencies, attacks
from tryst.risk.report.drawing import draw
from tryst.risk.report.palette import PAPER

PEOPLE, SAMPLES, FRACTION, R = 10_000, 40, 0.03, 3
LEVELS = (94, 2, 3, 10, 100)  # age, sex, dependent child, ethnic group, occupation: 564,000 combinations

# What the thesis prints: Pr(cm) and expected cost, no one met twice.
PRINTED = {1: (0.444, 2556.9), 4: (0.571, 3250.0), 5: (0.159, 7.0)}


def people(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A population like a sample of anonymised census records, made here: level numbers, shape (n, 5)."""
    ages = np.arange(94)
    shape = 1.15 - 0.35 * np.abs(ages - 35) / 35 - 0.8 / (1 + np.exp(-(ages - 74) / 5))
    age = rng.choice(94, n, p=np.clip(shape, 0.01, None) / np.clip(shape, 0.01, None).sum())
    sex = (rng.random(n) < 0.5 + 0.002 * np.maximum(age - 50, 0)).astype(np.int64)
    child = np.where(age < 16, 1, np.where((age < 19) & (rng.random(n) < 0.6), 2, 0))
    group = np.array([0.942, 0.015, 0.011, 0.009, 0.006, 0.005, 0.004, 0.003, 0.003, 0.002])
    ethnic = rng.choice(10, n, p=group / group.sum())
    ranks = np.arange(1, 100) ** -0.75
    order = [rng.permutation(99), rng.permutation(99)]
    occupation = np.zeros(n, dtype=np.int64)
    working = (age >= 16) & (rng.random(n) < np.where(age < 65, 0.82, 0.5 * np.exp(-(age - 65) / 12)))
    for s in (0, 1):
        own = np.flatnonzero(working & (sex == s))
        occupation[own] = 1 + order[s][rng.choice(99, len(own), p=ranks / ranks.sum())]
    return np.column_stack([age, sex, child, ethnic, occupation])


def frequencies(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """F of the population's combinations."""
    cells = np.ravel_multi_index(people(n, rng).T, LEVELS)
    return np.unique(cells, return_counts=True)[1].astype(np.int64)


def simulated(F: NDArray[np.int64], samples: int, rng: np.random.Generator) -> list[dict[int, Attack]]:
    """The seven strategies on simple random samples without replacement."""
    size = round(FRACTION * int(F.sum()))
    return [
        attacks(Frequencies(rng.multivariate_hypergeometric(F, size).astype(np.int64), F), R) for _ in range(samples)
    ]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and its 95 % interval over samples."""
    own = np.asarray(values)
    half = float(student.ppf(0.975, len(own) - 1) * own.std(ddof=1) / np.sqrt(len(own)))
    return float(own.mean()), float(own.mean()) - half, float(own.mean()) + half


def page(F: NDArray[np.int64], found: list[dict[int, Attack]], seed: int) -> str:
    """The page in Markdown."""
    unique = int((F == 1).sum())
    lines = []
    for number in range(1, 8):
        p, low, high = interval([a[number].probability for a in found])
        cost = interval([a[number].cost for a in found])[0]
        replaced = interval([a[number].cost_replaced for a in found])[0]
        printed = f"{PRINTED[number][0]}, {PRINTED[number][1]:,}" if number in PRINTED else ""
        name = found[0][number].strategy
        lines.append(
            f"| {number} | {name} | {p:.3f} ({low:.3f} to {high:.3f}) | {cost:,.1f} | {replaced:,.1f} | {printed} |"
        )
    table = "\n".join(lines)
    return f"""# Matching strategies, T11 chapter 5

`python -m benchmarks smith2011_strategies --write` makes this page and its figures (seed {seed});
`tests/reproductions/test_smith_2011_strategies.py` checks it.

The thesis takes 10,000 anonymised census records as a population, crosses age, sex, dependent child, ethnic group and
occupation (564,000 combinations, 3,036 population uniques), and draws {SAMPLES} samples of 3 %. The people here are
made with the same number of combinations, and {unique:,} of {int(F.sum()):,} are unique in {len(F):,} occupied
combinations.

| | strategy | Pr(correct match), 95 % interval | people looked at, no one twice | with replacement | in the thesis |
|---|---|---|---|---|---|
{table}

![Chance and cost of seven strategies, no one met twice](smith-2011-figure-31.svg)

Figure 31: each point is a sample. A sample unique looked for in the population (4) is right most often and costs most;
people until one matches any sample unique (5, Pr(CM | UM)) is cheap, and right far less often.

![Chance and cost of seven strategies, people met again and again](smith-2011-figure-32.svg)

Figure 32: with replacement the searches from the sample (1, 4, 6) lie on the line Pr(cm) = cost / N exactly: all are
equally efficient. The thesis prints the two factors of the geometric law swapped; its expectation N/M is right.

Levels differ from the thesis's as the population does; the picture does not.
"""


def figure(found: list[dict[int, Attack]], replaced: bool) -> str:
    """Probability against cost, a point for each sample and strategy."""
    rows = [
        {
            "strategy": str(number),
            "chance": a[number].probability,
            "cost": a[number].cost_replaced if replaced else a[number].cost,
        }
        for a in found
        for number in a
        if a[number].targets
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows), width=560, height=300)
        .mark_point(size=28, filled=False)
        .encode(
            x=alt.X("cost:Q", scale=alt.Scale(type="log"), title="expected number of people looked at"),
            y=alt.Y("chance:Q", scale=alt.Scale(domain=[0, 1]), title="Pr(correct match)"),
            color=alt.Color("strategy:N", title="strategy"),
            shape=alt.Shape("strategy:N", title="strategy"),
        )
    )
    number = 32 if replaced else 31
    drawn = str(draw(chart, f"t11-{number}", "Chance of a correct match against search cost of seven strategies."))
    head, rest = drawn.split("</title>", 1)
    return f'{head}</title><rect width="100%" height="100%" fill="{PAPER}"/>{rest}\n'


def main(arguments: list[str]) -> int:
    """Run, print the page, and write it if requested."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks smith2011_strategies", description=__doc__)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write docs/smith-2011-strategies.md and its figures")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    F = frequencies(PEOPLE, rng)
    found = simulated(F, SAMPLES, rng)
    text = page(F, found, options.seed)
    if options.write:
        (DOCS / "smith-2011-strategies.md").write_text(text, encoding="utf-8")
        (DOCS / "smith-2011-figure-31.svg").write_text(figure(found, replaced=False), encoding="utf-8")
        (DOCS / "smith-2011-figure-32.svg").write_text(figure(found, replaced=True), encoding="utf-8")
    print(text)
    return 0
