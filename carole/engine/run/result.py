"""The result of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.carole.evaluation.quality_estimate import Claims, QualityEstimate
from gemel.carole.extended_latent.explanation import Contribution
from gemel.carole.fellegi_sunter.entities import Entities
from gemel.carole.fellegi_sunter.link_posterior import Copies
from gemel.carole.fellegi_sunter.linkage_draws import LinkageDraws
from gemel.carole.fellegi_sunter.model import Model, probability
from gemel.carole.fellegi_sunter.recall import BlockingRecall
from gemel.carole.fellegi_sunter.schemes import FittedScheme
from gemel.common.arrays import F64, I8, I32, I64, U32, Flags, Ints
from gemel.common.documents.result_warning import ResultWarning
from gemel.risk.models.joint_distribution import JointDistribution


@dataclass(frozen=True)
class MovedDependence:
    """Two variables that the joint distribution joins, and their mutual information, in bits."""

    variables: tuple[str, str]
    joint: float
    links: float


@dataclass(frozen=True)
class LatentEffect:
    """What the values changed, and how far the joint distribution is from that of linked records alone."""

    made: int | None
    undone: int | None
    divergence: float | None = None
    interval: tuple[float, float] | None = None
    dependences: tuple[MovedDependence, ...] = ()


TIMES = 3
"""Records of a person in each file, on average, above which what is linked by entities is not taken for people."""


@dataclass(frozen=True)
class ScoredPatterns:
    """Every distinct comparison vector with the blocking rules its pairs satisfy.

    `gamma`: int8, shape (n_patterns, n_fields): levels, or -1 where a value is missing; `mask`: uint32: rules
    satisfied; 0 when nothing is blocked; `weight`: float64: match weight in bits; `probability`: float64: match
    probability of such a pair, without its rivals.
    """

    gamma: I8
    mask: U32
    count: I64
    weight: F64
    probability: F64


@dataclass(frozen=True)
class ScoredPairs:
    """The pairs that were kept, by descending weight, then by rows; arrays of shape (n_pairs,).

    `row_a`, `row_b` (int32): rows of the two sets; `pattern` (int32): row of `ScoredPatterns`; `weight` (float64):
    match weight in bits; `match_probability` (float64): of the pair, without its rivals; `link_probability` (float64):
    given its rivals, where a record has one match at most; `value_bits` (float64): what a pair's values add to its
    weight in the extended latent step; None without that step.
    """

    row_a: I32
    row_b: I32
    pattern: I32
    weight: F64
    match_probability: F64
    link_probability: F64
    value_bits: F64 | None = None

    def of(self, chosen: Flags | I64) -> ScoredPairs:
        """Some of the pairs, in their order or in that of their places."""
        columns: Iterator[Any] = (None if own is None else own[chosen] for own in vars(self).values())
        return ScoredPairs(*columns)

    @property
    def n_bytes(self) -> int:
        return sum(column.nbytes for column in vars(self).values() if column is not None)


def match_probabilities(weight: F64, p: float) -> F64:
    """Match probability of pairs of these weights, in bits, by themselves, where the share `p` of all pairs matches."""
    return probability(weight * np.log(2.0) + np.log(p) - np.log1p(-p))


@dataclass(frozen=True)
class Duplicates:
    """Numbers of records of one file that appear to be of the same person as another of that file, by two signs.

    `equal`: records that equal another of the same file in every compared field and lack none; `same_partner`: records
    strongly linked to a record of the other file to which another of their own file is too.
    """

    equal: int
    same_partner: int


@dataclass(frozen=True)
class BestPossible:
    """The highest match probability that the records of one file could reach."""

    probability: F64
    records: I64

    def below(self, threshold: float) -> int:
        """Records that cannot reach a threshold."""
        return int(self.records[self.probability < threshold].sum())


@dataclass(frozen=True)
class Explained:
    """Average contributions of agreement and values to a group of pairs.

    `pairs`: their number, `FEWEST` at least: no few pairs are reported; `parts`: the mean of each contribution.
    """

    what: str
    pairs: int
    parts: tuple[Contribution, ...]


@dataclass(frozen=True)
class LatentResult:
    """Results of the extended latent step beside the scored pairs.

    `joint`: the joint distribution of the variables, in codes; None where all are keys that stand alone; `held`: the
    number that the held prevalence implies; None where p is estimated with the values; `log_likelihood_gain`: natural
    logarithm of how much more likely the values of all pairs are under the step than if they had nothing to do with who
    matches, each pair by itself; `bits` (float64, shape (5,)): what values add to a link, to a tenth: lowest, lower
    quartile, median, upper quartile and highest, but for the few lowest and highest; zeros where links are few;
    `precision`: total prior precision of the joint distribution, given or chosen.
    """

    joint: JointDistribution | None
    alone: tuple[str, ...]
    dependences: tuple[tuple[str, str], ...]
    records: float
    unconstrained_matches: float
    held: float | None
    iterations: int
    converged: bool
    links_before: int
    claims_before: Claims | None
    bits: F64
    explained: tuple[Explained, ...] = ()
    log_likelihood_gain: float | None = None
    effect: LatentEffect | None = None
    precision: float | None = None


@dataclass(frozen=True)
class Linkage:
    """A finished run.

    `scheme`: the scheme's weight for every comparison level; `links` (int64): which of `pairs` are links, ascending;
    `best_possible`, `duplicates`: of A and of B; `threshold`: minimum link probability of a link, as given or as
    derived from the requested rate of false links; `floor`: match weight above which every pair was kept: pairs are
    kept by the pairwise fit, so that under estimates that obey one-to-one some of those kept may lie below it;
    `matches_below_floor`: expected matches among the compared pairs that were not kept; `candidates_per_rule`: pairs
    that satisfy each rule; a pair may satisfy several; `blocking`: estimated share of the matches that are among the
    candidates, and the assumptions of the estimate; `missing`: per field the share of rows of A and of B without a
    value; `peak_bytes`: largest memory reserved at any time, of `Resources.memory_bytes`; `latent`: results of the
    extended latent step; `pairs`, `links` and `model` are then its own; `copies`: of A and of B, of each record the
    first of its file that counted as the same person; None: each counted alone; `claims`: None where there are more
    links than `plausible_links`; `quality`: estimates of the links' quality beside the claims; `draws`: drawn linkages,
    by positions of `pairs`, where they are to be released; `one_file`: records of the file, where it was linked with
    itself; `entities`: of both files' records, under the assignment clusters; the links are all pairs of an entity's
    records.
    """

    model: Model
    scheme: FittedScheme
    patterns: ScoredPatterns
    pairs: ScoredPairs
    links: I64
    threshold: float
    duplicates: tuple[Duplicates, Duplicates]
    best_possible: tuple[BestPossible, BestPossible]
    floor: float
    matches_below_floor: float
    n_candidates: int
    candidates_per_rule: dict[str, int]
    blocking: BlockingRecall
    missing: dict[str, tuple[float, float]]
    warnings: tuple[ResultWarning, ...]
    seconds: dict[str, float]
    peak_bytes: int
    latent: LatentResult | None = None
    copies: Copies = (None, None)
    claims: Claims | None = None
    quality: tuple[QualityEstimate, ...] = ()
    draws: LinkageDraws | None = None
    one_file: int | None = None
    entities: Entities | None = None

    @property
    def records(self) -> tuple[int, int]:
        """Records of the two files; of one file in the place of both, its own."""
        return (self.model.n_a, self.model.n_b) if self.one_file is None else (self.one_file, self.one_file)

    @property
    def plausible_links(self) -> int:
        """Links of which there cannot be more if the model describes people: in one file its pairs."""
        if self.one_file is not None:
            return self.one_file * (self.one_file - 1) // 2
        return max(self.records) * (1 if self.entities is None else TIMES)


# Link probabilities as a custodian is shown them: means of stated classes, so that none stands for one pair's fields.
#
# A custodian knows m, u and p. A link probability to the last digit, or a match weight, is then that of one comparison
# pattern: which fields the other custodian holds otherwise. So the pairs of a share are put into the classes between
# `BOUNDS`, and each shows the mean of its class. A class of fewer than `FEWEST` pairs, or of fewer than `MIN_VECTORS`
# comparison vectors, is joined with the next. Links are decided before, by the exact numbers.


FEWEST = 20
"""Pairs that a number must be of, at least, to be shown to anyone."""

MIN_VECTORS = 4
"""Comparison vectors that the pairs of a class must have, at least."""

BOUNDS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Between the classes; a probability equal to a bound is of the class above it."""

DIGITS = 3
"""Decimals of a class's mean."""


def classed(probability: F64, vector: Ints) -> F64:
    """Each pair's link probability as the mean of its class.

    `probability` (float64, shape (n,)): link probabilities of the pairs of a share; `vector` (int, shape (n,)): the
    comparison vector of each, by any number. Returns float64, shape (n,): means, to `DIGITS` decimals; where all
    classes together are too few, of all pairs, to one decimal. From the lowest class up; what is too few at the top
    joins the class below. O(n log n).
    """
    place = np.searchsorted(BOUNDS, probability, side="right")
    groups: list[Flags] = []
    held = np.zeros(len(probability), dtype=np.bool_)
    for k in range(len(BOUNDS) + 1):
        held = held | (place == k)
        if int(held.sum()) >= FEWEST and len(np.unique(vector[held])) >= MIN_VECTORS:
            groups.append(held)
            held = np.zeros_like(held)
    digits = DIGITS if groups else 1
    if groups:
        groups[-1] = groups[-1] | held
    elif held.any():
        groups.append(held)
    shown = np.zeros(len(probability))
    for group in groups:
        shown[group] = round(float(np.clip(probability[group], 0.0, 1.0).mean()), digits)
    return shown
