"""The rules that choose the pairs to compare (keys, bands, canopies, similar values), and mistakes in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from tryst.common.specification.fields import FieldSpec
from tryst.common.specification.mistakes import Mistake, Path, nearest, shown
from tryst.common.specification.parts import BlockingKey, key_mistakes
from tryst.common.specification.randomised_response import split_mistakes
from tryst.common.specification.section import Name, Section

RULE_KINDS = ("keys", "lsh", "canopies", "similar")
"""What a blocking rule is made of: one of these."""


class Bands(Section):
    """Locality-sensitive hashing: rows whose signatures of a field agree in all bits of at least one band."""

    field: Name
    """The field."""
    bands: int = Field(default=20, ge=1, le=256)
    """How many bands; more of them lose fewer similar pairs."""
    bits: int = Field(default=16, ge=1, le=63)
    """Bits of a band; more of them let fewer chance pairs through. Values of similarity J (the share of bigrams in
    common) share one of b bands of r bits with probability 1 - (1 - ((1 + J)/2)^r)^b: with 20 bands of 16 bits
    nearly 1 at J = .9, .99 at .8, .43 at .6, .07 at .4, .0003 at 0. Where the field has `flip: f`, (1 - 2f)^2 J stands
    for J. bands times bits must fit into the field's bits."""

    def chance(self, jaccard: float, flip: float = 0.0) -> float:
        """Probability that two values of a similarity share a band, if each bit is flipped with probability `flip`."""
        return float(1 - (1 - ((1 + (1 - 2 * flip) ** 2 * jaccard) / 2) ** self.bits) ** self.bands)


class Canopies(Section):
    """Canopies: values picked at random and what is similar to them; rows whose values lie in a common canopy."""

    field: Name
    """The field."""
    loose: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)
    """Values at least as similar to a picked one, as estimated from the signatures, belong to its canopy."""
    tight: float = Field(default=0.8, gt=0, le=1, allow_inf_nan=False)
    """Values at least as similar are picked no more. Not below `loose`."""


class SimilarValues(Section):
    """All rows whose values of a field are similar, found exactly by a multibit tree."""

    field: Name
    """The field."""
    least: float = Field(default=0.7, gt=0, le=1, allow_inf_nan=False)
    """Least similarity, as estimated from the signatures."""


class BlockingRule(Section):
    """Two rows are compared when they satisfy at least one rule. A rule is one of keys, lsh, canopies and similar; the
    custodians make the keys, Carole the others by herself from the signatures."""

    name: Name
    """What the rule is called on every screen."""
    keys: tuple[BlockingKey, ...] = Field(default=(), strict=False, max_length=8)
    """What rows must agree on."""
    lsh: Bands | None = None
    """Bands of signature bits, one of which rows must agree on."""
    canopies: Canopies | None = None
    """Canopies of a field's values, one of which rows must share."""
    similar: SimilarValues | None = None
    """How similar two rows must be in a field."""
    limit: int = Field(default=100_000_000, ge=1)
    """Most pairs of one block. A larger one is split or left to the other rules, and a warning tells its size."""
    split: Name | None = None
    """Field by whose equality blocks above the limit are split, for rules with keys. Default: they are not. In mode
    block_keyed it splits every block, so that nobody need be told which are large."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields it is made of, each once."""
        named = [key.field for key in self.keys]
        named += [part.field for part in (self.lsh, self.canopies, self.similar) if part is not None]
        return tuple(dict.fromkeys([*named, *([self.split] if self.split else [])]))


def rule_mistakes(
    rule: BlockingRule, path: Path, fields: Mapping[str, FieldSpec], other_names: frozenset[str], mode: object
) -> Iterator[Mistake]:
    """Mistakes of one rule, under a mode.

    Parameters
    ----------
    rule, path
        The rule, and where it is.
    fields
        The compared fields by name.
    other_names
        Names of fields that are in the document but not in `fields`, because they have mistakes of their own.
    mode
        The specification's mode, where it is known.
    """
    yield from _one_kind(rule, path)
    yield from _keys(rule, path, fields, other_names)
    yield from _signatures(rule, path, fields, other_names)
    yield from split_mistakes(rule, path, fields, mode)
    if mode == "trusted" and rule.keys == ():
        remedy = "give it keys, or link in mode open"
        yield Mistake(path, "only rules with keys are possible in mode trusted", remedy=remedy)


def repeated_rules(rules: Mapping[int, BlockingRule]) -> Iterator[Mistake]:
    """Rules that choose the same pairs as an earlier one."""
    seen: dict[object, int] = {}
    for position, rule in rules.items():
        first = seen.setdefault((frozenset(rule.keys), rule.lsh, rule.canopies, rule.similar), position)
        if first != position:
            yield Mistake(("blocking", position, "keys"), f"blocking[{first}] has the same keys", remedy="drop one")


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
