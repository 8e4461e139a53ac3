"""What a report is made from: the public documents of a run, who linked what, and the numbers derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gemel.common.documents.document import Count, Document, Part
from gemel.common.documents.linkage_document import EvaluationDocument, LinkageDocument
from gemel.common.documents.model_document import FieldParameters, ModelDocument, Timings
from gemel.common.documents.result_warning import ResultWarning, by_severity
from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter

MISSING = -1  #: the level of a field that either record lacks


class File(Part):
    title: str
    records: Count


class Files(Part):
    alice: File
    bob: File


class RunDescription(Document):
    """Who linked what, and under which specification."""

    project: str
    mode: str
    created: str
    """ISO 8601 with its offset."""
    version: str
    """Of Gemel."""
    specification_digest: str | None = None
    """Hexadecimal."""
    encoding_digest: str | None = None
    files: Files
    one_to_one: bool
    one_file: bool = False
    """Duplicates inside one file were looked for: it stands in the place of both."""
    invented: bool = False
    """The people are invented: a demonstration."""
    joined: bool = False
    """Carole herself learnt which rows are one record."""
    variables: int = 0
    """How many variables she had keyed codes of."""
    assessed: bool = False
    """Whether the output was assessed."""


@dataclass(frozen=True)
class ReportContent:
    run: RunDescription
    model: ModelDocument
    linkage: LinkageDocument
    evaluation: EvaluationDocument | None
    timings: Timings

    def __post_init__(self) -> None:
        if errors := list(_outside_model(self.model.fields, self.linkage)):
            raise GemelErrors(ErrorCode.PARAMETER, errors, where="report")

    @property
    def threshold_weight(self) -> float:
        """Match weight at which a pair becomes a link (infinite when the threshold is 0 or 1)."""
        stated = self.linkage.threshold_weight
        return stated if stated is not None else _log2_odds(self.linkage.threshold) - _log2_odds(self.model.p)

    @property
    def warnings(self) -> list[ResultWarning]:
        """Warnings of the model and of the linkage, each once, the most serious first."""
        return by_severity([*self.model.warnings, *self.linkage.warnings])


def _log2_odds(probability: float) -> float:
    if probability <= 0.0:
        return -math.inf
    return math.inf if probability >= 1.0 else math.log2(probability) - math.log2(1.0 - probability)


def _outside_model(fields: Sequence[FieldParameters], linkage: LinkageDocument) -> Iterator[GemelError]:
    """Errors where a comparison vector is not one of the model's fields."""
    levels = [len(field.m) for field in fields]
    for i, pattern in enumerate(linkage.patterns):
        yield from _levels(f"linkage.patterns[{i}].gamma", pattern.gamma, levels)
    shaded = [len(field.scored.bounds) for field in fields]
    for i, example in enumerate(linkage.examples):
        yield from _levels(f"linkage.examples[{i}].gamma", example.gamma, shaded)


def _levels(where: str, gamma: Sequence[int], n_levels: Sequence[int]) -> Iterator[GemelError]:
    if len(gamma) != len(n_levels):
        got = f"{len(gamma)} levels for {len(n_levels)} fields"
        yield parameter(where, "a pattern must have a level per field", got)
    elif any(not MISSING <= level < n for level, n in zip(gamma, n_levels, strict=True)):
        yield parameter(where, "a level must exist in its field, or be -1 for missing")
