"""Fields and their signatures under which rules are found that the custodians' gates accept.

`accepted_rules` changes the rules first. Where that is not enough, in this order:

1. if a limit for registers is not met, names, texts, dates, numbers and codes are sent in shorter signatures, then also
   with inverted bits: similarities tell less of a person then, and a link too;
2. the field of which most is read is left out, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.errors import GemelError
from gemel.common.parties import Side
from gemel.common.specification import FieldSpec, Specification
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.coordinator.draft.accepted_rules import Columns, accepted_rules
from gemel.coordinator.draft.blocking_rules import Proposal
from gemel.coordinator.draft.judged_rules import JudgedRules, KeyedGate
from gemel.custodian.leakage_report import EVERYBODY, PUBLIC, REGISTER

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
    """The fields as they are if the gates accept rules for them; else changed until they do, if they do.

    Notes
    -----
    The cost of `accepted_rules` for each change.
    """

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
    """Whether a model of these fields can be determined."""
    try:
        refuse_unidentified(specify(fields, ()))
    except GemelError:
        return False
    return True


def blurred(field: FieldSpec, bits: int, randomised_response: float) -> FieldSpec:
    """A field in signatures of at most so many bits, inverted with some probability, and levels they can tell apart."""
    short = field.model_copy(
        update={
            "bits": min(bits, field.bits),
            "randomised_response": max(randomised_response, field.randomised_response),
        }
    )
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
