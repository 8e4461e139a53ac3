"""Single comparison patterns, and how their evidence adds up: levels of similarity, never a record."""

from __future__ import annotations

from typing import Any

from gemel.common.documents.linkage_document import Example
from gemel.common.documents.model_document import FieldParameters
from gemel.common.language import clauses, gettext, named

from . import wording
from .content import ReportContent

COMMONEST = "one of the commonest"
"""What an example is that is there for its frequency alone."""

_SLIGHT = 0.005
"""Bits below which the fields' dependence changes nothing."""


def comparisons(content: ReportContent) -> list[dict[str, Any]]:
    """The reported comparison patterns, the most probable first, each step by step from the prior odds."""
    ranked = sorted(content.linkage.examples, key=lambda example: (-example.probability, -example.pairs))
    return [_comparison(example, content) for example in ranked]


def waterfall_reading(example: Example) -> str:
    """How to read the waterfall of one example: where it begins, what moves it most, where it ends."""
    one_in = 2.0**-example.prior + 1.0
    end = example.prior + sum(example.weights) + example.together
    reading = gettext(
        "before anything is compared one pair in {one_in} matches, log2 odds of {prior}. Each field adds its weight,"
        " teal for a match, red against. The bar at the foot is the sum, {end}, a match probability of {probability}."
    ).format(
        one_in=wording.count(one_in),
        prior=wording.signed(example.prior),
        end=wording.signed(end),
        probability=wording.probability(example.probability),
    )
    if abs(example.together) <= _SLIGHT:
        return reading
    corrected = (
        gettext(
            "“Fields together” corrects the sum of the single weights, which takes the fields to be independent: fields"
            " that often agree together, of kin or neighbours, are not counted twice."
        )
        if example.together < 0
        else gettext(
            "“Fields together” corrects the sum of the single weights, which takes the fields to be independent: to"
            " agree on these together is stronger evidence than on each by itself."
        )
    )
    return f"{reading} {corrected}"


def _comparison(example: Example, content: ReportContent) -> dict[str, Any]:
    at = example.prior
    steps = [{"name": gettext("before anything is compared"), "level": "", "weight": at, "so_far": at}]
    words: dict[str, list[str]] = {}
    for field, level, weight in zip(content.model.fields, example.gamma, example.weights, strict=True):
        at += weight
        label = _label(field, level)
        steps.append({"name": field.name, "level": label, "weight": weight, "so_far": at})
        words.setdefault(label, []).append(field.name)
    if abs(example.together) > _SLIGHT:
        at += example.together
        steps.append({"name": gettext("fields together"), "level": "", "weight": example.together, "so_far": at})
    return {
        "probability": example.probability,
        "pairs": example.pairs,
        "link": example.probability >= content.linkage.threshold,
        "words": clauses(named(label, ", ".join(names)) for label, names in words.items()),
        "steps": steps,
    }


def _label(field: FieldParameters, level: int) -> str:
    labels = wording.level_labels(field.scored.bounds)
    return wording.cell(min(level, len(labels) - 1), labels)
