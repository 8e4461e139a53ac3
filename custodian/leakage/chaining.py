"""Equality chaining: what happens when rows of one rule can be recognised as rows of another.

Under block keys a value has another signature in every block. Where a row under one rule is known to be a row under
another, its signatures there are of the same value; chained from block to block, they rebuild the classes of equal
values of the whole file, with their counts, and with similarities wherever two classes meet in a block. So rows have
a pseudonym of each rule's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from gemel.common.signatures import SignatureSet
from gemel.custodian.leakage.frequency import OVERDISPERSION, count_fit
from gemel.custodian.leakage.mean_field import mean_field
from gemel.custodian.leakage.public import PublicValues
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.similarity_graph import SLACK
from gemel.custodian.leakage.view import FieldView, value_counts

CLASSES = 2000
"""Largest classes that are aligned by their similarities."""

_CORE = 250
_POOL = 6


@dataclass(frozen=True)
class Classes:
    """Signatures of one field known to be of equal values.

    Attributes
    ----------
    of : list of ndarray of int64
        By set, the class of each signature.
    counts : ndarray of int64, shape (n_classes,)
        Rows of each class under the rule that shows most of them.
    """

    of: list[NDArray[np.int64]]
    counts: NDArray[np.int64]


Joins = NDArray[np.int64]
"""Shape (n, 2): pairs of signatures of equal value, numbered through all sets."""


def offsets(sets: Sequence[SignatureSet], field: str) -> NDArray[np.int64]:
    """Number of the first signature of each set when those of all sets are numbered in order."""
    sizes = [part.fields[field].n_distinct for part in sets]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def value_classes(sets: Sequence[SignatureSet], field: str, joins: Joins) -> Classes:
    """Classes of signatures that the joins chain together."""
    first = offsets(sets, field)
    n = int(first[-1])
    graph = coo_matrix((np.ones(len(joins), dtype=np.int8), (joins[:, 0], joins[:, 1])), shape=(n, n))
    n_classes, labels = connected_components(graph, directed=False)
    of = [labels[first[i] : first[i + 1]].astype(np.int64) for i in range(len(sets))]
    counts = np.zeros(n_classes, dtype=np.int64)
    for part, classes in zip(sets, of, strict=True):
        rows = np.bincount(classes, weights=value_counts(part.fields[field]), minlength=n_classes)
        counts = np.maximum(counts, rows.astype(np.int64))
    return Classes(of, counts)


def chained_alignment(
    sets: Sequence[SignatureSet],
    field: str,
    classes: Classes,
    public: PublicValues,
    n_records: int,
    overdispersion: float = OVERDISPERSION,
) -> NDArray[np.int64]:
    """Public value of each class, from its count and from its similarities to the classes it meets in blocks.

    Parameters
    ----------
    n_records
        Records of the file, from which follows how often a public value is expected.

    Returns
    -------
    ndarray of int64, shape (n_classes,)
        ``UNKNOWN`` outside the `CLASSES` largest; where similarities leave it in doubt, by the rank of its count.
    """
    guesses = np.full(len(classes.counts), UNKNOWN, dtype=np.int64)
    largest = np.argsort(-classes.counts, kind="stable")[:CLASSES]
    if not len(largest):
        return guesses
    similar, times = _met(sets, field, classes, largest)
    bits = next(iter(sets)).fields[field].bits
    precision = np.where(times > 0, 1.0 / (1.0 / (bits * np.maximum(times, 1)) + SLACK), 0.0).astype(np.float32)
    expected = public.shares * n_records
    core = min(_CORE, len(largest))
    names = np.arange(min(len(public), _POOL * core))
    fit = count_fit(classes.counts[largest[:core]], expected[names], overdispersion).astype(np.float32)
    plain = public.similarity(names, names)
    probability = mean_field(fit, similar[:core, :core], precision[:core, :core], plain)
    held = np.full(len(largest), UNKNOWN, dtype=np.int64)
    held[:core] = probability.argmax(axis=1)
    sure = np.zeros(len(largest), dtype=bool)
    sure[:core] = probability.max(axis=1) > 0.5
    wide = np.arange(min(len(public), 3 * len(largest)))
    for _ in range(3):
        anchors = np.flatnonzero(sure & (held >= 0))
        if not len(anchors):
            break
        plain = public.similarity(held[anchors], wide)
        plain[np.arange(len(anchors)), held[anchors]] = 0.0
        weight = precision[:, anchors].copy()
        weight[anchors, np.arange(len(anchors))] = 0.0
        total = (weight * similar[:, anchors]) @ plain - 0.5 * weight @ plain**2
        total += count_fit(classes.counts[largest], expected[wide], overdispersion).astype(np.float32)
        ranked = np.partition(total, -2, axis=1)
        held, sure = total.argmax(axis=1), ranked[:, -1] - ranked[:, -2] > 3.0
    ranked_alike = np.arange(len(largest))
    guesses[largest] = np.where(sure, held, np.where(ranked_alike < len(public), ranked_alike, UNKNOWN))
    return guesses


def _met(
    sets: Sequence[SignatureSet], field: str, classes: Classes, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean similarity of every two chosen classes over the blocks where both are, and how many those are."""
    place = np.full(len(classes.counts), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    total = np.zeros((len(chosen), len(chosen)), dtype=np.float32)
    times = np.zeros_like(total)
    for part, of in zip(sets, classes.of, strict=True):
        held = part.fields[field]
        view = FieldView.of(held)
        block = np.zeros(held.n_distinct, dtype=np.uint64)
        here = held.codes >= 0
        block[held.codes[here]] = part.blocks[part.rule][here]
        some = np.flatnonzero(place[of] >= 0)
        some = some[np.argsort(block[some], kind="stable")]
        ends = np.flatnonzero(np.diff(block[some])) + 1
        for members in np.split(some, ends):
            if len(members) > 1:
                mine = place[of[members]]
                grid = np.ix_(mine, mine)
                total[grid] += view.similarity(members, members)
                times[grid] += 1
    return np.divide(total, times, out=np.zeros_like(total), where=times > 0), times
