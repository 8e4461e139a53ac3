"""Checks of blocking rules, salts and lists of similar values: fields that exist, parts that they have."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.language.message_words import shown
from gemel.common.specification.model.blocking import RULE_KINDS, BlockingRule
from gemel.common.specification.model.defaults import IN_BLOCKS, MAX_RULES
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.section import BlockingKey
from gemel.common.specification.validation.sections import SoundSections, repeated
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def blocking_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    if len(sections.rules) > MAX_RULES:
        what = f"at most {MAX_RULES} rules are possible"
        yield ValidationIssue(("blocking",), what, str(len(sections.rules)), "drop or join some")
    for position, rule in sections.rules.items():
        path: DocumentPath = ("blocking", position)
        for check in (_one_kind, _keys, _signatures, _split, _withheld):
            yield from check(rule, path, sections)
        if sections.mode == "trusted" and rule.keys == ():
            remedy = "give it keys, or link in mode open"
            yield ValidationIssue(path, "only rules with keys are possible in mode trusted", remedy=remedy)
    pairs = ((i, (frozenset(rule.keys), rule.lsh, rule.canopies, rule.similar)) for i, rule in sections.rules.items())
    for position, first in repeated(pairs):
        what = f"blocking[{first}] has the same keys"
        yield ValidationIssue(("blocking", position, "keys"), what, remedy="drop one")


def _one_kind(rule: BlockingRule, path: DocumentPath, _: SoundSections) -> Iterator[ValidationIssue]:
    kinds = [kind for kind in RULE_KINDS if getattr(rule, kind)]
    if not kinds:
        remedy = "list one to eight keys, such as `[{field: surname, prefix: 3}]`, or give lsh, canopies or similar"
        yield ValidationIssue((*path, "keys"), "has too few entries", remedy=remedy)
    if len(kinds) > 1:
        what = f"a rule is exactly one of {', '.join(RULE_KINDS)}"
        yield ValidationIssue(path, what, " and ".join(kinds), "make a rule of each")
    if rule.split is not None and not rule.keys:
        remedy = "drop it, or lower the limit"
        yield ValidationIssue((*path, "split"), "only the blocks of keys can be split", remedy=remedy)


def _keys(rule: BlockingRule, path: DocumentPath, sections: SoundSections) -> Iterator[ValidationIssue]:
    for position, key in enumerate(rule.keys):
        here = (*path, "keys", position)
        if key in rule.keys[:position]:
            yield ValidationIssue(here, "the key is in the rule already", remedy="drop it")
        yield from _key_issues(key, here, sections)


def _key_issues(key: BlockingKey, path: DocumentPath, sections: SoundSections) -> Iterator[ValidationIssue]:
    """A field that does not exist, or a part or prefix that it does not have."""
    field = sections.by_name.get(key.field)
    if field is None:
        yield from sections.unknown_field(key.field, (*path, "field"))
        return
    if key.part is not None and field.kind != "date":
        remedy, got = "drop the part, or name a date field", f"{field.name} of kind {field.kind}"
        yield ValidationIssue((*path, "part"), "only a date has parts", got, remedy)
    elif key.part is not None and field.date is not None and key.part not in field.date.parts:
        remedy = f"add {key.part} to its parts, or name one of them"
        yield ValidationIssue((*path, "part"), f"{field.name} has no such part", key.part, remedy)
    if key.prefix is not None and field.kind in ("category", "date"):
        remedy = "name a `part` instead" if field.kind == "date" else "drop the prefix"
        yield ValidationIssue((*path, "prefix"), f"a {field.kind} has no prefix", f"prefix {key.prefix}", remedy)


def _signatures(rule: BlockingRule, path: DocumentPath, sections: SoundSections) -> Iterator[ValidationIssue]:
    for kind in RULE_KINDS[1:]:
        if (part := getattr(rule, kind)) is not None:
            yield from sections.unknown_field(part.field, (*path, kind, "field"))
    if rule.split is not None:
        yield from sections.unknown_field(rule.split, (*path, "split"))
    if rule.lsh is not None and (field := sections.by_name.get(rule.lsh.field)) is not None:
        needed = rule.lsh.bands * rule.lsh.bits
        if needed > field.bits:
            what = f"{rule.lsh.bands} bands of {rule.lsh.bits} bits need {needed} bits"
            remedy = "use fewer bands, fewer bits in each, or longer signatures"
            yield ValidationIssue((*path, "lsh"), what, f"{field.name} has {field.bits}", remedy)
    if rule.canopies is not None and rule.canopies.tight < rule.canopies.loose:
        got = f"{rule.canopies.tight:g} and {rule.canopies.loose:g}"
        yield ValidationIssue((*path, "canopies"), "tight must not be below loose", got, "exchange them")


def _split(rule: BlockingRule, path: DocumentPath, sections: SoundSections) -> Iterator[ValidationIssue]:
    """A rule that splits blocks by a field with randomised bits; in block_keyed the custodians split, by values."""
    field = sections.by_name.get(rule.split) if rule.split else None
    if field is not None and field.randomised_response and sections.mode not in IN_BLOCKS:
        what = "blocks are split by equal signatures, which randomised bits hide"
        got = f"{field.name} with randomised_response {field.randomised_response:g}"
        yield ValidationIssue((*path, "split"), what, got, "split by another field, or add it to the keys")


def _withheld(rule: BlockingRule, path: DocumentPath, sections: SoundSections) -> Iterator[ValidationIssue]:
    fields, mode = sections.by_name, sections.mode
    if rule.withheld and mode in ("open", "trusted"):
        remedy = "drop it, or link in mode block_keyed or shared"
        what = f"in mode {mode} all rules have the same rows, from which no field can be withheld for one"
        yield ValidationIssue((*path, "withheld"), what, remedy=remedy)
    for position, name in enumerate(rule.withheld):
        here = (*path, "withheld", position)
        if name not in fields:
            yield from sections.unknown_field(name, here)
        elif name in rule.withheld[:position]:
            yield ValidationIssue(here, "the field is withheld already", shown(name), "drop it")
        elif name in rule.fields:
            what = "the rule's own keys state what its pairs agree on: withheld, it would not count for them"
            yield ValidationIssue(here, what, shown(name), "drop it, or take the field out of the keys")
        elif fields[name].missing_as == "level":
            what = "a missing value of this field counts as evidence, and withheld ones would"
            yield ValidationIssue(here, what, shown(name), "drop it, or set the field's `missing_as: random`")
    if rule.withheld and not sections.other_names and not set(fields) - set(rule.withheld) - set(rule.fields):
        what = "nothing is left to compare but the rule's own keys"
        yield ValidationIssue((*path, "withheld"), what, remedy="withhold fewer fields")


_FORMED = {
    "lsh": "bands of signature bits are formed over the whole file",
    "canopies": "canopies are formed over the whole file",
    "similar": "similar values are searched over the whole file",
}


def whole_file_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    """In modes block_keyed and shared, everything that requires comparing values across a whole file."""
    mode = sections.mode
    if mode not in IN_BLOCKS:
        return
    if not sections.rules and not sections.other_rules:
        what = f"mode {mode} needs a blocking rule: without one, the whole file is one block"
        yield ValidationIssue(("blocking",), what, "none", "add rules, or link in mode open")
    for position, rule in sections.rules.items():
        for kind, why in _FORMED.items():
            if getattr(rule, kind) is not None:
                what = f"{why}, and in mode {mode} signatures of two blocks have nothing in common"
                remedy = "give the rule keys, or link in mode open"
                yield ValidationIssue(("blocking", position, kind), what, kind, remedy)
    what = "how often a value occurs cannot be counted where each block has a key of its own"
    what += ", and no one sees which values are equal" if mode == "shared" else ""
    for position, field in sections.fields.items():
        if field.value_frequencies:
            path = ("fields", position, "value_frequencies")
            yield ValidationIssue(path, what, "true", "drop it, or link in mode open")


def hardening_issues(sections: SoundSections) -> Iterator[ValidationIssue]:
    latent = sections.latent
    in_clear, send_signatures = "in mode trusted the values themselves are sent", "drop it, or link in mode open"
    for position, field in sections.fields.items():
        path: DocumentPath = ("fields", position)
        for option in ("only_similar", "salt"):
            if getattr(field, option) and sections.mode == "trusted":
                yield ValidationIssue((*path, option), in_clear, remedy=send_signatures)
        if field.only_similar and field.tokens == "value":
            what, remedy = "tokens `value` show no similarity of any value", "drop the list, or choose other tokens"
            yield ValidationIssue((*path, "only_similar"), what, f"tokens {field.tokens}", remedy)
        if field.salt is None:
            continue
        yield from _salt_issues(field, field.salt, path, sections)
        if latent is not None and field.name in latent.keys:
            what = "signatures of one value under different salts differ, and would be different categories"
            remedy = "drop the salt, or take the field from latent.keys"
            yield ValidationIssue((*path, "salt"), what, f"{field.name} among latent.keys", remedy)


def _salt_issues(
    field: FieldSpec, salt: BlockingKey, path: DocumentPath, sections: SoundSections
) -> Iterator[ValidationIssue]:
    here = (*path, "salt")
    if sections.mode in IN_BLOCKS:
        remedy = f"drop it; to keep {salt.words} apart, add it to the keys of the blocking rules"
        yield ValidationIssue(here, f"mode {sections.mode} salts every field by the block already", remedy=remedy)
    if field.value_frequencies:
        what = "how often a salted value occurs cannot be counted"
        yield ValidationIssue((*path, "value_frequencies"), what, "true", "drop it, or the salt")
    if salt.field == field.name:
        remedy = "name another field, which does not change over a lifetime, such as the year of a date of birth"
        yield ValidationIssue((*here, "field"), "a field cannot be salted by itself", shown(salt.field), remedy)
    else:
        yield from _key_issues(salt, here, sections)
