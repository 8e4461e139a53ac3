"""What ``gemel risk identify`` prints of an assessment: a line for each figure, without a value of any record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gemel.common.documents.result_warning import ResultWarning


def result_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines of an assessment, or of several with their comparison last."""
    if "scenarios" not in found:
        yield from _of_one(found)
        return
    for each in found["scenarios"]:
        yield f"== keys {', '.join(key['name'] for key in each['file']['keys'])}"
        yield from _of_one(each)
    yield "== comparison of the key sets"
    heads = ("unique", "k < 3", "DIS", "tau2 cal.", "tau2", "Pr(CM)")
    yield " ".join(f"{head:>9s}" for head in heads) + "  keys"
    for row in found["comparison"]:
        figures = (
            row["uniques"],
            row["violate_3_anonymity"],
            row["dis"],
            row["calibrated_tau2"],
            row["tau2"],
            row["modelled"],
        )
        yield " ".join(f"{'-' if v is None else format(v, '.4g'):>9s}" for v in figures) + f"  {', '.join(row['keys'])}"


def _of_one(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one assessment: counts, measures, what was given beside the keys, warnings, what was left out."""
    file = found["file"]
    yield (
        f"{file['records']:,} records, {file['uniques']:,} unique on {len(file['keys'])} keys;"
        f" {found['special_uniques']['minimal_uniques']:,} minimal sample uniques"
    )
    if file["fraction_from"] == "weights":
        yield f"{'sampling fraction':28s} {file['fraction']:.4g}, from the weights: records over their sum"
    if file["labelled"] is not None:
        own = file["labelled"]
        other = "labels" if own["values"] == "codes" else "codes"
        columns = ", ".join(own["columns"])
        yield f"{'values with labels':28s} {columns}: {own['values']} are used (--values {other} for the others)"
    for k, measure in enumerate(found["measures"]):
        if not measure["relied_on"] and (k == 0 or found["measures"][k - 1]["relied_on"]):
            yield "not to be relied on, by a model that the file contradicts or that was not fitted:"
        value = "not finite" if measure["value"] is None else f"{measure['value']:.4g}"
        interval = "" if measure["low"] is None else f" ({measure['low']:.3g} to {measure['high']:.3g})"
        yield f"{measure['name']:28s} {value}{interval}"
    yield from _privacy_models(found)
    yield from _individual(found)
    yield from _units(found)
    yield from _numeric(found)
    yield from _ranking(found)
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


def _individual(found: Mapping[str, Any]) -> Iterator[str]:
    own = found.get("individual_risk")
    if own is not None:
        true = own["true_reidentifications"]
        yield (
            f"{'individual risk':28s} {own['expected_reidentifications']:.4g} expected re-identifications,"
            f" {own['share']:.3g} of the records{'' if true is None else f' (true: {true:.4g})'};"
            f" greatest {own['maximum']:.3g}"
        )


def _units(found: Mapping[str, Any]) -> Iterator[str]:
    own = found.get("unit_risk")
    if own is None:
        return
    for name, each in (
        ("any member", own["any_member"]),
        ("its keys", own["by_keys"]),
        ("all its members", own["by_composition"]),
    ):
        if each is not None:
            alone = f"; {each['uniques']:,} unique" if "uniques" in each else ""
            yield (
                f"{'unit, ' + name:28s} {each['expected_units']:.4g} of {own['units']:,} identified,"
                f" expected ({each['share']:.3g}){alone}; greatest {each['maximum']:.3g}"
            )


def _ranking(found: Mapping[str, Any]) -> Iterator[str]:
    own = found.get("score_ranking")
    if own is not None:
        scores = ", ".join(f"{each['score']} {each['auc']:.3f}" for each in own["scores"])
        yield f"{'AUC for population uniques':28s} {scores}"


def _numeric(found: Mapping[str, Any]) -> Iterator[str]:
    own = found.get("numeric_risk")
    if own is None:
        return
    for each in [*own["variables"], {"variable": "all of them", "intervals": own["all_variables"]}]:
        shares = ", ".join(f"{i['percent']:g} % {i['by_value']:.3g} ({i['by_rank']:.3g})" for i in each["intervals"])
        yield f"{each['variable'] + ', within':28s} {shares} by value (by rank)"
    yield (
        f"{'linked by distance':28s} {own['linked_nearest']:.3g} as nearest, {own['linked_second']:.3g} as second"
        f" nearest; {own['by_chance']:.2g} by chance"
    )
