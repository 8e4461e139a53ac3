"""The effect of merging two groups of one variable, for all candidates at once.

`recoded` answers for one recoding. A search and the measures of categories need hundreds that each merge two
groups of what there is; only the combinations with one of the two change, and a merged combination's probability is the
sum of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.matching.bayesian_matching import BayesianMatching, ModelMeasures, averaged, measures_of
from gemel.risk.identification.matching.recoding import KnownProbabilities, Recoded, Recoding
from gemel.risk.models.counts import distinct_rows


@dataclass(frozen=True)
class Merge:
    """Two groups of one variable merged, and the file measures after it."""

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

    Parameters
    ----------
    known
        Keeps probabilities from one call to the next.

    Notes
    -----
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
) -> dict[tuple[int, int], NDArray[np.float64]]:
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
    matching: BayesianMatching,
    now: Recoded,
    q: int,
    first: int,
    second: int,
    partner: dict[tuple[int, int], NDArray[np.float64]],
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


def apply(now: Recoding, merge: Merge) -> Recoding:
    """The recoding after a merge."""
    return now.merged(merge.variable, merge.first, merge.second)


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
