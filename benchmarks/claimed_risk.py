"""What is claimed of records and files, and what is true: ``python -m benchmarks claimed_risk``.

Samples are drawn from populations that others made (benchmarks/populations), and the calibrated risk of each is
compared with what everybody's records say. Section *records*: the mean chance of a correct match claimed for the 50 and
for the ten sample uniques of highest risk and for fifths of all sample uniques, beside the true mean of 1/F. Section
*files*: tau1, tau2 and Pr(CM | UM), their bias as a share of the truth, and how often the 95 % interval holds it, with
the exact 95 % interval of that. Section *dis*: the interval of DIS over many samples. Section *units*: as *files*,
where whole households or enterprises are drawn. Section *crowds*: populations made to mislead. Section *attacks*:
files that break what the estimates take for granted, and what the program says of them. Section *shapes*: what is
claimed with other shapes of the law, and how far a file can tell them apart. Section *combined*: the assessment of
linked samples with false and missed links, beside the truth. Populations marked *kept out*, and eusilc and ses in
*combined*, played no part in choosing any constant; the width of the intervals of *combined* was set after a look at
these two.
``--write`` puts the tables into docs/claimed-risk.md.

How often the interval of DIS covers what it estimates, on public populations.

DIS estimates Pr(CM | UM) of the very sample that was drawn, so each sample has its own truth: its sample uniques over
all people who fit them. The interval is `gemel.risk.identification.dis`'s, of 95 % unless another level is asked for.
Where a sample has few pairs the estimate is too high on average, a ratio with a small count below; the interval covers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks import DOCS
from benchmarks._claimed_attacks import HEAD as ATTACKS_HEAD
from benchmarks._claimed_attacks import SAMPLES as ATTACKED
from benchmarks._claimed_attacks import SHAPES_HEAD, attack_rows, shape_rows, two_crowds
from benchmarks._claimed_combined import ERRORS, SPLITS, run
from benchmarks._figures import exact, held, write_between
from benchmarks._public_populations import ADULT, EUSILC, EUSILC_P, SES, PublicPopulation
from gemel.common.errors import GemelError
from gemel.risk.identification.calibration.records import calibrated_risk
from gemel.risk.identification.file_level import dis, file_dis
from gemel.risk.identification.key_file import KeyFile

FRACTIONS = (0.01, 0.02, 0.05, 0.1)
SAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class DisCoverage:
    """Samples of one population at one fraction: Pr(CM | UM) of each, its estimate and interval."""

    population: str
    keys: str
    fraction: float
    truth: NDArray[np.float64] = field(repr=False)
    value: NDArray[np.float64] = field(repr=False)
    low: NDArray[np.float64] = field(repr=False)
    high: NDArray[np.float64] = field(repr=False)

    @property
    def covered(self) -> int:
        """Samples whose interval has the truth."""
        return int(((self.low <= self.truth) & (self.truth <= self.high)).sum())

    @property
    def too_low(self) -> int:
        """Samples whose interval lies below the truth: those that understate the risk."""
        return int((self.high < self.truth).sum())

    @property
    def coverage(self) -> tuple[float, float, float]:
        """Share of the samples covered, and its 95 % binomial interval (Clopper and Pearson)."""
        return self.covered / len(self.truth), *exact(self.covered, len(self.truth))

    @property
    def bias(self) -> float:
        """Mean of estimate over mean of truth, less 1."""
        return float(self.value.mean() / self.truth.mean() - 1)


def combination_counts(population: PublicPopulation, keys: str) -> NDArray[np.int64]:
    """People of each combination of key values that occurs."""
    columns = population.key_columns(keys)
    return columns.group_by(columns.columns, maintain_order=True).len()["len"].to_numpy().astype(np.int64)


def dis_coverage(
    F: NDArray[np.int64],
    fraction: float,
    samples: int,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    population: str = "",
    keys: str = "",
) -> DisCoverage:
    """Draw simple random samples without replacement and set DIS with its interval beside the truth.

    `F` are the population's counts; `population` and `keys` are names, for the result.
    """
    size = round(fraction * int(F.sum()))
    found = np.empty((samples, 4))
    for k in range(samples):
        f = rng.multivariate_hypergeometric(F, size, method="marginals")
        n1, n2, n3 = (int((f == r).sum()) for r in (1, 2, 3))
        estimate = dis(n1, n2, n3, fraction, level)
        people = int(F[f == 1].sum())
        found[k] = n1 / people if people else 0.0, estimate.value, estimate.low, estimate.high
    return DisCoverage(population, keys, fraction, *found.T)


def dis_coverages(
    populations: Sequence[PublicPopulation] = (EUSILC_P, ADULT),
    fractions: Sequence[float] = FRACTIONS,
    samples: int = SAMPLES,
    seed: int = 21,
) -> Iterator[DisCoverage]:
    """Every set of keys of every population at every fraction; each has random numbers of its own."""
    for population in populations:
        for keys in population.keys:
            F = combination_counts(population, keys)
            for fraction in fractions:
                name = np.frombuffer(f"{population.name}, {keys}".encode(), dtype=np.uint8)
                rng = np.random.default_rng((seed, round(1000 * fraction), *name.tolist()))
                yield dis_coverage(F, fraction, samples, rng, population=population.name, keys=keys)


def dis_table(found: Sequence[DisCoverage]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [
        "| population | keys | sample | true Pr(CM given UM) | DIS | bias | interval covers (95 % binomial interval) "
        "| lies below the truth |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found:
        share, low, high = one.coverage
        lines.append(
            f"| {one.population} | {one.keys} | {one.fraction:.0%} | {one.truth.mean():.4f} | {one.value.mean():.4f} "
            f"| {one.bias:+.1%} | {share:.3f} ({low:.3f} to {high:.3f}) | {one.too_low / len(one.truth):.3f} |"
        )
    return lines


DOCUMENT = DOCS / "claimed-risk.md"
SECTIONS = ("records", "files", "dis", "units", "crowds", "attacks", "shapes", "combined")
STUDIES: tuple[tuple[PublicPopulation, str, tuple[float, ...]], ...] = (
    (EUSILC_P, "6 keys", (0.01, 0.02, 0.05, 0.1)),
    (ADULT, "5 keys", (0.02, 0.05, 0.1)),
    (ADULT, "6 keys", (0.02, 0.05, 0.1)),
    (ADULT, "8 keys", (0.02, 0.05, 0.1)),
    (EUSILC, "6 keys", (0.05, 0.1, 0.2)),
    (SES, "7 keys", (0.05, 0.1, 0.2)),
)
_FILES = (
    "| population, keys, sample | tau1 | bias | interval holds | tau2 | bias | interval holds | Pr(CM given UM) | bias"
    " | interval holds | DIS holds | tau2 at most, over the truth | holds |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
)
_HEADS = {
    "records": (
        "| population, keys, sample | sample uniques | 50 riskiest: claimed, true | ten riskiest | claimed less true,"
        " by fifths |",
        "|---|---|---|---|---|",
    ),
    "files": _FILES,
    "units": _FILES,
    "crowds": _FILES,
    "attacks": ATTACKS_HEAD,
    "shapes": SHAPES_HEAD,
}
_CROWDS = ((5_000, 2_000, 20, 0.05), (5_000, 500, 100, 0.01), (20_000, 2_000, 100, 0.01))
"""Combinations of one person, combinations of several, how many those have, and the sampling fraction."""

MEASURES = ("tau1", "tau2", "Pr(CM given UM)")


@dataclass(frozen=True)
class Claimed:
    """One sample: what was claimed, and what was true.

    `highest`: claimed and true mean chance of the 50 and of the ten riskiest sample uniques; `fifths`: of fifths of
    the sample uniques in the order of what is claimed, from the least; `measures`: of `MEASURES`, estimate, ends of
    the interval, truth; `largest`: the largest tau2 whatever the law, over the truth.
    """

    highest: NDArray[np.float64]
    fifths: NDArray[np.float64]
    measures: NDArray[np.float64]
    uniques: int
    dis_holds: bool
    largest: float


def claimed(
    everyone: dict[str, object],
    n_people: int,
    fraction: float,
    seed: tuple[int, ...],
    units: NDArray[np.int64] | None = None,
    *,
    given: bool = False,
) -> Claimed | None:
    """Draw a sample and compare; with the unit of each person, whole units are drawn, and `given` to the file or not.

    None where a sample has too few pairs to be calibrated.
    """
    rng = np.random.default_rng(seed)
    if units is None:
        chosen = rng.choice(n_people, round(fraction * n_people), replace=False)
    else:
        number = int(units.max()) + 1
        drawn = rng.choice(number, round(fraction * number), replace=False)
        chosen = np.flatnonzero(np.isin(units, drawn))
    columns = {name: np.asarray(values)[chosen] for name, values in everyone.items()}
    file = KeyFile.from_columns(columns, population=everyone)
    if given:
        file = replace(file, units=None if units is None else units[chosen])
    try:
        risk = calibrated_risk(file, seed=seed[-1])
    except GemelError:
        return None
    sizes = file.population_sizes
    assert sizes is not None
    F = sizes[file.of_record[risk.uniques]]
    true = 1.0 / F
    order = np.argsort(-risk.correct, kind="stable")
    highest = np.array([[own[order[:m]].mean() for own in (risk.correct, true)] for m in (50, 10)])
    fifths = np.array([[own[part].mean() for own in (risk.correct, true)] for part in np.array_split(order[::-1], 5)])
    truth = (float((F == 1).sum()), float(true.sum()), len(F) / float(F.sum()))
    measures = np.array(
        [[e.value, e.low, e.high, t] for e, t in zip((risk.tau1, risk.tau2, risk.cm_given_um), truth, strict=True)]
    )
    dis = file_dis(file)
    return Claimed(highest, fifths, measures, len(F), dis.low <= truth[2] <= dis.high, risk.largest.tau2 / truth[1])


def records_row(name: str, found: list[Claimed]) -> str:
    """Claims of single records beside the truth."""
    highest = np.mean([c.highest for c in found], axis=0)
    fifths = np.mean([c.fifths for c in found], axis=0)
    off = " ".join(f"{own - true:+.3f}" for own, true in fifths)
    uniques = np.mean([c.uniques for c in found])
    return (
        f"| {name} | {uniques:,.0f} | {highest[0, 0]:.3f}, {highest[0, 1]:.3f} |"
        f" {highest[1, 0]:.3f}, {highest[1, 1]:.3f} | {off} |"
    )


def files_row(name: str, found: list[Claimed]) -> str:
    """Estimates of files beside the truth."""
    measures = np.array([c.measures for c in found])
    parts = []
    for q in range(len(MEASURES)):
        value, low, high, true = measures[:, q].T
        ratio = value / np.maximum(true, 1e-9) if q else value / np.mean(true)
        bias = float(value.mean() / true.mean()) - 1.0
        error = float(np.std(ratio, ddof=1)) / np.sqrt(len(found)) if len(found) > 1 else float("nan")
        parts.append(
            f"{true.mean():.4g} | {100 * bias:+.1f} ± {100 * error:.1f} % | {held((low <= true) & (true <= high))}"
        )
    dis = held(np.array([c.dis_holds for c in found]))
    largest = np.array([c.largest for c in found])
    return f"| {name} | {' | '.join(parts)} | {dis} | {largest.mean():.2f} | {held(largest >= 1.0)} |"


def pooled_row(name: str, found: list[Claimed]) -> str:
    """How often the intervals hold over samples of different populations, which have no common truth."""
    measures = np.array([c.measures for c in found])
    parts = [f" | | {held((m[:, 1] <= m[:, 3]) & (m[:, 3] <= m[:, 2]))}" for m in measures.transpose(1, 0, 2)]
    largest = np.array([c.largest for c in found])
    dis = held(np.array([c.dis_holds for c in found]))
    return f"| {name} |{' |'.join(parts)} | {dis} | | {held(largest >= 1.0)} |"


def studied(replicates: int, seed: int, *, by_unit: bool) -> Iterator[tuple[PublicPopulation, str, list[Claimed]]]:
    """Each study with its name and its samples; `by_unit`: of whole units, with the units given and not."""
    for population, keys, fractions in STUDIES:
        unit = population.unit
        if by_unit and unit is None:
            continue
        frame = population.key_columns(keys)
        everyone: dict[str, object] = {c: frame[c].to_numpy() for c in frame.columns}
        units = np.unique(population.records()[unit].to_numpy(), return_inverse=True)[1] if by_unit and unit else None
        for fraction, given in product(fractions, (False, True) if by_unit else (False,)):
            share = f"{100 * fraction:g} %"
            if by_unit:
                share += f" of {unit}" + (", given" if given else ", not given")
            seeds = [(seed, round(1000 * fraction), r) for r in range(replicates)]
            tried = [claimed(everyone, len(frame), fraction, own, units, given=given) for own in seeds]
            found = [sample for sample in tried if sample is not None]
            name = f"{population.name}, {keys}, {share}" + ("" if population.tuned else " (kept out)")
            if len(found) < len(tried):
                name += f"; {len(tried) - len(found)} samples with too few pairs left out"
            yield population, name, found


def crowds(replicates: int, seed: int) -> Iterator[tuple[str, list[Claimed]]]:
    """Populations of two crowds that no key sets apart: people who are alone, and combinations of many."""
    for alone, several, size, fraction in _CROWDS:
        people = two_crowds(alone, several, size, np.random.default_rng((seed, alone, several)))
        everyone: dict[str, object] = {key: people[key].to_numpy() for key in people.columns}
        tried = [claimed(everyone, len(people), fraction, (seed, r)) for r in range(replicates)]
        name = f"{alone:,} people alone, {several:,} combinations of {size}, {100 * fraction:g} %"
        yield name, [sample for sample in tried if sample is not None]


def tables(replicates: int, seed: int, sections: list[str], cases: list[int]) -> dict[str, list[str]]:
    """The tables' lines by section."""
    lines = {section: list(_HEADS.get(section, ())) for section in sections}
    every: dict[bool, list[Claimed]] = {True: [], False: []}

    def write(section: str, row: str) -> None:
        if section in sections:
            lines[section].append(row)
            print(row, flush=True)

    if {"records", "files"} & set(sections):
        for population, name, found in studied(replicates, seed, by_unit=False):
            every[population.tuned] += found
            write("records", records_row(name, found))
            write("files", files_row(name, found))
        write("files", pooled_row("all samples used in the design", every[True]))
        write("files", pooled_row("all samples kept out", every[False]))
    if "dis" in sections:
        lines["dis"] = dis_table(list(dis_coverages((EUSILC_P, ADULT, EUSILC, SES), seed=seed)))
        print("\n".join(lines["dis"]), flush=True)
    if "units" in sections:
        for _, name, found in studied(replicates, seed, by_unit=True):
            write("units", files_row(name, found))
    if "crowds" in sections:
        for name, found in crowds(replicates, seed):
            write("crowds", files_row(name, found))
    if "attacks" in sections:
        for row in attack_rows(ATTACKED, seed):
            write("attacks", row)
    if "shapes" in sections:
        for row in shape_rows(replicates, seed):
            write("shapes", row)
    if "combined" in sections:
        for row in run(tuple(SPLITS), tuple(ERRORS[case] for case in cases), replicates, seed):
            write("combined", row)
    return lines


def main(arguments: list[str]) -> int:
    """Print the tables, and with ``--write`` put them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks claimed_risk", description=__doc__)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    every = list(range(len(ERRORS)))
    named = "; ".join(f"{case}: {ERRORS[case]}" for case in every).replace("%", "%%")
    parser.add_argument("--cases", type=int, nargs="+", choices=every, default=every, help=f"false links: {named}")
    parser.add_argument("--write", action="store_true", help=f"write the tables into docs/{DOCUMENT.name}")
    options = parser.parse_args(arguments)
    found = tables(options.replicates, options.seed, options.sections, options.cases)
    if options.write:
        for section, lines in found.items():
            number = {"dis": SAMPLES, "attacks": ATTACKED}.get(section, options.replicates)
            heading = f"{number:,} samples each, seed {options.seed}."
            write_between(DOCUMENT, section, "\n".join([heading, "", *lines]))
    return 0
