"""What several values of a specification must make together: names that exist, levels that ascend, one meaning per key.

The checks take fields and rules by their position rather than a whole `Specification`, so that a document with one
mistyped field still has all the others checked in the same go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from common.errors import ErrorCode, TrystErrors
from common.parties import Side
from common.specification.assessment import assessment_mistakes
from common.specification.block_keyed import block_keyed_mistakes
from common.specification.categorisation import categorisation_mistakes
from common.specification.defaults import MAX_PATTERNS, MAX_RULES, STEPS
from common.specification.defences import defence_mistakes
from common.specification.flips import flip_mistakes, split_mistakes
from common.specification.latent import LatentSpec, latent_mistakes
from common.specification.mistakes import Mistake, Path, nearest, shown
from common.specification.padding import padding_mistakes
from common.specification.parts import key_mistakes
from common.specification.resolution import resolution_mistakes
from common.specification.section import folded_label
from common.specification.variables import VariableSpec, variable_mistakes

RULE_KINDS = ("keys", "lsh", "canopies", "similar")
"""What a blocking rule is made of: one of these."""

if TYPE_CHECKING:
    from common.specification.blocking import BlockingRule
    from common.specification.fields import FieldSpec
    from common.specification.model import Specification


class InconsistentError(TrystErrors):
    """The inconsistencies of a specification each of whose values is sound by itself.

    Attributes
    ----------
    mistakes
        All of them, by path.
    """

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__(ErrorCode.SPECIFICATION, [mistake.error() for mistake in mistakes])
        self.mistakes = mistakes


def refuse_inconsistent(spec: Specification) -> None:
    """Raise every inconsistency of a specification at once.

    Raises
    ------
    TrystErrors
        With one error per mistake.
    """
    mistakes = list(
        inconsistencies(
            dict(enumerate(spec.fields)),
            dict(enumerate(spec.blocking)),
            mode=spec.mode,
            swaps=spec.swaps,
            variables=dict(enumerate(spec.variables)),
            identifiers={side: spec.custodians.of(side).identifier for side in Side},
            latent=spec.latent,
            padding=spec.padding,
        )
    )
    if spec.model.scheme in ("lr_weighted", "log_lr_weighted"):
        mistakes += [
            Mistake(
                ("fields", position, "value_frequencies"),
                "a shaded weight is no ratio of probabilities that a value's frequency could enter",
                f"model.scheme {spec.model.scheme}",
                "drop it, or use the multinomial scheme",
            )
            for position, field in enumerate(spec.fields)
            if field.value_frequencies
        ]
    mistakes += assessment_mistakes(
        spec.assessment,
        spec.release.assessment,
        dict(enumerate(spec.variables)),
        frozenset(field.name for field in spec.fields),
    )
    mistakes += resolution_mistakes(spec.resolution, spec.mode)
    if spec.padding is not None and spec.resolution.joined:
        what = "who joins rows is told which are dummies', and the linkage unit must not know"
        remedy = "drop it, or let the coordinator's process resolve"
        mistakes.append(Mistake(("padding",), what, "resolution by carole", remedy))
    if spec.release.joint != "nobody" and spec.latent is None:
        what = "without a latent step there is no joint distribution to receive"
        mistakes.append(Mistake(("release", "joint"), what, spec.release.joint, "drop it, or add the section `latent`"))
    for side in Side:
        if spec.release.joint_to(side) and getattr(spec.release, str(side)) == "nothing":
            what = f"{side} receives nothing, and so no joint distribution"
            mistakes.append(
                Mistake(("release", "joint"), what, spec.release.joint, f"grant {side} statistics at least")
            )
    if mistakes:
        raise InconsistentError(mistakes)


def inconsistencies(
    fields: Mapping[int, FieldSpec],
    rules: Mapping[int, BlockingRule],
    other_names: frozenset[str] = frozenset(),
    mode: object = None,
    swaps: object = (),
    variables: Mapping[int, VariableSpec] = MappingProxyType({}),
    identifiers: Mapping[Side, str] = MappingProxyType({}),
    latent: LatentSpec | None = None,
    unsure: bool = False,
    *,
    rules_elsewhere: bool = False,
    padding: object = None,
) -> Iterator[Mistake]:
    """Every mistake that lies between values rather than in one of them.

    Parameters
    ----------
    fields, rules
        The compared fields and blocking rules by their position in the document.
    other_names
        Names of fields that are in the document but not in `fields`, because they have mistakes of their own.
    mode
        The specification's mode, where it is known.
    swaps
        The pairs of fields that may be exchanged, as the document has them.
    variables
        The category variables by their position in the document.
    identifiers
        The custodians' identifier columns, where they are known.
    latent
        The extended latent step, if there is one.
    unsure
        Whether there are variables besides, which have mistakes of their own.
    rules_elsewhere
        Whether the document has blocking rules that are not in `rules`, because they have mistakes of their own.
    padding
        What blocks are padded to, as the document has it.
    """
    if not fields and not other_names:
        yield Mistake(("fields",), "nothing is compared", remedy="name at least one field that both files have")
    yield from _repeated("fields", {i: field.name for i, field in fields.items()})
    yield from _repeated("blocking", {i: rule.name for i, rule in rules.items()})
    for position, field in fields.items():
        for check in _FIELD_CHECKS:
            yield from check(field, ("fields", position))
        if field.flip:
            yield from flip_mistakes(field, ("fields", position), mode)
        if mode in ("open", "block_keyed") and field.comparator is not None:
            yield Mistake(
                ("fields", position, "comparator"),
                "values can be compared in mode trusted only",
                field.comparator,
                "drop it: signatures tell the Jaccard similarity of the tokens",
            )
    yield from defence_mistakes(fields, other_names, mode, latent)
    yield from _shared_keys(fields)
    yield from _pattern_space(fields)
    if len(rules) > MAX_RULES:
        yield Mistake(("blocking",), f"at most {MAX_RULES} rules are possible", str(len(rules)), "drop or join some")
    by_name = {field.name: field for field in fields.values()}
    for position, rule in rules.items():
        yield from _one_kind(rule, ("blocking", position))
        yield from _keys(rule, ("blocking", position), by_name, other_names)
        yield from _signatures(rule, ("blocking", position), by_name, other_names)
        yield from split_mistakes(rule, ("blocking", position), by_name, mode)
        if mode == "trusted" and rule.keys == ():
            remedy = "give it keys, or link in mode open"
            yield Mistake(("blocking", position), "only rules with keys are possible in mode trusted", remedy=remedy)
    yield from _swaps(swaps, by_name, other_names, mode)
    yield from _repeated("variables", {i: variable.name for i, variable in variables.items()})
    yield from variable_mistakes(variables, frozenset(by_name), identifiers)
    if latent is not None:
        yield from latent_mistakes(latent, variables.values(), by_name, unsure or bool(other_names), mode)
    yield from _repeated_rules(rules)
    yield from padding_mistakes(padding, mode)
    if mode == "block_keyed":
        yield from block_keyed_mistakes(fields, rules, rules_elsewhere=rules_elsewhere)


def _repeated(section: str, names: Mapping[int, str]) -> Iterator[Mistake]:
    seen: dict[str, int] = {}
    for position, name in names.items():
        first = seen.setdefault(name.casefold(), position)
        if first != position:
            yield Mistake(
                (section, position, "name"),
                f"the name is taken by {section}[{first}]",
                shown(name),
                "names must differ by more than capitals",
            )


def _date_format(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    if field.kind == "date" and field.date is None:
        yield Mistake(
            (*path, "date"),
            "a date needs the order it is written in",
            "nothing",
            "write `date: {order: ymd}`, or dmy, or mdy; it is never guessed",
        )
    if field.kind != "date" and field.date is not None:
        yield Mistake((*path, "date"), "only a date has a date format", f"kind {field.kind}", "set `kind: date`")


def _columns(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    if field.column is not None and field.columns is not None:
        yield Mistake((*path, "columns"), "column and columns are both given", remedy="keep one of them")


def _cleaning(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    for step in field.clean:
        if step not in field.defaults.allowed:
            allowed = ", ".join(step for step in STEPS if step in field.defaults.allowed)
            yield Mistake((*path, "clean"), f"the step would spoil a {field.kind}", step, f"possible here: {allowed}")
    if field.stop_words and "stop_words" not in field.clean:
        yield Mistake(
            (*path, "stop_words"),
            "stop words are given but never dropped",
            f"clean without stop_words, {len(field.stop_words)} words",
            "add stop_words to clean",
        )


def _zeros(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    # After the zeros are gone a stop word could appear that was none before: cleaning twice would change more.
    if field.stop_words and "leading_zeros" in field.clean:
        remedy = "drop one of them: zeros are dropped from codes, stop words from texts"
        yield Mistake((*path, "clean"), "stop words and leading_zeros do not go together", remedy=remedy)


def _tokens(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    if field.tokens == "date_parts" and field.kind != "date":
        yield Mistake((*path, "tokens"), "only a date has date_parts", f"kind {field.kind}", "choose other tokens")


def _levels(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    bounds = field.bounds
    if any(low >= high for low, high in pairwise(bounds)):
        yield Mistake(
            (*path, "levels"),
            "the upper bounds must ascend",
            ", ".join(f"{bound:g}" for bound in bounds),
            "sort them, each once",
        )
    elif bounds[-1] != 1:
        yield Mistake(
            (*path, "levels"), "the last upper bound must be 1, which is equality", f"{bounds[-1]:g}", "add 1"
        )


def _categorisation(field: FieldSpec, path: Path) -> Iterator[Mistake]:
    if not field.categorisation:
        return
    path = (*path, "categorisation")
    if field.kind != "category":
        yield Mistake(path, "only categories are harmonised", f"kind {field.kind}", "set `kind: category`")
    elif field.clean != field.defaults.clean or field.stop_words:
        remedy = "drop `clean` and `stop_words`"
        yield Mistake(path, "values that the table names need no other cleaning", remedy=remedy)
    codes = frozenset(map(folded_label, field.missing_codes))
    yield from categorisation_mistakes(field.categorisation, tuple(Side), codes, path)


_FIELD_CHECKS: tuple[Callable[[FieldSpec, Path], Iterator[Mistake]], ...] = (
    _columns,
    _date_format,
    _cleaning,
    _zeros,
    _tokens,
    _levels,
    _categorisation,
)


_SHARED = ("kind", "clean", "stop_words", "missing", "date", "tokens", "bits", "flip", "salt", "only_similar")


def _shared_keys(fields: Mapping[int, FieldSpec]) -> Iterator[Mistake]:
    # One key for two encodings would make equal values differ, and tell Carole more than either encoding alone.
    seen: dict[str, int] = {}
    for position, field in fields.items():
        first = fields[seen.setdefault(field.key_domain, position)]
        for attribute in _SHARED:
            mine, theirs = getattr(field, attribute), getattr(first, attribute)
            if mine != theirs:
                got = f"{shown(mine)} beside {shown(theirs)}" if isinstance(mine, str | int | float) else ""
                yield Mistake(
                    ("fields", position, "key_domain"),
                    f"{first.name} is of the same key domain but has other {attribute}",
                    got,
                    f"give both the same {attribute}, or each a key_domain of its own",
                )


def _pattern_space(fields: Mapping[int, FieldSpec]) -> Iterator[Mistake]:
    patterns = math.prod(
        (len(field.bounds) + 1) * (3 if field.missing_as == "level" else 1) for field in fields.values()
    )
    if patterns >= MAX_PATTERNS:
        yield Mistake(
            ("fields",),
            "there are more comparison patterns than fit into 64 bits",
            f"{patterns:.1e} from {len(fields)} fields",
            "compare fewer fields, or give some fewer levels (exact has two)",
        )


def _swaps(
    swaps: object, fields: Mapping[str, FieldSpec], other_names: frozenset[str], mode: object
) -> Iterator[Mistake]:
    seen: set[str] = set()
    for position, swap in enumerate(swaps if isinstance(swaps, list | tuple) else ()):
        path: Path = ("swaps", position)
        if not isinstance(swap, list | tuple) or len(swap) != 2 or not all(isinstance(name, str) for name in swap):
            continue  # Its type is wrong, which is told elsewhere.
        if mode == "trusted":
            yield Mistake(path, "values can be exchanged in mode open only", remedy="drop the swaps")
        for name in swap:
            if name not in fields and name not in other_names:
                yield Mistake(path, "no compared field has this name", shown(name), nearest(str(name), fields))
            if name in seen:
                yield Mistake(path, "a field can be exchanged with one other only", shown(name), "drop one of them")
            seen.add(str(name))
        first, second = (fields.get(str(name)) for name in swap)
        if first is not None and second is not None and first.key_domain != second.key_domain:
            yield Mistake(
                path,
                "fields that may be exchanged must share a key domain",
                f"{first.key_domain} and {second.key_domain}",
                f"give both `key_domain: {first.key_domain}`",
            )


def _one_kind(rule: BlockingRule, path: Path) -> Iterator[Mistake]:
    kinds = [kind for kind in RULE_KINDS if getattr(rule, kind)]
    if not kinds:
        remedy = "list one to eight keys, such as `[{field: surname, prefix: 3}]`, or give lsh, canopies or similar"
        yield Mistake((*path, "keys"), "has too few entries", remedy=remedy)
    if len(kinds) > 1:
        what = f"a rule is exactly one of {', '.join(RULE_KINDS)}"
        yield Mistake(path, what, " and ".join(kinds), "make a rule of each")
    if rule.split is not None and not rule.keys:
        yield Mistake((*path, "split"), "only the blocks of keys can be split", remedy="drop it, or lower the limit")


def _signatures(
    rule: BlockingRule, path: Path, fields: Mapping[str, FieldSpec], other_names: frozenset[str]
) -> Iterator[Mistake]:
    """Mistakes in what a rule takes of signatures."""
    named: list[tuple[Path, str]] = [
        ((*path, kind, "field"), part.field) for kind in RULE_KINDS[1:] if (part := getattr(rule, kind)) is not None
    ]
    if rule.split is not None:
        named.append(((*path, "split"), rule.split))
    for here, name in named:
        if name not in fields and name not in other_names:
            yield Mistake(here, "no compared field has this name", shown(name), nearest(name, fields))
    if rule.lsh is not None and (field := fields.get(rule.lsh.field)) is not None:
        needed = rule.lsh.bands * rule.lsh.bits
        if needed > field.bits:
            yield Mistake(
                (*path, "lsh"),
                f"{rule.lsh.bands} bands of {rule.lsh.bits} bits need {needed} bits",
                f"{field.name} has {field.bits}",
                "use fewer bands, fewer bits in each, or longer signatures",
            )
    if rule.canopies is not None and rule.canopies.tight < rule.canopies.loose:
        yield Mistake(
            (*path, "canopies"),
            "tight must not be below loose",
            f"{rule.canopies.tight:g} and {rule.canopies.loose:g}",
            "exchange them",
        )


def _keys(
    rule: BlockingRule, path: Path, fields: Mapping[str, FieldSpec], other_names: frozenset[str]
) -> Iterator[Mistake]:
    for position, key in enumerate(rule.keys):
        here = (*path, "keys", position)
        if key in rule.keys[:position]:
            yield Mistake(here, "the key is in the rule already", remedy="drop it")
        field = fields.get(key.field)
        if field is not None:
            yield from key_mistakes(key, here, field)
        elif key.field not in other_names:
            remedy = nearest(key.field, fields)
            yield Mistake((*here, "field"), "no compared field has this name", shown(key.field), remedy)


def _repeated_rules(rules: Mapping[int, BlockingRule]) -> Iterator[Mistake]:
    seen: dict[object, int] = {}
    for position, rule in rules.items():
        first = seen.setdefault((frozenset(rule.keys), rule.lsh, rule.canopies, rule.similar), position)
        if first != position:
            yield Mistake(("blocking", position, "keys"), f"blocking[{first}] has the same keys", remedy="drop one")
