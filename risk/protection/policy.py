"""What a protected file has to meet, and what it is measured by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from gemel.common.errors import parameter
from gemel.risk.arrays import Floats
from gemel.risk.identification.coding import agreeing
from gemel.risk.identification.file_level import file_dis
from gemel.risk.identification.individual_risk import expected_reciprocal_of_sampled
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.suda import minimal_uniques
from gemel.risk.protection.calibrated import UpperEnds
from gemel.risk.protection.population import ExactRisk

TOLERANCE = 1e-12  # above a limit, of a number that meets it

_ALL_SIZES = 10  # keys up to which minimal sample uniques of all sizes are counted, as in the assessment


@dataclass(frozen=True)
class Policy:
    """Limits; None where there is none.

    Parameters
    ----------
    k
        Fewest records that agree with a record on the keys, itself among them.
    max_correct_matches
        Expected correct matches if each record is matched with someone who agrees with it, as a share of the records.
    max_record_risk
        The largest chance of a correct match that a record may have.
    max_suppressed
        Share of the key values that may be suppressed.
    """

    k: int | None = None
    max_correct_matches: float | None = None
    max_record_risk: float | None = None
    max_suppressed: float | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 2:
            raise parameter("--k", "k must be at least 2", str(self.k))
        for name in ("max_correct_matches", "max_record_risk", "max_suppressed"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                remedy = "write 0.005 for half of one per cent"
                raise parameter(f"--{name.replace('_', '-')}", "a share lies from 0 to 1", f"{value:g}", remedy)

    @classmethod
    def read(cls, given: Mapping[str, Any], where: str) -> Policy:
        """From a mapping, of a YAML file for example."""
        known = [f.name for f in fields(cls)]
        unknown = sorted(str(name) for name in given if name not in known)
        if unknown:
            raise parameter(where, f"a policy has no {', '.join(unknown)}", remedy=f"it may have: {', '.join(known)}")
        for name, value in given.items():
            number = isinstance(value, int) or (name != "k" and isinstance(value, float))
            if not number or isinstance(value, bool):
                raise parameter(f"{where}: {name}", "a limit is a number")
        return cls(**given)

    @property
    def limits(self) -> dict[str, float]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def breaches(self, risk: FileRisk, suppressed: float) -> list[str]:
        """Names of the limits that a file does not meet, by the judged numbers of its risk."""
        reached = {
            "k": -risk.k,
            "max_correct_matches": risk.judged_matches,
            "max_record_risk": risk.judged_record,
            "max_suppressed": suppressed,
        }
        limits = self.limits | ({} if self.k is None else {"k": -self.k})  # the only limit that is a least number
        return [name for name, value in reached.items() if name in limits and value > limits[name] + TOLERANCE]


@dataclass(frozen=True)
class FileRisk:
    """Identification risk of a file, measured on the file as it is."""

    records: int
    combinations: int
    k: int
    below_2: int
    below_3: int
    below_5: int
    correct_matches: float
    record_risk: float
    correct_matches_strict: float
    dis: float
    dis_low: float
    dis_high: float
    minimal_uniques: int
    exact: ExactRisk | None = None
    upper: UpperEnds | None = None

    @property
    def judged_matches(self) -> float:
        """Expected correct matches: exact ones where the population is known, else the larger number there is."""
        return self._judged("correct_matches")

    @property
    def judged_record(self) -> float:
        """The largest chance of a correct match of a record, likewise."""
        return self._judged("record_risk")

    def _judged(self, measure: str) -> float:
        if self.exact is not None:
            return float(getattr(self.exact, measure))
        return max(float(getattr(of, measure)) for of in (self, self.upper) if of is not None)


def record_risks(
    file: KeyFile, weights: Floats | None = None, unchanged: Floats | None = None, *, strict: bool = False
) -> Floats:
    """Chance of a correct match of each record, if it is matched with someone who agrees with it.

    With survey weights the fraction of a combination is f over the weights of those who agree. `unchanged` is the
    probability that a perturbed record's published keys are its true ones (S09 equation 9: the diagonal of theta).
    `strict`: count records that agree exactly, missing values with missing values only.
    """
    f = file.counts[file.of_record] if strict else file.frequency
    pi: Floats | float = file.fraction
    if weights is not None:
        pi = np.minimum(1.0, f / agreeing_weight(file, weights, strict=strict))
    risks = expected_reciprocal_of_sampled(f, pi)
    return risks if unchanged is None else risks * unchanged


def agreeing_weight(file: KeyFile, weights: Floats, *, strict: bool = False) -> Floats:
    """Sum of the weights of the records that agree with each record, shape (n_records,)."""
    scale = 2.0**20  # sums of whole numbers are exact, whatever their order
    totals = np.bincount(file.of_record, weights=weights, minlength=len(file.cells))
    if strict or file.missing == "level":
        return np.asarray(totals[file.of_record])
    whole = np.maximum(1, np.round(totals * scale)).astype(np.int64)
    return np.asarray(agreeing(file.cells, file.cells, whole, file.levels)[file.of_record] / scale)


def file_risk(
    file: KeyFile, weights: Floats | None = None, unchanged: Floats | None = None, exact: ExactRisk | None = None
) -> FileRisk:
    """Measure a file; parameters as of `record_risks`, and what its population says."""
    risks = record_risks(file, weights, unchanged)
    strict = record_risks(file, weights, unchanged, strict=True)
    f, dis = file.frequency, file_dis(file)
    below = int((f < 2).sum()), int((f < 3).sum()), int((f < 5).sum())
    chances = float(risks.mean()), float(risks.max()), float(strict.mean())
    uniques = len(minimal_uniques(file, None if file.n_keys <= _ALL_SIZES else 4).subsets)
    of_dis = dis.value, dis.low, dis.high
    return FileRisk(file.n_records, len(file.cells), int(f.min()), *below, *chances, *of_dis, uniques, exact)


# Which number judged each limit on the chances of a match, and where two numbers disagree: for report and log.
#
# By the population where it is known. Otherwise by the counts where the policy has a k, and where everyone is in the
# file; and by the larger of the counts and the upper end (`calibrated`) where it has none.

UPPER_WORDS = {"calibrated": "the calibrated upper end", "bound": "the bound 1/f"}
"""The kinds of upper ends, as a sentence has them."""

_MEASURES = {"max_correct_matches": "correct_matches", "max_record_risk": "record_risk"}


def policy_decision(
    policy: Policy, before: FileRisk, after: FileRisk, *, by_larger: bool, certain: bool
) -> dict[str, Any]:
    """What judged, ready for JSON."""
    exact = before.exact is not None
    rows = list[dict[str, Any]]()
    for limit, measure in _MEASURES.items():
        value = getattr(policy, limit)
        if value is None or certain:
            continue
        row: dict[str, Any] = {"limit": limit, "value": value}
        for when, risk in (("before", before), ("after", after)):
            row[when] = _two(value, getattr(risk, measure), risk.upper, measure, by_larger)
        rows.append(row)
    by = "population" if exact else "larger" if by_larger else "counts"
    # What a sentence needs for the bound; with k, or where nothing is estimated, no bound judges.
    why = {w: r.upper.why for w, r in (("before", before), ("after", after)) if r.upper is not None and r.upper.why}
    return {"by": by, "limits": rows, "why": why if by_larger else {}}


def decision_words(decision: Mapping[str, Any]) -> list[str]:
    """Sentences on the disagreements between the two numbers, and on where a bound stood in for an estimate."""
    found = []
    larger = decision["by"] == "larger"
    for row in decision["limits"]:
        for when in ("before", "after"):
            own = row[when]
            if own["disagree"]:
                kinds = "the counts alone", UPPER_WORDS[own["upper_by"]]
                meets, misses = kinds if own["counts"] < own["upper"] else kinds[::-1]
                decides = "the larger judges" if larger else "with k the counts judge"
                found.append(
                    f"{row['limit']} {row['value']:g}: the file {when} meets it by {meets} and not by {misses} "
                    f"({own['counts']:.4g} and {own['upper']:.4g}); {decides}"
                )
    found += [
        f"no calibrated estimate for the file {when} ({why}): the bound 1/f judges, as if everyone who agrees with a "
        "record were in the file"
        for when, why in decision["why"].items()
    ]
    return found


def _two(limit: float, counts: float, upper: UpperEnds | None, measure: str, by_larger: bool) -> dict[str, Any]:
    # The bound 1/f is no estimate: where it does not decide it says nothing against the counts.
    if upper is None or (upper.by == "bound" and not by_larger):
        return {"counts": counts, "upper": None, "upper_by": None, "disagree": False}
    end = getattr(upper, measure)
    meets = [number <= limit + TOLERANCE for number in (counts, end)]
    return {"counts": counts, "upper": end, "upper_by": upper.by, "disagree": meets[0] != meets[1]}
