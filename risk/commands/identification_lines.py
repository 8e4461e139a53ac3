"""What ``tryst risk identify`` prints of an assessment: a line for each figure, without a value of any record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tryst.common.documents.result_warning import ResultWarning


def result_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one assessment: counts, measures, what was given beside the keys, warnings, what was left out."""
    file = found["file"]
    yield (
        f"{file['records']:,} records, {file['uniques']:,} unique on {len(file['keys'])} keys;"
        f" {found['special_uniques']['minimal_uniques']:,} minimal sample uniques"
    )
    for measure in found["measures"]:
        value = "not finite" if measure["value"] is None else f"{measure['value']:.4g}"
        interval = "" if measure["low"] is None else f" ({measure['low']:.3g} to {measure['high']:.3g})"
        yield f"{measure['name']:28s} {value}{interval}"
    yield from _privacy_models(found)
    for warning in found["warnings"]:
        yield ResultWarning.model_validate(warning).line
    for left in found["left_out"]:
        yield f"not computed: {left['what']}: {left['why']}"


def _privacy_models(found: Mapping[str, Any]) -> Iterator[str]:
    own = found.get("privacy_models")
    if own is None:
        return
    below = ", ".join(f"{v['records']:,} ({v['share']:.2%}) for k = {v['k']}" for v in own["violations"])
    yield f"{'violate k-anonymity':28s} {below}; smallest class {own['smallest_class']:,}"
    for each in own["sensitive"]:
        ordered = "" if each["t_ordered"] is None else f", in order {each['t_ordered']:.3g}"
        yield (
            f"{each['variable'] + ', worst class':28s} l = {each['l_distinct']:.0f} (entropy {each['l_entropy']:.3g},"
            f" recursive {each['l_recursive']:.0f} with c = {each['recursive_c']:g}); t = {each['t']:.3g}{ordered}"
        )
