"""Put the report together and write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from math import hypot, isfinite, sqrt
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gemel.common.documents.model_document import FieldErrors, KinClass
from gemel.common.language import (
    Language,
    LanguageCode,
    clauses,
    gettext,
    in_language,
    listed,
    marked,
    moment,
    written,
)
from gemel.common.specification.model.schemes import DEFAULT_SCHEME
from gemel.coordinator.reports.linkage.run_charts import COMMONEST, comparisons, waterfall_reading
from gemel.coordinator.reports.marks import Chart
from gemel.risk.report import draw, rendered, write_page

from . import charts, run_charts, wording
from .content import MISSING, ReportContent
from .statistics_phrases import PHRASES, STAGES

_MISFITS = 12
_DEPENDENCES = 3
_SHARED = 0.5
"""Share of a class's pairs that agree on a field above which they share it."""


@dataclass(frozen=True)
class Figure:
    """A drawn chart with its caption."""

    drawing: Markup
    reading: str


def write_report(path: Path, content: ReportContent, language: LanguageCode = "en") -> None:
    """Write the report as one HTML file that needs nothing else.

    Notes
    -----
    About two seconds, nearly all in drawing; the cost does not depend on the number of records.
    """
    write_page(path, render_report(content, language))


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": wording.count,
    "share": wording.share,
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
    """Return the report as HTML, in a language."""
    with in_language(language):
        return rendered(__package__, "report.html.j2", _view(content), styles=("report.css",), filters=FILTERS)


def _view(content: ReportContent) -> dict[str, Any]:
    """Everything the template shows, worked out, so that the template only places it."""
    run, linkage, model = content.run, content.linkage, content.model
    created = datetime.fromisoformat(run.created)
    return {
        "content": content,
        "run": run,
        "model": model,
        "linkage": linkage,
        "evaluation": content.evaluation,
        "timings": content.timings,
        "created": moment(created),
        "mode": wording.mode_name(run),
        "mode_meaning": wording.mode_meaning(run),
        "verdict": wording.verdict(content),
        "key_figures": wording.key_figures(content),
        "figures": _figures(content),
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
    """The variables that depend on each other, by twos."""
    found = content.linkage.latent.dependences if content.linkage.latent else []
    return ", ".join(listed(list(pair)) for pair in found) or gettext("none")


def _p_estimate(content: ReportContent) -> str:
    """p and its standard error, where there is one."""
    model = content.model
    error = model.standard_errors.p if model.standard_errors else None
    p = wording.quantity(model.p)
    return p if error is None else f"{p}\u00a0±\u00a0{wording.quantity(error)}"


def _figures(content: ReportContent) -> dict[str, Figure]:
    return {
        name: Figure(draw(chart.drawing, name, chart.alt_text), reading)
        for name, (chart, reading) in charts_of(content).items()
    }


_READINGS = {
    "weights": marked(
        "a bar to the right is evidence that two records are of one person, a bar to the left that they are"
        " not; one unit doubles or halves the odds, and the bars of a pair's fields add up."
    ),
    "levels": marked(
        "a field distinguishes people where teal bars (pairs of one person) and ochre bars (pairs of two) "
        "differ, above all in the top level; a thin line across a teal bar is two standard errors of m"
        " either way."
    ),
    "histogram": marked(
        "two humps with a gap at the dashed line mean an easy decision; pairs near the line are the doubtful ones."
    ),
    "history": marked(
        "lines that have become level have converged; one that still climbs or falls at the right edge has not."
    ),
    "thresholds": marked(
        "moving the threshold (dashed) to the right buys precision with recall; flat lines mean that it matters little."
    ),
    "unlinkable": marked(
        "a record that lacks most fields cannot be linked even to a record just like it; a line above 0 at the "
        "decision gives their number."
    ),
    "explained": marked(
        "teal is agreement, ochre the evidence of the values; bars to the left count against a match. Averages "
        "over several pairs: no pair is shown."
    ),
    "dependences": marked(
        "the farther to the right, the more one variable tells of the other. Where the circle is left of the "
        "diamond, pairs that may be no match dilute the joint distribution."
    ),
    "precision_recall": marked(
        "the nearer the curve comes to the upper right corner, the better; the circle is the decision that "
        "was taken, the diamond the best that any threshold could have reached."
    ),
    "calibration": marked(
        "on the dashed line the model's probabilities are true; below it the model claims more matches than "
        "there are, above it fewer. The right panel enlarges what lies between the two."
    ),
    "schemes": marked(
        "the line nearest to the upper right corner ranks the pairs best; where a line stops, the pairs "
        "that the scheme kept end."
    ),
}
"""How each chart is read, by its name without a number."""


def charts_of(content: ReportContent) -> dict[str, tuple[Chart, str]]:
    """The charts that the report shows of a run, each with how it is read."""
    model, linkage, evaluation = content.model, content.linkage, content.evaluation
    drawn: dict[str, Chart] = {}
    readings: dict[str, str] = {}
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
            readings[f"example_{number}"] = waterfall_reading(example)
    for number, group in enumerate(linkage.latent.explained if linkage.latent else []):
        drawn[f"explained_{number}"] = run_charts.explained_chart(group)
    if linkage.latent and linkage.latent.effect.dependences:
        drawn["dependences"] = run_charts.dependences_chart(linkage.latent.effect)
    if evaluation is not None:
        drawn["precision_recall"] = charts.precision_recall_chart(content)
        drawn["calibration"] = charts.calibration_chart(content)
        if evaluation.schemes:
            drawn["schemes"] = run_charts.schemes_chart(evaluation.schemes)
    for name in drawn.keys() - readings.keys():
        readings[name] = gettext(_READINGS[name.rstrip("_0123456789")])
    return {name: (chart, readings[name]) for name, chart in drawn.items()}


def _parameters(content: ReportContent) -> list[dict[str, Any]]:
    rows = []
    for field in content.model.fields:
        labels = wording.level_labels(field.bounds)
        nothing: list[float | None] = [None] * len(labels)
        errors = field.standard_errors or FieldErrors(m=nothing, u=nothing)
        levels = [
            {
                "label": label,
                "m": m,
                "u": u,
                "weight": weight,
                "m_error": m_error,
                "u_error": u_error,
                "untaken": place in field.untaken,
            }
            for place, (label, m, u, weight, m_error, u_error) in enumerate(
                zip(labels, field.m, field.u, field.weights, errors.m, errors.u, strict=True)
            )
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
    """Return the fields that depend on each other, or nothing if none does."""
    reported = content.model.dependence
    if reported is None or not (reported.misfits or reported.matches or reported.others or reported.kin):
        return None
    words = [
        misfit.words
        for within in ("matches", "others")
        for misfit in [misfit for misfit in reported.misfits if misfit.within == within][:_DEPENDENCES]
    ]
    return {
        "kind": reported.kind,
        "words": words,
        "kin": [_kin(known) for known in sorted(reported.kin, key=lambda known: -sum(known.agreement.values()))],
        **{
            within: ", ".join(listed(list(edge.fields)) for edge in edges) or gettext("none that matters")
            for within, edges in (("matches", reported.matches), ("others", reported.others))
        },
    }


def _kin(known: KinClass) -> dict[str, Any]:
    """A class of kin: its size, and the fields on which most of its pairs agree."""
    shared = sorted(
        ((share, name) for name, share in known.agreement.items() if share >= _SHARED), key=lambda each: -each[0]
    )
    fields = ", ".join(f"{name} ({wording.share(share)})" for share, name in shared)
    return {"pairs": known.pairs, "shared": bool(shared), "fields": fields}


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
