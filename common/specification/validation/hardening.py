"""The hardening of a field in mode open: a salt, and similarity of listed values only; what excludes them.

A salted field's values can be compared where the salt agrees and nowhere else. Of a field with `only_similar`, values
that are not on the list are equal or not, and have no similarity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.language.message_words import nearest, shown
from gemel.common.specification.model.defaults import IN_BLOCKS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.parts import BlockingKey
from gemel.common.specification.validation.parts import key_issues
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def hardening_issues(
    fields: Mapping[int, FieldSpec],
    other_names: frozenset[str],
    mode: object,
    latent: LatentSpec | None,
) -> Iterator[ValidationIssue]:
    """Everything that salts and lists of similar values cannot be combined with."""
    by_name = {field.name: field for field in fields.values()}
    for position, field in fields.items():
        path: DocumentPath = ("fields", position)
        if field.only_similar:
            yield from _list_issues(field, (*path, "only_similar"), mode)
        if field.salt is None:
            continue
        yield from _salt_issues(field, field.salt, (*path, "salt"), by_name, other_names, mode)
        if latent is not None and field.name in latent.keys:
            yield ValidationIssue(
                (*path, "salt"),
                "signatures of one value under different salts differ, and would be different categories",
                f"{field.name} among latent.keys",
                "drop the salt, or take the field from latent.keys",
            )


def _list_issues(field: FieldSpec, path: DocumentPath, mode: object) -> Iterator[ValidationIssue]:
    if mode == "trusted":
        yield ValidationIssue(
            path, "in mode trusted the values themselves are sent", remedy="drop it, or link in mode open"
        )
    if field.tokens == "value":
        remedy = "drop the list, or choose other tokens"
        yield ValidationIssue(path, "tokens `value` show no similarity of any value", f"tokens {field.tokens}", remedy)


def _salt_issues(
    field: FieldSpec,
    salt: BlockingKey,
    path: DocumentPath,
    fields: Mapping[str, FieldSpec],
    other_names: frozenset[str],
    mode: object,
) -> Iterator[ValidationIssue]:
    if mode == "trusted":
        yield ValidationIssue(
            path, "in mode trusted the values themselves are sent", remedy="drop it, or link in mode open"
        )
    if mode in IN_BLOCKS:
        remedy = f"drop it; to keep {salt.words} apart, add it to the keys of the blocking rules"
        yield ValidationIssue(path, f"mode {mode} salts every field by the block already", remedy=remedy)
    if field.value_frequencies:
        yield ValidationIssue(
            (*path[:2], "value_frequencies"),
            "how often a salted value occurs cannot be counted",
            "true",
            "drop it, or the salt",
        )
    if salt.field == field.name:
        remedy = "name another field, which does not change over a lifetime, such as the year of a date of birth"
        yield ValidationIssue((*path, "field"), "a field cannot be salted by itself", shown(salt.field), remedy)
    elif salt.field in fields:
        yield from key_issues(salt, path, fields[salt.field])
    elif salt.field not in other_names:
        remedy = nearest(salt.field, fields)
        yield ValidationIssue((*path, "field"), "no compared field has this name", shown(salt.field), remedy)
