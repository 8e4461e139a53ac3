"""The assessment of the combined output's disclosure risk: its assumptions, and the limits it is judged by.

Every limit is an upper one: a measure above it is a breach. Where a measure has an interval, the upper end is judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, create_model

from tryst.common.disclosure_measures import MEASURES
from tryst.common.specification.model.section import Name, Section

MAX_TABLES = 100
MAX_AXES = 8


class MeasureLimits(Section):
    """The policy: upper limits of measures of risk. A measure without a limit is only reported."""

    @property
    def given(self) -> dict[str, float]:
        """The limits that were set, by measure."""
        return {name: value for name in MEASURES if (value := getattr(self, name)) is not None}

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
        },
    )


class Fractions(Section):
    """Which share of the population is in a file; 1 if everyone is. No default: it determines every risk."""

    alice: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Alice's records as a share of the population they were taken from."""
    bob: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Bob's records as a share of the population they were taken from."""
    combined: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Those in both files; at most the smaller of the two."""


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

    @property
    def applied_limits(self) -> dict[str, float]:
        """The limits by which a result is judged, by measure."""
        return self.limits.applied(tables=bool(self.tables))
