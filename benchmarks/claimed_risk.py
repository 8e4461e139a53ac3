"""What is claimed of records and files, and what is true: ``python -m benchmarks claimed_risk``.

Samples are drawn from populations that others made (benchmarks/populations), and the calibrated risk of each is
compared with what everybody's records say. Section *records*: the mean chance of a correct match claimed for the 50 and
for the ten sample uniques of highest risk and for fifths of all sample uniques, beside the true mean of 1/F. Section
*files*: tau1, tau2 and Pr(CM | UM), their bias as a share of the truth, and how often the 95 % interval holds it, with
the exact 95 % interval of that. Populations marked *kept out* played no part in choosing any constant.
``--write`` puts the tables into docs/claimed-risk.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from benchmarks import DOCS
from benchmarks._public_populations import ADULT, EUSILC, EUSILC_P, SES, PublicPopulation
from tryst.risk.identification.calibrated_risk import calibrated_risk
from tryst.risk.identification.file_level import file_dis
from tryst.risk.identification.key_file import KeyFile

DOCUMENT = DOCS / "claimed-risk.md"
SECTIONS = ("records", "files")
STUDIES: tuple[tuple[PublicPopulation, str, tuple[float, ...]], ...] = (
    (EUSILC_P, "6 keys", (0.01, 0.02, 0.05, 0.1)),
    (ADULT, "5 keys", (0.02, 0.05, 0.1)),
    (ADULT, "6 keys", (0.02, 0.05, 0.1)),
    (ADULT, "8 keys", (0.02, 0.05, 0.1)),
    (EUSILC, "6 keys", (0.05, 0.1, 0.2)),
    (SES, "7 keys", (0.05, 0.1, 0.2)),
)
MEASURES = ("tau1", "tau2", "Pr(CM given UM)")


@dataclass(frozen=True)
class Claimed:
    """One sample: what was claimed, and what was true.

    Parameters
    ----------
    highest : ndarray of float64, shape (2, 2)
        Of the 50 and of the ten riskiest sample uniques: claimed and true mean chance.
    fifths : ndarray of float64, shape (5, 2)
        Of fifths of the sample uniques in the order of what is claimed, from the least.
    measures : ndarray of float64, shape (3, 4)
        Of `MEASURES`: estimate, ends of the interval, truth.
    uniques
        Sample uniques.
    dis_holds
        Whether the interval of DIS holds the true Pr(CM | UM).
    """

    highest: NDArray[np.float64]
    fifths: NDArray[np.float64]
    measures: NDArray[np.float64]
    uniques: int
    dis_holds: bool


def claimed(everyone: dict[str, object], n_people: int, fraction: float, seed: tuple[int, ...]) -> Claimed:
    """Draw a sample and compare."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(n_people, round(fraction * n_people), replace=False)
    columns = {name: np.asarray(values)[chosen] for name, values in everyone.items()}
    file = KeyFile.from_columns(columns, population=everyone)
    risk = calibrated_risk(file, seed=seed[-1])
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
    return Claimed(highest, fifths, measures, len(F), dis.low <= truth[2] <= dis.high)


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
    return f"| {name} | {' | '.join(parts)} | {dis} |"


def held(inside: NDArray[np.bool_]) -> str:
    """How often an interval holds the truth, with the exact 95 % interval of that share."""
    k, n = int(inside.sum()), len(inside)
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return f"{k} of {n} ({low:.2f} to {high:.2f})"


def tables(replicates: int, seed: int, sections: list[str]) -> dict[str, list[str]]:
    """The tables' lines by section."""
    lines: dict[str, list[str]] = {
        "records": [
            "| population, keys, sample | sample uniques | 50 riskiest: claimed, true | ten riskiest | claimed less"
            " true, by fifths |",
            "|---|---|---|---|---|",
        ],
        "files": [
            "| population, keys, sample | tau1 | bias | interval holds | tau2 | bias | interval holds | Pr(CM given"
            " UM) | bias | interval holds | DIS holds |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ],
    }
    for population, keys, fractions in STUDIES:
        frame = population.key_columns(keys)
        everyone: dict[str, object] = {c: frame[c].to_numpy() for c in frame.columns}
        for fraction in fractions:
            name = f"{population.name}, {keys}, {100 * fraction:g} %" + ("" if population.tuned else " (kept out)")
            found = [
                claimed(everyone, len(frame), fraction, (seed, round(1000 * fraction), r)) for r in range(replicates)
            ]
            for section, row in (("records", records_row), ("files", files_row)):
                if section in sections:
                    lines[section].append(row(name, found))
                    print(lines[section][-1], flush=True)
    return {section: lines[section] for section in sections}


def main(arguments: list[str]) -> int:
    """Print the tables, and with ``--write`` put them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks claimed_risk", description=__doc__)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--write", action="store_true", help=f"write the tables into docs/{DOCUMENT.name}")
    options = parser.parse_args(arguments)
    found = tables(options.replicates, options.seed, options.sections)
    if options.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        for section, lines in found.items():
            begin, end = f"<!-- benchmark {section}: begin -->", f"<!-- benchmark {section}: end -->"
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            heading = f"{options.replicates} samples each, seed {options.seed}."
            text = before + begin + "\n" + heading + "\n\n" + "\n".join(lines) + "\n" + end + after
        DOCUMENT.write_text(text, encoding="utf-8")
    return 0
