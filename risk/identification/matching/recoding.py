"""Recodings of key variables: what is lost, what models give for the result, and for every merge of two groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.common.errors import parameter
from gemel.risk.arrays import Codes, Floats, Integers
from gemel.risk.identification.coding import Counts, tally
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, ModelMeasures, averaged, measures_of
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.graphs import Graph, mask_of
from gemel.risk.models.junction_trees import JunctionTree

# A recoding maps each variable's levels to groups; one group for all levels leaves the variable out. A fitted model
# needs no new search: the recoded variable is a function of the old one, so it joins the model as one more node, and
# the probability of a recoded combination is a marginal (T11 chapter 8).


@dataclass(frozen=True)
class Recoding:
    """For each key variable the group of each level, groups numbered from 0 in the order of their first levels."""

    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def none(cls, file: KeyFile) -> Recoding:
        return cls(tuple(tuple(range(n)) for n in file.levels))

    def merged(self, variable: int, first: int, second: int) -> Recoding:
        numbers = [first if g == second else g for g in self.groups[variable]]
        return self._with(variable, numbers)

    def without(self, variable: int) -> Recoding:
        return self._with(variable, [0] * len(self.groups[variable]))

    def _with(self, variable: int, numbers: Sequence[int]) -> Recoding:
        order = list(dict.fromkeys(numbers))
        own = tuple(order.index(g) for g in numbers)
        return Recoding((*self.groups[:variable], own, *self.groups[variable + 1 :]))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(max(own) + 1 for own in self.groups)

    def applied(self, codes: Codes) -> Codes:
        columns = [np.array(own, dtype=np.int32)[codes[:, q]] for q, own in enumerate(self.groups)]
        return np.stack(columns, axis=1)

    def loss(self, file: KeyFile) -> Floats:
        """Bits of information lost in each variable: the entropy of its levels given its groups, among the records."""
        lost = []
        for q, own in enumerate(self.groups):
            fine = np.bincount(file.codes[:, q], minlength=len(own)) / float(file.n_records)
            coarse = np.asarray(np.bincount(own, weights=fine), dtype=np.float64)
            lost.append(max(0.0, _entropy(fine) - _entropy(coarse)))
        return np.array(lost)

    def changes(self, file: KeyFile) -> Iterator[tuple[str, list[list[str]]]]:
        """Each variable that changes, with the labels of its groups of several levels; with none if it is left out."""
        for name, labels, own in zip(file.names, file.labels, self.groups, strict=True):
            members = [[labels[k] for k, g in enumerate(own) if g == group] for group in range(max(own) + 1)]
            if len(members) < len(labels):
                yield name, [group for group in members if 1 < len(group) < len(labels)]

    def described(self, file: KeyFile) -> list[str]:
        labels = dict(zip(file.names, file.labels, strict=True))
        return [
            f"{name}: merge {'; '.join(_span(group, labels[name]) for group in groups)}"
            if groups
            else f"leave out {name}"
            for name, groups in self.changes(file)
        ]


def _span(group: Sequence[str], labels: Sequence[str]) -> str:
    """A group of levels in words: neighbours as first to last."""
    first = labels.index(group[0])
    if len(group) > 2 and list(labels[first : first + len(group)]) == list(group):
        return f"{group[0]} to {group[-1]}"
    return " with ".join(group)


def _entropy(p: Floats) -> float:
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum())


@dataclass(frozen=True, eq=False)
class Recoded:
    """A file after recoding, as models see it.

    `cells` (int32, shape (n_cells, n_keys)): distinct combinations of groups; `counts` (int64, shape (n_cells,)): their
    sample counts; `probabilities` (float64, shape (n_models, n_cells)): under each model; `correct_match`,
    `population_unique`, `outside` (float64, shape (n_cells,)): as in `BayesianMatching`.
    """

    recoding: Recoding
    cells: Codes = field(repr=False)
    counts: Counts = field(repr=False)
    of_cell: Integers = field(repr=False)
    probabilities: Floats = field(repr=False)
    correct_match: Floats = field(repr=False)
    population_unique: Floats = field(repr=False)
    outside: Floats = field(repr=False)

    @property
    def measures(self) -> ModelMeasures:
        return measures_of(self.counts, self.correct_match, self.population_unique, self.outside)


class KnownProbabilities:
    """Probabilities of combinations of groups, each looked up once: a search needs most of them again at every step."""

    def __init__(self, matching: BayesianMatching) -> None:
        self._matching = matching
        self._numbers: list[dict[tuple[int, ...], int]] = [{} for _ in matching.file.names]
        self._place: dict[bytes, int] = {}
        self._known = np.zeros((len(matching.models.average.models), 1024))

    def of(self, recoding: Recoding, cells: Codes) -> Floats:
        width = 4 * cells.shape[1]
        columns = [self._identities(q, own)[cells[:, q]] for q, own in enumerate(recoding.groups)]
        text = np.stack(columns, axis=1).astype(np.int32).tobytes()
        keys = [text[i : i + width] for i in range(0, len(text), width)]
        new = {key: i for i, key in enumerate(keys) if key not in self._place}
        if new:
            found = probabilities(self._matching, recoding, cells[list(new.values())])
            start = len(self._place)
            while self._known.shape[1] < start + len(new):
                self._known = np.concatenate([self._known, np.zeros_like(self._known)], axis=1)
            self._known[:, start : start + len(new)] = found
            self._place.update(zip(new, range(start, start + len(new)), strict=True))
        return self._known[:, [self._place[key] for key in keys]]

    def _identities(self, q: int, own: tuple[int, ...]) -> NDArray[np.int32]:
        """A number for each group of a variable: the same for the same levels, whatever the recoding."""
        members: list[list[int]] = [[] for _ in range(max(own) + 1)]
        for level, group in enumerate(own):
            members[group].append(level)
        numbers = self._numbers[q]
        return np.array([numbers.setdefault(tuple(m), len(numbers)) for m in members], dtype=np.int32)


def recoded(matching: BayesianMatching, recoding: Recoding, known: KnownProbabilities | None = None) -> Recoded:
    """Pr(cm) and expected counts after a recoding, from the models fitted before it.

    `known` keeps probabilities from one call to the next.

    One pass of messages for each model, all combinations at once.
    """
    file = matching.file
    if tuple(len(own) for own in recoding.groups) != file.levels:
        raise parameter("recoding", "a recoding has a group for every level of every key variable")
    labels = [range(n) for n in recoding.sizes]
    cells, counts, of_cell = tally(recoding.applied(file.cells), [[""] * len(x) for x in labels], file.counts)
    found = (known or KnownProbabilities(matching)).of(recoding, cells)
    weights = matching.models.average.weights
    law = averaged(counts, list(found), weights, file.n_records, file.fraction)
    return Recoded(recoding, cells, counts, of_cell, found, *law)


def probabilities(matching: BayesianMatching, recoding: Recoding, cells: Codes) -> Floats:
    """Probability of each combination of groups under each model, shape (n_models, n_cells)."""
    kept = matching.file.varying
    groups = [recoding.groups[q] for q in kept]
    return np.stack([np.exp(_log_marginal(model, groups, cells[:, kept])) for model in matching.models.average.models])


def _log_marginal(model: FittedModel, groups: Sequence[tuple[int, ...]], cells: Codes) -> Floats:
    coarse = [v for v, own in enumerate(groups) if 1 < max(own) + 1 < len(own)]
    records = cells.copy()
    for v, own in enumerate(groups):
        if max(own) + 1 < len(own):
            records[:, v] = -1
    return _with_groups(model, coarse, groups).log_marginal(np.concatenate([records, cells[:, coarse]], axis=1))


def _with_groups(model: FittedModel, coarse: Sequence[int], groups: Sequence[tuple[int, ...]]) -> FittedModel:
    """The model with one more node for each variable in `coarse`: its group, which the level decides."""
    if not coarse:
        return model
    n = len(model.names)
    adjacency = [*model.graph.adjacency, *[0] * len(coarse)]
    extra = {}
    for i, v in enumerate(coarse, start=n):
        adjacency[v] |= 1 << i
        adjacency[i] |= 1 << v
        margin = next(f for f in model.cliques if v in f.variables).marginal([v])
        own = np.array(groups[v], dtype=np.int32)
        cells = np.concatenate([margin.cells, own[margin.cells]], axis=1)
        sizes = (model.levels[v], max(groups[v]) + 1)
        extra[1 << v | 1 << i] = Factor((v, i), sizes, cells, margin.values)
    held = {mask_of(factor.variables): factor for factor in model.cliques} | extra
    graph = Graph(tuple(adjacency), (*model.names, *(("group of", model.names[v]) for v in coarse)))
    tree = JunctionTree.of(graph)
    levels = (*model.levels, *(max(groups[v]) + 1 for v in coarse))
    return FittedModel(graph, levels, tree, tuple(held[c] for c in tree.cliques), model.estimate)


# `recoded` answers for one recoding. A search and the measures of categories need hundreds that each merge two groups
# of what there is; only the combinations with one of the two change, and a merged combination's probability is the
# sum of two.


@dataclass(frozen=True)
class Merge:
    variable: int
    first: int
    second: int
    measures: ModelMeasures


def candidate_pairs(sizes: Sequence[int], ordered: Sequence[bool], variable: int) -> list[tuple[int, int]]:
    """The groups of a variable that may be merged: neighbours where levels have an order, else any two."""
    n = sizes[variable]
    if ordered[variable]:
        return [(g, g + 1) for g in range(n - 1)]
    return [(g, h) for g in range(n) for h in range(g + 1, n)]


def merges(
    matching: BayesianMatching,
    now: Recoded,
    ordered: Sequence[bool],
    variables: Sequence[int] | None = None,
    known: KnownProbabilities | None = None,
) -> Iterator[Merge]:
    """All candidate merges of a recoded file, with the file measures after each.

    `known`: keeps probabilities from one call to the next.

    For a variable with G groups, G - 1 probabilities of each combination where any two may be merged, two where
    neighbours only.
    """
    known = known or KnownProbabilities(matching)
    sizes = now.recoding.sizes
    for q in range(len(sizes)) if variables is None else variables:
        pairs = candidate_pairs(sizes, ordered, q)
        if pairs:
            partner = _partners(known, now, q, pairs)
            for first, second in pairs:
                yield Merge(q, first, second, _merged(matching, now, q, first, second, partner))


def _partners(
    known: KnownProbabilities, now: Recoded, q: int, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Floats]:
    """For each ordered pair (g, h): the probabilities of g's combinations with h in g's place."""
    requested, spans, start = [], [], 0
    for g, h in [*pairs, *((h, g) for g, h in pairs)]:
        rows = now.cells[now.cells[:, q] == g].copy()
        rows[:, q] = h
        requested.append(rows)
        spans.append((g, h, start, start + len(rows)))
        start += len(rows)
    found = known.of(now.recoding, np.concatenate(requested))
    return {(g, h): found[:, a:b] for g, h, a, b in spans}


def _merged(
    matching: BayesianMatching, now: Recoded, q: int, first: int, second: int, partner: dict[tuple[int, int], Floats]
) -> ModelMeasures:
    one = np.flatnonzero(now.cells[:, q] == first)
    two = np.flatnonzero(now.cells[:, q] == second)
    rows = now.cells[np.concatenate([one, two])].copy()
    rows[:, q] = 0
    counts = now.counts[np.concatenate([one, two])]
    # What a combination has after the merge, its own probability and its partner's, is the same from either side.
    p = np.concatenate(
        [now.probabilities[:, one] + partner[first, second], now.probabilities[:, two] + partner[second, first]], axis=1
    )
    at, which = distinct_rows(rows, now.recoding.sizes)
    joined = np.bincount(which, weights=counts, minlength=len(at)).astype(np.int64)
    file = matching.file
    weights = matching.models.average.weights
    changed = averaged(joined, list(p[:, at]), weights, file.n_records, file.fraction)
    rest = np.ones(len(now.counts), dtype=bool)
    rest[one] = rest[two] = False
    kept = (now.correct_match[rest], now.population_unique[rest], now.outside[rest])
    return measures_of(
        np.concatenate([now.counts[rest], joined]),
        *(np.concatenate([a, b]) for a, b in zip(kept, changed, strict=True)),
    )


def ordered_variables(labels: Sequence[Sequence[str]]) -> tuple[bool, ...]:
    """A guess at which variables have an order: those with more than two levels, all whole numbers but missing ones.

    A guess only: numbered categories look the same.
    """
    return tuple(len(own) > 2 and sum(_is_number(x) for x in own) >= len(own) - 1 for own in labels)


def _is_number(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True
