"""The assessment of the combined output's disclosure risk: its assumptions, and the limits it is judged by.

Every limit is an upper one: a measure above it is a breach. Where a measure has an interval, the upper end is judged,
but of `largest_record_risk` the value.
Two have a limit always, because a custodian that invents records is no matter of what the files hold: `near_copies`,
and `minimum_overlap`, the one lower limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, create_model, model_validator

from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.specification.model.defaults import MAX_FIELDS
from gemel.common.specification.model.protection import CoarseningStep, Protect
from gemel.common.specification.model.section import Name, Section

MAX_TABLES = 100
MAX_AXES = 8

NEAR_COPIES = 0.002
"""Default of `near_copies`: two records in a thousand. Files without copies have none, nor have those in which people
occur twice or three times; one cluster of five in 2,500 records reaches it."""
MINIMUM_OVERLAP = 0.01
"""Default of `minimum_overlap`: below one record in a hundred a file was hardly made to be linked with the other."""


class MeasureLimits(Section):
    """The policy: upper limits of measures of risk. A measure without a limit is only reported."""

    @property
    def given(self) -> dict[str, float]:
        return {name: value for name in MEASURES if (value := getattr(self, name, None)) is not None}

    def applied(self, *, tables: bool) -> dict[str, float]:
        """The limits that were set, and the defaults of those that were not; `tables`: whether any is published."""
        defaults = {
            name: measure.default
            for name, measure in MEASURES.items()
            if measure.default is not None and (tables or measure.needs != "tables")
        }
        return {name: limit for name in MEASURES if (limit := self.given.get(name, defaults.get(name))) is not None}


if TYPE_CHECKING:
    Limits = MeasureLimits
else:
    Limits = create_model(
        "Limits",
        __base__=MeasureLimits,
        __doc__=MeasureLimits.__doc__,
        **{
            measure.name: (
                Annotated[float, Field(ge=measure.minimum, le=measure.maximum, allow_inf_nan=False)] | None,
                Field(default=None, description=measure.meaning),
            )
            for measure in MEASURES.values()
            if not measure.own_limit
        },
    )


Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Fraction(Section):
    """A sampling fraction that is known within bounds. Every measure that hangs on it has an interval as wide."""

    value: Share
    """The fraction as it is most likely."""
    low: Share
    """The smallest that it may be; at most `value`."""
    high: Share
    """The largest that it may be; at least `value`."""

    @property
    def possible(self) -> tuple[float, ...]:
        """The value and its ends, each once."""
        return tuple(dict.fromkeys((self.value, self.low, self.high)))


class Fractions(Section):
    """Which share of the population is in a file; 1 if everyone is. No default: it determines every risk."""

    alice: Share | Fraction
    """Alice's records as a share of the population they were taken from."""
    bob: Share | Fraction
    """Bob's records as a share of the population they were taken from."""
    combined: Share | Fraction
    """Those in both files, linked or not; at most the smaller of the two."""

    def of(self, name: str) -> Fraction:
        """Of ``alice``, ``bob`` or ``combined``; one given as a number has no ends besides."""
        given: float | Fraction = getattr(self, name)
        return given if isinstance(given, Fraction) else Fraction(value=given, low=given, high=given)


class PublishedTable(Section):
    """A table of counts that is to be published from the combined output."""

    variables: tuple[Name, ...] = Field(strict=False, min_length=1, max_length=MAX_AXES)
    """The variables that span it."""
    protection: Literal["none", "conventional", "random"] = "none"
    """conventional: rounded to the nearest multiple of `base`; random: to either neighbouring multiple, at random."""
    base: int | None = Field(default=None, ge=3, le=1000)
    """The base of the rounding; odd for the conventional kind."""


class AssessmentSpec(Section):
    """How the combined output is assessed, and what happens to a release that breaches a limit."""

    fractions: Fractions
    """Sampling fractions."""
    tables: tuple[PublishedTable, ...] = Field(default=(), strict=False, max_length=MAX_TABLES)
    """The tables to be published; all of them together are attacked."""
    known_people: int = Field(default=5, ge=1, le=1000)
    """How many people of a published table an intruder may know, for `subtraction`."""
    min_values: int = Field(default=2, ge=2, le=100)
    """How many different sensitive values a key group should have, for `few_values`."""
    doubt: float = Field(default=0.1, gt=0, lt=0.5, allow_inf_nan=False)
    """Probability of another value below which a sensitive value counts as known, for `probable_attribution`, and a
    membership as learnt, for `members_disclosed`."""
    limits: Limits
    """The policy."""
    on_breach: Literal["refuse", "hold"] = "refuse"
    """What happens when a limit is breached. refuse: there is no release; hold: the result waits for a steward, who
    may release it with a reason and a signature, or refuse it."""
    signatures: int = Field(default=1, ge=1, le=2)
    """With `on_breach: hold`, how many stewards must sign the release of a held result, each with a reason; a refusal
    by one is enough."""
    protect: Protect = Field(default_factory=dict, max_length=64)
    """By variable, the coarsenings that may be made instead where a limit is breached: groups of its categories, each
    step coarser than the one before, and `drop` as the last if the variable may be left out. Carole takes the least
    change with which every limit holds; where there is none, `on_breach` decides."""
    near_copies: float = Field(default=NEAR_COPIES, ge=0, le=1, allow_inf_nan=False)
    """Maximum share of either custodian's records that have four near-copies or more in the same file: a person who was
    contributed many times with one attribute changed. Where a file has several records of a person by its nature, as
    one of hospital stays has, it must be higher; 1: never a breach."""
    minimum_overlap: float = Field(default=MINIMUM_OVERLAP, ge=0, le=1, allow_inf_nan=False)
    """Minimum share of the smaller file's records that are linked; 0: any."""

    def coarsenings(self, variable: str) -> tuple[CoarseningStep | str, ...]:
        """The steps that are allowed for a variable, the finest first; none for one that stays as it is."""
        return self.protect.get(variable, ())

    @property
    def judged_limits(self) -> dict[str, float]:
        """The limits that were set, the defaults of those that were not, and the two that always hold, by measure."""
        own = {"near_copies": self.near_copies, "unlinked": 1 - self.minimum_overlap}
        every = {**self.limits.applied(tables=bool(self.tables)), **own}
        return {name: every[name] for name in MEASURES if name in every}


class MPriorSpec(Section):
    """What is believed of m of a field: how often two records of one person agree on it."""

    field: Name
    """A compared field."""
    agreement: float = Field(default=0.9, gt=0, lt=1, allow_inf_nan=False)
    """Share of matches at the field's highest level; the other levels share the rest evenly."""
    weight: float = Field(default=20.0, gt=0, le=1e6, allow_inf_nan=False)
    """Matches that the belief is worth: with as many matches in the files, it counts as much as they do."""


class UPriorSpec(Section):
    """What is believed of u of a field: how often records of two people agree on it."""

    field: Name
    """A compared field."""
    agreement: float = Field(gt=0, lt=1, allow_inf_nan=False)
    """Share of other pairs at the field's highest level; the other levels share the rest evenly."""
    weight: float = Field(gt=0, le=1e15, allow_inf_nan=False)
    """Pairs that the belief is worth, beside all pairs of the two files."""


class PPriorSpec(Section):
    """What is believed of p, the share of pairs that match."""

    matches: float = Field(gt=0, le=1e15, allow_inf_nan=False)
    """Matches, counted beside those of the two files."""
    non_matches: float = Field(gt=0, le=1e15, allow_inf_nan=False)
    """Other pairs, counted likewise."""


class PriorsSpec(Section):
    """What is believed of m, u and p where the latent step estimates them again; `model.m_prior` is the linkage's
    before it."""

    m: tuple[MPriorSpec, ...] = Field(default=(), strict=False, max_length=MAX_FIELDS)
    """Of m, by field."""
    u: tuple[UPriorSpec, ...] = Field(default=(), strict=False, max_length=MAX_FIELDS)
    """Of u, by field."""
    p: PPriorSpec | None = None
    """Of p, where `latent.p` is free."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.m or self.u or self.p):
            raise ValueError("nothing is believed of m, u or p: state something, or drop the section")
        return self
