"""The schemes a specification can name: how similarity enters the model, and which options each allows.

A scheme has an entry here and its computation in `gemel.carole.fellegi_sunter.schemes`. Everything else (validation,
notes, the plan of a run, its documents, the report) reads these facts and not the name, so that a new scheme is an
entry here and a class there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from gemel.common.specification.model.section import Name, Section


@dataclass(frozen=True)
class SchemeFacts:
    """The properties of a scheme."""

    name: str
    summary: str
    """For the author of a specification."""
    title: str
    """For the reader of a report."""
    binary: bool
    """Whether the model has two levels of each field, agreement (the top level) and disagreement."""
    graded: bool
    """Whether a level between disagreement and agreement has a weight of its own."""
    calibrated: bool
    """Whether the weights are ratios of the model's m and u. Only then are match probabilities calibrated, are m and u
    estimated again under one-to-one, may fields depend on each other, and may a value's frequency enter."""


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        SchemeFacts(
            "multinomial",
            "every comparison level has its own m and u",
            "multinomial: every level of similarity has its own m and u",
            binary=False,
            graded=True,
            calibrated=True,
        ),
        SchemeFacts(
            "exact",
            "values agree or they do not, whatever their levels",
            "exact: values agree or they do not",
            binary=True,
            graded=False,
            calibrated=True,
        ),
        SchemeFacts(
            "lr_weighted",
            "estimated as exact, with the likelihood ratio shaded by similarity",
            "exact, with the likelihood ratio of a field shaded by similarity (LR weighted)",
            binary=True,
            graded=True,
            calibrated=False,
        ),
        SchemeFacts(
            "log_lr_weighted",
            "estimated as exact, with the logarithm of the likelihood ratio shaded by similarity",
            "exact, with the match weight of a field shaded by similarity (log-LR weighted)",
            binary=True,
            graded=True,
            calibrated=False,
        ),
    )
}
DEFAULT_SCHEME = "multinomial"

if TYPE_CHECKING:
    SchemeName = str
else:
    SchemeName = Literal[tuple(SCHEMES)]
    """The values that a specification may have; a literal, so that its errors and its JSON Schema list them."""


MIN_DECOYS, MAX_DECOYS = 100, 100_000
"""A custodian could make all its decoys of one person, and would read from the number that are linked whether the other
file has that person: the fewer there are, the less else the number shows. More than the maximum show no more."""


class QualitySpec(Section):
    """Estimates of the links' quality, with 95 % intervals, beside what the model claims of them. They need no truth
    and no review; each states what it supposes. Default: none."""

    check_field: Name | None = None
    """A field of `fields` that is sent like the others but held out of blocking, weights and estimation. Its agreement
    among the links shows how many are false. Choose one in which errors are independent of the other fields' and which
    kin do not share, such as sex; not a part of the address. The links then lack its evidence. Default: none."""
    decoys: Annotated[int, Field(ge=MIN_DECOYS, le=MAX_DECOYS)] | None = None
    """Records of no person's that each custodian invents from its own and adds to its contribution. They are linked as
    people would be who are not in the other file, change no link and are never released; how many are linked shows how
    many links are false. 1,000 suffice for most files. Default: none."""
