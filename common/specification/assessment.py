"""The assessment of the combined output's disclosure risk: what it supposes, and the limits it is judged by.

Every limit is an upper one: a measure above it is a breach. Where a measure has an interval, the upper end is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, create_model

from tryst.common.disclosure_measures import MEASURES
from tryst.common.specification.mistakes import Mistake, Path, nearest, shown
from tryst.common.specification.section import Name, Section
from tryst.common.specification.variables import VariableSpec

MAX_TABLES = 100
MAX_AXES = 8


class MeasureLimits(Section):
    """The policy: upper limits of the measures of risk that matter to the project. What has none is only reported."""

    @property
    def given(self) -> dict[str, float]:
        """The limits that were set, by measure."""
        return {name: value for name in MEASURES if (value := getattr(self, name)) is not None}


if TYPE_CHECKING:
    Limits = MeasureLimits
else:
    Limits = create_model(
        "Limits",
        __base__=MeasureLimits,
        __doc__=MeasureLimits.__doc__,
        **{
            measure.name: (
                Annotated[float, Field(ge=measure.least, le=measure.most, allow_inf_nan=False)] | None,
                Field(default=None, description=measure.meaning),
            )
            for measure in MEASURES.values()
        },
    )


class Fractions(Section):
    """Which share of the population is in a file; 1 if everybody is. No default: it decides every risk."""

    alice: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Alice's records as a share of the population they were taken from."""
    bob: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Bob's."""
    combined: float = Field(gt=0, le=1, allow_inf_nan=False)
    """Those in both files; at most the smaller of the two."""


class PublishedTable(Section):
    """A table of counts that is to be published from the combined output."""

    variables: tuple[Name, ...] = Field(strict=False, min_length=1, max_length=MAX_AXES)
    """The variables it is of."""
    protection: Literal["none", "conventional", "random"] = "none"
    """conventional: rounded to the nearest multiple of `base`; random: to either neighbouring multiple, at random."""
    base: int | None = Field(default=None, ge=3, le=1000)
    """Of the rounding; odd for the conventional kind."""


class AssessmentSpec(Section):
    """How the combined output is assessed, and what happens to a release that breaches a limit."""

    fractions: Fractions
    """Sampling fractions."""
    tables: tuple[PublishedTable, ...] = Field(default=(), strict=False, max_length=MAX_TABLES)
    """The tables to be published; all of them together are attacked."""
    known_people: int = Field(default=5, ge=1, le=1000)
    """How many people of a published table somebody may know, for `subtraction`."""
    least_values: int = Field(default=2, ge=2, le=100)
    """How many different sensitive values a key group should have, for `few_values`."""
    doubt: float = Field(default=0.1, gt=0, lt=0.5, allow_inf_nan=False)
    """Probability of another value below which a sensitive value counts as known, for `probable_attribution`, and a
    membership as learnt, for `members_learnt`."""
    limits: Limits
    """The policy."""
    on_breach: Literal["refuse", "hold"] = "refuse"
    """What happens when a limit is breached. refuse: there is no release; hold: the result waits for a steward, who
    may release it with a reason and a signature, or refuse it."""


def assessment_mistakes(
    assessment: AssessmentSpec | None,
    asked: str,
    variables: Mapping[int, VariableSpec],
    fields: frozenset[str],
) -> Iterator[Mistake]:
    """Every mistake that lies between the assessment and the rest of a specification.

    Parameters
    ----------
    assessment
        The section; None if there is none.
    asked
        `release.assessment`.
    variables
        By their position in the document.
    fields
        Names of the compared fields.
    """
    path: Path = ("assessment",)
    if assessment is None:
        if asked == "policy":
            yield Mistake(
                ("release", "assessment"),
                "there is no `assessment` section to judge the release by",
                remedy="write one, or `assessment: none`, which all parties then sign",
            )
        return
    if asked == "none":
        yield Mistake(
            ("release", "assessment"),
            "there is an `assessment` section, and the release is to go without",
            "none",
            "drop this line, or the section",
        )
    if not assessment.limits.given:
        yield Mistake((*path, "limits"), "no limit is set: every release would pass", remedy="limit some measure")
    named = {variable.name: variable for variable in variables.values()}
    if not any(variable.role == "key" for variable in named.values()):
        yield Mistake(
            path,
            "no variable has the role key: nothing is known by which an intruder would find anybody",
            remedy="give at least one of `variables` the role key",
        )
    if assessment.fractions.combined > min(assessment.fractions.alice, assessment.fractions.bob):
        yield Mistake(
            (*path, "fractions", "combined"),
            "those in both files cannot be more than those in either",
            str(assessment.fractions.combined),
        )
    for position, variable in variables.items():
        if variable.role == "sensitive" and variable.name in fields:
            yield Mistake(
                ("variables", position, "role"),
                "a sensitive variable is also a compared field: whoever links by it knows it already",
                variable.name,
                "drop the field from the comparison, or give the variable another role",
            )
    lacking = {
        "sensitive": ("no variable has the role sensitive", "give a variable the role sensitive, or drop the limit"),
        "tables": ("no table is to be published", "name the `tables`"),
    }
    if any(variable.role == "sensitive" for variable in named.values()):
        del lacking["sensitive"]
    if assessment.tables:
        del lacking["tables"]
    for measure in assessment.limits.given:
        if (need := MEASURES[measure].needs) in lacking:
            words, remedy = lacking[need]
            yield Mistake((*path, "limits", measure), words, remedy=remedy)
    for place, table in enumerate(assessment.tables):
        yield from _table_mistakes(table, (*path, "tables", place), named)


def _table_mistakes(table: PublishedTable, path: Path, named: Mapping[str, VariableSpec]) -> Iterator[Mistake]:
    for axis, name in enumerate(table.variables):
        if name not in named:
            yield Mistake(
                (*path, "variables", axis), "there is no variable of this name", shown(name), nearest(name, named)
            )
    if len(set(table.variables)) < len(table.variables):
        yield Mistake((*path, "variables"), "a variable is named twice", remedy="name each once")
    if (table.protection == "none") != (table.base is None):
        needs = "has no base" if table.protection == "none" else "needs a base"
        yield Mistake((*path, "base"), f"protection {table.protection} {needs}", str(table.base))
    elif table.protection == "conventional" and table.base is not None and table.base % 2 == 0:
        yield Mistake((*path, "base"), "conventional rounding needs an odd base", str(table.base))
