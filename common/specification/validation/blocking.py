"""Checks of a blocking rule: exactly one kind, fields that exist, parts that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.language.message_words import nearest, shown
from gemel.common.specification.model.blocking import RULE_KINDS, BlockingRule
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.validation.parts import key_issues
from gemel.common.specification.validation.randomised_response import split_issues
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def rule_issues(
    rule: BlockingRule, path: DocumentPath, fields: Mapping[str, FieldSpec], other_names: frozenset[str], mode: object
) -> Iterator[ValidationIssue]:
    """Issues of one rule, under a mode."""
    yield from _one_kind(rule, path)
    yield from _keys(rule, path, fields, other_names)
    yield from _signatures(rule, path, fields, other_names)
    yield from split_issues(rule, path, fields, mode)
    yield from _withheld(rule, path, fields, other_names, mode)
    if mode == "trusted" and rule.keys == ():
        remedy = "give it keys, or link in mode open"
        yield ValidationIssue(path, "only rules with keys are possible in mode trusted", remedy=remedy)


def repeated_rules(rules: Mapping[int, BlockingRule]) -> Iterator[ValidationIssue]:
    """Rules that choose the same pairs as an earlier one."""
    seen: dict[object, int] = {}
    for position, rule in rules.items():
        first = seen.setdefault((frozenset(rule.keys), rule.lsh, rule.canopies, rule.similar), position)
        if first != position:
            yield ValidationIssue(
                ("blocking", position, "keys"), f"blocking[{first}] has the same keys", remedy="drop one"
            )


def _one_kind(rule: BlockingRule, path: DocumentPath) -> Iterator[ValidationIssue]:
    kinds = [kind for kind in RULE_KINDS if getattr(rule, kind)]
    if not kinds:
        remedy = "list one to eight keys, such as `[{field: surname, prefix: 3}]`, or give lsh, canopies or similar"
        yield ValidationIssue((*path, "keys"), "has too few entries", remedy=remedy)
    if len(kinds) > 1:
        what = f"a rule is exactly one of {', '.join(RULE_KINDS)}"
        yield ValidationIssue(path, what, " and ".join(kinds), "make a rule of each")
    if rule.split is not None and not rule.keys:
        yield ValidationIssue(
            (*path, "split"), "only the blocks of keys can be split", remedy="drop it, or lower the limit"
        )


def _signatures(
    rule: BlockingRule, path: DocumentPath, fields: Mapping[str, FieldSpec], other_names: frozenset[str]
) -> Iterator[ValidationIssue]:
    """Issues of a rule's kinds that use signatures."""
    named: list[tuple[DocumentPath, str]] = [
        ((*path, kind, "field"), part.field) for kind in RULE_KINDS[1:] if (part := getattr(rule, kind)) is not None
    ]
    if rule.split is not None:
        named.append(((*path, "split"), rule.split))
    for here, name in named:
        if name not in fields and name not in other_names:
            yield ValidationIssue(here, "no compared field has this name", shown(name), nearest(name, fields))
    if rule.lsh is not None and (field := fields.get(rule.lsh.field)) is not None:
        needed = rule.lsh.bands * rule.lsh.bits
        if needed > field.bits:
            yield ValidationIssue(
                (*path, "lsh"),
                f"{rule.lsh.bands} bands of {rule.lsh.bits} bits need {needed} bits",
                f"{field.name} has {field.bits}",
                "use fewer bands, fewer bits in each, or longer signatures",
            )
    if rule.canopies is not None and rule.canopies.tight < rule.canopies.loose:
        yield ValidationIssue(
            (*path, "canopies"),
            "tight must not be below loose",
            f"{rule.canopies.tight:g} and {rule.canopies.loose:g}",
            "exchange them",
        )


def _withheld(
    rule: BlockingRule,
    path: DocumentPath,
    fields: Mapping[str, FieldSpec],
    other_names: frozenset[str],
    mode: object,
) -> Iterator[ValidationIssue]:
    if rule.withheld and mode in ("open", "trusted"):
        remedy = "drop it, or link in mode block_keyed or shared"
        what = f"in mode {mode} all rules have the same rows, from which no field can be withheld for one"
        yield ValidationIssue((*path, "withheld"), what, remedy=remedy)
    for position, name in enumerate(rule.withheld):
        here = (*path, "withheld", position)
        if name not in fields:
            if name not in other_names:
                yield ValidationIssue(here, "no compared field has this name", shown(name), nearest(name, fields))
        elif name in rule.withheld[:position]:
            yield ValidationIssue(here, "the field is withheld already", shown(name), "drop it")
        elif name in rule.fields:
            what = "the rule's own keys state what its pairs agree on: withheld, it would not count for them"
            yield ValidationIssue(here, what, shown(name), "drop it, or take the field out of the keys")
        elif fields[name].missing_as == "level":
            what = "a missing value of this field counts as evidence, and withheld ones would"
            yield ValidationIssue(here, what, shown(name), "drop it, or set the field's `missing_as: random`")
    if rule.withheld and not other_names and not set(fields) - set(rule.withheld) - set(rule.fields):
        what = "nothing is left to compare but the rule's own keys"
        yield ValidationIssue((*path, "withheld"), what, remedy="withhold fewer fields")


def _keys(
    rule: BlockingRule, path: DocumentPath, fields: Mapping[str, FieldSpec], other_names: frozenset[str]
) -> Iterator[ValidationIssue]:
    for position, key in enumerate(rule.keys):
        here = (*path, "keys", position)
        if key in rule.keys[:position]:
            yield ValidationIssue(here, "the key is in the rule already", remedy="drop it")
        field = fields.get(key.field)
        if field is not None:
            yield from key_issues(key, here, field)
        elif key.field not in other_names:
            remedy = nearest(key.field, fields)
            yield ValidationIssue((*here, "field"), "no compared field has this name", shown(key.field), remedy)
