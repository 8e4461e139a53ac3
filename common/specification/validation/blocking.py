"""Checks of a blocking rule: exactly one kind, fields that exist, parts that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.language.message_words import nearest, shown
from gemel.common.specification.model.blocking import RULE_KINDS, BlockingRule
from gemel.common.specification.model.defaults import IN_BLOCKS
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.leakage import is_distinguishable, min_bits
from gemel.common.specification.model.section import BlockingKey
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def key_issues(key: BlockingKey, path: DocumentPath, field: FieldSpec) -> Iterator[ValidationIssue]:
    """A part or prefix that the field does not have."""
    if key.part is not None:
        if field.kind != "date":
            remedy = "drop the part, or name a date field"
            yield ValidationIssue(
                (*path, "part"), "only a date has parts", f"{field.name} of kind {field.kind}", remedy
            )
        elif field.date is not None and key.part not in field.date.parts:
            remedy = f"add {key.part} to its parts, or name one of them"
            yield ValidationIssue((*path, "part"), f"{field.name} has no such part", key.part, remedy)
    if key.prefix is not None and field.kind in ("category", "date"):
        remedy = "name a `part` instead" if field.kind == "date" else "drop the prefix"
        yield ValidationIssue((*path, "prefix"), f"a {field.kind} has no prefix", f"prefix {key.prefix}", remedy)


MINIMUM = 0.001
"""Smallest probability above 0: draws of 16 bits represent it to within 1 %."""

_MAX_BITS = 8192


def randomised_response_issues(field: FieldSpec, path: DocumentPath, mode: object) -> Iterator[ValidationIssue]:
    """Everything in a field with randomised response that requires equal values to have equal signatures."""
    got = f"randomised_response {field.randomised_response:g}"
    if mode == "trusted":
        yield ValidationIssue(
            (*path, "randomised_response"),
            "values are sent as they are: there are no bits to randomise",
            got,
            "drop it, or use mode open",
        )
    if field.randomised_response < MINIMUM:
        remedy = f"use 0, or {MINIMUM:g} to 0.4"
        yield ValidationIssue(
            (*path, "randomised_response"), "so few bits are randomised that it hides nothing", got, remedy
        )
    if not is_distinguishable(field.bits, field.randomised_response):
        needed = min_bits(field.randomised_response)
        yield ValidationIssue(
            (*path, "randomised_response"),
            "equal values could not be distinguished from values with nothing in common",
            f"{got} with {field.bits} bits",
            f"use at least {needed} bits, or a lower probability" if needed <= _MAX_BITS else "use a lower probability",
        )
    if field.value_frequencies:
        yield ValidationIssue(
            (*path, "value_frequencies"),
            "it requires equal values to have equal signatures in the two files, which randomised bits do not",
            got,
            "drop one of the two",
        )


def split_issues(
    rule: BlockingRule, path: DocumentPath, fields: Mapping[str, FieldSpec], mode: object
) -> Iterator[ValidationIssue]:
    """A rule that splits blocks by a field with randomised bits; in block_keyed the custodians split, by values."""
    field = fields.get(rule.split) if rule.split else None
    if field is not None and field.randomised_response and mode not in IN_BLOCKS:
        yield ValidationIssue(
            (*path, "split"),
            "blocks are split by equal signatures, which randomised bits hide",
            f"{field.name} with randomised_response {field.randomised_response:g}",
            "split by another field, or add it to the keys",
        )


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
