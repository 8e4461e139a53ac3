"""Limits of `leakage` for registers in a draft: what was measured, written down, so that no party agrees unseen.

There is no default limit for what an attacker recognises who has these people in clear: a limit that no party chose
would stop projects whose parties have excluded such registers by other means. A draft that was measured therefore has
both limits, at what this specification needs on these files, each with its figure. Whoever approves the specification
sees them; whoever wants less lowers them, or has the draft look for a specification that meets a lower one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gemel.common.parties import Side
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.custodian.leakage_report import EVERYBODY, REGISTER, Attacker, Finding, LeakageReport

STEP = 0.05
"""Limits are multiples of it."""
ERRORS = 3.0
"""Standard errors between a figure and its limit: blocks and keys are drawn, and the custodians measure again."""

_NAMES: dict[Attacker, str] = {REGISTER: "partial_register", EVERYBODY: "full_register"}


def measured_limits(reports: Mapping[Side, LeakageReport], given: LeakageSpec, rows: int) -> tuple[LeakageSpec, str]:
    """The limits of a draft, and the comment that states what was measured."""
    limits: dict[str, float] = {}
    sentences = []
    for attacker, name in _NAMES.items():
        found = [each for report in reports.values() for each in report.recognised if each.attacker == attacker]
        if not found:
            continue
        worst = max(found, key=_highest)
        limit = getattr(given, name)
        if limit is None:
            # Who has everybody in clear recognises no fewer, whatever the two samples of blocks show.
            highest = max(_highest(worst), *limits.values(), 0.0)
            limit = limits[name] = round(min(1.0, STEP * max(1, math.ceil(round(highest / STEP, 6)))), 2)
        sentences.append(
            f"{name}: measured {worst.recovered:.1%} ±{worst.error:.1%} ({worst.attack}; rule {worst.rule}),"
            f" limit {limit:.0%}."
        )
    if not sentences:
        return given, ""
    comment = (
        f"Measured on files of {rows:,} records: of the people whom an attacker has in clear with every field, the"
        " share whose rows she would recognise.\n"
    ) + "\n".join(sentences)
    if limits:
        comment += (
            "\nSuch a limit accepts what was measured: a custodian refuses only what is worse. If Carole may hold such"
            " a register, draft with --partial-register 0.05 or --full-register; if she cannot, by what rule?"
        )
    return given.model_copy(update=limits), comment


def _highest(finding: Finding) -> float:
    """What a finding may be at the next measurement."""
    return finding.recovered + ERRORS * finding.error
