"""``linkage.json``: the pairs and the decision."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from gemel.common.documents.document import Count, Document, Part, Share, one_length
from gemel.common.documents.result_warning import ResultWarning


class Counts(Part):
    """A number of records of each custodian."""

    alice: Count
    bob: Count


class Histogram(Part):
    """Kept pairs by match weight."""

    edges: list[float] = Field(min_length=2)
    """One more than there are bins."""
    counts: list[Count]
    links: list[Count] = Field(default_factory=list)
    """Those of them that are links."""

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(bins=self.edges[1:], counts=self.counts, links=self.links or self.counts)
        return self


class Rule(Part):
    """One blocking rule and its candidate pairs."""

    name: str
    fields: list[str]
    candidates: Count


class Blocking(Part):
    """The blocking rules, and the estimated share of matches they keep."""

    rules: list[Rule]
    reduction: float | None = None
    """Share of the pairs that were not compared."""
    estimated_recall: float | None = None
    """Share of the matches that are candidates."""
    estimated_lost: float | None = None
    """Matches that are not."""
    method: str | None = None
    """Method of that estimate."""
    assumptions: list[str] = Field(default_factory=list)
    """Its assumptions."""


class AtThreshold(Part):
    """What the model expects at a threshold."""

    threshold: float
    links: Count
    precision: float
    recall: float


class Unlinkable(Part):
    """Records of one file that could not be linked even to an identical record."""

    at_decision: Count
    below: list[list[float]]
    """Thresholds, each with the records that cannot reach it."""


class BothUnlinkable(Part):
    """The same of both files."""

    alice: Unlinkable
    bob: Unlinkable


class Example(Part):
    """A comparison vector that several pairs have, and how its weights add up."""

    what: str
    pairs: Count
    gamma: list[int]
    """Level of each field; -1 is missing."""
    prior: float
    """Log2 odds before anything is compared."""
    weights: list[float]
    """Match weight of each field."""
    together: float
    """The contribution of the fields' dependence, besides that of each field by itself."""
    probability: float

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(gamma=self.gamma, weights=self.weights)
        return self


class Duplicates(Part):
    """Records of one file that look like duplicates."""

    equal: Count
    """Equal to another in every field; 0 in mode shared, where no one can count them."""
    same_partner: Count
    """Likely to be one person with another record's partner."""


class BothDuplicates(Part):
    """The same of both files."""

    alice: Duplicates
    bob: Duplicates


class Entities(Part):
    """The entities that the records of both files were assigned to."""

    number: Count
    """Those of one record included."""
    linked: Count
    """Those with records of both files."""
    several: Counts
    """Those with several records of a file."""
    largest: Counts
    """The largest number of records of a file in one entity; of each file by itself."""
    pairs: Count
    """Pairs of records, one of each file, that are of one entity: the links."""


class ClaimedRange(Part):
    """A figure that the run claims, and its 95 % interval."""

    value: float | None
    """Null where it is of fewer than 20 links, whose probabilities it would show; the ends are then rounded outwards,
    shares to a tenth."""
    lower: float
    upper: float


class Claims(Part):
    """What the run claims of its links. The intervals hold what the model knows of its own doubt, and how far off it
    was in populations drawn at random (`benchmarks worlds`)."""

    precision: ClaimedRange | None
    """Share of the links that are right; null without a link."""
    recall: ClaimedRange | None
    """Share of all matches, those that blocking lost included, that are linked; null where none is expected."""
    compared: ClaimedRange
    """Matches among the compared pairs."""
    matches: ClaimedRange
    """Matches, those that blocking lost included."""
    people: ClaimedRange
    """People in both files; in one file linked with itself, those who are in it more than once."""
    candidates: ClaimedRange | None
    """Share of the matches among the compared pairs; null without blocking, and where it cannot be estimated."""


class ShareInterval(Part):
    """An estimated share, and its 95 % interval."""

    value: Share
    lower: Share
    upper: Share


class QualityEstimate(Part):
    """How good the links are, beside what the model claims."""

    method: Literal["check_field", "decoys"]
    """The agreement of links in a field held out of the linkage, or links to records known to be no person's."""
    precision: ShareInterval
    observations: Count
    """Links in doubt that were checked, or decoys of both custodians."""
    supposes: list[str]
    """What must hold for the intervals to be right."""


class Pattern(Part):
    """How many pairs have a comparison vector, and how many the model expects."""

    gamma: list[int]
    """Level of each field; -1 is missing."""
    observed: float
    expected: float


class ExplainedPart(Part):
    """What one field or variable contributes, in bits, on average."""

    kind: Literal["prior", "agreement", "rarity", "association"]
    name: str
    bits: float


class ExplainedGroup(Part):
    """A group of pairs and the contributions of agreement and of values."""

    what: str
    pairs: Count
    parts: list[ExplainedPart]


class Before(Part):
    """What agreement alone decided, and what was claimed of it."""

    links: Count
    claims: Claims | None


class MovedDependence(Part):
    """Two variables that the joint distribution joins, and their mutual information, in bits."""

    variables: list[str]
    joint: float
    """By the joint distribution."""
    links: float
    """By that of the links of agreement alone."""


class EffectOfValues(Part):
    """What the values changed."""

    made: Count | None
    """Links that agreement alone had not made; null, as the next: fewer than 20, but not 0."""
    undone: Count | None
    """Links of agreement alone that the values undid."""
    divergence: float | None
    """Jensen-Shannon divergence, base 2, between the joint distribution and that of the links of agreement alone, each
    counted once, under the same graph and prior; corrected for what is due to few records. Null where links are few."""
    interval: list[float] | None
    """Its 95 % interval, by a bootstrap over Alice's records; null where the distribution is too large for it."""
    dependences: list[MovedDependence]
    """The edges of the graph."""


class Latent(Part):
    """The extended latent step."""

    variables: list[str]
    """Variables of the joint distribution."""
    alone: list[str]
    """Keys outside of it."""
    dependences: list[list[str]]
    """Edges of its graph."""
    parameters: Count
    """Free parameters."""
    records: float
    """Weight of the pairs it was estimated from."""
    precision: float | None
    """Total precision of its prior, given or chosen; null where there is none."""
    held: float | None = None
    """Matches at the held p; null where p is estimated with the values."""
    unconstrained_matches: float
    """Matches by agreement and values; where p is held, if it were not."""
    log_likelihood_gain: float
    """Natural log likelihood ratio of all pairs' values: under the step, and if they had nothing to do with who
    matches."""
    iterations: Count
    """Rounds of the EM beside the values."""
    converged: bool
    before: Before
    """The decision by agreement alone."""
    bits: list[float]
    """Quartiles of the bits that the values add to a link."""
    explained: list[ExplainedGroup]
    effect: EffectOfValues
    """What the values changed."""


class LinkageDocument(Document):
    """The pairs and the decision."""

    pairs: Count
    """Records of Alice times records of Bob."""
    candidates: Count
    """Pairs compared."""
    kept: Count
    """Candidates above the floor, which were scored one by one."""
    links: Count
    unlinked: Counts
    threshold: float
    """Match probability at which a pair becomes a link."""
    threshold_weight: float | None = None
    """The same as a match weight; otherwise it follows from p."""
    floor: float | None = None
    """Match probability below which pairs were not kept."""
    records: Counts
    """Records of each file."""
    claims: Claims | None = None
    """Null where there are more links than people can explain."""
    quality: list[QualityEstimate] = Field(default_factory=list)
    """Estimates of the links' quality that the specification requested."""
    histogram: Histogram
    thresholds: list[AtThreshold] = Field(default_factory=list)
    """What the model expects at other thresholds."""
    unlinkable: BothUnlinkable | None = None
    examples: list[Example] = Field(default_factory=list)
    latent: Latent | None = None
    duplicates: BothDuplicates | None = None
    entities: Entities | None = None
    """Under the assignment clusters."""
    assignment: Literal["one_to_one", "greedy", "many_to_one", "one_to_many", "clusters", "none"] | None = None
    false_link_rate: float | None = None
    """The target."""
    blocking: Blocking | None
    """Null where every pair was compared."""
    patterns: list[Pattern] = Field(default_factory=list)
    """Candidate pairs by comparison vector, the most frequent ones."""
    warnings: list[ResultWarning] = Field(default_factory=list)
    """On the files, the pairs and the links."""


class Decision(Part):
    """The links evaluated against the truth."""

    links: Count
    true_links: Count
    precision: float
    recall: float
    f1: float


class Best(Part):
    """The threshold at which F1 would have been largest."""

    threshold: float
    precision: float
    recall: float
    f1: float


class Curve(Part):
    """Precision against recall, most probable pairs first."""

    recall: list[float]
    precision: list[float]

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(recall=self.recall, precision=self.precision)
        return self


class Calibration(Part):
    """Running sums of match probability and of true matches, most probable pairs first."""

    expected: list[float]
    observed: list[float]

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(expected=self.expected, observed=self.observed)
        return self


class SchemeResult(Decision):
    """The same files linked by one scheme, evaluated against the truth."""

    scheme: str
    auc: float
    calibration_largest_gap: float
    curve: Curve


class EvaluationDocument(Document):
    """The linkage evaluated against the truth."""

    matches: Count
    """True matches between the files."""
    at_decision: Decision
    at_best: Best
    auc: float
    """Area under the expected precision-recall curve."""
    auc_trapezium: float
    """The same by trapezia."""
    curve: Curve
    calibration: Calibration
    calibration_largest_gap: float
    """Greatest difference of the two sums, as a share of the matches; above 0 the probabilities are too high."""
    candidate_recall: float | None = None
    """Share of the true matches among the kept pairs."""
    schemes: list[SchemeResult] = Field(default_factory=list)
    """The same files linked by each scheme, the run's own first."""
