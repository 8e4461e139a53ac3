"""Blocking rules for a drafted specification, chosen by the imagined matches they find and the pairs they compare.

A rule is some keys of different fields: a value as a whole, the beginning of a name or a text, the year or the day of a
date. What compares too many pairs is joined with a further key: of each number of keys, what loses least for the pairs
it saves. Of all that compare few enough, the rule is taken that finds most of the imagined matches (`imagined_matches`)
that none finds yet, for its pairs; and so on until nearly all are found. What changes together is imagined together, so
that a second rule with fields of the household is worth little beside a first, and one without them much: the rules
stand a move, and a marriage.

Two rules on disjoint fields are always among them where there are any, since the matches that one finds are a sample
for the other; and one without what the household shares, one without the family's names.

Where values compare inside blocks only, a block made of the beginnings of names is large where the names are common,
and its size, counts and similarities show which. So there the beginnings are joined by something else than a name, and
names that block by themselves are two or more, as wholes; and no file may have large blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.common.specification import BlockingKey, BlockingRule, FieldSpec
from gemel.coordinator.draft.imagined_matches import ImaginedMatches, taken

PAIRS_PER_ROW = 10
"""A rule may compare so many pairs per row of the larger file, and all together twice as many, beside what is demanded
of them."""
MAX_RULES = 6
"""Rules, beside those that are demanded."""
MAX_KEYS = 8
"""A rule has no more keys."""
ENOUGH = 0.99
"""Share of the imagined matches that the rules are to find."""
LITTLE = 0.002
"""Share of the imagined matches for which a further rule is not worth its keys."""
PER_RULE = 5.0
"""What a rule costs besides its pairs, in pairs per row: its keys are made and sent for every row."""
TRIED = 40
"""Rules of each number of keys that are made narrower."""
BEGINNINGS: Mapping[str, int] = {"name": 3, "text": 4}
"""Characters that a rule uses of values of these kinds where not all."""
NARROWED = 0.3
"""Share of the limit above which a rule is tried with a further key too."""


@dataclass(frozen=True)
class Proposal:
    """A rule, and how many pairs it compares."""

    rule: BlockingRule
    pairs: int


def propose_rules(
    fields: Sequence[FieldSpec],
    alice: dict[str, pl.Series],
    bob: dict[str, pl.Series],
    *,
    block_keyed: bool = False,
    pairs_per_row: int = PAIRS_PER_ROW,
) -> list[Proposal]:
    """Blocking rules for two cleaned files, the one that finds most for its pairs first."""
    imagined = ImaginedMatches(fields, alice, bob)
    rows = max(imagined.sizes)
    limit = pairs_per_row * rows
    options, bare, others = _options(fields, imagined, pairs_per_row, block_keyed)
    chosen: list[tuple[_Option, Proposal]] = []

    def take(possible: list[_Option], least: float, most: int) -> bool:
        """Take the rule that finds most for its pairs, if it finds enough that no other does."""
        known = _union(chosen, imagined.count)
        while possible:
            gains = [float((option.found & ~known).mean()) for option in possible]
            worth = [gain / (option.pairs / rows + PER_RULE) for gain, option in zip(gains, possible, strict=True)]
            best = int(np.argmax(worth))
            if gains[best] < least:
                return False
            option = possible.pop(best)
            pairs = count_pairs(_rule(option.keys), alice, bob)
            if 0 < pairs <= limit and sum(proposal.pairs for _, proposal in chosen) + pairs <= most:
                chosen.append((option, Proposal(_rule(option.keys), pairs)))
                return True
        return False

    left = list(options)
    while len(chosen) < MAX_RULES and _union(chosen, imagined.count).mean() < ENOUGH:
        if not take(left, LITTLE, 2 * limit):
            break
    for met in _demands(fields):
        if chosen and not met([option for option, _ in chosen]):
            take([o for o in (*options, *bare) if met([*(each for each, _ in chosen), o])], 0.0, 3 * limit)
    asked = [met for met in _demands(fields) if met([option for option, _ in chosen])]
    for each in reversed(list(chosen)):
        rest = [other for other in chosen if other is not each]
        lost = (each[0].found & ~_union(rest, imagined.count)).mean()
        if lost < LITTLE / 2 and all(met([option for option, _ in rest]) for met in asked):
            chosen = rest
    if not chosen:
        counted = [Proposal(_rule(option.keys), count_pairs(_rule(option.keys), alice, bob)) for option in others]
        return sorted((p for p in counted if p.pairs), key=lambda proposal: proposal.pairs)[:1]
    return [proposal for _, proposal in chosen]


@dataclass(frozen=True)
class _Option:
    """Keys of a rule, and the narrower or wider ones they imply, with the sampled rows' values and the matches found.

    `pairs`: those that it compares in the whole files; `own`: per row, in the file that has more of them with itself.
    """

    keys: tuple[BlockingKey, ...]
    implied: frozenset[BlockingKey]
    codes: NDArray[np.int32]
    found: NDArray[np.bool_]
    pairs: float
    own: float

    @property
    def fields(self) -> set[str]:
        return {key.field for key in self.keys}


def _options(
    fields: Sequence[FieldSpec], imagined: ImaginedMatches, pairs_per_row: int, block_keyed: bool
) -> tuple[list[_Option], list[_Option], list[_Option]]:
    """The rules that compare few enough pairs, those among them that do not hide names, and the narrowest others."""
    kinds = {field.name: field for field in fields}
    rows, everything = max(imagined.sizes), float(np.prod(imagined.sizes))
    limit = pairs_per_row * rows

    def few(option: _Option, share: float = 1.0) -> bool:
        return option.pairs <= share * limit and not (block_keyed and option.own > pairs_per_row)

    def hidden(option: _Option) -> bool:
        return not block_keyed or _hides_names(option.keys, kinds)

    def loss(option: _Option) -> float:
        """Matches lost for pairs saved: of independent keys, joined ones have a mean of theirs."""
        return float(np.log(option.found.mean())) / min(-1e-9, float(np.log(option.pairs / everything)))

    parts = _atoms(fields)
    every = [key for keys in parts for key in keys]
    atoms = [atom for keys in parts if (atom := _option(imagined, keys, every)).found.any()]
    level, seen = atoms, {atom.implied for atom in atoms}
    good: list[_Option] = []
    bare: list[_Option] = []
    closed: list[frozenset[BlockingKey]] = []
    bad: list[_Option] = []
    for _ in range(MAX_KEYS):
        good += [option for option in level if few(option) and hidden(option)]
        bare += [o for o in level if few(o) and not hidden(o) and not any(key.prefix for key in o.keys)]
        closed += [option.implied for option in level if few(option, NARROWED) and hidden(option)]
        wide = [option for option in level if option.pairs and not (few(option, NARROWED) and hidden(option))]
        wide = sorted(wide, key=loss)[:TRIED]
        bad += [option for option in wide if hidden(option)]
        level = []
        for option in wide:
            for atom in atoms:
                implied = option.implied | atom.implied
                keys = len(option.keys) + len(atom.keys)
                if atom.fields & option.fields or implied in seen or keys > MAX_KEYS:
                    continue
                seen.add(implied)
                if not (option.found & atom.found).any() or any(known <= implied for known in closed):
                    continue
                level.append(_joined(imagined, option, atom))
    return good, bare, sorted(bad, key=lambda option: option.pairs)[:TRIED]


def _option(imagined: ImaginedMatches, keys: Sequence[BlockingKey], every: Sequence[BlockingKey]) -> _Option:
    """Keys of one field, of all the keys that there are."""
    each = []
    for key in keys:
        implied = frozenset(other for other in every if key.settles(other))
        each.append(_sized(imagined, (key,), implied, imagined.codes(key), imagined.agreeing(key)))
    return reduce(partial(_joined, imagined), each)


def _joined(imagined: ImaginedMatches, one: _Option, other: _Option) -> _Option:
    known = (one.codes >= 0) & (other.codes >= 0)
    codes = np.full(len(known), -1, dtype=np.int32)
    both = one.codes[known] * (np.int64(other.codes.max(initial=0)) + 1) + other.codes[known]
    codes[known] = np.unique(both, return_inverse=True)[1]
    return _sized(imagined, (*one.keys, *other.keys), one.implied | other.implied, codes, one.found & other.found)


def _sized(
    imagined: ImaginedMatches,
    keys: tuple[BlockingKey, ...],
    implied: frozenset[BlockingKey],
    codes: NDArray[np.int32],
    found: NDArray[np.bool_],
) -> _Option:
    n_a, values = imagined.sampled[0], int(codes.max(initial=0)) + 1
    counts = [np.bincount(side[side >= 0], minlength=values) for side in (codes[:n_a], codes[n_a:])]
    own = [
        # Without the largest block, which one person's copies or a placeholder may be.
        float(((each * (each - 1)).sum() - each.max() * (each.max() - 1)) * size / n**2)
        for each, size, n in zip(counts, imagined.sizes, imagined.sampled, strict=True)
    ]
    return _Option(keys, implied, codes, found, float(counts[0] @ counts[1]) / imagined.share, max(own))


def _atoms(fields: Sequence[FieldSpec]) -> list[tuple[BlockingKey, ...]]:
    """What rules are made of."""
    made: list[tuple[BlockingKey, ...]] = []
    for field in fields:
        made.append((BlockingKey(field=field.name),))
        if field.kind in BEGINNINGS:
            made.append((BlockingKey(field=field.name, prefix=BEGINNINGS[field.kind]),))
        if field.kind == "date":
            made.append((BlockingKey(field=field.name, part="year"),))
            made.append((BlockingKey(field=field.name, part="month"), BlockingKey(field=field.name, part="day")))
    return made


def _hides_names(keys: Sequence[BlockingKey], fields: Mapping[str, FieldSpec]) -> bool:
    """Whether a rule's blocks are no beginnings of names or texts, and no single name, unless something else divides
    them."""
    names = [key for key in keys if fields[key.field].kind in BEGINNINGS]
    others = [fields[key.field] for key in keys if key not in names]
    if not names or any(field.kind != "category" or field.describes == "birth" for field in others):
        return True
    return not any(key.prefix for key in names) and (len(names) > 1 or fields[names[0].field].kind == "text")


def _demands(fields: Sequence[FieldSpec]) -> list[Callable[[Sequence[_Option]], bool]]:
    """What is asked of rules together: one without the household, one without the family, and two disjoint ones."""
    of = {name: {field.name for field in fields if field.describes == name} for name in ("household", "family")}
    return [
        lambda rules: any(not rule.fields & of["household"] for rule in rules),
        lambda rules: any(not rule.fields & of["family"] for rule in rules),
        lambda rules: any(not one.fields & other.fields for one, other in combinations(rules, 2)),
    ]


def _union(chosen: Sequence[tuple[_Option, Proposal]], count: int) -> NDArray[np.bool_]:
    """The imagined matches that some rule finds."""
    found = np.zeros(count, dtype=np.bool_)
    for option, _ in chosen:
        found |= option.found
    return found


def is_within_any(proposal: Proposal, others: Sequence[Proposal]) -> bool:
    return any(_within(proposal.rule, other.rule) for other in others)


def _within(narrow: BlockingRule, wide: BlockingRule) -> bool:
    return all(any(mine.settles(key) for mine in narrow.keys) for key in wide.keys)


def count_pairs(rule: BlockingRule, alice: dict[str, pl.Series], bob: dict[str, pl.Series]) -> int:
    ours, theirs = _key_counts(rule, alice), _key_counts(rule, bob)
    joined = ours.join(theirs, on=[column for column in ours.columns if column != "n"], how="inner")
    return int((joined["n"] * joined["n_right"]).sum())


def _key_counts(rule: BlockingRule, values: Mapping[str, pl.Series]) -> pl.DataFrame:
    table = pl.DataFrame(key_columns(rule, values)).drop_nulls()
    return table.group_by(table.columns).agg(pl.len().cast(pl.Int64).alias("n"))


def key_columns(rule: BlockingRule, values: Mapping[str, pl.Series]) -> list[pl.Series]:
    """What each key of a rule takes of cleaned values; null where it takes nothing."""
    return [taken(key, values[key.field]).alias(f"key{place}") for place, key in enumerate(rule.keys)]


def _rule(keys: Sequence[BlockingKey]) -> BlockingRule:
    """A rule of some keys, named after them."""
    name = "-".join("_".join(str(p) for p in (k.field, k.part, k.prefix) if p is not None) for k in keys)
    if len(name) > 64:
        name = f"{name[:55]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return BlockingRule(name=name, keys=tuple(keys))
