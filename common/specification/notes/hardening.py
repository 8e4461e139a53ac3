"""What salts and lists of similar values do and cost, for those who approve."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.parts import BlockingKey
from gemel.common.specification.validation.specification import Specification


def hardening_notes(spec: Specification) -> Iterator[str]:
    """What the hardening options do and cost, for those who approve."""
    for field in spec.fields:
        if field.salt is not None:
            yield from _salt_notes(spec, field, field.salt)
        if field.only_similar:
            yield (
                f"Field {field.name}: only {len(field.only_similar):,} listed values show their similarity; any other"
                " is sent as a code, equal to itself and similar to no other. Misspellings are hardly ever on the list,"
                " so a misspelt value is compared as different from the right one."
                + " How often each code occurs is still visible."
                * (spec.mode != "shared")
            )


def _salt_notes(spec: Specification, field: FieldSpec, salt: BlockingKey) -> Iterator[str]:
    yield (
        f"Field {field.name} is salted by {salt.words}: Carole can compare two of its values only where that is equal."
        f" Records that differ in it, by an error or in truth, are compared as different in {field.name}; where"
        f" {salt.field} is missing, {field.name} counts as missing too. Values under a salt that a thousand records"
        " share can be attacked like a file of its own: `gemel alice leakage` measures it."
    )
    for rule in spec.rules_undoing_salt(field):
        yield (
            f"Blocking rule {rule.name} undoes the salt of {field.name}: its keys are made of {field.name} without"
            f" {salt.words}, so that Carole sees which rows agree in it across all salts. Add {salt.words} to the rule,"
            f" or take {field.name} out of it."
        )
    formed = [
        rule.name
        for rule in spec.blocking
        if field.name in (rule.split, *(part.field for part in (rule.lsh, rule.canopies, rule.similar) if part))
    ]
    if formed:
        yield f"Blocking by {' and '.join(formed)} finds pairs with equal salts of {field.name} only."
    for other in spec.fields:
        twice = any(set(other.columns_of(side)) & set(field.columns_of(side)) for side in ("alice", "bob"))
        if other is not field and other.salt != salt and twice:
            yield f"Field {other.name} reads a column of {field.name} under another salt or none: it undoes the salt."
