"""``model.json``: the fitted model."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from gemel.common.documents.assessment_document import CoarsenedVariable
from gemel.common.documents.document import Count, Document, Part, Share, one_length
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.documents.result_warning import ResultWarning


class Shares(Part):
    """A share of each custodian's records."""

    alice: Share
    bob: Share


class Shaded(Part):
    """The weight of each level of similarity, in a scheme that is estimated from agreement alone."""

    bounds: list[float]
    """Inclusive upper bounds of the levels, ending in 1."""
    weights: list[float]
    """Match weight of each level."""

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(bounds=self.bounds, weights=self.weights)
        return self


class FieldErrors(Part):
    """Standard errors of a field's m and u; null where there is none."""

    m: list[float | None]
    u: list[float | None]


class FieldParameters(Part):
    """The parameters of one compared field, each array with one value for each level."""

    name: str
    bounds: list[float]
    """Inclusive upper bounds of the levels, ending in 1."""
    m: list[float]
    """P(level | match)."""
    u: list[float]
    """P(level | non-match)."""
    weights: list[float]
    """log2(m / u)."""
    missing: Shares | None = None
    """Shares of the records without a value."""
    untaken: list[Count] = Field(default_factory=list)
    """Levels, from 0, that no compared pair took: their m and u come from the priors alone."""
    standard_errors: FieldErrors | None = None
    """Of m and u."""
    shaded: Shaded | None = None
    """Weights by similarity, where levels have no m and u of their own."""

    @property
    def scored(self) -> Shaded:
        """The weights by which pairs are scored."""
        return self.shaded or Shaded(bounds=self.bounds, weights=self.weights)

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        one_length(bounds=self.bounds, m=self.m, u=self.u, weights=self.weights)
        if self.standard_errors is not None:
            one_length(bounds=self.bounds, m=self.standard_errors.m, u=self.standard_errors.u)
        return self


class ModelErrors(Part):
    """Standard error of p, and the quantity that the standard errors describe."""

    p: float | None
    of: str


class Edge(Part):
    """Two fields that depend on each other in the model."""

    fields: list[str]
    gain: float
    """The log Bayes factor of the edge."""


class Misfit(Part):
    """Two fields for which independence fits badly, in one class of pairs."""

    within: Literal["matches", "others"]
    fields: list[str]
    gain: float
    observed: float
    """Pairs that agree on both."""
    expected: float
    """The same under independence."""
    words: str


class PairKind(Part):
    """Pairs that share the true values of some fields: because they are one person, or kin, or neighbours."""

    shared: list[str]
    """Fields that are shared; none of strangers."""
    pairs: float
    """Expected number of such pairs among all pairs of the two files."""
    one_person: float
    """Expected part of them that is one person."""
    doubt: float
    """Standard deviation of that part."""


class Dependence(Part):
    """What makes pairs agree: the kinds of pairs, and strangers' fields that depend on each other."""

    kind: Literal["none", "pairwise", "decomposable"]
    """Of the strangers' fields, as it was chosen or set."""
    edges: list[Edge]
    """Fields that depend on each other among strangers."""
    kinds: list[PairKind]
    """Kinds of pairs, strangers first."""
    misfits: list[Misfit]
    """Misfits of independence, the worst first."""


class History(Part):
    """The course of EM, pair by pair."""

    step: list[int]
    p: list[float]
    log_likelihood: list[float]
    top_m: dict[str, list[float]]
    """By field, m at its top level."""


class ModelDocument(Document):
    """The fitted model. A match weight is log2 of the Bayes factor, the prior left out."""

    fields: list[FieldParameters]
    """In the order of the specification."""
    p: float
    """Share of all pairs that match."""
    expected_matches: float
    """p times the pairs of the whole product."""
    standard_errors: ModelErrors | None = None
    scheme: str | None = None
    """How similarity enters the model: a scheme of the specification."""
    u_method: str
    """``all_pairs``, ``corrected`` or ``free``: how u was estimated."""
    value_frequencies: list[str] = Field(default_factory=list)
    """Fields whose rare values weigh more."""
    dependence: Dependence | None = None
    history: History | None = None
    iterations: Count
    converged: bool
    warnings: list[ResultWarning]
    """On the model alone."""


class Stage(Part):
    """One stage of a run."""

    name: str
    seconds: float


class Timings(Document):
    """Time by stage."""

    stages: list[Stage]
    """In order."""
    peak_memory_bytes: Count | None = None
    threads: Count | None = None


class StatisticsDocument(Document):
    """The model, the decision and the time a run took: ``model.json`` and ``linkage.json`` are parts of it."""

    model: ModelDocument
    linkage: LinkageDocument
    timings: Timings
    coarsened: list[CoarsenedVariable] | None = None
    """How the variables of the linked records are released, where not as they were sent: whoever combines the linked
    records or publishes tables of them uses them so. Absent where nothing was coarsened."""
    warnings: list[ResultWarning]
    """Warnings of the model and of the linkage, each once, the most serious first."""
