"""What mode shared costs each of the three who compute: gates, bytes sent, seconds; the same for all three.

The gates of a pair are those of the circuits that a run would use, by the layouts that it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gemel.carole.engine.run.specified import plan_of
from gemel.carole.engine.shared.compared_rows import PERMUTED_COPIES
from gemel.carole.engine.shared.comparisons import comparison_of
from gemel.common.sharing.output_bits import PairComparison
from gemel.common.signatures.layout import GROUPS, SAMPLES, SetLayout
from gemel.common.specification import Specification
from gemel.coordinator.estimate.candidate_pairs import RulePairs
from gemel.coordinator.estimate.custodian_cost import CustodianCost
from gemel.coordinator.estimate.unit_costs import GATE_BYTES, GATE_SECONDS, PERMUTED_WORD_SECONDS

_WORD_BYTES = 8


@dataclass(frozen=True)
class SharedCost:
    """What a run of mode shared costs each of the three.

    Attributes
    ----------
    pair_gates
        Gates of a pair of each rule, by its name.
    chance_pairs
        Pairs of the samples.
    gates
        Of all pairs, the samples' with them; None where the pairs are not known.
    sent
        Bytes that each party sends, and receives; None likewise.
    seconds
        Of each party, on one core; None likewise.
    memory
        That it holds at a time for all pairs, in bytes; None likewise.
    """

    pair_gates: dict[str, int]
    chance_pairs: int
    gates: int | None = None
    sent: int | None = None
    seconds: float | None = None
    memory: int | None = None


def shared_cost(
    custodians: Sequence[CustodianCost], spec: Specification, rules: tuple[RulePairs, ...] = ()
) -> SharedCost | None:
    """The cost of computing on two contributions; None in another mode.

    Parameters
    ----------
    custodians
        Alice's and Bob's.
    rules
        Pairs of the rules, where files tell; a pair of several rules is compared under each.
    """
    if spec.mode != "shared":
        return None
    plan = plan_of(spec)
    first, second = (_by_rule(each) for each in custodians)
    comparisons = {
        rule.name: comparison_of(plan, first[rule.name], second[rule.name], rule.name) for rule in plan.rules
    }
    of_samples = comparison_of(plan, first[SAMPLES], second[SAMPLES], None)
    chance = first[SAMPLES].rows * second[SAMPLES].rows // GROUPS
    pair_gates = {name: comparison.gates for name, comparison in comparisons.items()}
    if len(rules) != len(comparisons):
        return SharedCost(pair_gates, chance)
    width = max(map(_permuted_words, comparisons.values()))
    pairs = sum(rule.pairs for rule in rules)
    gates = sum(rule.pairs * pair_gates[rule.rule] for rule in rules) + chance * of_samples.gates
    words = pairs * width + chance * of_samples.output.total_words
    return SharedCost(
        pair_gates,
        chance,
        gates,
        round(gates * GATE_BYTES) + 2 * _WORD_BYTES * (words + pairs + chance),
        gates * GATE_SECONDS + words * PERMUTED_WORD_SECONDS,
        PERMUTED_COPIES * 2 * _WORD_BYTES * pairs * (width + 1),
    )


def _permuted_words(comparison: PairComparison) -> int:
    """Of a pair: its levels, and its row numbers."""
    return comparison.output.total_words + 1


def _by_rule(custodian: CustodianCost) -> dict[str, SetLayout]:
    """A set of each rule, and the samples: all sets of a rule have the same words."""
    return {part.rule: part for part in custodian.layout.sets}
