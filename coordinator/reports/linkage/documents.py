"""The types of the report's dictionaries; `content` says what each entry means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class File(TypedDict):
    """One custodian's file."""

    title: str
    records: int


class Files(TypedDict):
    """The two files."""

    alice: File
    bob: File


class Counts(TypedDict):
    """A number of records of each custodian."""

    alice: int
    bob: int


class Shares(TypedDict):
    """A share of each custodian's records."""

    alice: float
    bob: float


class Run(TypedDict):
    """Who linked what, and under which specification."""

    project: str
    mode: str
    created: str
    version: str
    files: Files
    one_to_one: bool
    specification_digest: NotRequired[str]
    encoding_digest: NotRequired[str]
    invented: NotRequired[bool]
    joined: NotRequired[bool]
    variables: NotRequired[int]
    assessed: NotRequired[bool]


class Shaded(TypedDict):
    """The weight of each level of similarity, where levels have no m and u of their own."""

    bounds: Sequence[float]
    weights: Sequence[float]


class FieldErrors(TypedDict):
    """Standard errors of a field's m and u; None where there is none to tell."""

    m: Sequence[float | None]
    u: Sequence[float | None]


class ModelErrors(TypedDict):
    """Standard error of p, and what the standard errors are of."""

    p: float | None
    of: str


class Field(TypedDict):
    """The parameters of one compared field."""

    name: str
    bounds: Sequence[float]
    m: Sequence[float]
    u: Sequence[float]
    weights: Sequence[float]
    missing: NotRequired[Shares]
    standard_errors: NotRequired[FieldErrors]
    shaded: NotRequired[Shaded]


class Edge(TypedDict):
    """Two fields that depend on each other in the model."""

    fields: Sequence[str]
    gain: float


class Misfit(TypedDict):
    """Two fields that independence describes badly, in one class of pairs."""

    within: str
    fields: Sequence[str]
    gain: float
    observed: float
    expected: float
    words: str


class Dependence(TypedDict):
    """Which fields depend on each other."""

    kind: str
    matches: list[Edge]
    others: list[Edge]
    misfits: list[Misfit]


class Model(TypedDict):
    """The fitted model: ``model.json``."""

    fields: list[Field]
    p: float
    expected_matches: float
    standard_errors: NotRequired[ModelErrors | None]
    scheme: NotRequired[str]
    u_method: str
    dependence: NotRequired[Dependence]
    history: NotRequired[History]
    iterations: int
    converged: bool
    warnings: list[str]
    notes: NotRequired[list[str]]


class Histogram(TypedDict):
    """Kept pairs by match weight, counted beforehand."""

    edges: Sequence[float]
    counts: Sequence[int]
    links: NotRequired[Sequence[int]]


class Rule(TypedDict):
    """One blocking rule and the pairs it brought together."""

    name: str
    fields: Sequence[str]
    candidates: int


class Blocking(TypedDict):
    """The blocking rules, and what they are believed to have kept."""

    rules: list[Rule]
    estimated_recall: NotRequired[float | None]
    estimated_lost: NotRequired[float | None]
    method: NotRequired[str]
    assumptions: NotRequired[list[str]]


class History(TypedDict):
    """The course of EM."""

    step: Sequence[int]
    p: Sequence[float]
    log_likelihood: Sequence[float]
    top_m: dict[str, Sequence[float]]


class AtThreshold(TypedDict):
    """What the model expects at a threshold."""

    threshold: float
    links: int
    precision: float
    recall: float


class Unlinkable(TypedDict):
    """Records of one file that could not be linked even to their like."""

    at_decision: int
    below: Sequence[Sequence[float]]


class BothUnlinkable(TypedDict):
    """The same of both files."""

    alice: Unlinkable
    bob: Unlinkable


class Example(TypedDict):
    """A comparison vector that several pairs have."""

    what: str
    pairs: int
    gamma: Sequence[int]
    prior: float
    weights: Sequence[float]
    together: float
    probability: float


class Twice(TypedDict):
    """Records of one file that look like second ones."""

    equal: int
    same_partner: int


class BothTwice(TypedDict):
    """The same of both files."""

    alice: Twice
    bob: Twice


class Expected(TypedDict):
    """What the model expects of its own decision."""

    precision: float
    recall: float


class Pattern(TypedDict):
    """How often a comparison pattern occurred, and how often the model expects it."""

    gamma: Sequence[int]
    observed: float
    expected: float


class ExplainedPart(TypedDict):
    """What one field or variable contributes, in bits, on average."""

    kind: str
    name: str
    bits: float


class ExplainedGroup(TypedDict):
    """A group of pairs and what they owe to agreement and to values."""

    what: str
    pairs: int
    parts: list[ExplainedPart]


class Before(TypedDict):
    """What agreement alone decided, and what the model expected of it."""

    links: int
    precision: float | None
    recall: float | None


class Latent(TypedDict):
    """The extended latent step."""

    variables: list[str]
    alone: list[str]
    dependences: list[Sequence[str]]
    parameters: int
    records: float
    held: float
    wanted: float
    iterations: int
    converged: bool
    before: Before
    bits: Sequence[float]
    explained: list[ExplainedGroup]


class Linkage(TypedDict):
    """The pairs and the decision: ``linkage.json``."""

    pairs: int
    candidates: int
    kept: int
    links: int
    unlinked: Counts
    threshold: float
    histogram: Histogram
    blocking: Blocking | None
    threshold_weight: NotRequired[float]
    floor: NotRequired[float]
    expected: NotRequired[Expected | None]
    patterns: NotRequired[list[Pattern]]
    thresholds: NotRequired[list[AtThreshold]]
    unlinkable: NotRequired[BothUnlinkable]
    examples: NotRequired[list[Example]]
    latent: NotRequired[Latent]
    duplicates: NotRequired[BothTwice]
    assignment: NotRequired[str]
    false_link_rate: NotRequired[float | None]
    warnings: NotRequired[list[str]]


class Decision(TypedDict):
    """The links judged by the truth."""

    links: int
    true_links: int
    precision: float
    recall: float
    f1: float


class Best(TypedDict):
    """The threshold at which F1 would have been largest."""

    threshold: float
    precision: float
    recall: float
    f1: float


class Curve(TypedDict):
    """Precision against recall, most probable pairs first."""

    recall: Sequence[float]
    precision: Sequence[float]


class Calibration(TypedDict):
    """Running sums of match probability and of true matches, most probable pairs first."""

    expected: Sequence[float]
    observed: Sequence[float]


class SchemeResult(TypedDict):
    """The same files linked by one scheme, judged by the truth."""

    scheme: str
    links: int
    true_links: int
    precision: float
    recall: float
    f1: float
    auc: float
    calibration_largest_gap: float
    curve: Curve


class Evaluation(TypedDict):
    """The linkage judged by the truth: ``evaluation.json``."""

    matches: int
    at_decision: Decision
    at_best: Best
    auc: float
    auc_trapezium: float
    curve: Curve
    calibration: Calibration
    candidate_recall: NotRequired[float | None]
    schemes: NotRequired[list[SchemeResult]]


class Stage(TypedDict):
    """One stage of the run and how long it took."""

    name: str
    seconds: float


class Timings(TypedDict):
    """Where the time went."""

    stages: list[Stage]
    peak_memory_bytes: NotRequired[int | None]
    threads: NotRequired[int | None]
