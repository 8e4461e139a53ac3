"""The output bits of a batch of pairs, from the slices of their rows.

Three steps, each with all its circuits in step:

1. what is counted: disagreeing bits of each field, straight and crosswise; whether tags agree, and values are there;
2. what follows: which limits the counts keep, which fields are exchanged, whether an earlier rule has the pair;
3. what is hidden: levels where a value is missing or fields are exchanged, and all where an earlier rule has the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gemel.common.signatures.row_words import WORD_BITS, RowWords
from gemel.shared.gates.bit_slices import difference_slices, slices_of
from gemel.shared.gates.counting import AllOf, Circuit, all_ones, at_most, counted, less_than, lockstep
from gemel.shared.gates.gates import Pairs, Shared
from gemel.shared.gates.output_bits import COUNTED, Exchange, PairComparison


@dataclass(frozen=True)
class SlicedPairs:
    """Pairs of rows, of which slices are made where they are needed; n pairs are `words` words of a slice."""

    rows_a: Shared
    rows_b: Shared
    pair_a: Pairs
    pair_b: Pairs
    layout: RowWords

    @property
    def n(self) -> int:
        return len(self.pair_a)

    @property
    def words(self) -> int:
        return -(-self.n // WORD_BITS)

    def differences(self, field_a: str, field_b: str) -> Shared:
        """Disagreeing bits of a field of A and one of B; shape (shares, bits, words)."""
        return self._differences(self.layout.signature(field_a), self.layout.signature(field_b))

    def tag_differences(self, rule: str) -> Shared:
        """Disagreeing bits of a rule's tags; shape (shares, 64, words)."""
        word = self.layout.tag(rule)
        return self._differences(slice(word, word + 1), slice(word, word + 1))

    def presence(self, names: Sequence[str]) -> tuple[Shared, Shared]:
        """Presence bits of fields in A and in B; each of shape (shares, len(names), words)."""
        places = [WORD_BITS * word + bit for word, bit in map(self.layout.presence, names)]
        in_a, in_b = (
            slices_of(np.take(rows[:, :, : self.layout.presence_words], pairs, axis=1))[:, places]
            for rows, pairs in ((self.rows_a, self.pair_a), (self.rows_b, self.pair_b))
        )
        return in_a, in_b

    def _differences(self, words_a: slice, words_b: slice) -> Shared:
        return difference_slices(self.rows_a, self.rows_b, self.pair_a, self.pair_b, words_a, words_b)


def output_slices(pairs: SlicedPairs, comparison: PairComparison, ones: Shared, all_of: AllOf) -> Shared:
    """The output bits of some pairs, as slices of shape (shares, 64 * total_words, words).

    On plain rows, with ones and `and` of plain words, this is the definition of what shares are computed of.
    """
    shape = (len(ones), pairs.words)
    counts = _counts(pairs, comparison, ones, all_of)
    found = _found(counts, comparison, ones, shape, all_of)
    out = np.zeros((shape[0], WORD_BITS * comparison.output.total_words, shape[1]), dtype=np.uint64)
    every = np.broadcast_to(ones, shape) if found.counted is None else found.counted
    _set_known(out, comparison, every)
    _set_hidden(out, comparison, counts, found, ones, all_of)
    return out


@dataclass(frozen=True)
class _Counts:
    """Of each shared field, the check field last, its count and presence; of each exchange both crosswise counts."""

    straight: list[Shared]
    present: Shared
    crosswise: list[tuple[Shared, Shared]]
    tags: list[Shared]


@dataclass(frozen=True)
class _Found:
    """Which limits are kept, of fields and of exchanges; what no earlier rule has, None: everything."""

    levels: list[Shared]
    crosswise: list[tuple[Shared, Shared]]
    more_alike: list[Shared]
    counted: Shared | None


def _counts(pairs: SlicedPairs, comparison: PairComparison, ones: Shared, all_of: AllOf) -> _Counts:
    names = [field.name for field in comparison.shared]
    fields = comparison.fields
    two = [(fields[each.first].name, fields[each.second].name) for each in comparison.shared_exchanges]
    crossed = [each for first, second in two for each in ((first, second), (second, first))]
    circuits: list[Circuit[Shared]] = [counted(pairs.differences(name, name)) for name in names]
    circuits += [counted(pairs.differences(*each)) for each in crossed]
    circuits += [all_ones(pairs.tag_differences(rule) ^ ones[:, :, None]) for _, rule in comparison.other_rules]
    circuits.append(_product(*pairs.presence(names)))
    *results, present = lockstep(circuits, all_of)
    straight, rest = results[: len(names)], results[len(names) :]
    crosswise = list(zip(rest[0 : len(crossed) : 2], rest[1 : len(crossed) : 2], strict=True))
    return _Counts(straight, present, crosswise, rest[len(crossed) :])


def _found(counts: _Counts, comparison: PairComparison, ones: Shared, shape: tuple[int, int], all_of: AllOf) -> _Found:
    straight = zip(comparison.shared, counts.straight, strict=True)
    circuits: list[Circuit[Shared]] = [at_most(count, field.limits, ones) for field, count in straight]
    index = {place: k for k, place in enumerate(comparison.shared_fields)}
    for exchange, crosswise in zip(comparison.shared_exchanges, counts.crosswise, strict=True):
        circuits += [at_most(count, exchange.limits, ones) for count in crosswise]
        first, second = (counts.straight[index[field]] for field in (exchange.first, exchange.second))
        circuits.append(_sum_less(crosswise, (first, second), ones))
    tags = zip(counts.tags, comparison.other_rules, strict=True)
    earlier = [tag for tag, (rule, _) in tags if rule < comparison.own_place]
    if earlier:
        circuits.append(all_ones(np.stack(earlier, axis=1) ^ ones[:, :, None]))
    results = lockstep(circuits, all_of)
    n, k = len(comparison.shared), 3 * len(comparison.shared_exchanges)
    return _Found(
        results[:n],
        list(zip(results[n : n + k : 3], results[n + 1 : n + k : 3], strict=True)),
        results[n + 2 : n + k : 3],
        results[-1] if earlier else None,
    )


def _set_known(out: Shared, comparison: PairComparison, every: Shared) -> None:
    """The bits that do not depend on rows, but for `every`, the pairs that no earlier rule has."""
    output = comparison.output
    out[:, COUNTED] = every
    if comparison.rule is not None:
        out[:, output.rule(comparison.own_place)] = every
    for place, field in enumerate(comparison.fields):
        if field.content == "fixed":
            out[:, output.present(place)] = every
            out[:, output.levels(place)] = every[:, None]
    if comparison.check and comparison.check.content == "fixed":
        out[:, output.check : output.check + 2] = every[:, None]


def _set_hidden(
    out: Shared, comparison: PairComparison, counts: _Counts, found: _Found, ones: Shared, all_of: AllOf
) -> None:
    """The bits of shared fields, exchanges and other rules, which are 0 where they must not be seen."""
    output = comparison.output
    circuits: list[Circuit[list[Shared]]] = []
    places: list[list[int | slice]] = []
    index = {place: k for k, place in enumerate(comparison.shared_fields)}
    exchanged = {field for each in comparison.shared_exchanges for field in (each.first, each.second)}
    for place, k in index.items():
        if place not in exchanged:
            circuits.append(_hidden(counts.present[:, k], found.levels[k], found.counted))
            places.append([output.present(place), output.levels(place)])
    if len(comparison.shared) > len(index):
        circuits.append(_hidden(counts.present[:, -1], found.levels[-1], found.counted))
        places.append([output.check, slice(output.check + 1, output.check + 2)])
    for exchange, crosswise, more_alike in zip(
        comparison.shared_exchanges, found.crosswise, found.more_alike, strict=True
    ):
        two = [index[exchange.first], index[exchange.second]]
        levels = found.levels[two[0]], found.levels[two[1]]
        hiding = None if comparison.rule is None else ones
        present = counts.present[:, two]
        circuits.append(_exchanged(exchange, present, levels, crosswise, more_alike, found.counted, hiding))
        places.append([output.exchange(comparison.exchanges.index(exchange))])
        for field in (exchange.first, exchange.second):
            places[-1] += [output.present(field), output.levels(field)]
    if counts.tags:
        circuits.append(_masked_tags(np.stack(counts.tags, axis=1), found.counted))
        places.append([output.rule(place) for place, _ in comparison.other_rules])
    for result, where in zip(lockstep(circuits, all_of), places, strict=True):
        for slices, bits in zip(result, where, strict=True):
            out[:, bits] = slices


def _product(x: Shared, y: Shared) -> Circuit[Shared]:
    return (yield x, y)


def _masked(slices: Shared, mask: Shared) -> Circuit[Shared]:
    """Each slice of (shares, n, words) and the one of (shares, words); no gate where there are none."""
    if not slices.shape[1]:
        return slices
    return (yield slices, np.broadcast_to(mask[:, None], slices.shape))


def _masked_tags(tags: Shared, every: Shared | None) -> Circuit[list[Shared]]:
    kept = tags if every is None else (yield from _masked(tags, every))
    return [kept[:, k] for k in range(kept.shape[1])]


def _hidden(present: Shared, levels: Shared, every: Shared | None) -> Circuit[list[Shared]]:
    """Presence where a pair counts, and levels where values are present."""
    live = present if every is None else (yield from _masked(present[:, None], every))[:, 0]
    return [live, (yield from _masked(levels, live))]


def _sum_less(one: tuple[Shared, Shared], other: tuple[Shared, Shared], ones: Shared) -> Circuit[Shared]:
    """Whether the sum of two counts is less than that of two others."""
    sums = []
    for first, second in (one, other):
        shares, k, words = first.shape
        # Two bits of each weight, side by side.
        bits = np.stack((first, second), axis=2).reshape(shares, 2 * k, words)
        sums.append((yield from counted(bits, (2,) * k)))
    return (yield from less_than(sums[0], sums[1], ones))


def _exchanged(
    exchange: Exchange,
    present: Shared,
    levels: tuple[Shared, Shared],
    crosswise: tuple[Shared, Shared],
    more_alike: Shared,
    every: Shared | None,
    ones: Shared | None,
) -> Circuit[list[Shared]]:
    """Levels of an exchange, and presence and levels of its two fields, hidden where these are exchanged.

    Without `ones` they are not hidden: of the samples chance agreement is counted field by field. `present`: presence
    of both fields; `levels`, `crosswise`: which limits the straight and the crosswise counts keep; `more_alike`:
    Whether the crosswise counts are less than the straight ones together.
    """
    live = present if every is None else (yield from _masked(present, every))
    both = yield crosswise
    four = yield live[:, :1], live[:, 1:]
    where = yield four, more_alike[:, None]
    level = yield from _masked(both, where[:, 0])
    largest = int(np.argmax(exchange.limits))
    straight = live if ones is None else (yield from _masked(live, level[:, largest] ^ ones))
    first = yield from _masked(levels[0], straight[:, 0])
    second = yield from _masked(levels[1], straight[:, 1])
    return [level, live[:, 0], first, live[:, 1], second]
