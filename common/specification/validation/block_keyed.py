"""Options that modes block_keyed and shared exclude, because values can be compared inside a block only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.validation_issues import ValidationIssue

_FORMED = {
    "lsh": "bands of signature bits are formed over the whole file",
    "canopies": "canopies are formed over the whole file",
    "similar": "similar values are searched over the whole file",
}


def block_keyed_issues(
    fields: Mapping[int, FieldSpec],
    rules: Mapping[int, BlockingRule],
    mode: str,
    *,
    rules_elsewhere: bool = False,
) -> Iterator[ValidationIssue]:
    """Everything in a specification of these modes that requires comparing values across a whole file."""
    if not rules and not rules_elsewhere:
        yield ValidationIssue(
            ("blocking",),
            f"mode {mode} needs a blocking rule: without one, the whole file is one block",
            "none",
            "add rules, or link in mode open",
        )
    for position, rule in rules.items():
        for kind, why in _FORMED.items():
            if getattr(rule, kind) is not None:
                yield ValidationIssue(
                    ("blocking", position, kind),
                    f"{why}, and in mode {mode} signatures of two blocks have nothing in common",
                    kind,
                    "give the rule keys, or link in mode open",
                )
    for position, field in fields.items():
        if field.value_frequencies:
            yield ValidationIssue(
                ("fields", position, "value_frequencies"),
                "how often a value occurs cannot be counted where each block has a key of its own"
                + (", and no one sees which values are equal" if mode == "shared" else ""),
                "true",
                "drop it, or link in mode open",
            )
