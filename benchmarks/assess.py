"""Assessed risk beside true risk of built populations, and the speed of an assessment: ``python -m benchmarks assess``.

Each replicate builds a population, samples two files of it, links them with errors, assesses the combined output and
compares every measure with what is true of the population: how often the truth lies outside of the interval, and for
measures without one, their bias. Speed: a combined output of 100,000 records with 8 key variables, in a process of its
own whose peak memory is printed. Differences: two releases of a table, before the second of which a few people have
left; what an intruder reads who compares the two, and whether the second is held (`_assess_differences`). ``--write``
puts the tables into docs/assessment.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from benchmarks import DOCS
from benchmarks._built_population import FEW, SMALL, WIDE, Trait, built
from benchmarks._figures import peak_bytes, write_between
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.combined_assessment import AssessmentContext, assess
from gemel.carole.assessment.differences import EarlierRelease, differences
from gemel.carole.assessment.publication import base_table, publication
from gemel.carole.assessment.released_counts import coding, counted
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.specification.model.assessment import PublishedTable

LEFT = (1, 2, 10, 100)
"""People who have left."""

TABLES = (
    ("as counted", PublishedTable(variables=("region", "illness"))),
    ("rounded to 5", PublishedTable(variables=("region", "illness"), protection="conventional", base=5)),
)
_KNOWN = 5
_LIMIT = MEASURES["differences"].default or 1.0


@dataclass(frozen=True)
class Attacked:
    """How often the attack succeeds, and how often the second release is held."""

    read: int
    people: int
    wrong: int
    judged: float
    noticed_formerly: int
    held: int
    held_unchanged: int
    pairs: int


def attacked(table: PublishedTable, left: int, number: int, seed: int, *, same_codes: bool) -> Attacked:
    """Release twice, `number` times; the r-th pair is drawn with the seed ``[seed, r]``."""
    read = wrong = people = noticed = held = unchanged = 0
    judged = []
    for r in range(number):
        rng = np.random.default_rng([seed, r])
        whole = built(SMALL, 4_000, (0.5, 0.5), rng, "correct_matches: 1").combined
        gone = rng.choice(whole.n_records, left, replace=False)
        rest = without(whole, gone)
        hits, misses = reads(whole, rest, table, gone)
        formerly = [publication(rest, [table], then, _KNOWN).measures["subtraction"].judged for then in ([], [table])]
        noticed += formerly[0] != formerly[1]
        read, wrong, people = read + hits, wrong + misses, people + left
        codes = [coding("built", bytes(32), epoch) for epoch in (1, 1 if same_codes else 2)]
        former = whole if same_codes else relabelled(whole, rng)
        before = EarlierRelease("1", "built", None, counted(former, [table], codes[1]))
        value = differences(rest.variables, counted(rest, [table], codes[0]), [before]).measures["differences"].value
        judged.append(value)
        held += value > _LIMIT
        same = counted(whole, [table], codes[0])
        unchanged += differences(whole.variables, same, [before]).measures["differences"].value > _LIMIT
    return Attacked(read, people, wrong, float(np.mean(judged)), noticed, held, unchanged, number)


def without(combined: Combined, links: NDArray[np.int64]) -> Combined:
    """The same output with some links fewer."""
    rows = np.setdiff1d(np.arange(combined.n_records), links)
    row_a, row_b, chance = combined.row_a[rows], combined.row_b[rows], combined.probability[rows]
    return replace(
        combined, row_a=row_a, row_b=row_b, probability=chance, pair_a=row_a, pair_b=row_b, pair_probability=chance
    )


def relabelled(combined: Combined, rng: np.random.Generator) -> Combined:
    """The same output in another project: other codes for the same categories."""
    orders = [rng.permutation(len(variable.categories)) for variable in combined.variables]
    files = [
        np.stack([np.where(file[:, q] < 0, -1, order[file[:, q]]) for q, order in enumerate(orders)], axis=1)
        for file in (combined.alice, combined.bob)
    ]
    return replace(combined, alice=files[0].astype(np.int32), bob=files[1].astype(np.int32))


def reads(before: Combined, after: Combined, table: PublishedTable, gone: NDArray[np.int64]) -> tuple[int, int]:
    """Values that the intruder reads in the difference of the published tables, right and wrong."""
    names = list(table.variables)
    shown = []
    for combined in (before, after):
        found = base_table(combined, names)
        assert found is not None
        # A missing value has a level of its own, in both.
        gaps = [
            (0, len(combined.variables[q].categories) + 1 - n)
            for q, n in zip(combined.columns(names), found.counts.shape, strict=True)
        ]
        counts = np.pad(found.counts, gaps)
        shown.append(counts if table.base is None else (counts + (table.base - 1) // 2) // table.base * table.base)
    fewer = np.maximum(shown[0] - shown[1], 0)
    hits = misses = 0
    for region, illness in before.codes[gone][:, before.columns(names)]:
        values = np.flatnonzero(fewer[region])
        if len(values) == 1:
            right = values[0] == (illness if illness >= 0 else fewer.shape[1] - 1)
            hits, misses = hits + bool(right), misses + (not right)
    return hits, misses


def lines(number: int, seed: int) -> Iterator[str]:
    """The table, a line at a time."""
    yield f"{number} pairs of releases of about 950 linked records each, seed {seed}; table region x illness (8 x 4)."
    yield ""
    yield (
        "| table | people who left | their value read from the two tables | read wrong | noticed by other measures |"
        " `differences` | held now | held if no one left |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for words, table in TABLES:
        for left in LEFT:
            for same in (True, False) if left == 1 else (True,):
                one = attacked(table, left, number, seed, same_codes=same)
                ends = binomtest(one.read, one.people).proportion_ci(method="wilson")
                where = "" if same else ", another project"
                cells = (
                    f"{words}{where}",
                    str(left),
                    f"{one.read / one.people:.2f} ({ends.low:.2f} to {ends.high:.2f})",
                    f"{one.wrong / one.people:.2f}",
                    f"{one.noticed_formerly} of {one.pairs}",
                    f"{one.judged:.2f}",
                    f"{one.held} of {one.pairs}",
                    f"{one.held_unchanged} of {one.pairs}",
                )
                yield f"| {' | '.join(cells)} |"


SECTIONS = ("speed", "measures", "differences")
DOCUMENT = DOCS / "assessment.md"
CASES: dict[str, tuple[tuple[Trait, ...], int, tuple[float, float]]] = {
    "3 keys": (FEW, 20_000, (0.5, 0.5)),
    "5 keys": (SMALL, 20_000, (0.5, 0.5)),
    "8 keys": (WIDE, 20_000, (0.5, 0.5)),
}


@dataclass(frozen=True)
class Compared:
    """One measure over replicates: truths outside of the interval are misses; without one None and width 0."""

    assessed: NDArray[np.float64]
    true: NDArray[np.float64]
    misses: int | None
    width: float

    @property
    def bias(self) -> float:
        """Mean of assessed less true."""
        return float((self.assessed - self.true).mean())

    @property
    def error(self) -> float:
        """Root mean square of the same."""
        return float(np.sqrt(((self.assessed - self.true) ** 2).mean()))


def replicates(
    traits: Sequence[Trait], size: int, fractions: tuple[float, float], number: int, seed: int
) -> dict[str, Compared]:
    """Compare every measure with the truth; the r-th replicate is drawn with the seed ``[seed, r]``."""
    found: dict[str, list[tuple[float, float, bool | None, float]]] = {}
    for r in range(number):
        made = built(traits, size, fractions, np.random.default_rng([seed, r]))
        measures = assess(made.combined, made.spec, AssessmentContext("0" * 32), advise=False).document["measures"]
        for name, true in made.truth.items():
            entry = measures[name]
            low, high = entry["lower"], entry["upper"]
            missed = None if high is None else not low - 1e-9 <= true <= high + 1e-9
            found.setdefault(name, []).append((entry["value"], true, missed, 0.0 if high is None else high - low))
    return {
        name: Compared(
            np.array([value for value, *_ in rows]),
            np.array([true for _, true, *_ in rows]),
            None if rows[0][2] is None else sum(bool(missed) for _, _, missed, _ in rows),
            float(np.mean([width for *_, width in rows])),
        )
        for name, rows in ((name, found[name]) for name in MEASURES if name in found)
    }


def table(cases: dict[str, dict[str, Compared]], number: int, seed: int) -> str:
    """What was compared, as a table of the page."""
    lines = [
        f"{number} replicates, seed {seed}; populations of 20,000, each file half of it, a quarter in both, 5 % of the",
        "matches missed, 2 % of the links false, 2 % of the values missing.",
        "",
        "| measure | keys | true | assessed | bias | root mean square error | truth outside of the 95 % interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in MEASURES:
        for case, compared in cases.items():
            if name in compared:
                c = compared[name]
                misses = "no interval" if c.misses is None else f"{c.misses} of {number}"
                lines.append(
                    f"| {name} | {case.split()[0]} | {c.true.mean():.3f} | {c.assessed.mean():.3f} | {c.bias:+.3f} |"
                    f" {c.error:.3f} | {misses} |"
                )
    return "\n".join(lines)


def timed(records: int, seed: int) -> dict[str, float]:
    """Seconds and peak memory (MiB) of one assessment of about so many records with 8 key variables."""
    share = 0.3
    made = built(WIDE, int(records / share**2 / 0.95), (share, share), np.random.default_rng(seed))
    before = peak_bytes() / 2**20
    times: dict[str, float] = {}
    for run in ("first", "again"):
        started, cpu = time.perf_counter(), time.process_time()
        assess(made.combined, made.spec, AssessmentContext("0" * 32))
        times[f"{run}_seconds"] = time.perf_counter() - started
        times[f"{run}_cpu_seconds"] = time.process_time() - cpu
    return {"records": float(made.combined.n_records), "before_mib": before, "peak_mib": peak_bytes() / 2**20, **times}


def main(arguments: list[str]) -> int:
    """Compare and measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks assess", description=__doc__)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=100, help="pairs of releases, in the section differences")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/assessment.md")
    options = parser.parse_args(arguments)
    if "differences" in options.sections:
        text = "\n".join(lines(options.pairs, options.seed))
        print(text, flush=True)
        if options.write:
            write_between(DOCUMENT, "differences", text)
    if "measures" in options.sections and options.replicates:
        cases = {
            name: replicates(traits, size, fractions, options.replicates, options.seed)
            for name, (traits, size, fractions) in CASES.items()
        }
        text = table(cases, options.replicates, options.seed)
        print(text)
        if options.write:
            write_between(DOCUMENT, "assess", text)
    if "speed" in options.sections:
        _speed(options.records, options.seed)
    return 0


def _speed(records: int, seed: int) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        speed = pool.apply(timed, (records, seed))
    print(
        f"assessment of {speed['records']:,.0f} records, 8 key variables: {speed['again_seconds']:.1f} s"
        f" ({speed['again_cpu_seconds']:.1f} s of CPU; {speed['first_seconds']:.1f} s with compilation),"
        f" peak memory {speed['peak_mib']:,.0f} MiB ({speed['before_mib']:,.0f} MiB before it)\n"
    )
    print(json.dumps(speed))
