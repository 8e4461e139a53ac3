r"""Similarity-graph alignment: signatures and public values matched so that counts and similarities agree.

No key, no known pair. Carole's signatures give her, for every two values of a field, an estimate of their similarity;
a public dictionary gives the same in clear. The assignment :math:`\pi` sought maximises

.. math:: \sum_i f(c_i, \lambda_{\pi(i)}) - \sum_{i<j} (a_{ij} - b_{\pi(i)\pi(j)})^2 / 2v

with counts c, expected counts :math:`\lambda`, similarities a and b, and the variance v of the estimate: a quadratic
assignment problem, solved in two steps.

`align_core` takes the commonest values. Every value holds a distribution over the dictionary, which is updated by the
mean field of the others' distributions (one matrix product), while the weight of the similarities rises from near
nothing: counts alone give roughly what is common, and what is roughly known of all separates each. Rows and columns are
balanced in between, since two signatures are never the same value.

`grow` then judges every value by its similarities to those already assigned, its anchors, in rounds that take in more
values each. An anchor is no witness for itself and does not hold its name against others, so that a wrong one can be
put right in the next round.

On 100,000 invented people the two recover nearly every surname, at any length of signature (``python -m benchmarks
leakage``). Published attacks on Bloom filters do the same with graph embeddings [1]_ [2]_.

References
----------
.. [1] Vidanage, Christen, Ranbaduge and Schnell, A graph matching attack on privacy-preserving record linkage, CIKM
   2020. doi:10.1145/3340531.3411931
.. [2] Schaefer, Armknecht and Heng, R+R: Revisiting graph matching attacks on privacy-preserving record linkage,
   ACSAC 2024. doi:10.1109/ACSAC63791.2024.00062
"""

from __future__ import annotations

import numba
import numpy as np

from gemel.common.arrays import F32, F64, I64
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.view import OVERDISPERSION, FieldView, PublicValues, count_fit

_LAST_STEPS = 3
_BALANCING = 8


def mean_field(
    fit: F32, similar: F32, precision: float | F32, plain: F32, weight: float = 0.005, growth: float = 1.15
) -> F32:
    r"""Distribution of each encoded value over names: float32, shape (..., n_values, n_names).

    `fit`, of that shape, is the log-likelihood of each value's own evidence, such as its count, under each name;
    `similar`, shape (..., n_values, n_values), and `plain`, shape (n_names, n_names), are estimated similarities of the
    values and those of the names, whose diagonals are not looked at; `precision` one over the variance of an estimate,
    or of each, 0 where it is not known. Rows sum to 1; columns to about 1 at most, since two values never have the same
    name. With distributions P the field of value i under name d is

    .. math:: \sum_j w_{ij} \sum_e P_{je} (a_{ij} b_{de} - b_{de}^2 / 2),

    the expected log-likelihood of its similarities up to a constant of i. Two matrix products a step, 20 to 40 steps.
    Several graphs of one size and the same names, along the leading axes, are matched at once: each by itself, in
    products large enough to be fast.
    """
    n_values, n_names = fit.shape[-2:]
    apart = 1 - np.eye(n_values, dtype=np.float32)
    plain = plain.copy()
    np.fill_diagonal(plain, 0.0)
    squared = plain**2
    pull = (np.asarray(precision, dtype=np.float32) * similar * apart).astype(np.float32)
    held = precision.astype(np.float32) * apart if isinstance(precision, np.ndarray) else None
    probability = _balanced(fit)
    last = 0
    while last < _LAST_STEPS:
        weight = min(1.0, weight * growth)
        last += weight == 1.0
        flat = probability.reshape(-1, n_names)
        field = pull @ (flat @ plain).reshape(fit.shape)
        expected = (flat @ squared).reshape(fit.shape)
        if held is None:
            field -= np.float32(0.5 * float(precision)) * (expected.sum(axis=-2, keepdims=True) - expected)
        else:
            field -= np.float32(0.5) * (held @ expected)
        probability = _balanced((fit + np.float32(weight) * field).astype(np.float32))
    return probability


def _balanced(fit: F32) -> F32:
    """Distributions of the rows, none of whose columns is assigned much more than once."""
    probability: F32 = np.exp(fit - fit.max(axis=-1, keepdims=True))
    for _ in range(_BALANCING):
        probability /= probability.sum(axis=-1, keepdims=True)
        probability /= np.maximum(probability.sum(axis=-2, keepdims=True), 1.0)
    probability /= probability.sum(axis=-1, keepdims=True)
    return probability


NO_RIVAL = 1e9
"""Margin of a row that has one column only."""


@numba.njit(cache=True, nogil=True)
def best_two(fit: F32) -> tuple[I64, F64]:
    """Largest entry's column of each row, the first of equal ones, and how far the second largest lies below."""
    n_rows, n_columns = fit.shape
    best = np.zeros(n_rows, dtype=np.int64)
    margin = np.full(n_rows, NO_RIVAL)
    for row in range(n_rows):
        first, second = fit[row, 0], np.float32(-np.inf)
        for column in range(1, n_columns):
            value = fit[row, column]
            if value > first:
                second = first
                first = value
                best[row] = column
            elif value > second:
                second = value
        if n_columns > 1:
            margin[row] = np.float64(first) - np.float64(second)
    return best, margin


CORES = ((200, 4, 0.002, 1.3), *((size, 6, 0.005, 1.15) for size in (250, 300, 350, 200)))
"""Attempts at the first step: values, public values for each, first weight of the similarities, its growth a step. From
the second on they are slower; each is made while those before it remain in doubt. With a few thousand records an
attempt finds nearly all or nothing, and an attacker sees which: another number of values is another start."""
ANCHORS = 1000
"""Most values by which others are judged."""
SLACK = 0.01
"""Added to the variance of a similarity: some anchors are wrong, and their errors are no normal noise."""
SURE = 0.9
"""Probability from which a value of the core becomes an anchor."""
MARGIN = 5.0
"""Log-likelihood by which a name must exceed the second best."""
FEWEST = 50
"""Anchors that are kept whatever their margin: with very few, the next round knows too little."""
_ROWS = 1000
_SETTLING = 4
_ROUNDS = (500, 2000, 5000)


def similarity_graph_alignment(view: FieldView, public: PublicValues, maximum: int | None = None) -> I64:
    """Align a field's signatures with a public dictionary, one to one: a public value of each, int64 (n_values,).

    Only the `maximum` commonest values are attacked, or all; ``UNKNOWN`` where nothing is claimed. Up to six seconds
    for the core, then O(n_values * n_public * `ANCHORS`) in matrix products of single precision: 22,000 surnames
    against 40,000 take 15 s on two cores.
    """
    order = view.commonest_first()[:maximum]
    if not len(order):
        return np.full(view.n_values, UNKNOWN, dtype=np.int64)
    return grown_alignment(view, public, order, *_core(view, order, public))


def grown_alignment(view: FieldView, public: PublicValues, order: I64, known: I64, named: I64) -> I64:
    """The alignment of the values in `order`, at least one, that grows from anchors in rounds, as `grow` has them.

    The first is made several times: it puts right most of what is wrong in the first anchors. A name that two
    signatures claim goes to the surer one. Names are claimed even where the margin is thin: an attacker has nothing to
    lose.
    """
    guesses = np.full(view.n_values, UNKNOWN, dtype=np.int64)
    sizes = [(size, min(len(public), 2 * size)) for size in _ROUNDS if size < len(order)] + [(len(order), len(public))]
    for rows, columns in [sizes[0]] * _SETTLING + sizes:
        attacked = order[:rows]
        best, margin = grow(view, attacked, public, np.arange(columns), known, named)
        surest_first = np.argsort(-margin, kind="stable")
        kept = surest_first[np.unique(best[surest_first], return_index=True)[1]]
        sure = kept[margin[kept] > MARGIN]
        if len(sure) < FEWEST:
            sure = kept[np.argsort(-margin[kept], kind="stable")][:FEWEST]
        chosen = np.sort(sure)[:ANCHORS]  # the commonest of the sure ones
        known, named = attacked[chosen], best[chosen]
    guesses[attacked[kept]] = best[kept]
    return guesses


def _core(view: FieldView, order: I64, public: PublicValues) -> tuple[I64, I64]:
    """The first anchors, and the public values they are taken for."""
    surest, found, tried = -1.0, (order[:0], order[:0]), set()
    for size, pool, weight, growth in CORES:
        first = order[:size]
        names = np.arange(min(len(public), pool * len(first)))
        if (start := (len(first), len(names), weight)) in tried:
            continue  # fewer values than it would take
        tried.add(start)
        probability = align_core(view, first, public, names, weight, growth)
        sure = probability.max(axis=1)
        if (mean := float(sure.mean())) > surest:
            chosen = sure >= min(SURE, float(np.median(sure)))
            surest, found = mean, (first[chosen], names[probability.argmax(axis=1)][chosen])
        if surest >= SURE:
            break
    return found


def align_core(view: FieldView, chosen: I64, public: PublicValues, names: I64, weight: float, growth: float) -> F32:
    """Distribution of each chosen signature over public values, by mean field: float32, shape (n_chosen, n_names)."""
    expected = public.shares[names] * view.counts.sum()
    fit = count_fit(view.counts[chosen], expected).astype(np.float32)
    similar, plain = view.similarity(chosen, chosen), public.similarity(names, names)
    return mean_field(fit, similar, 1.0 / (view.noise + SLACK), plain, weight, growth)


def grow(view: FieldView, rows: I64, public: PublicValues, names: I64, known: I64, named: I64) -> tuple[I64, F64]:
    """Best public value of each signature given anchors, and its log-likelihood above the second best; shape (n_rows,).

    `rows` and `names` are judged and considered; `known` and `named` are the anchors: signatures, and the public values
    they are taken for. All of it is one matrix product: the square of a difference of similarities is taken apart, the
    squares of the public ones are summed beforehand, and the count's fit is three columns more.
    """
    precision = 1.0 / (view.noise + SLACK)
    plain = public.similarity(named, names)
    column = {int(name): place for place, name in enumerate(names)}
    for anchor, name in enumerate(named):
        if int(name) in column:
            plain[anchor, column[int(name)]] = 0.0
    root = np.sqrt(public.shares[names] * view.counts.sum())
    weight = 4.0 / OVERDISPERSION
    right = np.empty((len(known) + 2, len(names)), dtype=np.float32)
    np.multiply(plain, np.float32(precision), out=right[:-2])
    right[-2] = weight * root
    right[-1] = -0.5 * precision * (plain**2).sum(axis=0) - 0.5 * weight * root**2
    place_of = {int(value): place for place, value in enumerate(known)}
    best = np.empty(len(rows), dtype=np.int64)
    margin = np.empty(len(rows))
    left = np.ones((_ROWS, len(known) + 2), dtype=np.float32)
    fit = np.empty((_ROWS, len(names)), dtype=np.float32)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        left[: len(part), :-2] = view.similarity(part, known)
        left[: len(part), -2] = np.sqrt(view.counts[part])
        own = [(row, place_of[int(value)]) for row, value in enumerate(part) if int(value) in place_of]
        for row, anchor in own:
            left[row, anchor] = 0.0
        found = np.matmul(left[: len(part)], right, out=fit[: len(part)])
        for row, anchor in own:
            found[row] += np.float32(0.5 * precision) * plain[anchor] ** 2
        stop = start + len(part)
        best[start:stop], margin[start:stop] = best_two(found)
    return names[best], margin
