"""What the custodians' own leakage gates find under proposed blocking rules: the verdict, and limits for registers.

There is no default limit for what an attacker recognises who has these people in clear: a limit that no party chose
would stop projects whose parties have excluded such registers by other means. A draft that was measured therefore has
both limits, at what this specification needs on these files, each with its figure. Whoever approves the specification
sees them; whoever wants less lowers them, or has the draft look for a specification that meets a lower one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from gemel.common.keys.noise import AssessmentKeys
from gemel.common.parties import Side
from gemel.common.specification import Specification
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.coordinator.draft.blocking_rules import Proposal
from gemel.custodian.leakage_report import EVERYBODY, REGISTER, Attacker, Finding, Gate, LeakageReport

MARGIN = 0.6
"""Share of the limit up to which a rule is kept: keys and blocks are drawn, and near the limit the next measurement may
be above it."""
KeyedGate = Callable[[Mapping[str, pl.Series], Specification, Mapping[str, pl.Series]], LeakageReport]
"""A `Gate` with its throw-away keys: what is measured of two drafts differs by the drafts alone."""
WITH_REGISTER = (REGISTER, EVERYBODY)
"""Those who have people of the file in clear."""
LITTLE = 0.05
"""Share of a register's people up to which the draft says nothing of it."""


def keyed(gate: Gate, keys: AssessmentKeys) -> KeyedGate:
    """A gate that measures everything by the same throw-away keys."""

    def measure(
        columns: Mapping[str, pl.Series], spec: Specification, variables: Mapping[str, pl.Series]
    ) -> LeakageReport:
        return gate(columns, spec, variables, keys, None)

    return measure


@dataclass(frozen=True)
class JudgedRules:
    proposals: Sequence[Proposal]
    reports: Mapping[Side, LeakageReport]
    """Empty where no gate was given, or it would not refuse."""
    steps: Sequence[str] = ()
    """What was changed until the gates accepted, with its cost and gain, in sentences."""
    all_kept: bool = True
    """Whether no rule was left out."""

    @property
    def accepted(self) -> bool:
        return not any(report.exceeds for report in self.reports.values())

    @property
    def kept(self) -> list[Proposal]:
        refused = {finding.rule for finding in self.near}
        return [proposal for proposal in self.proposals if proposal.rule.name not in refused]

    @property
    def near(self) -> list[Finding]:
        return [
            finding
            for report in self.reports.values()
            for finding in (*report.findings, *report.recognised)
            if (limit := report.limit_for(finding.attacker)) is not None and finding.above_chance > MARGIN * limit
        ]

    @property
    def worst(self) -> tuple[Side, Finding] | None:
        """The finding furthest above chance, and in whose file."""
        found = [(side, report.worst) for side, report in self.reports.items()]
        return max(
            ((side, finding) for side, finding in found if finding is not None),
            key=lambda each: each[1].above_chance,
            default=None,
        )

    @property
    def verdict(self) -> str:
        """What the gates find, with the remedy where they refuse, in sentences for a comment; empty if not measured."""
        if self.worst is None:
            return ""
        side, finding = self.worst
        limit = self.reports[side].limit
        recovered = f"{finding.above_chance:.1%} of {side}'s records above guessing"
        if self.accepted:
            return (
                f"`gemel alice leakage` and `gemel bob leakage` accept these rules: at most {recovered}"
                f" ({_where(finding)}), limit {limit:.0%}.{self.registers}"
            )
        above = dict.fromkeys(
            name for r in self.reports.values() for name, worst in r.by_field().items() if worst.above_chance > r.limit
        )
        return (
            f"THE CUSTODIANS' GATES REFUSE THIS SPECIFICATION, and none was found that they accept: {_where(finding)}"
            f" would be recovered for {recovered}, limit {limit:.0%}; above it: {', '.join(above) or 'registers only'}."
            " What remains: fewer fields (--ignore); `padding`; a higher `leakage: {limit: ...}` that both custodians"
            " agree on knowing this figure; mode open, in which Carole can read most common values if she attacks; or"
            f" mode trusted, in which she is given the values themselves.{self.registers}"
        )

    @property
    def registers(self) -> str:
        """What an attacker with these people in clear would recognise, in a sentence; empty where little."""
        reported = []
        for attacker in WITH_REGISTER:
            found = [f for report in self.reports.values() for f in report.recognised if f.attacker == attacker]
            worst = max(found, key=lambda finding: finding.recovered, default=None)
            if worst is not None and worst.recovered > LITTLE:
                reported.append(f"{worst.recovered:.0%} by a {attacker} (rule {worst.rule})")
        if not reported:
            return ""
        limited = any(report.limit_for(each) is not None for report in self.reports.values() for each in WITH_REGISTER)
        advice = " If she may have such a register, draft with --partial-register 0.05 or --full-register."
        return (
            f" Of people whom Carole has in clear with every field, she would recognise {' and '.join(reported)}."
            f"{'' if limited else advice}"
        )


def _where(finding: Finding) -> str:
    """The field, and what of it was attacked: a rule's blocks, or the samples, which no rule can change."""
    return f"{finding.field} under {finding.rule}" if finding.rule else f"{finding.field} in its samples"


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
