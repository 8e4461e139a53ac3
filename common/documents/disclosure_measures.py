"""The registry of disclosure measures: the meaning of each one, and the intruder it assumes.

A new measure is an entry of ``disclosure_measures.toml`` and its computation in a module of
``gemel.carole.assessment``. The limits of a specification and their JSON Schema, the policy decision, the report's
words and order, and the table in docs/assessment.md are all read from this registry.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from gemel.common.documents.document import DescribedModel


class StewardQuestion(DescribedModel):
    """A steward's question about a release, which several measures answer."""

    title: str
    explanation: str


class DisclosureMeasure(DescribedModel):
    """The public facts of one measure of disclosure risk, whose values lie between 0 and 1."""

    name: str
    title: str
    meaning: str
    """One sentence, for editors of specifications and the manual."""
    intruder: str
    """The intruder it assumes, and what they know."""
    sentence: str
    """One sentence for a steward; ``{value}`` is replaced by the number."""
    method: str
    question: str
    """Which of the steward's questions it answers, one of `QUESTIONS`."""
    place: int = 0
    """Position among the measures of its question in the report."""
    unit: Literal["share", "probability"] = "share"
    """``share`` reads in per cent, ``probability`` as a number."""
    needs: Literal["", "sensitive", "tables", "quality", "joint model", "released joint"] = ""
    """The part of a specification that a limit on it requires: ``sensitive`` variables, published ``tables``,
    ``quality``; a ``joint model`` or a ``released joint`` distribution, beside sensitive variables."""
    own_limit: Literal["", "near_copies", "minimum_overlap"] = ""
    """The entry of the section `assessment` by which it is judged, where that is none of its `limits`; its default
    holds where the policy does not name it."""
    accumulates: bool = True
    """Whether a release is judged together with the project's earlier ones."""
    minimum: float = 0.0
    maximum: float = 1.0
    default: float | None = None
    """The limit where a specification gives none, and has what it needs; None: then there is none."""

    def shown(self, value: float) -> str:
        return f"{value:.3g}" if self.unit == "probability" else f"{100 * value:.3g} %"

    def words(self, value: float) -> str:
        return self.sentence.format(value=self.shown(value))


_REGISTRY = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

QUESTIONS = {name: StewardQuestion(**entry) for name, entry in _REGISTRY["questions"].items()}
"""In the order of the report."""

MEASURES = {name: DisclosureMeasure(name=name, **entry) for name, entry in _REGISTRY["measures"].items()}
"""By name, in the order in which limits are listed."""


def report_order() -> list[tuple[StewardQuestion, list[DisclosureMeasure]]]:
    return [
        (question, sorted((m for m in MEASURES.values() if m.question == name), key=lambda m: m.place))
        for name, question in QUESTIONS.items()
    ]
