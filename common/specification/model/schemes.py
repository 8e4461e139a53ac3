"""The schemes a specification can name: how similarity enters the model, and which options each allows.

A scheme has an entry here and its computation in `gemel.carole.fellegi_sunter.schemes`. Everything else (validation,
notes, the plan of a run, its documents, the report) reads these facts and not the name, so that a new scheme is an
entry here and a class there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal


@dataclass(frozen=True)
class SchemeFacts:
    """The properties of a scheme.

    Attributes
    ----------
    name
        As in a specification.
    summary
        For the author of a specification.
    title
        For the reader of a report.
    binary
        Whether the model has two levels of each field, agreement (the top level) and disagreement.
    graded
        Whether a level between disagreement and agreement has a weight of its own.
    calibrated
        Whether the weights are ratios of the model's m and u. Only then are match probabilities calibrated, are m and u
        estimated again under one-to-one, may fields depend on each other, and may a value's frequency enter.
    """

    name: str
    summary: str
    title: str
    binary: bool
    graded: bool
    calibrated: bool


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
"""All of them by name."""

DEFAULT_SCHEME = "multinomial"

if TYPE_CHECKING:
    SchemeName = str
else:
    SchemeName = Literal[tuple(SCHEMES)]
    """The values that a specification may have; a literal, so that its errors and its JSON Schema list them."""
