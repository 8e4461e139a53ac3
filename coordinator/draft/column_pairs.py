"""Which columns of two files hold the same: by name, by meaning in several languages, as parts of one, by content.

In this order, and each column once. A pairing of columns with different names is a guess, and the draft states it.

By content: two files of different people share few whole values of an address and no order of the words of a name, but
they share words; and what a column holds shows in how often each word occurs. So columns are judged by the two
distributions' overlap, the sum of the smaller share of each word: 1 for the same column, near 0 for columns of another
meaning.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import polars as pl

from gemel.common.specification.model.column_words import PARTS, bare, meaning_of, part_of_date
from gemel.common.specification.model.defaults import Kind
from gemel.coordinator.draft.shared_columns import (
    hint_of,
    is_own_number,
    kind_of,
    shape_of,
)

MAX_ROWS = 50_000
"""Rows looked at for words, evenly spread over a file."""


def shares_value(alice: pl.Series, bob: pl.Series) -> bool:
    """Whether any value of one file is also in the other, but for case, punctuation and zeros in front."""
    ours, theirs = (_plain(text).unique() for text in (alice, bob))
    return bool(ours.is_in(theirs.implode()).any())


def overlap_of_values(alice: pl.Series, bob: pl.Series) -> float:
    """Overlap of the distributions of whole values, but for case, punctuation and zeros in front."""
    return _share_overlap(_plain(_some(alice)), _plain(_some(bob)))


def overlap_of_words(alice: pl.Series, bob: pl.Series) -> float:
    """Overlap of the distributions of words, whatever their order: `john smith` and `smith, john` have the same."""
    return _share_overlap(_words_of(_some(alice)), _words_of(_some(bob)))


def overlap_of_years(alice: pl.Series, bob: pl.Series) -> float:
    """Overlap of the distributions of the years of dates: a number of four digits, or the first four of eight."""
    return _share_overlap(*(_some(text).str.extract(r"(\d{4})(?:\d{4}|\D|$)").drop_nulls() for text in (alice, bob)))


def _some(text: pl.Series) -> pl.Series:
    return text.gather_every(max(1, len(text) // MAX_ROWS))


def _plain(text: pl.Series) -> pl.Series:
    plain = text.drop_nulls().str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}]", "").str.strip_chars_start("0")
    return plain.filter(plain != "")


def _words_of(text: pl.Series) -> pl.Series:
    words = text.drop_nulls().str.to_lowercase().str.extract_all(r"[\p{L}\p{M}\p{N}]+").explode()
    return words.drop_nulls()


def _share_overlap(ours: pl.Series, theirs: pl.Series) -> float:
    if ours.is_empty() or theirs.is_empty():
        return 0.0
    shares = [values.alias("value").value_counts(normalize=True).sort("value") for values in (ours, theirs)]
    both = shares[0].join(shares[1], on="value", how="inner", maintain_order="left")
    return float(both.select(pl.min_horizontal("proportion", "proportion_right").sum()).item())


# Columns of one file that belong together: a date's year, month and day; the parts of a name or an address.

_RANGES = {"year": (1850, 2100), "month": (1, 12), "day": (1, 31)}
_VALID = 0.95
"""Share of the values of a part that must lie in its range."""
WHOLES: dict[str, tuple[str, ...]] = {"full_name": ("given_name", "surname"), "address": ("house_number", "street")}
"""What one file may have in one column and the other in several, in the order in which they are joined."""


@dataclass(frozen=True)
class Composed:
    """Several columns of a file that are compared as one, in the order in which they are joined.

    `meaning` is ``birth`` or another date's name, or one such as ``full_name``. In `text` a date is ``YYYY-MM-DD``,
    null where a part is missing.
    """

    columns: tuple[str, ...]
    meaning: str
    text: pl.Series


def dates_in_parts(texts: Mapping[str, pl.Series | None]) -> list[Composed]:
    """The dates whose year, month and day are columns of their own, by the columns' names and checked by their values.

    A date of which a part is missing, or named twice, is none.
    """
    named: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for column, text in texts.items():
        found = part_of_date(column)
        if found is not None and text is not None and _is_part(text, found[0]):
            named[found[1]][found[0]].append(column)
    dates = []
    for date, parts in named.items():
        if all(len(parts[part]) == 1 for part in PARTS):
            columns = tuple(parts[part][0] for part in PARTS)
            dates.append(Composed(columns, date, _iso(*(texts[column] for column in columns))))
    return dates


def _is_part(text: pl.Series, part: str) -> bool:
    there = text.drop_nulls()
    low, high = _RANGES[part]
    numbers = there.cast(pl.Int64, strict=False)
    valid = int(numbers.is_between(low, high).sum())
    return valid > 0 and valid >= _VALID * len(there)


def _iso(*parts: pl.Series | None) -> pl.Series:
    numbers = [part.cast(pl.Int64, strict=False).cast(pl.String) for part in parts if part is not None]
    padded = [number.str.zfill(width) for number, width in zip(numbers, (4, 2, 2), strict=True)]
    return pl.select(pl.concat_str(*map(pl.lit, padded), separator="-")).to_series()


def wholes_of_parts(texts: Mapping[str, pl.Series | None]) -> Iterator[Composed]:
    """Names and addresses that a file has in several columns, each meaning found once."""
    by_meaning: dict[str, list[str]] = defaultdict(list)
    for column, text in texts.items():
        if text is not None:
            by_meaning[meaning_of(column)].append(column)
    for whole, parts in WHOLES.items():
        if all(len(by_meaning[part]) == 1 for part in parts):
            columns = tuple(by_meaning[part][0] for part in parts)
            joined = pl.DataFrame({str(place): texts[column] for place, column in enumerate(columns)})
            text = joined.select(pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)).to_series()
            yield Composed(columns, whole, text.set(text == "", None))


Texts = Mapping[str, pl.Series | None]
By = Literal["name", "meaning", "part", "parts", "content"]

_MIN_DISTINCT = 20
"""Columns of fewer different values are not paired by content: yes and no mean anything."""
_MIN_OVERLAP = {"date": 0.5, "code": 0.3, "name": 0.3, "text": 0.3}
_LONG_CODE, _MIN_OVERLAP_LONG = 5, 0.05
"""Codes this long hardly agree by chance, and are shared only by the people in common."""


@dataclass(frozen=True)
class Pair:
    """A column of Alice's, or several as one, and what of Bob's seems to hold the same."""

    alice: tuple[str, ...]
    bob: tuple[str, ...]
    alice_text: pl.Series | None = field(repr=False)
    bob_text: pl.Series | None = field(repr=False)
    by: By = "name"
    overlap: float = 0.0
    """Of the two distributions, where the pair was found by content."""
    meaning: str = ""
    """Of parts of a date: its name, ``birth`` of the date of birth; also where they are composed as one, or one of
    `WHOLES`."""

    @property
    def labels(self) -> tuple[str, str]:
        return " + ".join(self.alice), " + ".join(self.bob)


def pair_columns(alice: Texts, bob: Texts) -> list[Pair]:
    """Columns that hold the same, in Alice's order; a name that one file has twice is left out.

    Content is looked at where names leave columns of both files over: one overlap per two such columns of a kind.
    """
    ours, theirs = dict(alice), dict(bob)
    found: list[Pair] = []
    for step in (_same_names, _dates, _same_meanings, _wholes, _same_content):
        for pair in step(ours, theirs):
            found.append(pair)
            for columns, texts in ((pair.alice, ours), (pair.bob, theirs)):
                for column in columns:
                    del texts[column]
    order = list(alice)
    return sorted(found, key=lambda pair: order.index(pair.alice[0]))


def _same_names(alice: Texts, bob: Texts) -> list[Pair]:
    ours, theirs = _by(bare, alice), _by(bare, bob)
    # Parts of a date that both files have are paired as parts, by what they mean.
    parts = [{c for date in dates_in_parts(texts) for c in date.columns} for texts in (alice, bob)]
    return [
        _pair(alice, column, bob, theirs[name], "name")
        for name, column in ours.items()
        if name in theirs and not (column in parts[0] and theirs[name] in parts[1])
    ]


def _same_meanings(alice: Texts, bob: Texts) -> list[Pair]:
    ours, theirs = _by(meaning_of, alice), _by(meaning_of, bob)
    return [
        _pair(alice, column, bob, theirs[meaning], "meaning") for meaning, column in ours.items() if meaning in theirs
    ]


def _dates(alice: Texts, bob: Texts) -> list[Pair]:
    ours, theirs = dates_in_parts(alice), dates_in_parts(bob)
    whole = {"alice": _whole_dates(alice), "bob": _whole_dates(bob)}
    pairs: list[Pair] = []
    # Dates that are named come first, lest one without a name takes their column.
    for date in sorted(ours, key=lambda date: not date.meaning):
        taken = {column for pair in pairs for column in pair.bob}
        other = _same_date(date, theirs, taken) or _same_date(date, whole["bob"], taken)
        if other is not None and len(other.columns) == len(PARTS):
            # Apart: an error in one of three leaves the other two as evidence.
            meaning = date.meaning or other.meaning
            parts = zip(date.columns, other.columns, strict=True)
            pairs += [replace(_pair(alice, a, bob, b, "part"), meaning=meaning) for a, b in parts]
        elif other is not None:
            pairs.append(_composed(date, other))
    for date in sorted(theirs, key=lambda date: not date.meaning):
        if any(pair.bob[0] in date.columns for pair in pairs):
            continue
        one = _same_date(date, whole["alice"], {column for pair in pairs for column in pair.alice})
        if one is not None:
            pairs.append(_composed(one, date))
    return pairs


def _whole_dates(texts: Texts) -> list[Composed]:
    """The columns of whole dates; named are those of birth, no other date being so sure by its name."""
    return [
        Composed((column,), "birth" if meaning_of(column) == "birth_date" else "", text)
        for column, text in texts.items()
        if text is not None and kind_of("", shape := shape_of(text), shape)[0] == "date"
    ]


def _same_date(date: Composed, others: Sequence[Composed], taken: Collection[str]) -> Composed | None:
    """The one date of the other file of the same name, or, where one of the two has none, of the same years."""
    free = [other for other in others if not set(other.columns) & set(taken)]
    named = [other for other in free if other.meaning == date.meaning != ""]
    alike = [
        other
        for other in free
        if "" in (other.meaning, date.meaning) and overlap_of_years(date.text, other.text) >= _MIN_OVERLAP["date"]
    ]
    found = named or alike
    return found[0] if len(found) == 1 else None


def _wholes(alice: Texts, bob: Texts) -> list[Pair]:
    pairs = []
    for one, other, turned in ((alice, bob, False), (bob, alice, True)):
        named = _by(meaning_of, one)
        for parts in wholes_of_parts(other):
            text = one.get(named.get(parts.meaning, ""))
            if text is None or any(meaning in named for meaning in WHOLES[parts.meaning]):
                continue
            if overlap_of_words(text, parts.text) >= _MIN_OVERLAP["text"] and shape_of(text).words > 1.5:
                whole = Composed((named[parts.meaning],), parts.meaning, text)
                pairs.append(_composed(parts, whole) if turned else _composed(whole, parts))
    return pairs


@dataclass(frozen=True)
class _Distinctive:
    kind: Kind
    length: float
    text: pl.Series = field(repr=False)

    @property
    def min_overlap(self) -> float:
        is_long = self.kind == "code" and self.length > _LONG_CODE
        return _MIN_OVERLAP_LONG if is_long else _MIN_OVERLAP[self.kind]


def _same_content(alice: Texts, bob: Texts) -> list[Pair]:
    """Pairs each of which is the other's best."""
    ours, theirs = _distinctive(alice), _distinctive(bob)
    overlaps = {(a, b): _overlap(one, other) for a, one in ours.items() for b, other in theirs.items()}
    return [
        Pair((a,), (b,), ours[a].text, theirs[b].text, "content", overlap)
        for (a, b), overlap in overlaps.items()
        if overlap >= ours[a].min_overlap
        and all(overlap > other for (x, y), other in overlaps.items() if (x == a) != (y == b))
    ]


def _distinctive(texts: Texts) -> dict[str, _Distinctive]:
    found = {}
    for column, text in texts.items():
        if text is None or is_own_number(column):
            continue
        shape = shape_of(text)
        kind = kind_of(hint_of(column), shape, shape)[0]
        if kind in _MIN_OVERLAP and shape.distinct >= _MIN_DISTINCT and not (shape.unique and shape.running):
            found[column] = _Distinctive(kind, shape.length, text)
    return found


def _overlap(ours: _Distinctive, theirs: _Distinctive) -> float:
    """How much two columns hold of the same; nothing for columns of other kinds."""
    if ours.kind == theirs.kind == "date":
        return overlap_of_years(ours.text, theirs.text)
    if ours.kind == theirs.kind == "code":
        return overlap_of_values(ours.text, theirs.text)
    if {ours.kind, theirs.kind} <= {"name", "text"}:
        return overlap_of_words(ours.text, theirs.text)
    return 0.0


def _by(key: Callable[[str], str], columns: Collection[str]) -> dict[str, str]:
    """Columns by what `key` makes of their names, where that is something and no other column's."""
    counts = Counter(map(key, columns))
    return {key(column): column for column in columns if counts[key(column)] == 1 and key(column)}


def _pair(alice: Texts, ours: str, bob: Texts, theirs: str, by: By) -> Pair:
    return Pair((ours,), (theirs,), alice[ours], bob[theirs], by)


def _composed(alice: Composed, bob: Composed) -> Pair:
    return Pair(alice.columns, bob.columns, alice.text, bob.text, "parts", meaning=alice.meaning or bob.meaning)
