"""What ``gemel risk protect`` prints of its report: a line for each figure, without a value of any record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_JUDGES = {"larger": "the larger of two (* the bound 1/f)", "counts": "the counts, since the policy has k"}


def result_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a report."""
    from gemel.risk.protection.policy_decision import decision_words  # imports the numbers, which no help text needs

    before, after, log = report["before"], report["after"], report["log"]
    yield (f"{'':34s} {'before':>12s} {'after':>12s}")
    for name, words in (
        ("combinations", "combinations of key values"),
        ("k", "fewest records that agree (k)"),
        ("below_2", "unique records"),
        ("below_3", "records that fewer than 3 agree with"),
        ("correct_matches", "expected correct matches, share"),
        ("record_risk", "largest chance of a match"),
        ("minimal_uniques", "minimal sample uniques"),
    ):
        yield (f"{words:36s} {before[name]:>10.4g} {after[name]:>12.4g}")
    for words, own in (("calibrated tau2", "tau2"), ("calibrated correct matches, share", "correct_matches")):
        yield f"{words:36s} {_calibrated(report, 'before', own):>10s} {_calibrated(report, 'after', own):>12s}"
    if before["exact"] is not None:
        yield "by the population, exactly; the policy is judged by this:"
        for name, words in (
            ("correct_matches", "correct matches, share"),
            ("record_risk", "largest chance of a match"),
            ("population_uniques", "records that fit one person only"),
        ):
            yield f"{words:36s} {before['exact'][name]:>10.4g} {after['exact'][name]:>12.4g}"
    decision = report["policy_decision"]
    for row in decision["limits"]:
        yield f"{row['limit']} {row['value']:g}, judged by {_JUDGES[decision['by']]}:"
        yield f"{'  by the counts alone':36s} {row['before']['counts']:>10.4g} {row['after']['counts']:>12.4g}"
        ends = [_end(row[when]) for when in ("before", "after")]
        yield f"{'  upper end':36s} {ends[0]:>10s} {ends[1]:>12s}"
    for words in decision_words(decision):
        yield f"warning: {words}"
    lost, whole = (sum(row[n] for row in report["lost"]) for n in ("bits", "of"))
    yield (f"lost {lost:.3g} of {whole:.3g} bits a record; {log['reached']['suppressed']:.3%} of key values suppressed")
    for change in log["changes"]:
        words = ", ".join(f"{n} {v}" for n, v in change["parameter"].items() if not isinstance(v, list))
        yield (
            f"  {change['variable']}: {change['method']}{f' ({words})' if words else ''}, {change['values']:,} values"
        )
    if report["as_they_are"]:
        yield (f"published as they are: {', '.join(report['as_they_are'])}")
    if report["identifying"]:
        yield (
            f"warning: nearly every record has a value of its own in {', '.join(report['identifying'])}; "
            "leave identifiers out with --drop"
        )


def _end(own: Mapping[str, Any]) -> str:
    return "-" if own["upper"] is None else f"{own['upper']:.4g}{'*' if own['upper_by'] == 'bound' else ''}"


def _calibrated(report: Mapping[str, Any], when: str, name: str) -> str:
    own = report["calibrated"][when]
    if "why" in own:
        return "-"
    value = own[name]
    return format(value["value"] if isinstance(value, dict) else value, ".4g")
