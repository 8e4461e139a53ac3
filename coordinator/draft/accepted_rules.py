"""Blocking rules that the custodians' own leakage gates accept, by the files at hand.

In mode block_keyed a custodian refuses to contribute where known attacks recover more of a field than the specification
allows. The draft measures it by the same function on both files. Where a gate refuses, or nearly, in this order:

1. a rule withholds the field that its keys give away, as far as enough is left to compare;
2. a rule gives way to narrower ones, in which the blocks are smaller;
3. a rule withholds all such fields, as long as two are left that its keys do not hold;
4. a rule is left out.

Every step is stated with what it costs in links and what it gains. Where no rule is left, fields and their signatures
are changed, in this order:

1. if a limit for registers is not met, names, texts, dates, numbers and codes are sent in shorter signatures, then also
   with inverted bits: similarities tell less of a person then, and a link too;
2. the field of which most is read is left out, one after the other.

Where that is not enough either, the draft states which field fails, by how much, and what can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property

import polars as pl

from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.errors import GemelError
from gemel.common.parties import Side
from gemel.common.specification import BlockingRule, FieldSpec, Specification
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.coordinator.draft.blocking_rules import PAIRS_PER_ROW, Proposal, is_within_any, propose_rules
from gemel.coordinator.draft.imagined_matches import ImaginedMatches
from gemel.coordinator.draft.judged_rules import JudgedRules, KeyedGate
from gemel.custodian.leakage_report import EVERYBODY, PUBLIC, REGISTER, Finding

Columns = Mapping[str, pl.Series]
PAIRS_TRIED = (PAIRS_PER_ROW, 3, 1)
"""Most pairs per row of a rule, one after the other until the gates accept; narrower rules lose more matches."""
MAX_WITHHELD = 0.25
"""Share of what a rule compares besides its keys, in bits of agreement, that it withholds before it is narrowed."""
FEWEST = 2
"""Fields that a rule compares besides its keys, whatever it withholds."""


def accepted_rules(
    fields: Sequence[FieldSpec],
    cleaned: Mapping[Side, Columns],
    with_rules: Callable[[Sequence[Proposal]], Specification],
    gate: KeyedGate | None,
    *,
    block_keyed: bool,
    measured: Mapping[Side, Columns] | None = None,
) -> JudgedRules:
    """The widest rules that both custodians' gates accept; if there are none, those that disclose least.

    It costs the gate for each file and trial, some seconds per rule; mostly one trial or two.
    """
    search = _Search(fields, cleaned, with_rules, gate, measured or cleaned)
    # Of a sample a rule compares few pairs for each row; of its file it may compare hundreds of times as many.
    alice, bob = (dict((measured or cleaned)[side]) for side in Side)
    kept: list[Proposal] = []
    trials: list[JudgedRules] = []
    for pairs_per_row in PAIRS_TRIED:
        new = propose_rules(fields, alice, bob, block_keyed=block_keyed, pairs_per_row=pairs_per_row)
        tried = [*kept, *(p for p in new if not is_within_any(p, kept))]
        if trials and [p.rule.keys for p in tried] == [p.rule.keys for p in trials[-1].proposals]:
            continue
        if trials:
            search.narrower(trials[-1], tried)
        judged = search.withholding(search.judged(tried), MAX_WITHHELD)
        kept = judged.kept
        if len(kept) == len(judged.proposals):
            return judged
        trials.append(judged)
    judged = search.withholding(trials[-1], 1.0)
    while len(judged.kept) < len(judged.proposals):
        trials.append(judged)
        search.left_out(judged)
        if not judged.kept:
            break
        judged = search.judged(judged.kept)
    else:
        if judged.accepted:
            return replace(judged, all_kept=len(judged.proposals) == len(trials[0].proposals))
    return min(trials, key=_undesirable)


def _undesirable(judged: JudgedRules) -> tuple[bool, float]:
    """Sorts what is refused after what is accepted, and then by what is disclosed."""
    return not judged.accepted, 0.0 if judged.worst is None else judged.worst[1].above_chance


@dataclass
class _Search:
    """Measures rules, changes those that a gate refuses, and states each change."""

    _fields: Sequence[FieldSpec]
    _cleaned: Mapping[Side, Columns]
    _with_rules: Callable[[Sequence[Proposal]], Specification]
    _gate: KeyedGate | None
    _measured: Mapping[Side, Columns]
    _steps: list[str] = dataclass_field(default_factory=list)

    def judged(self, proposals: Sequence[Proposal]) -> JudgedRules:
        """What the gates find under some rules; rules that withhold a field come last, since a pair that several rules
        have is compared under the first."""
        ordered = sorted(proposals, key=lambda proposal: bool(proposal.rule.withheld))
        spec = self._with_rules(ordered)
        if self._gate is None or not ordered or not spec.leakage.refuses(spec.mode):
            return JudgedRules(ordered, {})
        reports = {side: self._gate(self._measured[side], spec, {}) for side in Side}
        return JudgedRules(ordered, reports, tuple(self._steps))

    def withholding(self, judged: JudgedRules, maximum: float) -> JudgedRules:
        """The rules without the fields that their keys give away, up to a share of what they compare besides keys."""
        while True:
            changed, sentences = [], []
            for proposal in judged.proposals:
                given = self._given_away(proposal, judged.near, maximum)
                rule = proposal.rule
                if given:
                    sentences.append(self._withheld(rule, given, [each.rule for each in judged.proposals]))
                    fields = tuple(dict.fromkeys([*rule.withheld, *(finding.field for finding in given)]))
                    rule = rule.model_copy(update={"withheld": fields})
                changed.append(Proposal(rule, proposal.pairs))
            if not sentences:
                return judged
            self._steps += sentences
            judged = self.judged(changed)

    def narrower(self, before: JudgedRules, after: Sequence[Proposal]) -> None:
        gone = [proposal.rule.name for proposal in before.proposals if proposal not in after]
        new = [proposal.rule.name for proposal in after if proposal not in before.proposals]
        others = f"narrower rules ({', '.join(new)})" if new else "the others"
        if gone:
            self._steps.append(
                f"{' and '.join(gone)} gave way to {others}:"
                f" {self._lost(before.proposals, after)}; {_worst_of(before.near, gone)} before."
            )

    def left_out(self, judged: JudgedRules) -> None:
        gone = [proposal.rule.name for proposal in judged.proposals if proposal not in judged.kept]
        self._steps.append(
            f"{' and '.join(gone)} left out: {self._lost(judged.proposals, judged.kept)};"
            f" {_worst_of(judged.near, gone)} before."
        )

    def _given_away(self, proposal: Proposal, near: Sequence[Finding], maximum: float) -> list[Finding]:
        """For each field that a rule may withhold, the worst of what is near the limit under it."""
        rule = proposal.rule
        worst: dict[str, Finding] = {}
        for finding in sorted(near, key=lambda finding: -finding.above_chance):
            if finding.rule == rule.name and finding.field and finding.field not in (*rule.fields, *rule.withheld):
                worst.setdefault(finding.field, finding)
        besides = [field for field in self._fields if field.name not in rule.fields]
        may = {field.name for field in besides if field.missing_as != "level"}
        kept = [field.name for field in besides if field.name not in rule.withheld]
        total = sum(self._imagined.bits_of(field.name) for field in besides)
        free = maximum * total - sum(self._imagined.bits_of(name) for name in rule.withheld)
        chosen = []
        for name, finding in worst.items():
            bits = self._imagined.bits_of(name)
            if name in may and bits <= free and len(kept) > FEWEST:
                chosen.append(finding)
                kept.remove(name)
                free -= bits
        return chosen

    def _withheld(self, rule: BlockingRule, given: Sequence[Finding], all_rules: Sequence[BlockingRule]) -> str:
        lost = self._imagined.lost(all_rules, [other for other in all_rules if other.name != rule.name])
        worth = ", ".join(
            f"{found.field} ({self._imagined.bits_of(found.field):.1f} bits; {found.above_chance:.1%} read before)"
            for found in given
        )
        return (
            f"{rule.name} withholds {worth}: it counts for no pair that this rule alone has, {lost:.2%} of imagined"
            " matches."
        )

    @cached_property
    def _imagined(self) -> ImaginedMatches:
        return ImaginedMatches(self._fields, *(self._cleaned[side] for side in Side))

    def _lost(self, before: Sequence[Proposal], after: Sequence[Proposal]) -> str:
        lost = self._imagined.lost([p.rule for p in before], [p.rule for p in after])
        return f"{lost:.2%} of the imagined matches that they had are then found by none"


def _worst_of(near: Sequence[Finding], rules: Sequence[str]) -> str:
    worst = max((f for f in near if f.rule in rules), key=lambda finding: finding.above_chance)
    what = f"{worst.field} read" if worst.field else f"{worst.recovered:.0%} of a register's people recognised"
    return f"{what} {worst.above_chance:.1%} above guessing" if worst.field else what


BLURRED = ((64, 0.0), (64, 0.1))
"""Bits and randomised response tried against registers, one after the other."""
MAX_LEFT_OUT = 3
"""Fields left out at most: with fewer still, a person who knows the data should choose."""
Specify = Callable[[Sequence[FieldSpec], Sequence[Proposal]], Specification]


@dataclass(frozen=True)
class Accepted:
    """Fields and rules, with what the gates find under them and the changes of fields, in sentences."""

    fields: Sequence[FieldSpec]
    rules: JudgedRules
    steps: Sequence[str] = ()


def accepted_fields(
    fields: Sequence[FieldSpec],
    cleaned: Mapping[Side, Columns],
    specify: Specify,
    gate: KeyedGate | None,
    *,
    block_keyed: bool,
    measured: Mapping[Side, Columns],
    leakage: LeakageSpec,
) -> Accepted:
    """The fields as they are if the gates accept rules for them; else changed until they do, if they do."""

    def attempt(of: Sequence[FieldSpec], *steps: str) -> Accepted:
        names = {field.name for field in of}
        columns, seen = (
            {side: {name: column for name, column in files[side].items() if name in names} for side in Side}
            for files in (cleaned, measured)
        )
        found = accepted_rules(
            of, columns, lambda proposals: specify(of, proposals), gate, block_keyed=block_keyed, measured=seen
        )
        return Accepted(of, found, steps)

    first = best = attempt(fields)
    limited = leakage.partial_register is not None or leakage.full_register is not None
    if limited and not (first.rules.accepted and first.rules.all_kept):
        for bits, inverted in BLURRED:
            if best.rules.accepted and best.rules.all_kept:
                break
            of = [blurred(field, bits, inverted) for field in fields]
            noisy = f", each inverted with probability {inverted}" if inverted else ""
            reason = (
                f"Signatures of at most {bits} bits{noisy}: registers {_registers(first.rules)} before. It costs links:"
                " `python -m benchmarks hardening` prints how many."
            )
            tried = attempt(of, reason)
            better = len(tried.rules.proposals) > len(best.rules.proposals)
            if tried.rules.accepted and (better or not best.rules.accepted):
                best = tried
    while not best.rules.accepted and len(fields) - len(best.fields) < MAX_LEFT_OUT:
        fewer, reason = _without_the_worst(best)
        if not reason or not _identified(fewer, specify):
            break
        best = attempt(fewer, *best.steps, reason)
        if not best.rules.proposals:
            break
    return best if best.rules.accepted else replace(first, steps=())


def _identified(fields: Sequence[FieldSpec], specify: Specify) -> bool:
    try:
        refuse_unidentified(specify(fields, ()))
    except GemelError:
        return False
    return True


def blurred(field: FieldSpec, bits: int, randomised_response: float) -> FieldSpec:
    """A field in signatures of at most so many bits, inverted with some probability, and levels they can tell apart."""
    noise = max(randomised_response, field.randomised_response)
    short = field.model_copy(update={"bits": min(bits, field.bits), "randomised_response": noise})
    return short.model_copy(update={"levels": short.tolerant_bounds(field.bounds)})


def _without_the_worst(judged: Accepted) -> tuple[list[FieldSpec], str]:
    """The fields without the one of which most is read, and what to say of it; all, and nothing, if it is unknown."""
    found = [
        (finding.above_chance, finding.field)
        for report in judged.rules.reports.values()
        for finding in report.findings
        if finding.attacker == PUBLIC and finding.above_chance > report.limit
    ]
    if not found or len(judged.fields) < 2:
        return list(judged.fields), ""
    share, worst = max(found)
    return (
        [field for field in judged.fields if field.name != worst],
        f"Field {worst} left out: {share:.1%} of it read above guessing, whatever the rules; it counts for no pair.",
    )


def _registers(judged: JudgedRules) -> str:
    shares = [
        f"{max(found):.0%} ({attacker})"
        for attacker in (REGISTER, EVERYBODY)
        if (found := [f.recovered for r in judged.reports.values() for f in r.recognised if f.attacker == attacker])
    ]
    return f"would recognise {' and '.join(shares)}"
