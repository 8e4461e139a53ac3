"""Blocking rules that the custodians' own leakage gates accept, by the files at hand.

In mode block_keyed a custodian refuses to contribute where known attacks recover more of a field than the specification
allows. The draft measures it by the same function on both files. A rule that a gate refuses gives way to narrower ones;
where none is left, the draft states which field fails, by how much, and what can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tryst.common.leakage_report import EVERYBODY, REGISTER, Finding, Gate, LeakageReport
from tryst.common.parties import Side
from tryst.common.specification import FieldSpec, Specification
from tryst.coordinator.draft.blocking_rules import PAIRS_PER_ROW, Proposal, is_within_any, propose_rules

Columns = Mapping[str, pl.Series]
PAIRS_TRIED = (PAIRS_PER_ROW, 3, 1)
"""Most pairs per row of a rule, one after the other until the gates accept; narrower rules lose more matches."""
MARGIN = 0.6
"""Share of the limit up to which a rule is kept: keys and blocks are drawn, and near the limit the next measurement may
be above it."""

LITTLE = 0.05
"""Share of a register's people up to which the draft says nothing of it."""


@dataclass(frozen=True)
class JudgedRules:
    """Proposed rules, and what the custodians' gates find under them."""

    proposals: Sequence[Proposal]
    reports: Mapping[Side, LeakageReport]
    """Empty where no gate was given, or it would not refuse."""

    @property
    def accepted(self) -> bool:
        """Whether no custodian would refuse."""
        return not any(report.exceeds for report in self.reports.values())

    @property
    def kept(self) -> list[Proposal]:
        """The rules under which no field is near the limit."""
        refused = {
            finding.rule
            for report in self.reports.values()
            for finding in (*report.findings, *report.recognised)
            if (limit := report.limit_for(finding.attacker)) is not None and finding.above_chance > MARGIN * limit
        }
        return [proposal for proposal in self.proposals if proposal.rule.name not in refused]

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
                f"`tryst alice leakage` and `tryst bob leakage` accept these rules: at most {recovered}"
                f" ({_where(finding)}), limit {limit:.0%}.{self.registers}"
            )
        fields = list(dict.fromkeys(name for r in self.reports.values() for name in _above(r)))
        return (
            f"THE CUSTODIANS' GATES REFUSE THESE RULES: {_where(finding)} would be recovered for"
            f" {recovered}, limit {limit:.0%}; above it: {', '.join(fields)}. Leave such a field out (--ignore), write"
            " narrower rules by hand, set `padding`, or agree on a higher `leakage: {limit: ...}`; or use mode open,"
            f" for a Carole who is trusted not to attack.{self.registers}"
        )

    @property
    def registers(self) -> str:
        """What an attacker with these people in clear would recognise, in a sentence; empty where little."""
        reported = []
        for attacker in (REGISTER, EVERYBODY):
            found = [f for report in self.reports.values() for f in report.recognised if f.attacker == attacker]
            worst = max(found, key=lambda finding: finding.recovered, default=None)
            if worst is not None and worst.recovered > LITTLE:
                reported.append(f"{worst.recovered:.0%} by a {attacker} (rule {worst.rule})")
        if not reported:
            return ""
        return (
            f" Of people whom Carole has in clear with every field, she would recognise {' and '.join(reported)}. If"
            " she may have such a register, draft with --bits 64 --randomised-response 0.1 or leave the rule out, and"
            " set `leakage: {partial_register: ..., full_register: ...}`."
        )


def _where(finding: Finding) -> str:
    """The field, and what of it was attacked: a rule's blocks, or the samples, which no rule can change."""
    return f"{finding.field} under {finding.rule}" if finding.rule else f"{finding.field} in its samples"


def accepted_rules(
    fields: Sequence[FieldSpec],
    cleaned: Mapping[Side, Columns],
    with_rules: Callable[[Sequence[Proposal]], Specification],
    gate: Gate | None,
    *,
    block_keyed: bool,
) -> JudgedRules:
    """The widest rules that both custodians' gates accept; if there are none, those that disclose least.

    Parameters
    ----------
    fields
        The compared fields.
    cleaned
        Each file's cleaned values by field.
    with_rules
        Makes the specification of some rules.
    gate
        Measures what a specification discloses of a file; None: the first rules are taken, unmeasured.
    block_keyed
        As for `propose_rules`.

    Notes
    -----
    The cost of the gate for each file and trial, some seconds per rule; mostly one trial.
    """
    alice, bob = (dict(cleaned[side]) for side in Side)
    kept: list[Proposal] = []
    trials: list[JudgedRules] = []
    for pairs_per_row in PAIRS_TRIED:
        new = propose_rules(fields, alice, bob, block_keyed=block_keyed, pairs_per_row=pairs_per_row)
        judged = _judged([*kept, *(p for p in new if not is_within_any(p, kept))], cleaned, with_rules, gate)
        kept = judged.kept
        if len(kept) == len(judged.proposals):
            return judged
        trials.append(judged)
    while kept:
        judged = _judged(kept, cleaned, with_rules, gate)
        if judged.accepted:
            return judged
        trials.append(judged)
        kept = judged.kept
    return min(trials, key=lambda judged: 0.0 if judged.worst is None else judged.worst[1].above_chance)


def _judged(
    proposals: Sequence[Proposal],
    cleaned: Mapping[Side, Columns],
    with_rules: Callable[[Sequence[Proposal]], Specification],
    gate: Gate | None,
) -> JudgedRules:
    spec = with_rules(proposals)
    if gate is None or not proposals or not spec.leakage.refuses(spec.mode):
        return JudgedRules(proposals, {})
    return JudgedRules(proposals, {side: gate(cleaned[side], spec, {}) for side in Side})


def _above(report: LeakageReport) -> list[str]:
    return [name for name, finding in report.by_field().items() if finding.above_chance > report.limit]
