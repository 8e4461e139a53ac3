"""Smith's thesis (2011), chapter 8: the models behind its scores, the prior on their precision, and tables 2 and 3.

The generated population and the settings of the searches are those of `smith2011`; what the thesis has of one run is
had here of 20 samples. ``python -m research smith2011_models --write`` makes page and figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from gemel.risk.models.pictures import draw_graph
from gemel.risk.report.drawing import RUST, TEAL
from research import write_page
from research._census import census
from research._intervals import bracketed
from research._paper import on_paper
from research._smith2011_models_study import FITS, FRACTIONS, PRIOR, SAMPLES, SETS, Fitted, Searched, Study, studied
from research._smith2011_printed import BAND_NAMES, STATED, TABLES
from research._smith2011_study import NORTH_WEST

_POINTS = 600


def written(found: Study, seed: int) -> tuple[str, dict[str, str]]:
    """The page in Markdown, and the figures as SVG by name."""
    samples = len(found.tables[0.01])
    figures = {"smith-2011-figure-51": _convergence({f: found.searches[12, f][0] for f in FRACTIONS})}
    for fraction, number in ((0.01, 50), (0.05, 56)):
        title = f"Best model by annealing, {fraction:.0%} sample"
        figures[f"smith-2011-figure-{number}"] = draw_graph(
            found.searches[12, fraction][0].annealed.best.graph, title=title
        )
    parts = [
        "# Smith's thesis, chapter 8: the models behind the scores",
        f"`python -m research smith2011_models --write` makes this page and its figures (seed {seed}, {samples} "
        "samples of each kind; in brackets 95 % intervals of means over samples unless ranges are named); "
        "`research/tests/test_smith_2011_models.py` checks what it claims on fewer. Population and settings are "
        "those of [smith-2011.md](smith-2011.md), and the first sample is the one that its figures show.",
        "**What was fitted.** The thesis's file may not be passed on. The generator's shares were invented with two "
        "things of the thesis in view: the numbers of levels, which are the same, and about how many people are unique "
        f"on the twelve variables: {int(found.tables[0.01][0][:, 1].sum()):,} here, 26,884 there. No result below was "
        "fitted.",
        *_counts(found),
        *_figures(found),
        *_precision(found),
        *_tables(found),
    ]
    return "\n\n".join(parts) + "\n", figures


def _counts(found: Study) -> list[str]:
    lines = [
        "| variables, sample | MC3 visited | share of its heaviest model | edges, MC3 | edges, annealing "
        "| common edges | annealing's model is better |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, searches in found.searches.items():
        stated = STATED.get(key)
        better = sum(s.gain > 0.01 for s in searches)
        same = sum(abs(s.gain) <= 0.01 for s in searches)
        cells = [
            (_range(searches, lambda s: s.chain.visited), stated and stated.visited),
            (_range(searches, lambda s: s.chain.weights[0], ".2f"), stated and stated.weight),
            (_range(searches, lambda s: len(s.chain.best.graph.edges)), stated and stated.edges),
            (_range(searches, lambda s: len(s.annealed.best.graph.edges)), stated and stated.annealed_edges),
            (_range(searches, lambda s: s.common_edges), stated and stated.common_edges),
            (
                f"{better} of {len(searches)}" + (f", {same} the same" if same else ""),
                stated and ("yes" if stated.annealing_better else "no"),
            ),
        ]
        row = " | ".join(here + (f"; thesis {there}" if there is not None else "") for here, there in cells)
        lines.append(f"| {key[0]}, {key[1]:.0%} | {row} |")
    walked = [s.walked for searches in found.searches.values() for s in searches]
    outside = _outside(found)
    return [
        "## Models visited and found, beside the thesis's",
        "Medians, with smallest and largest, of the samples; the thesis has one run of each. MC3 visited: models at "
        "its 1,000 samples (20,000 moves after 1,000, every twentieth).",
        "\n".join(lines),
        f"{outside} The chain hardly moves: it is at no more than {_quantile(found, 0.5):.0f} models in half of all "
        f"runs, and at {_quantile(found, 1.0):.0f} at the most. Annealing's run clearly is at many (the thesis, "
        f"without a number): {min(walked):,} to {max(walked):,} different ones in 3,666 moves.",
        "The thesis says both that annealing's runs *consistently* found more probable models than MC3 visited (of "
        "trial runs) and that two of the four runs described went the other way. By the last column it depends on the "
        "kind of file, and is never certain.",
    ]


def _quantile(found: Study, share: float) -> float:
    return float(np.quantile([s.chain.visited for searches in found.searches.values() for s in searches], share))


def _outside(found: Study) -> str:
    """Which of the thesis's numbers lie outside the range found."""
    values: dict[str, Callable[[Searched], float]] = {
        "visited": lambda s: s.chain.visited,
        "weight": lambda s: s.chain.weights[0],
        "edges": lambda s: len(s.chain.best.graph.edges),
        "annealed_edges": lambda s: len(s.annealed.best.graph.edges),
        "common_edges": lambda s: s.common_edges,
    }
    words = {
        "visited": "models visited",
        "weight": "share of the heaviest",
        "edges": "edges by MC3",
        "annealed_edges": "edges by annealing",
        "common_edges": "common edges",
    }
    numbers, outside = 0, []
    for key, stated in STATED.items():
        if key not in found.searches:
            continue
        for name, value in values.items():
            printed = getattr(stated, name)
            if printed is None:
                continue
            numbers += 1
            own = [value(s) for s in found.searches[key]]
            if not min(own) - 0.0005 <= printed <= max(own) + 0.0005:
                outside.append(
                    f"{words[name]} at {key[0]} variables, {key[1]:.0%}: {printed} beside {min(own):.3g} to "
                    f"{max(own):.3g}"
                )
    inside = f"Of the {numbers} numbers that the thesis states {numbers - len(outside)} lie within the range found here"
    return inside + (f"; outside: {'; '.join(outside)}." if outside else ".")


def _range(searches: Sequence[Searched], value: Callable[[Searched], float], form: str = ".0f") -> str:
    own = [value(s) for s in searches]
    return f"{np.median(own):{form}} ({min(own):{form}} to {max(own):{form}})"


def _figures(found: Study) -> list[str]:
    first = {fraction: found.searches[12, fraction] for fraction in FRACTIONS}
    ethnic = {f: sum("ETHGROUP" in s.alone() for s in own) for f, own in first.items()}
    alone = {f: sum(bool(s.alone()) for s in own) for f, own in first.items()}
    cars = {f: sum(_hangs_on_one(s, "CARS") for s in own) for f, own in first.items()}
    n = len(first[0.01])
    edges = {f: np.mean([len(s.annealed.best.graph.edges) for s in own]) for f, own in first.items()}
    gains = {
        f: bracketed([s.cool.best.log_score - s.annealed.best.log_score for s in own], "+,.0f")
        for f, own in first.items()
    }
    return [
        "## Figures 50 and 56: the best models by annealing",
        "![Best model by annealing, 1 % sample](smith-2011-figure-50.svg)",
        "![Best model by annealing, 5 % sample](smith-2011-figure-56.svg)",
        "The thesis reads off its 1 % model that the ethnic group is independent of everything, and the cars of "
        "everything given the residents; its 5 % model has no variable by itself. Here annealing's model has the "
        f"ethnic group by itself in {ethnic[0.01]} of {n} samples of 1 % and {ethnic[0.05]} of 5 %, any variable in "
        f"{alone[0.01]} and {alone[0.05]}, and the cars joined to one variable only in {cars[0.01]} and {cars[0.05]}. "
        f"The models have {edges[0.01]:.1f} and {edges[0.05]:.1f} edges on average: more data, more edges, as in the "
        "thesis; which edges is a matter of the population, and ours is another.",
        "## Figure 51: convergence of annealing",
        "![Log marginal likelihood along annealing](smith-2011-figure-51.svg)",
        "The log marginal likelihood of the model at each move. As in the thesis it wanders without regard to the data "
        "while it is hot, rises steeply, and then changes little. Log scores of neighbouring models differ by "
        "hundreds, so that all is decided at temperatures of that size, and the start at 1e14 only costs moves. To "
        "start cool is no remedy: as many moves from temperature 20 to .1 change the log score of the end by "
        f"{gains[0.01]} at 1 % and by {gains[0.05]} at 5 %.",
    ]


def _hangs_on_one(search: Searched, name: str) -> bool:
    graph = search.annealed.best.graph
    return int(graph.adjacency[graph.names.index(name)]).bit_count() == 1


def _precision(found: Study) -> list[str]:
    lines = [
        "| sample | MC3 | precision | visited | edges | moves made | AUC | claimed | true | 50 riskiest, claimed "
        "| true | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for fraction, by_name in found.fits.items():
        for name, fits in by_name.items():
            lines.append(
                f"| {fraction:.0%} | {name} | "
                + " | ".join(
                    (
                        f"{_mean(fits, 'precision'):.0f}",
                        f"{_mean(fits, 'visited'):.0f}",
                        f"{_mean(fits, 'edges'):.1f}",
                        f"{_mean(fits, 'acceptance'):.2%}",
                        bracketed([f.area for f in fits]),
                        bracketed([f.claimed for f in fits]),
                        f"{_mean(fits, 'true'):.3f}",
                        bracketed([f.top_claimed for f in fits]),
                        bracketed([f.top_true for f in fits]),
                        f"{_mean(fits, 'seconds'):.1f}",
                    )
                )
                + " |"
            )
    plain, free, short, long = (list(FITS)[k] for k in (0, 1, 2, 3))
    gains = []
    for fraction, by_name in found.fits.items():
        for one, other, words in ((plain, free, "with the thesis's chain"), (short, long, "with four chains")):
            area = bracketed(_difference(by_name[other], by_name[one], lambda f: f.area), "+.3f")
            excess = [bracketed([f.claimed - f.true for f in by_name[name]], "+.3f") for name in (one, other)]
            gains.append(
                f"- {fraction:.0%}, {words}: AUC {area}; claims exceed the truth by {excess[0]} at precision 1 and "
                f"{excess[1]} with the prior."
            )
    mixed = "; ".join(
        f"{fraction:.0%} sample, {name}: R-hat {_median(own, name, 0):,.1f}, edge spread {_median(own, name, 1):.2f}"
        for fraction, own in found.mixed.items()
        for name in ("precision 1", "gamma prior")
    )
    return [
        "## A gamma prior on the precision",
        "The thesis also tried a gamma prior on the total prior precision, which is otherwise 1 (Tarantola 2004), to "
        "help MC3 mix, and gave it up: too slow, and no better mixing. It shows no numbers and does not state the "
        f"prior. Here it is a gamma of shape {PRIOR.shape:g} and rate {PRIOR.rate:g} "
        "(`gemel.risk.models.mc3_with_precision`, twelve variables; means over samples, 95 % intervals in brackets).",
        "\n".join(lines),
        "\n".join(gains),
        "Mixing, by four of the thesis's chains from different starts (medians over "
        f"{len(next(iter(found.mixed.values())))} samples): {mixed}. R-hat is that of the log score, 1 where chains "
        "agree; an edge spread of 1 is an edge that one chain always has and another never.",
        "So the thesis is right about mixing. What it does not report is that the data are far from a precision of 1: a"
        " prior worth one record in all expects a few cells to hold nearly everything, and models with few edges win;"
        " at the precision that the data ask for the best models have half as many edges again, or twice as many. The"
        " differences above say what that is worth: much of the excess of claims in the small sample, once the search"
        " mixes; little in the larger one; and the 50 riskiest are claimed with nearly as much confidence as before.",
    ]


def _difference(ones: Sequence[Fitted], others: Sequence[Fitted], value: Callable[[Fitted], float]) -> list[float]:
    return [value(one) - value(other) for one, other in zip(ones, others, strict=True)]


def _mean(fits: Sequence[Fitted], name: str) -> float:
    return float(np.mean([getattr(f, name) for f in fits]))


def _median(own: Sequence[dict[str, tuple[float, float]]], name: str, k: int) -> float:
    return float(np.median([mixed[name][k] for mixed in own]))


def _tables(found: Study) -> list[str]:
    parts = ["## Tables 2 and 3 beside the thesis's rows"]
    for fraction in FRACTIONS:
        number, printed = TABLES[fraction]
        mean = found.tables[fraction].mean(axis=0)
        lines = [
            f"### Table {number}: combinations by sample and population count, {fraction:.0%}",
            "",
            f"| sample | | {' | '.join(BAND_NAMES)} | total |",
            "|---|---|" + "---|" * (len(BAND_NAMES) + 1),
        ]
        for k, name in enumerate((*BAND_NAMES, "all")):
            there = printed[k] if k < len(printed) else printed.sum(axis=0)
            here = mean[k] if k < len(mean) else mean.sum(axis=0)
            if not there.any() and not here.any():
                continue
            lines.append(f"| {name} | thesis | {_cells(there)} |")
            lines.append(f"| {name} | here | {_cells(here)} |")
        lines += ["", _compared(found.tables[fraction], printed, fraction)]
        parts.append("\n".join(lines))
    return parts


def _cells(row: NDArray[np.float64] | NDArray[np.int64]) -> str:
    values = [*row.tolist(), row.sum()]
    return " | ".join(f"{x:,.0f}" if x == round(x) or x >= 100 else f"{x:,.1f}" for x in values)


def _compared(tables: NDArray[np.int64], printed: NDArray[np.int64], fraction: float) -> str:
    uniques = tables[:, 1].sum(axis=1)
    both = tables[:, 1, 1] / uniques
    fewest, greatest = uniques.min(), uniques.max()
    population = tables[0].sum(axis=0)
    total = printed.sum(axis=0)
    expected = [_unique_in_sample(F, fraction) * int(total[F]) for F in range(1, 6)]
    gaps = [(int(printed[1, F]) - e) / np.sqrt(e) for F, e in enumerate(expected, 1)]
    return (
        f"Means of {len(tables)} samples. Sample uniques {bracketed(uniques, ',.0f')}, from {fewest:,} to "
        f"{greatest:,} (thesis {int(printed[1].sum()):,}); of them unique in the population {bracketed(both)} (thesis "
        f"{printed[1, 1] / printed[1].sum():.3f}). This population has {population[1] / total[1]:.2f} times the "
        f"thesis's population uniques and {population[2:6].sum() / total[2:6].sum():.2f} times its combinations of 2 "
        f"to 5 people; the rows of sample counts 0 to 2 follow from that. The thesis's own row of sample uniques "
        f"agrees with its row of totals: {', '.join(f'{e:,.0f}' for e in expected)} are to be expected of population "
        f"counts 1 to 5 in a simple random sample, at most {max(abs(g) for g in gaps):.1f} standard deviations from "
        "those printed. Where the files differ is at the top: combinations with many people, "
        f"{int(population[-1]):,} of 21 and more beside {int(total[-1]):,}, hold "
        f"{tables[:, 6:].sum(axis=(1, 2)).mean():,.1f} sample counts of 6 and more beside {int(printed[6:].sum())}."
    )


def _unique_in_sample(F: int, fraction: float) -> float:
    """P(one of F people is drawn), Bernoulli in place of hypergeometric: the same to four digits here."""
    return float(F * fraction * (1 - fraction) ** (F - 1))


def _convergence(searches: dict[float, Searched]) -> str:
    """Figure 51, and the same of the 5 % sample."""
    panels = []
    for (fraction, search), colour in zip(searches.items(), (TEAL, RUST), strict=True):
        trace = search.annealed.trace[0]
        step = max(1, len(trace) // _POINTS)
        rows = [{"move": k, "score": round(float(score), 1)} for k, score in list(enumerate(trace.tolist(), 1))[::step]]
        panels.append(
            alt.Chart(alt.InlineData(values=rows), title=f"{fraction:.0%} sample")
            .mark_line(size=1, color=colour)
            .encode(
                x=alt.X("move:Q", title="move"),
                y=alt.Y("score:Q", title="log marginal likelihood", scale=alt.Scale(zero=False)),
            )
            .properties(width=330, height=240)
        )
    about = "Log marginal likelihood of the models along simulated annealing."
    return on_paper(alt.hconcat(*panels), "t11-51", about)


def main(arguments: list[str]) -> int:
    """Print what was found, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m research smith2011_models", description=__doc__)
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("--quick", action="store_true", help="three samples of eight and twelve variables")
    parser.add_argument("--write", action="store_true", help="write research/smith-2011-models.md and its figures")
    options = parser.parse_args(arguments)
    people = census(NORTH_WEST, np.random.default_rng(options.seed))
    samples = 3 if options.quick else SAMPLES
    found = studied(people, SETS[:2] if options.quick else SETS, samples, samples, options.seed)
    text, figures = written(found, options.seed)
    if options.write:
        write_page("smith-2011-models", text, figures)
    else:
        print(text)
    return 0
