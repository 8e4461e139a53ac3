"""What each number means, which intruder it supposes, and what would lower it: the words of the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gemel.risk.arrays import finite


@dataclass(frozen=True)
class Words:
    name: str
    meaning: str
    intruder: str
    lower: str = "Make the keys coarser that add most (see what would lower the risk), or leave one out."


_SAMPLE_LESS = "Release a smaller sample, or make keys coarser so that fewer records are unique."

DIS = Words(
    "DIS",
    "Estimated chance that someone who matches exactly one record of the file is that record's person.",
    "Knows the key values of some people he comes across, does not know who is in the sample, and believes a match only"
    " where it is unique.",
    _SAMPLE_LESS,
)
PU = Words(
    "Pr(PU)",
    "Share of the population whose combination of key values is theirs alone.",
    "Knows everybody's key values. An upper bound in spirit: most of these people are not in the file.",
)
PU_GIVEN_SU = Words(
    "Pr(PU | SU)",
    "Share of the unique records whose person is also unique in the population: a match is certain to be right.",
    "Has found the one person who fits a unique record.",
)
CM_GIVEN_UM = Words(
    "Pr(CM | UM)",
    "Chance that the first person met who matches a unique record is its person. DIS estimates it.",
    "Goes through the population without a plan, until someone matches any unique record.",
    _SAMPLE_LESS,
)
CM_GIVEN_SU = Words(
    "Pr(CM | SU)",
    "Chance of a correct match for a unique record taken at random: the mean of 1/F over unique records.",
    "Takes one unique record and looks for its person among the whole population, at whatever cost.",
)
TAU1 = Words(
    "tau1",
    "Expected number of unique records whose person is unique in the population, by a log-linear model.",
    "Finds which unique records are certain to be right.",
)
TAU2 = Words(
    "tau2",
    "Expected number of correct matches if every unique record were matched to someone at random who fits it.",
    "Tries every unique record once, against a register of the population.",
)
CALIBRATED_TAU1 = Words(
    "tau1, calibrated",
    "Expected number of unique records whose person is unique in the population, calibrated on the file itself.",
    "Finds which unique records are certain to be right.",
)
CALIBRATED_TAU2 = Words(
    "tau2, calibrated",
    "Expected number of correct matches if every unique record were matched to someone at random who fits it,"
    " calibrated on the file itself.",
    "Tries every unique record once, against a register of the population.",
)
LARGEST_TAU2 = Words(
    "tau2, at most",
    "The most correct matches that the numbers of combinations of one, two and three records allow, whatever law the"
    " people behind them follow.",
    "Knows what no key tells: which common combinations hide people who are alone.",
)
BAYESIAN = Words(
    "Pr(CM), modelled",
    "Mean chance of a correct match of a record taken at random, averaged over decomposable models.",
    "Models how key variables go together, and so distinguishes rare combinations from those that the sample happens to"
    " hold once.",
)
GREATEST = Words(
    "greatest Pr(CM), modelled",
    "The greatest chance of a correct match of any record. Such claims tend to be too high: see the documentation.",
    "Models, and attacks only the record he is surest of.",
    "Coarsen or suppress the values that make this record stand out (listed below).",
)
MISCLASSIFIED = Words(
    "tau, with misclassification",
    "Expected correct matches among unique records when some key values were swapped or are wrong.",
    "Knows how the file was perturbed, and has a register of the population with true values.",
    "Perturb a larger share, or the variables that are known best.",
)


def entry(
    words: Words, value: float, interval: tuple[float, float] | None = None, *, relied_on: bool = True
) -> dict[str, Any]:
    """A measure with its words, ready for JSON.

    `value`, `interval`: null where they are not finite, or not known; `relied_on`: false where the file itself
    contradicts the model behind it.
    """
    low, high = (None, None) if interval is None else (finite(interval[0]), finite(interval[1]))
    return {**asdict(words), "value": finite(value), "low": low, "high": high, "relied_on": relied_on}
