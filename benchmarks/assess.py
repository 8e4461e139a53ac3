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
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import DOCS
from benchmarks._assess_differences import lines
from benchmarks._built_population import FEW, SMALL, WIDE, Trait, built
from gemel.carole.assessment import AssessmentContext, assess
from gemel.common.documents.disclosure_measures import MEASURES

BEGIN, END = "<!-- benchmark assess: begin -->", "<!-- benchmark assess: end -->"
DIFFERENCES = "<!-- benchmark differences: begin -->", "<!-- benchmark differences: end -->"
SECTIONS = ("speed", "measures", "differences")
DOCUMENT = DOCS / "assessment.md"
CASES: dict[str, tuple[tuple[Trait, ...], int, tuple[float, float]]] = {
    "3 keys": (FEW, 20_000, (0.5, 0.5)),
    "5 keys": (SMALL, 20_000, (0.5, 0.5)),
    "8 keys": (WIDE, 20_000, (0.5, 0.5)),
}


@dataclass(frozen=True)
class Compared:
    """One measure over replicates.

    Attributes
    ----------
    assessed, true : ndarray of float64, shape (n_replicates,)
    misses
        Replicates whose truth lies outside of the interval; None for a measure without one.
    width
        Mean width of the interval; 0 without one.
    """

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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times: dict[str, float] = {}
    for run in ("first", "again"):
        started, cpu = time.perf_counter(), time.process_time()
        assess(made.combined, made.spec, AssessmentContext("0" * 32))
        times[f"{run}_seconds"] = time.perf_counter() - started
        times[f"{run}_cpu_seconds"] = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"records": float(made.combined.n_records), "before_mib": before, "peak_mib": peak, **times}


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
            _write(text, *DIFFERENCES)
    if "measures" in options.sections and options.replicates:
        cases = {
            name: replicates(traits, size, fractions, options.replicates, options.seed)
            for name, (traits, size, fractions) in CASES.items()
        }
        text = table(cases, options.replicates, options.seed)
        print(text)
        if options.write:
            _write(text, BEGIN, END)
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


def _write(text: str, begin: str, end: str) -> None:
    page = DOCUMENT.read_text(encoding="utf-8")
    head, rest = page.split(begin)
    tail = rest.split(end)[1]
    DOCUMENT.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")
