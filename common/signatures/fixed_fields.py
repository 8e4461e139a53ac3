"""The fields of which nothing is sent in the rows of a blocking rule, because its key already fixes them.

In mode block_keyed rows are compared inside a block only. Where the rule's key has a field as a whole, all rows of a
block have the same value of it, so that their signatures would be equal: a constant says as much, in no bytes.
"""

from __future__ import annotations

from gemel.common.specification import BlockingRule
from gemel.common.specification.model.content import SpecificationContent


def fixed_fields(rule: BlockingRule, spec: SpecificationContent) -> frozenset[str]:
    """The fields of a specification of mode block_keyed that a rule's key fixes.

    Not those that are also compared crosswise, for which signatures are needed; nor those with randomised response,
    whose agreement the noise hides in the other rules' rows: a pair is to count the same under every rule.
    """
    whole = {key.field for key in rule.keys if key.part is None and key.prefix is None}
    whole |= {rule.split} if rule.split else set()
    exchanged = {name for swap in spec.swaps for name in swap}
    noisy = {field.name for field in spec.fields if field.randomised_response}
    return frozenset(whole - exchanged - noisy)
