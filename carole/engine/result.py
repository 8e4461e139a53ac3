"""What a run found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tryst.carole.fellegi_sunter import BlockingRecall, FittedScheme, Model
from tryst.common.documents.result_warning import ResultWarning
from tryst.risk.models import JointDistribution


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
        float64: match probability of such a pair, taken by itself.
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
        float64: of the pair taken by itself.
    link_probability
        float64: of the pair given its rivals, where a record has one match at most; otherwise the same.
    value_bits
        float64: what the values of a pair add to its weight in the extended latent step; None where there is none.
    """

    row_a: NDArray[np.int32]
    row_b: NDArray[np.int32]
    pattern: NDArray[np.int32]
    weight: NDArray[np.float64]
    match_probability: NDArray[np.float64]
    link_probability: NDArray[np.float64]
    value_bits: NDArray[np.float64] | None = None

    @property
    def n_bytes(self) -> int:
        """Memory of all columns."""
        return sum(column.nbytes for column in vars(self).values() if column is not None)


@dataclass(frozen=True)
class Duplicates:
    """Numbers of records of one file that share their person with another of that file, by two signs.

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
    """How probable a match the records of one file could reach at best.

    Attributes
    ----------
    probability
        float64, ascending: match probability of a record with its like, one for each set of fields that records have.
    records
        int64: how many records have just these fields.
    """

    probability: NDArray[np.float64]
    records: NDArray[np.int64]

    def below(self, threshold: float) -> int:
        """Records that cannot reach a threshold."""
        return int(self.records[self.probability < threshold].sum())


@dataclass(frozen=True)
class Explained:
    """What a group of pairs owes to agreement and to values, on average.

    Attributes
    ----------
    what
        Which pairs.
    pairs
        Their number, at least five: no pair is told by itself.
    parts
        Kind ("prior", "agreement", "rarity", "association"), name and mean bits of each contribution.
    """

    what: str
    pairs: int
    parts: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class LatentResult:
    """What the extended latent step found beside the scored pairs.

    Attributes
    ----------
    joint
        The joint distribution of the variables, in codes; None where all are keys that stand alone.
    alone
        Names of the keys that stand alone.
    dependences
        Pairs of variables that the joint distribution's graph joins.
    records
        Weight of the pairs that the value model was learnt from.
    unconstrained_matches, held
        Matches that there would seem to be with the values, and as many as the prevalence stands for.
    iterations, converged
        Of the EM for m, and whether that and the value model came to rest.
    links_before, precision_before, matches_before
        What Fellegi-Sunter alone decided: links, their expected precision, and expected matches.
    bits
        float64, shape (5,): least, lower quartile, median, upper quartile, greatest of what values add to a link.
    explained
        Groups of pairs and what they owe to agreement and to values.
    """

    joint: JointDistribution | None
    alone: tuple[str, ...]
    dependences: tuple[tuple[str, str], ...]
    records: float
    unconstrained_matches: float
    held: float
    iterations: int
    converged: bool
    links_before: int
    precision_before: float | None
    matches_before: float
    bits: NDArray[np.float64]
    explained: tuple[Explained, ...] = ()


@dataclass(frozen=True)
class Linkage:
    """A finished run.

    Attributes
    ----------
    model
        The fitted model.
    scheme
        What the scheme makes of the model: a weight for every comparison level.
    patterns
        All comparison vectors that occurred.
    pairs
        The pairs that were kept.
    links
        int64: which of `pairs` are links, ascending.
    best_possible
        Of A and of B: the match probability that records can reach at best, by the fields they have.
    threshold
        Least link probability of a link, as given or as it followed from the wanted rate of false links.
    duplicates
        Of A and of B: records that look like second ones of a person.
    floor
        Match weight from which up every pair was kept. Pairs are kept by the pairwise fit, so that under estimates that
        obey one-to-one some of those kept may lie below it.
    matches_below_floor
        Expected matches among the compared pairs that were not kept.
    n_candidates
        Pairs compared.
    candidates_per_rule
        Per blocking rule the pairs that satisfy it; a pair may satisfy several.
    blocking
        Estimated share of the matches that are among the candidates, and what the estimate stands on.
    missing
        Per field the share of rows of A and of B without a value.
    warnings
        What a reader of the results must know.
    seconds
        Duration of each stage.
    peak_bytes
        Largest memory reserved at any time, of `Resources.memory_bytes`.
    latent
        What the extended latent step found, where there was one; `pairs`, `links` and `model` are then its own.
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

    @property
    def blocking_recall(self) -> float | None:
        """Estimated share of the matches that are among the candidates; None where it cannot be told."""
        return self.blocking.recall
