"""T11 chapter 5, figures 31 and 32: seven matching strategies on samples of 3 % from 10,000 people.

The population is the one of chapter 7's page (`research/_census.py`), and what is found on it stands beside
10,000 records of each public population. ``python -m research smith2011_strategies --write`` makes page and figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import altair as alt
import numpy as np

from benchmarks._public_populations import PUBLIC_POPULATIONS
from gemel.risk.identification.strategies import Attack
from research import write_page
from research._intervals import interval
from research._paper import on_paper
from research._smith2011_strategies_study import (
    CLAIMED_AT,
    CLAIMED_SAMPLES,
    FRACTION,
    PRINTED,
    PRINTED_UNIQUES,
    PRIORS,
    SAMPLES,
    Beside,
    beside,
    mean_of,
    populations,
)


def written(found: Sequence[Beside], seed: int) -> str:
    """The page in Markdown."""
    own = found[0]
    F = own.people.counts
    untouched = " and ".join(p.name for p in PUBLIC_POPULATIONS if not p.tuned)
    parts = [
        "# Matching strategies, T11 chapter 5",
        f"`python -m research smith2011_strategies --write` makes this page and its figures (seed {seed}); "
        "`research/tests/test_smith_2011_strategies.py` checks it.",
        "The thesis takes 10,000 anonymised census records as a population, crosses age, sex, dependent children, "
        f"ethnic group and occupancy pattern (564,000 combinations, {PRINTED_UNIQUES:,} population uniques), and draws "
        f"{SAMPLES} samples of {FRACTION:.0%}. Its file may not be passed on. The people here are those of "
        "[smith-2011.md](smith-2011.md), chapter 7: generated, with the same numbers of levels; "
        f"{int((F == 1).sum()):,} of {int(F.sum()):,} are unique in {len(F):,} occupied combinations.",
        "**What was fitted.** Nothing of this chapter. A former population of this page was shaped until its uniques, "
        "and with them the means of strategies 1, 4 and 5 (figures 31 and 32), came out within a tenth of the "
        "thesis's; that agreement showed what was put in, and is gone. What chapters 5 and 7 now share was made for "
        "chapters 7 and 8; [smith-2011-models.md](smith-2011-models.md) says what was fitted there.",
        _strategies(own),
        _why(found),
        "![Chance and cost of seven strategies, no one met twice](smith-2011-figure-31.svg)",
        "Figure 31: each point is a sample. A sample unique looked for in the population (4) is right most often and "
        "costs most; people until one matches any sample unique (5, Pr(CM | UM)) is cheap, and right far less often. "
        f"Strategy 4 is below strategy 5 in {_dominated(own.strategies)} of {len(own.strategies)} samples, as the "
        "dominance relation demands.",
        "![Chance and cost of seven strategies, people met again and again](smith-2011-figure-32.svg)",
        "Figure 32: with replacement the searches from the sample (1, 4, 6) lie on the line Pr(cm) = cost / N exactly: "
        "all are equally efficient. The thesis prints the two factors of the geometric law swapped; its expectation "
        "N/M is right.",
        "## The same on public populations",
        f"Ten thousand records of each, drawn once (seed {seed}), as the population; {SAMPLES} samples of "
        f"{FRACTION:.0%}; Pr(correct match) with 95 % intervals. No method was ever chosen by results on {untouched}.",
        _public(found),
        "## Claimed and true chances of the Bayesian match on the same populations",
        "Chapter 7's attack on the ten combinations with the greatest Pr(cm), the posterior over models exact. The "
        "precision of the models' prior is 1, as in the thesis, or has a gamma prior of shape and rate 1 "
        f"([smith-2011-models.md](smith-2011-models.md)). Means of {_claimed_samples(found)} samples with 95 % "
        "intervals; keys beyond six are left out.",
        _claims(found),
        _judged(found),
    ]
    return "\n\n".join(parts) + "\n"


def _strategies(own: Beside) -> str:
    lines = [
        "| | strategy | Pr(correct match), 95 % interval | people looked at, no one twice | with replacement | samples "
        "| in the thesis | here less thesis |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for number in range(1, 8):
        p, low, high = mean_of(own.strategies, number, "probability")
        cost = mean_of(own.strategies, number, "cost")[0]
        replaced = mean_of(own.strategies, number, "cost_replaced")[0]
        tried = sum(bool(a[number].targets) for a in own.strategies)
        printed = f"{PRINTED[number][0]}, {PRINTED[number][1]:,}" if number in PRINTED else ""
        gap = f"{p - PRINTED[number][0]:+.3f}, {cost - PRINTED[number][1]:+,.1f}" if number in PRINTED else ""
        name = own.strategies[0][number].name
        lines.append(
            f"| {number} | {name} | {p:.3f} ({low:.3f} to {high:.3f}) | {cost:,.1f} | {replaced:,.1f} | {tried} "
            f"| {printed} | {gap} |"
        )
    return "\n".join(lines)


def _why(found: Sequence[Beside]) -> str:
    unique = int((found[0].people.counts == 1).sum())
    people = 1 / mean_of(found[0].strategies, 5, "probability")[0]
    return (
        f"Strategies 1 and 4 are right less often here because fewer people are unique, {unique:,} beside "
        f"{PRINTED_UNIQUES:,}. Strategy 5 is right *more* often, though. It is the sample uniques over all people who "
        f"fit them: {people:.1f} people to each here, {1 / PRINTED[5][0]:.1f} in the thesis, whose uniques come from "
        f"combinations of one person more often, and from large ones too. {_nearest(found[1:])} The generated people "
        "are too alike. The thesis's text gives the mean .444 of strategy 1 to strategy 4 as well."
    )


def _nearest(others: Sequence[Beside]) -> str:
    """The two public populations with numbers of uniques nearest to the thesis's, in words."""

    def gap(own: Beside) -> int:
        return abs(int((own.people.counts == 1).sum()) - PRINTED_UNIQUES)

    words = []
    for own in sorted(others, key=gap)[:2]:
        four, five = (mean_of(own.strategies, number, "probability")[0] for number in (4, 5))
        unique = int((own.people.counts == 1).sum())
        words.append(f"{own.people.name} ({unique:,} uniques, {four:.3f}, {1 / five:.1f} people to each)")
    return f"The public files nearest to it in number of uniques, below, are nearer in both: {' and '.join(words)}."


def _dominated(found: Sequence[dict[int, Attack]]) -> int:
    return sum(a[4].probability < a[5].probability for a in found)


def _public(found: Sequence[Beside]) -> str:
    lines = [
        "| population | combinations | uniques | 1 | 3 | 4 (CM given SU) | 5 (CM given UM) | cost of 4 | cost of 5 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for own in found:
        F = own.people.counts
        chances = []
        for number in (1, 3, 4, 5):
            p, low, high = mean_of(own.strategies, number, "probability")
            chances.append(f"{p:.3f} ({low:.3f} to {high:.3f})")
        costs = [f"{mean_of(own.strategies, number, 'cost')[0]:,.1f}" for number in (4, 5)]
        cells = [own.people.name, f"{len(F):,}", f"{int((F == 1).sum()):,}", *chances, *costs]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append(f"| the thesis's | | {PRINTED_UNIQUES:,} | .444 | | .571 | .159 | 3,250.0 | 7.0 |")
    return "\n".join(lines)


def _claimed_samples(found: Sequence[Beside]) -> int:
    return len(next(iter(found[0].claims.values())).true)


def _claims(found: Sequence[Beside]) -> str:
    heads = [f"{name}, {what}" for name in PRIORS for what in ("claimed", "true", "claimed less true")]
    lines = [f"| population | sample | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    for own in found:
        for fraction in CLAIMED_AT if own.claims else ():
            cells = []
            for name in PRIORS:
                claim = own.claims[fraction, name]
                gap, low, high = interval(claim.claimed - claim.true)
                cells += [
                    f"{claim.claimed.mean():.3f}",
                    f"{claim.true.mean():.3f}",
                    f"{gap:+.3f} ({low:+.3f} to {high:+.3f})",
                ]
            lines.append(f"| {own.people.name} | {fraction:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _judged(found: Sequence[Beside]) -> str:
    gaps = {
        name: [
            float((c.claimed - c.true).mean()) for own in found for (_, prior), c in own.claims.items() if prior == name
        ]
        for name in PRIORS
    }
    plain, free = (np.array(gaps[name]) for name in PRIORS)
    return (
        f"The claim is above the truth in {int((plain > 0).sum())} of {len(plain)} cases at precision 1, by "
        f"{plain.max():.3f} at the most, and in {int((free > 0).sum())} with the gamma prior, by {free.max():.3f}; the "
        f"prior makes the gap smaller in {int((np.abs(free) < np.abs(plain)).sum())} of them. The ten best are chosen "
        "for their claims: no prior takes that out."
    )


def figure(found: Sequence[dict[int, Attack]], replaced: bool) -> str:
    """Probability against cost, a point for each sample and strategy."""
    rows = [
        {
            "strategy": str(number),
            "chance": round(a[number].probability, 4),
            "cost": round(a[number].cost_replaced if replaced else a[number].cost, 2),
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
    return on_paper(chart, f"t11-{number}", "Chance of a correct match against search cost of seven strategies.")


def main(arguments: list[str]) -> int:
    """Run, print the page, and write it if requested."""
    parser = argparse.ArgumentParser(prog="python -m research smith2011_strategies", description=__doc__)
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("--quick", action="store_true", help="two samples for each claim")
    parser.add_argument("--write", action="store_true", help="write research/smith-2011-strategies.md and its figures")
    options = parser.parse_args(arguments)
    claimed = 2 if options.quick else CLAIMED_SAMPLES
    found = [beside(people, SAMPLES, claimed, options.seed) for people in populations(options.seed)]
    text = written(found, options.seed)
    if options.write:
        figures = {f"smith-2011-figure-{n}": figure(found[0].strategies, replaced=n == 32) for n in (31, 32)}
        write_page("smith-2011-strategies", text, figures)
    print(text)
    return 0
