"""Put the report together and write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from math import hypot, isfinite, sqrt
from pathlib import Path
from typing import Any

from gemel.common.documents.claimed_words import claimed_quality, claimed_sentence
from gemel.common.documents.model_document import FieldErrors, PairKind
from gemel.common.language import Language, LanguageCode, clauses, gettext, in_language, listed, moment, share, written
from gemel.common.specification.model.defaults import IN_BLOCKS
from gemel.common.specification.model.schemes import DEFAULT_SCHEME
from gemel.coordinator.reports.linkage.run_charts import COMMONEST, comparisons
from gemel.coordinator.reports.marks import Chart
from gemel.risk.report import draw, rendered, write_page

from . import charts, run_charts, wording
from .content import MISSING, ReportContent
from .statistics_phrases import PHRASES, STAGES

_MISFITS = 12
_DEPENDENCES = 3
_PLAIN = 2
"""Kinds of pairs of a model in which all fields are independent: matches and strangers."""
_PARTS = 4
"""Decimals to which the part of a kind that is one person is shown."""


def write_report(path: Path, content: ReportContent, language: LanguageCode = "en") -> None:
    """Write the report as one HTML file that needs nothing else.

    Notes
    -----
    About two seconds, nearly all in drawing; the cost does not depend on the number of records.
    """
    write_page(path, render_report(content, language))


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": wording.count,
    "share": share,
    "quantity": wording.quantity,
    "probability": wording.probability,
    "score": wording.score,
    "sentence": lambda text: PHRASES.shown(text, wording.sentence),
    "phrase": PHRASES.shown,
    "phrases": lambda texts: clauses(PHRASES.plain(text) for text in texts),
    "fixed": lambda value: written(value, ".4f"),
    "signed": wording.signed,
    "duration": wording.duration,
    "memory": wording.memory,
}
"""How numbers and notes are written."""


def render_report(content: ReportContent, language: LanguageCode | Language = "en") -> str:
    with in_language(language):
        return rendered(
            __package__,
            "report.html.j2",
            _view(content),
            styles=("report.css",),
            parts=("words.html.j2",),
            filters=FILTERS,
        )


def _view(content: ReportContent) -> dict[str, Any]:
    """Everything the template shows, worked out, so that the template only places it."""
    run, linkage, model = content.run, content.linkage, content.model
    created = datetime.fromisoformat(run.created)
    return {
        "content": content,
        **vars(content),
        "created": moment(created),
        "mode": wording.mode_name(run),
        "is_in_blocks": run.mode in IN_BLOCKS,
        "slight": run_charts.SLIGHT,
        "verdict": wording.verdict(content),
        "claimed": claimed_sentence(linkage.claims),
        "claimed_quality": claimed_quality(linkage.claims),
        "before_claimed": None if linkage.latent is None else claimed_quality(linkage.latent.before.claims),
        "key_figures": wording.key_figures(content),
        "figures": {name: draw(chart.drawing, name, chart.alt_text) for name, chart in charts_of(content).items()},
        "comparisons": comparisons(content),
        "parameters": _parameters(content),
        "untaken": any(field.untaken for field in model.fields),
        "digests": {"linkage": sha256(linkage.written()).hexdigest(), "model": sha256(model.written()).hexdigest()},
        "misfits": _misfits(content),
        "dependence": _dependence(content),
        "quality": wording.quality_rows(content),
        "quality_names": {name: gettext(title) for name, title in wording.QUALITY_NAMES.items()},
        "quality_units": {name: gettext(unit) for name, unit in wording.QUALITY_UNITS.items()},
        "latent_pairs": _latent_pairs(content),
        "p_estimate": _p_estimate(content),
        "stages": _stages(content),
        "total_seconds": sum(stage.seconds for stage in content.timings.stages),
        "reduction": 1.0 - linkage.candidates / linkage.pairs if linkage.pairs else 0.0,
        "threshold_weight": content.threshold_weight if isfinite(content.threshold_weight) else None,
        "assignment_meaning": gettext(
            wording.ONE_FILE
            if run.one_file
            else wording.ASSIGNMENTS[linkage.assignment or ("one_to_one" if run.one_to_one else "none")]
        ),
        "scheme_meaning": gettext(wording.SCHEMES.get(model.scheme or DEFAULT_SCHEME, model.scheme or "")),
        "u_meaning": gettext(wording.U_METHODS.get(content.model.u_method, content.model.u_method)),
    }


def _latent_pairs(content: ReportContent) -> str:
    found = content.linkage.latent.dependences if content.linkage.latent else []
    return ", ".join(listed(list(pair)) for pair in found) or gettext("none")


def _p_estimate(content: ReportContent) -> str:
    model = content.model
    error = model.standard_errors.p if model.standard_errors else None
    p = wording.quantity(model.p)
    return p if error is None else f"{p}\u00a0±\u00a0{wording.quantity(error)}"


def charts_of(content: ReportContent) -> dict[str, Chart]:
    """The charts that the report shows of a run."""
    model, linkage, evaluation = content.model, content.linkage, content.evaluation
    drawn: dict[str, Chart] = {}
    if model.fields:
        drawn["weights"] = charts.weights_chart(model.fields)
        drawn["levels"] = charts.levels_chart(model.fields)
    if sum(linkage.histogram.counts) > 0:
        drawn["histogram"] = charts.histogram_chart(content)
    if model.history is not None and len(model.history.step) > 1:
        drawn["history"] = run_charts.history_chart(model.history)
    if linkage.thresholds:
        drawn["thresholds"] = run_charts.thresholds_chart(linkage.thresholds, linkage.threshold)
    unlinkable = linkage.unlinkable
    if unlinkable and any(records for side in (unlinkable.alice, unlinkable.bob) for _, records in side.below):
        drawn["unlinkable"] = run_charts.unlinkable_chart(content, unlinkable)
    for number, example in enumerate(linkage.examples):
        if example.what != COMMONEST:  # which the table of comparisons has
            drawn[f"example_{number}"] = run_charts.waterfall_chart(example, model.fields)
    for number, group in enumerate(linkage.latent.explained if linkage.latent else []):
        drawn[f"explained_{number}"] = run_charts.explained_chart(group)
    if linkage.latent and linkage.latent.effect.dependences:
        drawn["dependences"] = run_charts.dependences_chart(linkage.latent.effect)
    if evaluation is not None:
        drawn["precision_recall"] = charts.precision_recall_chart(content)
        drawn["calibration"] = charts.calibration_chart(content)
        if evaluation.schemes:
            drawn["schemes"] = run_charts.schemes_chart(evaluation.schemes)
    return drawn


def _parameters(content: ReportContent) -> list[dict[str, Any]]:
    rows = []
    for field in content.model.fields:
        labels = wording.level_labels(field.bounds)
        nothing: list[float | None] = [None] * len(labels)
        errors = field.standard_errors or FieldErrors(m=nothing, u=nothing)
        columns: dict[str, Sequence[Any]] = {"label": labels, "m": field.m, "u": field.u, "weight": field.weights}
        columns |= {"m_error": errors.m, "u_error": errors.u}
        levels = [
            {name: column[place] for name, column in columns.items()} | {"untaken": place in field.untaken}
            for place in range(len(labels))
        ]
        rows.append({"name": field.name, "levels": levels[::-1], "missing": field.missing})
    return rows


def _misfits(content: ReportContent) -> list[dict[str, Any]]:
    """Return the patterns that fit worst, by the Freeman-Tukey residual, which stays moderate for rare patterns."""
    labels = [wording.level_labels(field.bounds) for field in content.model.fields]
    rows = []
    for pattern in content.linkage.patterns:
        observed, expected = float(pattern.observed), float(pattern.expected)
        residual = sqrt(observed) + sqrt(observed + 1.0) - hypot(1.0, 2.0 * sqrt(expected))
        rows.append(
            {
                "cells": [_cell(level, names) for level, names in zip(pattern.gamma, labels, strict=True)],
                "observed": observed,
                "expected": expected,
                "residual": residual,
            }
        )
    rows.sort(key=lambda row: -abs(float(row["residual"])))  # type: ignore[arg-type]
    return rows[:_MISFITS]


def _cell(level: int, labels: list[str]) -> dict[str, str]:
    text = wording.cell(level, labels)
    kind = "missing" if level == MISSING else "same" if text == gettext("same") else ""
    return {"text": text, "kind": kind}


def _dependence(content: ReportContent) -> dict[str, Any] | None:
    """Return the kinds of pairs and the fields that depend on each other, or nothing if there are none."""
    reported = content.model.dependence
    if reported is None or not (reported.misfits or reported.edges or len(reported.kinds) > _PLAIN):
        return None
    words = [
        misfit.words
        for within in ("matches", "others")
        for misfit in [misfit for misfit in reported.misfits if misfit.within == within][:_DEPENDENCES]
    ]
    return {
        "plain": not reported.edges and len(reported.kinds) <= _PLAIN,
        "words": words,
        "kinds": _kinds(reported.kinds) if len(reported.kinds) > _PLAIN else [],
        "edges": ", ".join(listed(list(edge.fields)) for edge in reported.edges),
    }


def _kinds(reported: Sequence[PairKind]) -> list[dict[str, Any]]:
    """Kinds of pairs with what they share in words: those with most pairs of one person first, strangers last."""
    every = max((kind.shared for kind in reported), key=len)
    ranked = sorted(reported, key=lambda kind: (not kind.shared, -kind.pairs * kind.one_person, -kind.pairs))
    return [
        {"shared": _shared(kind.shared, every), "pairs": kind.pairs, "one_person": _one_person(kind)} for kind in ranked
    ]


def _shared(shared: Sequence[str], every: Sequence[str]) -> str:
    """The fields that pairs share, or those that they do not where these are fewer."""
    others = [name for name in every if name not in shared]
    if not shared:
        return gettext("no field (strangers)")
    if not others:
        return gettext("all fields")
    if len(others) < len(shared):
        return gettext("all but {fields}").format(fields=listed(others))
    return listed(list(shared))


def _one_person(kind: PairKind) -> str:
    """The part that is one person, with its doubt where that is not nothing."""
    if not kind.shared:
        return gettext("none")
    part = share(round(kind.one_person, _PARTS))
    doubt = round(kind.doubt, _PARTS)
    return f"{part} ±\u00a0{share(doubt)}" if doubt > 0 else part


def _stages(content: ReportContent) -> list[dict[str, Any]]:
    stages = content.timings.stages
    longest = max((stage.seconds for stage in stages), default=0.0) or 1.0
    return [
        {
            "name": gettext(stage.name) if stage.name in STAGES else stage.name,
            "seconds": stage.seconds,
            "part": round(100.0 * stage.seconds / longest, 1),
        }
        for stage in stages
    ]
