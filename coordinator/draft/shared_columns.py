"""What the columns of two files hold, judged from their names and values: of what kind they are.

Everything that leaves this module is a kind, a share or a count. No value does.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from gemel.common.specification import KINDS
from gemel.common.specification.model.column_words import HINTS, WORDS, bare, meaning_of, without_accents, words_of
from gemel.common.specification.model.defaults import DateOrder, Kind
from gemel.custodian.cleaning.definition import MAX_YEAR, clean_number, folded, parse_date

SAMPLE = 4_000
"""Distinct values looked at per column; the counts are of all rows."""
FEW = 30
"""Most values that a category may have, among them hold 95 % of its rows."""
NEARLY_EMPTY = 0.9
LONG = 120
_ONE_ORDER = 0.98
"""Share of the dates that one order reads, of those that two would, from which both files are read in one."""
_SOME = 0.02
"""Share of the dates with years of two digits, or of four, from which they count."""
ORDERS: tuple[DateOrder, ...] = ("ymd", "dmy", "mdy")

_CODES_MISSING = frozenset(folded(code) for code in KINDS["name"].missing) | {"", "na", "nan", "null", "none"}

_BY_MEANING = {
    **dict.fromkeys(("given_name", "surname", "middle_name", "maiden_name", "full_name"), "name"),
    **dict.fromkeys(("address", "street", "city", "email"), "text"),
    **dict.fromkeys(("postcode", "phone"), "code"),
    "birth_date": "date",
    "house_number": "number",
}


@dataclass(frozen=True)
class Shape:
    """What a column holds in one file, in counts and shares; of its values that are no missing-value codes."""

    rows: int
    present: int
    distinct: int
    concentrated: int
    """The fewest distinct values that cover 95 % of the rows with a value."""
    dates: dict[DateOrder, float]
    """Share of distinct values that are whole dates when read in each order."""
    numbers: float
    running: bool
    """Whether its values are whole numbers that leave few gaps, as a counter's."""
    leading_zeros: bool
    one_length: float
    """Share that has the commonest length."""
    with_digits: float
    words: float
    length: float
    """Mean number of words, of characters."""

    @property
    def filled(self) -> float:
        return self.present / self.rows if self.rows else 0.0

    @property
    def unique(self) -> bool:
        return self.rows > 1 and self.distinct == self.rows


def is_own_number(column: str) -> bool:
    """Whether a column's name is that of a file's own numbering (and not of a number that a person carries)."""
    words = words_of(column)
    return hint_of(column) != "shared_number" and bool(
        WORDS["own_numbers"] & {*words, bare(column)} or words[-1:] == ["id"]
    )


def is_number(column: str) -> bool:
    words = [without_accents(word) for word in words_of(column)]
    ends = {*words[:1], *words[-1:]}
    return bool(ends & WORDS["number_words"]) or "".join(words[-1:]).endswith(("nummer", "number", "nr"))


def hint_of(column: str) -> str:
    words = set(words_of(column)) | {bare(column)}
    if words & HINTS["shared_number"]:
        return "shared_number"
    if meant := _BY_MEANING.get(meaning_of(column)):
        return meant
    # A street number is a number, and a date of birth no date for its place.
    if words & WORDS["numbered"] and not words & {"phone", "telephone", "mobile"}:
        return "number"
    return next((hint for hint, known in HINTS.items() if words & known), "")


def text_of(column: pl.Series) -> pl.Series | None:
    """A column's values as text, null where there is none; None for a column that holds no single values."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return None
    if column.dtype.is_float():
        whole = column.drop_nulls().drop_nans()
        if bool((whole == whole.round()).all()):
            column = column.fill_nan(None).cast(pl.Int64, strict=False)
    text = column.cast(pl.String).str.strip_chars()
    return text.set(text.str.to_lowercase().is_in(sorted(_CODES_MISSING)), None)


def shape_of(text: pl.Series) -> Shape:
    """Counts and shares of a column's text."""
    counts = text.alias("value").drop_nulls().value_counts(name="n").sort("n", "value", descending=[True, False])
    present = int(counts["n"].sum())
    covered = counts["n"].cum_sum()
    every = max(1, counts.height // SAMPLE)
    values = [str(value) for value in counts["value"].gather_every(every)]
    n = max(1, len(values))
    lengths = Counter(map(len, values))
    return Shape(
        rows=len(text),
        present=present,
        distinct=counts.height,
        concentrated=int((covered < 0.95 * present).sum()) + 1 if present else 0,
        dates={order: sum(_is_whole_date(value, order) for value in values) / n for order in ORDERS},
        numbers=sum(clean_number(value) is not None for value in values) / n,
        running=_is_running(counts["value"]),
        leading_zeros=any(value[0] == "0" and value.isdigit() and len(value) > 1 for value in values),
        one_length=max(lengths.values(), default=0) / n,
        with_digits=sum(any(character.isdigit() for character in value) for value in values) / n,
        words=sum(len(value.split()) for value in values) / n,
        length=sum(map(len, values)) / n,
    )


def _is_running(values: pl.Series) -> bool:
    numbers = values.cast(pl.Int64, strict=False)
    if numbers.is_empty() or numbers.has_nulls():
        return False
    minimum, greatest = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    return greatest - minimum < 3 * len(numbers)


def _is_whole_date(value: str, order: DateOrder) -> bool:
    date = parse_date(value, order, MAX_YEAR)
    return date is not None and 0 not in date


def kind_of(hint: str, alice: Shape, bob: Shape) -> tuple[Kind, str]:
    """The kind that a column seems to be of, and the reason in words."""
    both = (alice, bob)
    if hint != "shared_number" and date_share(alice, bob) >= (0.5 if hint == "date" else 0.9):
        return "date", "most of its values are dates"
    if hint == "shared_number":
        return "code", "its name is that of a number people carry"
    if hint == "code":
        return "code", "its name is that of a code"
    if hint == "name":
        return "name", "its name is that of a person's name"
    if all(shape.concentrated <= min(FEW, shape.present / 5) for shape in both):
        maximum = max(shape.concentrated for shape in both)
        return "category", f"{maximum} value{'s' if maximum != 1 else ''} make up 95 % of its rows"
    if hint == "text":
        return "text", "its name is that of a text"
    if min(shape.numbers for shape in both) >= 0.95:
        zeros = any(shape.leading_zeros for shape in both)
        if hint != "number" and (zeros or all(s.one_length >= 0.95 and s.length > 2.5 for s in both)):
            return "code", "its values are digits, of one length or with zeros in front"
        return "number", "its values are numbers"
    if max(shape.words for shape in both) < 1.2 and min(shape.with_digits for shape in both) > 0.8:
        return "code", "its values are single words with digits"
    if max(shape.words for shape in both) < 1.5 and max(shape.with_digits for shape in both) < 0.05:
        return "name", "its values are mostly single words without digits"
    return "text", "its values are words, several or with digits"


def date_share(alice: Shape, bob: Shape) -> float:
    """Share of values that are dates in the order that suits each file best; the smaller of the two."""
    return min(max(alice.dates.values()), max(bob.dates.values()))


def date_orders(alice: Shape, bob: Shape) -> list[tuple[DateOrder, DateOrder]]:
    """The orders in which the files can be read, Alice's and Bob's, the best first; several when the values do not
    distinguish them. One for both, unless each reads clearly better in another."""
    scores = {order: min(alice.dates[order], bob.dates[order]) for order in ORDERS}
    best = max(scores.values())
    if best >= _ONE_ORDER * date_share(alice, bob):
        return [(order, order) for order in ORDERS if scores[order] >= best - 0.001]
    ours, theirs = ([o for o in ORDERS if s.dates[o] >= max(s.dates.values()) - 0.001] for s in (alice, bob))
    return [(a, b) for a in ours for b in theirs]


def latest_year(ours: pl.Series, theirs: pl.Series, orders: tuple[DateOrder, DateOrder]) -> tuple[int | None, bool]:
    """The latest year that dates may have, None where none needs one; and whether the values decide it.

    Years of two digits need one: that by which they are most like the years of four digits, or this year where there
    are few of these. Years to come need this year.
    """
    full: Counter[int] = Counter()
    short: Counter[int] = Counter()
    for text, order in zip((ours, theirs), orders, strict=True):
        for value in text.drop_nulls().gather_every(max(1, len(text) // SAMPLE)):
            if (date := parse_date(value, order)) is not None:
                full[date[0]] += 1
            elif (date := parse_date(value, order, MAX_YEAR)) is not None:
                short[date[0] % 100] += 1
    this = datetime.date.today().year
    if short.total() < _SOME * (full.total() + short.total()):
        return (this if sum(n for year, n in full.items() if year > this) >= _SOME * full.total() else None), True
    if full.total() < _SOME * short.total():
        return this, False
    known = sorted(full.elements())
    last = known[int(0.999 * (len(known) - 1))]
    # A year is like those of the decade around it: a file may be some years younger than the other.
    near = {year: sum(full[other] for other in range(year - 5, year + 6)) for year in range(last - 110, this + 1)}

    def alike(latest: int) -> float:
        return sum(n * math.log(1 + near.get(latest - (latest - year) % 100, 0)) for year, n in short.items())

    return max(range(min(last, this), this + 1), key=lambda latest: (alike(latest), latest)), True


def identifier_of(frame: pl.DataFrame, texts: dict[str, pl.Series | None]) -> str | None:
    """The column with the custodian's own identifier: unique, and named like one, like a number, or else the first."""
    unique = [c for c in frame.columns if (t := texts[c]) is not None and not t.has_nulls() and t.n_unique() == len(t)]
    named = [column for column in unique if is_own_number(column)]
    numbers = [column for column in unique if is_number(column) and hint_of(column) in ("number", "")]
    plain = [column for column in unique if not hint_of(column)]
    return next(iter(named + numbers + plain), None)


def field_name(column: str, taken: Iterable[str]) -> str:
    stem = "_".join(re.findall(r"[a-z0-9]+", "_".join(words_of(column))))[:56] or "field"
    stem = stem if stem[0].isalpha() else f"field_{stem}"
    used = {name.casefold() for name in taken}
    return next(name for n in range(1, 10_000) if (name := stem if n == 1 else f"{stem}_{n}") not in used)
