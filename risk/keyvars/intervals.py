"""Aggregation graphs of variables that are intervals of numbers, such as age, made from their categorisations alone.

A category is an interval from its lower bound to below its upper one. On the scale `interval` neighbours share a
bound: 0-16, 16-21, 21-infinity. On the scale `whole` the numbers are whole and both ends are in: 0-15, 16-20, 21+.
Either end of the range may be open. Which scale is meant is stated, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from gemel.common.errors import GemelError, parameter
from gemel.risk.keyvars.aggregation import AggregationGraph

Scale = Literal["nominal", "interval", "whole"]
SCALES: tuple[Scale, ...] = ("nominal", "interval", "whole")

Interval = tuple[Decimal, Decimal]
"""Lower bound, and upper bound, which is no longer in."""

INFINITY = Decimal("Infinity")
_NUMBER = r"(-?\d{1,15}(?:\.\d{1,9})?)"
_FORMS = (
    (re.compile(rf"{_NUMBER}\s*(?:-|–|to|,)\s*{_NUMBER}"), "between"),
    (re.compile(rf"{_NUMBER}\s*(?:\+|(?:-|–|to)\s*inf(?:inity)?|and over|and above|or more|or over)"), "from"),
    (re.compile(rf"(?:>=|≥)\s*{_NUMBER}"), "from"),
    (re.compile(rf"(?:<|under|below|less than|-inf(?:inity)?\s*(?:-|–|to)\s*)\s*{_NUMBER}"), "below"),
    (re.compile(rf"{_NUMBER}\s*(?:and under|and below|or less|or under)"), "up to"),
    (re.compile(_NUMBER), "one"),
)


def read_interval(label: str, scale: Scale) -> Interval:
    """The interval that a category's name states.

    Examples
    --------
    >>> read_interval("16-20", "whole"), read_interval("65 and over", "interval")
    ((Decimal('16'), Decimal('21')), (Decimal('65'), Decimal('Infinity')))
    """
    text = label.strip().casefold()
    for pattern, form in _FORMS:
        if (found := pattern.fullmatch(text)) is None:
            continue
        numbers = [Decimal(each) for each in found.groups()]
        interval = _bounds(form, numbers, scale)
        if interval is None or any(scale == "whole" and n != n.to_integral_value() for n in numbers):
            break
        if interval[0] >= interval[1]:
            raise parameter("", "an interval's bounds must ascend", repr(label))
        return interval
    remedy = "write 16-21 and 65-infinity on the scale interval; 16-20, 17 and 65+ on the scale whole"
    raise parameter("", f"not an interval on the scale {scale}", repr(label), remedy)


def extend(
    graph: AggregationGraph, categories: Sequence[str], scale: Scale
) -> tuple[AggregationGraph, tuple[str, ...]]:
    """The graph with a categorisation added: leaves divided at its bounds, its categories put together."""
    selected = {label: read_interval(label, scale) for label in categories}
    if len(selected) < len(categories):
        raise parameter("", "a category is named twice", f"{len(categories)} names, {len(selected)} distinct")
    _contiguous(selected, scale)
    if not graph.children:
        graph = graph.add_leaves(sorted(selected, key=selected.__getitem__))
        return graph, tuple(categories)
    known = {read_interval(name, scale): name for name in graph.children}
    _same_range(list(known), list(selected.values()), scale)
    labels = {interval: label for label, interval in selected.items() if interval not in known}
    bounds = sorted({bound for interval in selected.values() for bound in interval})
    for leaf in graph.leaves:
        low, high = read_interval(leaf, scale)
        inside = [low, *(bound for bound in bounds if low < bound < high), high]
        if len(inside) > 2:
            parts = {interval: labels.get(interval) or write_interval(interval, scale) for interval in pairwise(inside)}
            graph = graph.divide(leaf, list(parts.values()))
            known.update(parts)
    for interval, label in sorted(labels.items(), key=lambda item: item[0][1] - item[0][0]):
        if interval not in known:
            graph = graph.aggregate(label, _tiles(interval, known))
            known[interval] = label
    return graph, tuple(known[interval] for interval in selected.values())


def issues(graph: AggregationGraph, scale: Scale) -> Iterator[GemelError]:
    """Categories of a graph whose intervals are none, or differ from their parts' union; `where` is the category."""
    known: dict[str, Interval] = {}
    for name in graph.children:
        try:
            known[name] = read_interval(name, scale)
        except GemelError as error:
            yield GemelError(error.code, error.what, where=name, got=error.got, remedy=error.remedy)
    for name, parts in [*graph.children.items(), ("", graph.leaves)]:
        if not parts or not all(part in known for part in parts) or (name and name not in known):
            continue
        within = sorted(known[part] for part in parts)
        whole = known[name] if name else (within[0][0], within[-1][1])
        if (within[0][0], within[-1][1]) != whole or any(a[1] != b[0] for a, b in pairwise(within)):
            remedy = "on a scale of numbers the categories are made automatically: give only those that a form has"
            what = "the parts of an interval must join without gap or overlap to make it"
            got = ", ".join(write_interval(each, scale) for each in within)
            yield parameter(name or "the leaves", what, got, remedy)


def write_interval(interval: Interval, scale: Scale) -> str:
    """An interval's name, where none was given."""
    low, high = interval
    if scale == "whole":
        if high - low == 1:
            return f"{low:f}"
        if high == INFINITY:
            return f"{low:f}+"
        return f"under {high:f}" if low == -INFINITY else f"{low:f}-{high - 1:f}"
    if low == -INFINITY:
        return f"under {high:f}"
    return f"{low:f}-infinity" if high == INFINITY else f"{low:f}-{high:f}"


def _bounds(form: str, numbers: Sequence[Decimal], scale: Scale) -> Interval | None:
    after = Decimal(1 if scale == "whole" else 0)  # a whole number's upper end is in
    if form == "between":
        return numbers[0], numbers[1] + after
    if form == "from":
        return numbers[0], INFINITY
    if form == "below":
        return -INFINITY, numbers[0]
    if scale != "whole":
        return None
    return (-INFINITY if form == "up to" else numbers[0]), numbers[0] + after


def _contiguous(selected: Mapping[str, Interval], scale: Scale) -> None:
    for (a, (_, end)), (b, (start, _)) in pairwise(sorted(selected.items(), key=lambda item: item[1])):
        if start < end:
            got = f"both contain {write_interval((start, min(end, selected[b][1])), scale)}"
            remedy = "on the scale whole both ends are in; on the scale interval the upper one is not"
            raise parameter("", f"the categories {a!r} and {b!r} overlap", got, remedy)
        if start > end:
            what = "the categories are not exhaustive"
            remedy = "add a category; or if these are whole numbers with both ends in, choose the scale whole"
            raise parameter("", what, f"nothing from {end:f} to {start:f}, between {a!r} and {b!r}", remedy)


def _same_range(known: Sequence[Interval], selected: Sequence[Interval], scale: Scale) -> None:
    here = min(low for low, _ in known), max(high for _, high in known)
    there = min(low for low, _ in selected), max(high for _, high in selected)
    if here != there:
        lacking = [
            write_interval(gap, scale)
            for gap in ((here[0], there[0]), (there[1], here[1]))
            if gap[0] < gap[1] and gap != (-INFINITY, -INFINITY)
        ]
        what = f"the categories cover {_range(there)}, but those of the variable {_range(here)}"
        remedy = f"add {' and '.join(lacking)}" if lacking else "end both with the same or an open interval"
        raise parameter("", what, remedy=remedy)


def _range(interval: Interval) -> str:
    low, high = interval
    return f"{'everything' if low == -INFINITY else f'{low:f}'} to {'infinity' if high == INFINITY else f'{high:f}'}"


def _tiles(interval: Interval, known: Mapping[Interval, str]) -> list[str]:
    """The fewest known intervals that make up one, by the shortest path from bound to bound."""
    best: dict[Decimal, list[str]] = {interval[0]: []}
    for low, high in sorted(known, key=lambda each: each[1]):
        if interval[0] <= low and high <= interval[1] and low in best:
            path = [*best[low], known[low, high]]
            if high not in best or len(path) < len(best[high]):
                best[high] = path
    return best[interval[1]]
