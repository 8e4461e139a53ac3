"""Shlomo 2009: identification risk of a sample whose authorities were swapped, by two frameworks that must agree."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import altair as alt
import numpy as np

from gemel.risk.report.drawing import SOFT, TEAL
from research import write_page
from research._intervals import bracketed
from research._one_indicator import table_5
from research._paper import on_paper
from research._shlomo2009_study import FRACTION, PEOPLE, RATE, Study, replicated

_POINTS = 700
_STYLE_SIZE = 380


def page(found: Sequence[Study], people: int, seed: int) -> str:
    """The page, as Markdown."""
    first = found[0]
    sizes = [len(s.perturbed.uniques) for s in found]
    drift = np.mean([np.diag(s.simulated_theta) for s in found], axis=0)
    rows = [
        ("true tau, original sample (sum of 1/F)", "358.1", lambda s: s.true_tau),
        ("naive tau, original sample, two-way model", "358.6", lambda s: s.naive["two-way"].tau2),
        ("naive tau, original sample, independence", "", lambda s: s.naive["independence"].tau2),
        ("naive tau, swapped sample, two-way model", "", lambda s: s.after["two-way"].tau2),
        ("tau under misclassification, equation 9", "298.9", lambda s: s.risk.tau or 0.0),
        ("the same by equation 8", "", lambda s: s.risk.tau_approximate or 0.0),
        ("estimated from the swapped sample alone", "286.8", lambda s: s.risk.tau_estimated or 0.0),
        ("record linkage: sum of 1/F over uniques that still agree", "289.5", lambda s: s.realised),
    ]
    table = first.linkage.table
    parts = [
        "# Shlomo 2009: identification risk under misclassification",
        "`python -m research shlomo2009 --write` makes this page and its figures; `research/tests/test_shlomo_2009.py`"
        f" checks what it claims on a smaller population. Seed {seed}, {len(found)} samples.",
        f"An extract of {people:,} people with the shapes of the paper's (eleven authorities, sex, 24 age groups, "
        "marital status, ethnic group, economic activity), made here and from no census; a Bernoulli sample of "
        f"{FRACTION:.0%}; {RATE:.0%} of the records swap their authority. The paper's sample had 2,853 uniques after "
        f"swapping, these have {min(sizes):,} to {max(sizes):,}: the generated people are spread more evenly, so "
        "numbers of matches are larger, and what is to be compared are the relations between the rows.",
        "## Table 3: expected correct matches among sample uniques",
        "| | mean (95 % interval) | share of the truth | in the paper |\n|---|---|---|---|\n"
        + "\n".join(_row(found, *row) for row in rows),
        _judged(found),
        "## Table 4: blocked on all keys but the authority",
        "First sample. Pairs of a swapped sample's unique and a person of the population.\n\n| | no match | match |"
        f" total |\n|---|---|---|---|\n| authorities differ | {table[0, 0]:,} | {table[0, 1]:,} | {table[0].sum():,}"
        f" |\n| authorities agree | {table[1, 0]:,} | {table[1, 1]:,} | {table[1].sum():,} |\n| total |"
        f" {table[:, 0].sum():,} | {table[:, 1].sum():,} | {table.sum():,} |",
        f"m = {first.linkage.m:.3f} (paper .78), u = {first.linkage.u:.3f} (.09), p = {first.linkage.p:.4f} (.002), "
        f"and P(match | agree) = {first.linkage.match_given_agreement:.4f}. The paper gives .015 for its table, which "
        "is the table's own share, 2,234 of 145,555; its rounded m, u and p put into Bayes' theorem would give .017. m "
        "is the share of values that kept their authority, as it should be.",
        *table_5(),
        "## Figures 1 and 2",
        "![Estimated risk of each unique beside equation 7](shlomo-2009-figure-1.svg)",
        f"Figure 1: each unique's estimated risk beside equation 7, which knows the population ({_POINTS:,} drawn at "
        "random, logarithmic scales). Symmetric about the diagonal, and wide: the sum is estimated well, single "
        "records are not.",
        "![Probability of a match given agreement beside equation 8](shlomo-2009-figure-2.svg)",
        "Figure 2: the record-linkage view, P(match | agreement) of the uniques with the same risk by equation 8, in "
        "classes of that risk, with the 95 % interval of the class's mean. The two frameworks agree.",
        "## What else was found",
        f"- The swapping matrix of the paper puts {1 - RATE:.1f} on the diagonal. Of the records of each authority,"
        f" {drift.min():.3f} to {drift.max():.3f} kept it here, on average. Where one level holds most records the"
        " matrix fails (a test swaps 1,900 records against 100: .98 stay).\n- The paper prints the swapping matrix"
        " with its index transposed; columns must sum to 1.\n- A record that was moved to a combination that no one in"
        " the population has cannot be matched: equation 7 is then no probability (it exceeds 1), and its risk is 0."
        " Without this the sum is several times too large for samples as sparse as these.\n- Tables 1 and 2 (the"
        " identity of the two frameworks) are tested to 1e-12 in"
        " `tests/risk/identification/test_misclassification.py`.",
    ]
    return "\n\n".join(parts) + "\n"


def _row(found: Sequence[Study], name: str, printed: str, value: Callable[[Study], float]) -> str:
    values = np.array([value(s) for s in found])
    truth = np.array([s.true_tau if "original" in name else s.risk.tau or 1.0 for s in found])
    return f"| {name} | {bracketed(values, '.1f')} | {(values / truth).mean():.3f} | {printed} |"


def _judged(found: Sequence[Study]) -> str:
    naive = bracketed([s.after["two-way"].tau2 / (s.risk.tau or 1.0) for s in found])
    estimated = bracketed([(s.risk.tau_estimated or 0.0) / (s.risk.tau or 1.0) for s in found])
    realised = bracketed([s.realised / (s.risk.tau or 1.0) for s in found])
    return (
        "Shares are of the true tau for the rows of the original sample, of equation 9 for the others. Ignoring the "
        f"swap overstates the risk by a factor of {naive}; multiplying by theta's diagonal brings it to {estimated}. "
        f"What record linkage finds is {realised} of equation 9. The two-way model "
        "leaves tau a few per cent low, as its negative B2 shows: "
        + ", ".join(f"{s.naive['two-way'].B2:.0f}" for s in found[:5])
        + " in the first samples, beside "
        + ", ".join(f"{s.naive['independence'].B2:,.0f}" for s in found[:2])
        + " for independence."
    )


def figure_1(found: Study) -> str:
    """Estimated risk beside equation 7."""
    exact, estimated = found.risk.exact, found.risk.estimated
    assert exact is not None
    assert estimated is not None
    there = np.flatnonzero(exact > 0)
    some = np.random.default_rng(1).choice(there, min(_POINTS, len(there)), replace=False)
    rows = [{"estimated": float(f"{estimated[i]:.3g}"), "exact": float(f"{exact[i]:.3g}")} for i in some]
    low = float(min(estimated[some].min(), exact[some].min()))
    scale = alt.Scale(type="log", domain=[low, 1])
    points = (
        alt.Chart(alt.InlineData(values=rows), width=_STYLE_SIZE, height=_STYLE_SIZE)
        .mark_circle(size=12, opacity=0.35, color=TEAL)
        .encode(
            x=alt.X("estimated:Q", scale=scale, title="estimated from the swapped sample"),
            y=alt.Y("exact:Q", scale=scale, title="equation 7"),
        )
    )
    return on_paper(alt.layer(_diagonal(low), points), "shlomo1", "Estimated risk beside equation 7")


def figure_2(found: Study) -> str:
    """P(match | agreement) beside equation 8, by classes of equal size."""
    approximate = found.risk.approximate
    assert approximate is not None
    realised = np.where(found.agreeing, 1.0 / np.maximum(found.population, 1), 0.0)
    there = np.flatnonzero(approximate > 0)
    order = there[np.argsort(approximate[there], kind="stable")]
    rows = []
    for own in np.array_split(order, 25):
        mean, half = realised[own].mean(), 1.96 * realised[own].std(ddof=1) / np.sqrt(len(own))
        rows.append(
            {
                "risk": float(approximate[own].mean()),
                "match": float(mean),
                "low": float(max(mean - half, 1e-4)),
                "high": float(mean + half),
            }
        )
    low = min(min(r["risk"], r["low"]) for r in rows)
    scale = alt.Scale(type="log", domain=[low, 1])
    base = alt.Chart(alt.InlineData(values=rows), width=_STYLE_SIZE, height=_STYLE_SIZE).encode(
        x=alt.X("risk:Q", scale=scale, title="theta / F~ (equation 8)")
    )
    bars = base.mark_rule(color=SOFT).encode(y=alt.Y("low:Q", scale=scale, title="P(match | agreement)"), y2="high:Q")
    points = base.mark_circle(size=40, color=TEAL).encode(y=alt.Y("match:Q", scale=scale))
    return on_paper(alt.layer(_diagonal(low), bars, points), "shlomo2", "Match given agreement beside equation 8")


def _diagonal(low: float) -> alt.Chart:
    ends = [{"a": low, "b": low}, {"a": 1, "b": 1}]
    scale = alt.Scale(type="log", domain=[low, 1])
    return (
        alt.Chart(alt.InlineData(values=ends))
        .mark_line(color=SOFT, strokeDash=[4, 3])
        .encode(x=alt.X("a:Q", scale=scale), y=alt.Y("b:Q", scale=scale))
    )


def main(arguments: list[str]) -> int:
    """Run the study, print the page, and write it if requested."""
    parser = argparse.ArgumentParser(prog="python -m research shlomo2009", description=__doc__)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--replicates", type=int, default=10)
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write research/shlomo-2009.md and its figures")
    options = parser.parse_args(arguments)
    found = replicated(options.people, options.replicates, options.seed)
    text = page(found, options.people, options.seed)
    if options.write:
        figures = {"shlomo-2009-figure-1": figure_1(found[0]), "shlomo-2009-figure-2": figure_2(found[0])}
        write_page("shlomo-2009", text, figures)
    print(text)
    return 0
