"""Numbers and findings in words, for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tryst.common.language import decimals
from tryst.common.specification.model import schemes

from .content import MISSING, ReportContent, RunDescription

_IN_BLOCKS = (
    "Carole received keyed signatures that compare inside a block of a blocking rule only, each record once per rule "
    "under a pseudonym of that rule, keyed blocking digests and tags, and for each field small groups of signatures "
    "that belong to no row; no name, no date, no identifier and no key. She saw the sizes of blocks and what is equal "
    "or similar within them."
)

#: What a mode lets Carole see, in the words that every screen and report uses for it.
MODES = {
    "open": (
        "Carole received keyed signatures, keyed blocking digests and shuffled rows; no name, no date, no identifier "
        "and no key. In this mode equal values have equal signatures and similar values similar ones, throughout "
        "each file: Carole can count how often every value occurs and see which values resemble each other. "
        "With public name counts that is enough to recover common names by frequency and likeness. Use open "
        "mode where Carole is trusted not to try, and never where she might join forces with a custodian: "
        "whoever holds the custodians' key can test any name."
    ),
    "block_keyed": (
        f"{_IN_BLOCKS} Which rows are one record the coordinator's process decided, without a signature; together with "
        "her it could join what was sent under different rules."
    ),
    "trusted": (
        "The values themselves were sent to Carole: every compared field of every row, cleaned but not hidden from "
        "her, and compared by Jaro or Jaro-Winkler similarity. No identifier and no key was sent. Carole keeps the "
        "values encrypted at rest until the uploads expire; whoever holds her keys can read them until then."
    ),
}

#: The same of mode block_keyed where Carole joined rows herself.
JOINED = (
    f"{_IN_BLOCKS} This linkage used the mode's fall-back: Carole herself received which rows of different rules are "
    "one record, for the records of candidate pairs and up to the cap that all parties approved. She could follow "
    "equal and similar values of these records from block to block, at most as in open mode, where public name counts "
    "recover common names by frequency and likeness. Her audit log records of how many records the rows were joined."
)


def mode_meaning(run: RunDescription) -> str:
    """What Carole could see in a run."""
    if run.one_file:
        return "Nothing: the file was read, signed with a key drawn for this run, and compared on one machine."
    meaning = JOINED if run.joined else MODES.get(run.mode, "")
    if not run.variables:
        return meaning
    codes = f"The categories of {run.variables} variables came as keyed codes without labels, for every record"
    counted = "She could count codes and their combinations, which public figures can name."
    if run.mode != "block_keyed":
        return f"{meaning} {codes}, beside the rest of its row. {counted}"
    reported = "; for the assessment she received which rows of the two lists are links" if run.assessed else ""
    return f"{meaning} {codes}, in a list of their own, beside no signature{reported}. {counted}"


#: How similarity enters the model.
SCHEMES = {scheme.name: scheme.title for scheme in schemes.SCHEMES.values()}

#: What an assignment allows.
ASSIGNMENTS = {
    "one_to_one": "one to one",
    "greedy": "one to one, the most probable pair first",
    "many_to_one": "a record of Alice's has one link at most, one of Bob's any number",
    "one_to_many": "a record of Bob's has one link at most, one of Alice's any number",
    "clusters": "a person one to one, with all records that are his in either file",
    "none": "every pair above the threshold",
}

#: How the records of one file become persons.
ONE_FILE = "a record is a copy of one earlier record at most, and all its copies are one person"

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def count(number: float) -> str:
    """Write a whole number with separators: ``12,345``."""
    return decimals(f"{round(number):,}")


def share(value: float, minimum: int = 1) -> str:
    """Write a share in per cent, never rounding it to a 100 or a 0 that it is not: ``99.96 %``."""
    if not math.isfinite(value):
        return "–"
    digits = minimum
    if 0.0 < value < 1.0:
        gap = min(value, 1.0 - value) * 100.0
        digits = min(max(minimum, math.ceil(-math.log10(2.0 * gap))), 8)
    return decimals(f"{value * 100.0:.{digits}f}\u00a0%")


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
    return f"{value:.4g}".replace("0.", ".", 1) if value < 1 else "1"


def level_labels(bounds: Sequence[float]) -> list[str]:
    """Name the comparison levels of a field by their similarity, lowest first.

    The top level of a scheme that keeps it for (nearly) equal values reads ``same``.
    """
    lower = [0.0, *bounds[:-1]]
    labels = [f"{bound(low)} – {bound(high)}" for low, high in zip(lower, bounds, strict=True)]
    if len(bounds) > 1 and bounds[-2] >= 0.99:
        labels[-1] = "same"
        if len(bounds) == 2:
            labels[0] = "different"
    return labels


def cell(level: int, labels: Sequence[str]) -> str:
    """Name one level of a pattern."""
    return "missing" if level == MISSING else labels[level]


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
    found = (
        f"{count(linkage.links)} links were made between the {count(files.alice.records)} records of "
        f"{files.alice.title} and the {count(files.bob.records)} of {files.bob.title}"
    )
    if linkage.links == 0:
        return (
            f"No link was made between the {count(files.alice.records)} records of {files.alice.title} "
            f"and the {count(files.bob.records)} of {files.bob.title}."
        )
    if content.evaluation is not None:
        decision = content.evaluation.at_decision
        return (
            f"{found}; checked against the truth supplied, {share(decision.precision)} of the links are right and "
            f"{share(decision.recall)} of the {count(content.evaluation.matches)} true matches were found."
        )
    expected = linkage.expected
    if expected:
        within = " among the candidate pairs" if linkage.blocking else ""
        return (
            f"{found}; no truth was supplied, but the model expects {share(expected.precision)} of them to be right "
            f"and to include {share(expected.recall)} of the matches{within}."
        )
    return f"{found}; no truth was supplied to check them against."


def _duplicates_verdict(content: ReportContent) -> str:
    """The duplicates of one file and their quality in one sentence."""
    linkage, file = content.linkage, content.run.files.alice
    found = (
        f"{count(file.records - linkage.unlinked.alice)} of the {count(file.records)} records of {file.title} are of a "
        f"person who is in it more than once, in {count(linkage.links)} pairs"
    )
    if content.evaluation is not None:
        decision, matches = content.evaluation.at_decision, count(content.evaluation.matches)
        return (
            f"{found}; checked against the truth supplied, {share(decision.precision)} of these pairs are right and "
            f"{share(decision.recall)} of the {matches} true ones were found."
        )
    if linkage.expected:
        return f"{found}; the model expects {share(linkage.expected.precision)} of these pairs to be right."
    return f"{found}."


def key_figures(content: ReportContent) -> list[tuple[str, str, str]]:
    """Return up to four headline figures: value, name, and what it means."""
    linkage, files = content.linkage, content.run.files
    figures = [(count(linkage.links), "links", "pairs of records taken for the same person")]
    if content.evaluation is not None:
        decision = content.evaluation.at_decision
        return [
            *figures,
            (share(decision.precision), "precision", "of the links are right"),
            (share(decision.recall), "recall", "of the true matches were found"),
            (score(decision.f1), "F1", "the two in one figure; 1 is perfect"),
        ]
    expected = linkage.expected
    if expected:
        figures += [
            (share(expected.precision), "expected precision", "of the links are right, by the model"),
            (share(expected.recall), "expected recall", "of the matches were found, by the model"),
        ]
    blocking = linkage.blocking
    estimated = blocking.estimated_recall if blocking else None
    if estimated is not None:
        figures.append((share(estimated), "blocking recall", "of the matches were compared at all, estimated"))
    if content.run.one_file:
        figures.append((count(linkage.unlinked.alice), "records", "of people who are in the file once"))
    elif len(figures) < 4:
        smaller = min(file.records for file in (files.alice, files.bob))
        linked = share(linkage.links / smaller if smaller else math.nan)
        figures.append((linked, "of the smaller file", "found a partner"))
    return figures


QUALITY_NAMES = {"check_field": "The check field", "decoys": "Decoys", "bootstrap": "The bootstrap"}
QUALITY_UNITS = {"check_field": "links in doubt", "decoys": "decoys", "bootstrap": "runs drawn"}
"""What the interval of each estimate rests on."""


def quality_rows(content: ReportContent) -> list[dict[str, Any]]:
    """The model's claim, the estimates beside it, and the truth where it is known: name, precision and recall."""

    def point(value: float) -> dict[str, float | None]:
        return {"value": value, "lower": None, "upper": None}

    rows: list[dict[str, Any]] = []
    if claim := content.linkage.expected:
        rows.append({"name": "The model's claim", "precision": point(claim.precision), "recall": point(claim.recall)})
    for found in content.linkage.quality:
        rows.append({"name": QUALITY_NAMES[found.method], "precision": found.precision, "recall": found.recall})
    if content.evaluation is not None:
        true = content.evaluation.at_decision
        rows.append({"name": "The truth", "precision": point(true.precision), "recall": point(true.recall)})
    return rows
