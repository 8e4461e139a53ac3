"""What a field may hold back from the linkage unit in mode open: a salt, and similarity of listed values only.

A salted field's values compare where the salt agrees and nowhere else. Of a field with `only_similar`, values that are
not on the list are equal or not, and like nothing. Here is what does not go together with them, and what those who
approve a specification should know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tryst.common.specification.mistakes import Mistake, Path, nearest, shown
from tryst.common.specification.parts import BlockingKey, key_mistakes

if TYPE_CHECKING:
    from tryst.common.specification.blocking import BlockingRule
    from tryst.common.specification.fields import FieldSpec
    from tryst.common.specification.latent import LatentSpec
    from tryst.common.specification.model import Specification


def defence_mistakes(
    fields: Mapping[int, FieldSpec],
    other_names: frozenset[str],
    mode: object,
    latent: LatentSpec | None,
) -> Iterator[Mistake]:
    """Everything that salts and lists of similar values do not go together with.

    Parameters
    ----------
    fields
        By their position in the document.
    other_names
        Names of fields besides, whose mistakes are told elsewhere.
    mode
        The specification's, where it is known.
    latent
        The extended latent step, if there is one.
    """
    by_name = {field.name: field for field in fields.values()}
    for position, field in fields.items():
        path: Path = ("fields", position)
        if field.only_similar:
            yield from _list_mistakes(field, (*path, "only_similar"), mode)
        if field.salt is None:
            continue
        yield from _salt_mistakes(field, field.salt, (*path, "salt"), by_name, other_names, mode)
        if latent is not None and field.name in latent.keys:
            yield Mistake(
                (*path, "salt"),
                "signatures of the same value under another salt differ, and would be another category",
                f"{field.name} among latent.keys",
                "drop the salt, or take the field from latent.keys",
            )


def _list_mistakes(field: FieldSpec, path: Path, mode: object) -> Iterator[Mistake]:
    if mode == "trusted":
        yield Mistake(path, "in mode trusted the values themselves are sent", remedy="drop it, or link in mode open")
    if field.tokens == "value":
        remedy = "drop the list, or choose other tokens"
        yield Mistake(path, "tokens `value` show no similarity of any value", f"tokens {field.tokens}", remedy)


def _salt_mistakes(
    field: FieldSpec,
    salt: BlockingKey,
    path: Path,
    fields: Mapping[str, FieldSpec],
    other_names: frozenset[str],
    mode: object,
) -> Iterator[Mistake]:
    if mode == "trusted":
        yield Mistake(path, "in mode trusted the values themselves are sent", remedy="drop it, or link in mode open")
    if mode == "block_keyed":
        remedy = f"drop it; to keep {salt.words} apart, add it to the keys of the blocking rules"
        yield Mistake(path, "mode block_keyed salts every field by the block already", remedy=remedy)
    if field.value_frequencies:
        yield Mistake(
            (*path[:2], "value_frequencies"),
            "how often a salted value occurs is not to be seen",
            "true",
            "drop it, or the salt",
        )
    if salt.field == field.name:
        remedy = "name another field, which does not change in a life, such as the year of a date of birth"
        yield Mistake((*path, "field"), "a field cannot be salted by itself", shown(salt.field), remedy)
    elif salt.field in fields:
        yield from key_mistakes(salt, path, fields[salt.field])
    elif salt.field not in other_names:
        remedy = nearest(salt.field, fields)
        yield Mistake((*path, "field"), "no compared field has this name", shown(salt.field), remedy)


def undone_by(spec: Specification, field: FieldSpec) -> tuple[BlockingRule, ...]:
    """The blocking rules whose keys join values of a salted field across its salts.

    A blocking key is the same whatever the salt: rows with equal keys agree on what these take of the field. Only a
    rule that settles the salt too does not join.
    """
    salt = field.salt
    if salt is None:
        return ()
    return tuple(
        rule
        for rule in spec.keyed_rules
        if any(key.field == field.name for key in rule.keys) and not any(key.settles(salt) for key in rule.keys)
    )


def defence_notes(spec: Specification) -> Iterator[str]:
    """What the defences do and cost, for those who approve."""
    for field in spec.fields:
        if field.salt is not None:
            yield from _salt_notes(spec, field, field.salt)
        if field.only_similar:
            yield (
                f"Field {field.name}: {len(field.only_similar):,} listed values show how similar they are; any other is"
                " sent as a code, equal to itself and like nothing. Misspellings are hardly ever on the list, so a"
                " misspelt value is compared as different from the right one. How often each code occurs still shows."
            )


def _salt_notes(spec: Specification, field: FieldSpec, salt: BlockingKey) -> Iterator[str]:
    yield (
        f"Field {field.name} is salted by {salt.words}: Carole can compare two of its values only where that is equal."
        f" Who differs in it, by a mistake or in truth, is compared as different in {field.name}, and whose"
        f" {salt.field} is not known there, as if {field.name} were missing. A salt that a thousand records share can"
        " be read like a file of its own: `tryst alice leakage` measures it."
    )
    for rule in undone_by(spec, field):
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
