"""What the attributes of a field must make together, and what compared fields must make beside each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from tryst.common.parties import Side
from tryst.common.specification.categorisation import categorisation_mistakes
from tryst.common.specification.defaults import MAX_PATTERNS, STEPS
from tryst.common.specification.fields import FieldSpec
from tryst.common.specification.mistakes import Mistake, Path, nearest, shown
from tryst.common.specification.randomised_response import flip_mistakes
from tryst.common.specification.section import folded_label

_SHARED = ("kind", "clean", "stop_words", "missing", "date", "tokens", "bits", "flip", "salt", "only_similar")
"""What fields of one key domain must have in common."""


def field_mistakes(field: FieldSpec, path: Path, mode: object) -> Iterator[Mistake]:
    """Mistakes of one field by itself, under a mode."""
    for check in _FIELD_CHECKS:
        yield from check(field, path)
    if field.flip:
        yield from flip_mistakes(field, path, mode)
    if mode in ("open", "block_keyed") and field.comparator is not None:
        yield Mistake(
            (*path, "comparator"),
            "values can be compared in mode trusted only",
            field.comparator,
            "drop it: signatures tell the Jaccard similarity of the tokens",
        )


def key_domain_mistakes(fields: Mapping[int, FieldSpec]) -> Iterator[Mistake]:
    """Fields of one key domain that are encoded differently."""
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


def pattern_mistakes(fields: Mapping[int, FieldSpec]) -> Iterator[Mistake]:
    """More comparison patterns than can be told apart."""
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


def swap_mistakes(
    swaps: object, fields: Mapping[str, FieldSpec], other_names: frozenset[str], mode: object
) -> Iterator[Mistake]:
    """Exchanges of fields that do not exist, or that cannot be compared."""
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
