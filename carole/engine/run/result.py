"""The result of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.effect_of_values import LatentEffect
from gemel.carole.evaluation.quality_estimate import QualityEstimate
from gemel.carole.fellegi_sunter import BlockingRecall, FittedScheme, Model
from gemel.carole.fellegi_sunter.entities import Entities
from gemel.carole.fellegi_sunter.link_posterior import Copies
from gemel.carole.fellegi_sunter.linkage_draws import LinkageDraws
from gemel.common.documents.result_warning import ResultWarning
from gemel.risk.models.joint_distribution import JointDistribution

TIMES = 3
"""Records of a person in each file, on average, above which what is linked by entities is not taken for people."""


@dataclass(frozen=True)
class ScoredPatterns:
    """Every distinct comparison vector with the blocking rules its pairs satisfy.

    Attributes
    ----------
    gamma
        int8, shape (n_patterns, n_fields): levels, or -1 where a value is missing.
    mask
        uint32: rules satisfied; 0 when nothing is blocked.
    count
        int64: pairs.
    weight
        float64: match weight in bits.
    probability
        float64: match probability of such a pair, without its rivals.
    """

    gamma: NDArray[np.int8]
    mask: NDArray[np.uint32]
    count: NDArray[np.int64]
    weight: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True)
class ScoredPairs:
    """The pairs that were kept, by descending weight, then by rows.

    Attributes
    ----------
    row_a, row_b
        int32: rows of the two sets.
    pattern
        int32: row of `ScoredPatterns`.
    weight
        float64: match weight in bits.
    match_probability
        float64: of the pair, without its rivals.
    link_probability
        float64: of the pair given its rivals, where a record has one match at most; otherwise the same.
    value_bits
        float64: what a pair's values add to its weight in the extended latent step; None without that step.
    """

    row_a: NDArray[np.int32]
    row_b: NDArray[np.int32]
    pattern: NDArray[np.int32]
    weight: NDArray[np.float64]
    match_probability: NDArray[np.float64]
    link_probability: NDArray[np.float64]
    value_bits: NDArray[np.float64] | None = None

    def of(self, chosen: NDArray[np.bool_]) -> ScoredPairs:
        """Some of the pairs, in the same order."""
        return ScoredPairs(
            self.row_a[chosen],
            self.row_b[chosen],
            self.pattern[chosen],
            self.weight[chosen],
            self.match_probability[chosen],
            self.link_probability[chosen],
            None if self.value_bits is None else self.value_bits[chosen],
        )

    @property
    def n_bytes(self) -> int:
        """Memory of all columns."""
        return sum(column.nbytes for column in vars(self).values() if column is not None)


@dataclass(frozen=True)
class Duplicates:
    """Numbers of records of one file that appear to be of the same person as another of that file, by two signs.

    Attributes
    ----------
    equal
        Records that equal another of the same file in every compared field and lack none.
    same_partner
        Records strongly linked to a record of the other file to which another of their own file is too.
    """

    equal: int
    same_partner: int


@dataclass(frozen=True)
class BestPossible:
    """The highest match probability that the records of one file could reach."""

    probability: NDArray[np.float64]
    records: NDArray[np.int64]

    def below(self, threshold: float) -> int:
        """Records that cannot reach a threshold."""
        return int(self.records[self.probability < threshold].sum())


@dataclass(frozen=True)
class Explained:
    """Average contributions of agreement and values to a group of pairs.

    Attributes
    ----------
    what
        Which pairs.
    pairs
        Their number, `FEWEST` at least: no few pairs are reported.
    parts
        Kind ("prior", "agreement", "rarity", "association"), name and mean bits of each contribution.
    """

    what: str
    pairs: int
    parts: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class LatentResult:
    """Results of the extended latent step beside the scored pairs.

    Attributes
    ----------
    joint
        The joint distribution of the variables, in codes; None where all are keys that stand alone.
    alone
        Names of the keys that stand alone.
    dependences
        Pairs of variables that the joint distribution's graph joins.
    records
        Weight of the pairs that the value model was estimated from.
    unconstrained_matches
        Matches estimated with the values.
    held
        The number that the held prevalence implies; None where p is estimated with the values.
    iterations, converged
        Of the EM beside the values, and whether that and the value model converged.
    log_likelihood_gain
        Natural logarithm of how much more likely the values of all pairs are under the step than if they had nothing to
        do with who matches, each pair by itself.
    links_before, precision_before, matches_before
        Fellegi-Sunter's decision alone: links, their expected precision, and expected matches.
    bits
        float64, shape (5,): what values add to a link, to a tenth: lowest, lower quartile, median, upper quartile and
        highest, but for the few lowest and highest; zeros where links are few.
    explained
        Groups of pairs, with the contributions of agreement and values.
    effect
        What the values changed.
    precision
        Total prior precision of the joint distribution, given or chosen; None where there is none.
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
    precision_before: float | None
    matches_before: float
    bits: NDArray[np.float64]
    explained: tuple[Explained, ...] = ()
    log_likelihood_gain: float | None = None
    effect: LatentEffect | None = None
    precision: float | None = None


@dataclass(frozen=True)
class Linkage:
    """A finished run.

    Attributes
    ----------
    model
        The fitted model.
    scheme
        The scheme's weight for every comparison level.
    patterns
        All comparison vectors that occurred.
    pairs
        The pairs that were kept.
    links
        int64: which of `pairs` are links, ascending.
    best_possible
        Of A and of B: the highest match probability that records can reach, by the fields they have.
    threshold
        Minimum link probability of a link, as given or as derived from the requested rate of false links.
    duplicates
        Of A and of B: records that appear to be second records of a person.
    floor
        Match weight above which every pair was kept. Pairs are kept by the pairwise fit, so that under estimates that
        obey one-to-one some of those kept may lie below it.
    matches_below_floor
        Expected matches among the compared pairs that were not kept.
    n_candidates
        Pairs compared.
    candidates_per_rule
        Per blocking rule the pairs that satisfy it; a pair may satisfy several.
    blocking
        Estimated share of the matches that are among the candidates, and the assumptions of the estimate.
    missing
        Per field the share of rows of A and of B without a value.
    warnings
        What a reader of the results must know.
    seconds
        Duration of each stage.
    peak_bytes
        Largest memory reserved at any time, of `Resources.memory_bytes`.
    latent
        Results of the extended latent step, where there was one; `pairs`, `links` and `model` are then its own.
    copies
        Of A and of B: of each record the first of its file that counted as the same person; None: each counted alone.
    quality
        Estimates of the links' quality beside what the model claims.
    draws
        Drawn linkages, by positions of `pairs`, where they are to be released.
    one_file
        Records of the file, where it was linked with itself (`one_file.deduplicate`).
    entities
        Of both files' records, under the assignment clusters; the links are all pairs of an entity's records.
    """

    model: Model
    scheme: FittedScheme
    patterns: ScoredPatterns
    pairs: ScoredPairs
    links: NDArray[np.int64]
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

    @property
    def blocking_recall(self) -> float | None:
        """Estimated share of the matches that are among the candidates; None where it cannot be estimated."""
        return self.blocking.recall
