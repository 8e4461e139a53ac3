"""Numbers and findings in words, for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gemel.common.documents.claimed_words import claimed_quality, ends
from gemel.common.documents.linkage_document import ClaimedRange
from gemel.common.language import current, decimals, gettext, marked, share
from gemel.common.specification.model import schemes

from .content import MISSING, ReportContent, RunDescription


def mode_name(run: RunDescription) -> str:
    if run.joined:
        return gettext("{mode} mode, joined by Carole").format(mode=run.mode)
    return gettext("{mode} mode").format(mode=run.mode)


#: How similarity enters the model.
SCHEMES = {scheme.name: scheme.title for scheme in schemes.SCHEMES.values()}  # also messages of the catalogue

#: What an assignment allows.
ASSIGNMENTS = {
    "one_to_one": marked("one to one"),
    "greedy": marked("one to one, the most probable pair first"),
    "many_to_one": marked("a record of Alice's has one link at most, one of Bob's any number"),
    "one_to_many": marked("a record of Bob's has one link at most, one of Alice's any number"),
    "clusters": marked("a person one to one, with all records that are his in either file"),
    "none": marked("every pair above the threshold"),
}

#: How the records of one file become persons.
ONE_FILE = marked("a record is a copy of one earlier record at most, and all its copies are one person")

#: How u was estimated.
U_METHODS = {
    "all_pairs": marked("from all pairs, taken as non-matches"),
    "corrected": marked("from all pairs, with the share of the matches taken out"),
    "free": marked("estimated together with m"),
}

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def count(number: float) -> str:
    """Write a whole number with separators: ``12,345``."""
    return decimals(f"{round(number):,}")


def quantity(value: float) -> str:
    """Write a number to three significant figures: ``1,234``, ``0.00123``, ``1.2 × 10⁻⁷``."""
    if value == 0.0 or not math.isfinite(value):
        return "0" if value == 0.0 else "–"
    if abs(value) >= 1000.0:
        return decimals(f"{value:,.0f}")
    mantissa, exponent = f"{value:.2e}".split("e")
    if int(exponent) >= -3:
        return decimals(f"{float(f'{value:.2e}'):.{2 - int(exponent)}f}")
    return decimals(f"{float(mantissa):.1f}\u00a0×\u00a010{str(int(exponent)).translate(_RAISED)}")


def probability(value: float) -> str:
    """Write a probability, never rounding it to a 1 or a 0 that it is not: ``0.5``, ``0.99987``."""
    if not 0.0 < value < 1.0:
        return decimals(f"{value:g}")
    digits = max(2, math.ceil(-math.log10(min(value, 1.0 - value))) + 1)
    return decimals(f"{value:.{min(digits, 12)}f}".rstrip("0") if digits <= 12 else f"{value:.3g}")


def score(value: float) -> str:
    """Write an F1 or an area to four decimals, or to as many as keep it from reading 1: ``0.9950``, ``0.99998``."""
    digits = 4
    while digits < 8 and value < 1.0 <= float(f"{value:.{digits}f}"):
        digits += 1
    return decimals(f"{value:.{digits}f}")


def signed(value: float) -> str:
    """Write a match weight: ``+8.1``, ``−3.0``, ``0.0``."""
    if abs(value) < 0.05:
        return decimals("0.0")
    return decimals(f"{'−' if value < 0 else '+'}{abs(value):.1f}")


def duration(seconds: float) -> str:
    """Write a time in words: ``0.04 s``, ``12.3 s``, ``4 min 10 s``."""
    if seconds < 9.995:
        return decimals(f"{seconds:.2f} s")
    if seconds < 59.95:
        return decimals(f"{seconds:.1f} s")
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def memory(n_bytes: float) -> str:
    """Write an amount of memory: ``412 MiB``, ``3.2 GiB``."""
    mebibytes = n_bytes / 2**20
    return decimals(f"{mebibytes:.0f} MiB" if mebibytes < 1000 else f"{mebibytes / 1024:.1f} GiB")


def bound(value: float) -> str:
    """Write a bound of similarity without its leading zero: ``.95``."""
    if value >= 1:
        return "1"
    text = f"{value:.4g}"
    return text.replace("0.", ".", 1) if current().code == "en" else decimals(text)


def level_labels(bounds: Sequence[float]) -> list[str]:
    """Name the comparison levels of a field by their similarity, lowest first.

    The top level of a scheme that keeps it for (nearly) equal values reads ``same``.
    """
    lower = [0.0, *bounds[:-1]]
    labels = [f"{bound(low)} – {bound(high)}" for low, high in zip(lower, bounds, strict=True)]
    if len(bounds) > 1 and bounds[-2] >= 0.99:
        labels[-1] = gettext("same")
        if len(bounds) == 2:
            labels[0] = gettext("different")
    return labels


def cell(level: int, labels: Sequence[str]) -> str:
    return gettext("missing") if level == MISSING else labels[level]


def sentence(text: str) -> str:
    """Make a note a sentence: a capital (unless it begins with a symbol such as p or a name) and a full stop."""
    first = text.split(" ", 1)[0]
    if len(first) > 2 and first.isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def verdict(content: ReportContent) -> str:
    """The result and its quality in one sentence."""
    linkage, files = content.linkage, content.run.files
    if content.run.one_file:
        return _duplicates_verdict(content)
    figures = {
        "links": count(linkage.links),
        "records_a": count(files.alice.records),
        "file_a": files.alice.title,
        "records_b": count(files.bob.records),
        "file_b": files.bob.title,
    }
    if linkage.links == 0:
        words = gettext("No link was made between the {records_a} records of {file_a} and the {records_b} of {file_b}.")
    elif content.evaluation is not None:
        decision = content.evaluation.at_decision
        words = gettext(
            "{links} links were made between the {records_a} records of {file_a} and the {records_b} of {file_b};"
            " checked against the truth supplied, {precision} of the links are right and {recall} of the {matches} true"
            " matches were found."
        )
        figures |= _quality(decision.precision, decision.recall) | {"matches": count(content.evaluation.matches)}
    elif claimed := claimed_quality(linkage.claims):
        words = gettext(
            "{links} links were made between the {records_a} records of {file_a} and the {records_b} of {file_b}; no"
            " truth was supplied, but by the model {precision} of them are right, and they include {recall} of all"
            " matches."
        )
        figures |= claimed
    else:
        words = gettext(
            "{links} links were made between the {records_a} records of {file_a} and the {records_b} of {file_b}; no"
            " truth was supplied to check them against."
        )
    return words.format(**figures)


def _quality(precision: float, recall: float) -> dict[str, str]:
    return {"precision": share(precision), "recall": share(recall)}


def _duplicates_verdict(content: ReportContent) -> str:
    linkage, file = content.linkage, content.run.files.alice
    figures = {
        "several": count(file.records - linkage.unlinked.alice),
        "records": count(file.records),
        "file": file.title,
        "pairs": count(linkage.links),
    }
    if content.evaluation is not None:
        decision = content.evaluation.at_decision
        words = gettext(
            "{several} of the {records} records of {file} are of a person who is in it more than once, in {pairs}"
            " pairs; checked against the truth supplied, {precision} of these pairs are right and {recall} of the"
            " {matches} true ones were found."
        )
        figures |= _quality(decision.precision, decision.recall) | {"matches": count(content.evaluation.matches)}
    elif claimed := claimed_quality(linkage.claims):
        words = gettext(
            "{several} of the {records} records of {file} are of a person who is in it more than once, in {pairs}"
            " pairs; by the model {precision} of these pairs are right, and they include {recall} of the true ones."
        )
        figures |= claimed
    else:
        words = gettext(
            "{several} of the {records} records of {file} are of a person who is in it more than once, in"
            " {pairs} pairs."
        )
    return words.format(**figures)


def key_figures(content: ReportContent) -> list[tuple[str, str, str]]:
    """Return up to four headline figures: value, name, and what it means."""
    linkage, files = content.linkage, content.run.files
    figures = [(count(linkage.links), gettext("links"), gettext("pairs of records taken for the same person"))]
    if content.evaluation is not None:
        decision = content.evaluation.at_decision
        return [
            *figures,
            (share(decision.precision), gettext("precision"), gettext("of the links are right")),
            (share(decision.recall), gettext("recall"), gettext("of the true matches were found")),
            (score(decision.f1), "F1", gettext("the two in one figure; 1 is perfect")),
        ]
    claims = linkage.claims

    def claimed(found: ClaimedRange | None, name: str, meaning: str) -> None:
        if found is not None and found.value is None:
            figures.append((ends(found), name, meaning))
        elif found is not None and found.value is not None:
            figures.append((share(found.value), name, f"{meaning} ({ends(found)})"))

    if claims is not None:
        claimed(claims.precision, gettext("claimed precision"), gettext("of the links are right, by the model"))
        claimed(claims.recall, gettext("claimed recall"), gettext("of all matches were found, by the model"))
        compared = gettext("of the matches were compared at all, estimated")
        claimed(claims.candidates, gettext("blocking recall"), compared)
    if content.run.one_file:
        alone = gettext("of people who are in the file once")
        figures.append((count(linkage.unlinked.alice), gettext("records"), alone))
    elif len(figures) < 4:
        smaller = min(file.records for file in (files.alice, files.bob))
        linked = share(linkage.links / smaller if smaller else math.nan)
        figures.append((linked, gettext("of the smaller file"), gettext("found a partner")))
    return figures


QUALITY_NAMES = {"check_field": marked("The check field"), "decoys": marked("Decoys")}
QUALITY_UNITS = {"check_field": marked("links in doubt"), "decoys": marked("decoys")}
"""What the interval of each estimate rests on."""


def quality_rows(content: ReportContent) -> list[dict[str, Any]]:
    """The model's claim, the estimates beside it, and the truth where it is known: name, precision and recall."""

    def point(value: float) -> dict[str, float | None]:
        return {"value": value, "lower": None, "upper": None}

    rows: list[dict[str, Any]] = []
    if claims := content.linkage.claims:
        claimed = gettext("The model's claim")
        rows.append({"name": claimed, "precision": claims.precision, "recall": claims.recall})
    for found in content.linkage.quality:
        name = gettext(QUALITY_NAMES[found.method])
        rows.append({"name": name, "precision": found.precision, "recall": None})
    if content.evaluation is not None:
        true = content.evaluation.at_decision
        rows.append({"name": gettext("The truth"), "precision": point(true.precision), "recall": point(true.recall)})
    return rows
