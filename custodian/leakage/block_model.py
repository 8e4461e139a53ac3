"""Per-block likelihood: which public values explain a block's counts and similarities best.

Counts in a block of n rows are Poisson with means n times the public shares, similarities normal about the public ones,
and no two signatures of a block are the same value. `block_likelihood` takes the field to be independent of the
blocking key; `KeyLikelihood`, where the rule is made of the field itself, tries the keys that explain the block's size.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from gemel.common.arrays import F32, F64, I64
from gemel.custodian.leakage.block_view import BlockView
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.leakage.similarity_graph import SLACK, mean_field
from gemel.custodian.leakage.view import PublicValues

POOL = 400
"""Public values considered in a block, the commonest ones; in large blocks more."""
HYPOTHESES = 20
"""Keys tried for a block: those that explain its size best."""
_PER_VALUE = 3
_SIZES = 16
_CELLS = 1 << 19  # of single precision: they stay in the cache


def block_likelihood(blocks: BlockView, public: PublicValues, chosen: I64) -> I64:
    """Likeliest public value of each signature of the chosen blocks, each block by itself; ``UNKNOWN`` outside them.

    Of the public values the commonest `POOL` are considered, or three times a block's values; int64, shape (n_values,).
    A block of one signature is the commonest value, whatever its count: there is nothing else to go by.
    """
    guesses = np.full(blocks.view.n_values, UNKNOWN, dtype=np.int64)
    members = blocks.members()
    precision = 1.0 / (blocks.view.noise + SLACK)
    plain = np.empty((0, 0), dtype=np.float32)
    for n_values, alike in _by_number(members, chosen):
        if n_values == 1:
            guesses[np.concatenate([members[block] for block in alike])] = 0
            continue
        n_names = min(len(public), max(POOL, _PER_VALUE * n_values))
        if len(plain) != n_names:
            names = np.arange(n_names)
            plain = public.similarity(names, names)
        for some in _chunks(alike, n_values * n_names):
            values = np.stack([members[block] for block in some])
            fit = count_likelihood(blocks.view.counts[values], blocks.sizes[some, None] * public.shares[:n_names])
            similar = blocks.view.similarity_within(values)
            guesses[values] = mean_field(fit, similar, precision, plain, weight=0.02, growth=1.5).argmax(axis=-1)
    return guesses


def _by_number(members: list[I64], chosen: I64) -> Iterator[tuple[int, I64]]:
    """The chosen blocks by the number of their signatures, without those that have none."""
    numbers = np.array([len(members[block]) for block in chosen], dtype=np.int64)
    for number in np.unique(numbers[numbers > 0]).tolist():
        yield number, chosen[numbers == number]


def _chunks(blocks: I64, cells: int) -> Iterator[I64]:
    """Some blocks at a time, as many as stay in the cache when each has so many cells."""
    at_once = max(1, _CELLS // cells)
    for start in range(0, len(blocks), at_once):
        yield blocks[start : start + at_once]


def count_likelihood(counts: I64, expected: F64) -> F32:
    r"""Poisson log-likelihood :math:`c \log\lambda - \lambda` of counts, up to a constant of each count.

    Of counts (n_blocks, n_values) and expected ones (n_blocks, n_names): shape (n_blocks, n_values, n_names).
    """
    logarithm = np.log(expected)
    return (counts[:, :, None] * logarithm[:, None] - expected[:, None]).astype(np.float32)


class KeyLikelihood:
    """The attack on a field that is part of the blocking key.

    `key_of`, int64 of shape (n_public,): what the rule takes of each public value, as a number from 0; `others`, shape
    (n_others,): shares of what else is in the key, ``[1.0]`` if nothing is; `n_records`: records that are in blocks,
    which Carole knows; default: as many as the attacked blocks have rows.
    """

    def __init__(self, public: PublicValues, key_of: I64, others: F64, n_records: int | None = None) -> None:
        self._public = public
        self._n_records = n_records
        self._share = np.bincount(key_of, weights=public.shares)
        by_key = np.split(np.argsort(key_of, kind="stable"), np.cumsum(np.bincount(key_of))[:-1])
        self._names = [names[:POOL] for names in by_key]  # the commonest of each key
        self._all, self._key_of = np.concatenate(self._names), key_of
        self._others = others
        self._plain: dict[int, F32] = {}

    def __call__(self, blocks: BlockView, public: PublicValues, chosen: I64) -> I64:
        """Likeliest public values of the signatures of some blocks.

        The likelihood of a key is that of the block's size, Poisson about its expected one for each of the other parts,
        times that of the field at its best assignment within the key. For a block of one signature the names of all
        keys are weighed together. Where blocks are padded all sizes that a block may have had are as likely.
        """
        guesses = np.full(blocks.view.n_values, UNKNOWN, dtype=np.int64)
        members = blocks.members()
        precision = 1.0 / (blocks.view.noise + SLACK)
        minimum = blocks.sizes if blocks.minimum is None else blocks.minimum
        of_block = self._size_fits(blocks, chosen)
        singles: dict[tuple[int, int, int], int] = {}
        best = np.full(len(blocks.sizes), -np.inf)
        for n_values, alike in _by_number(members, chosen):
            if n_values == 1:
                for block in alike.tolist():
                    (value,) = members[block]
                    seen = int(minimum[block]), int(blocks.sizes[block]), int(blocks.view.counts[value])
                    if seen not in singles:
                        singles[seen] = self._one_value(of_block[block], seen[-1])
                    guesses[value] = singles[seen]
                continue
            tried = np.stack([np.argsort(-of_block[block], kind="stable")[:HYPOTHESES] for block in alike])
            for key in np.unique(tried).tolist():
                names, plain = self._names[key], self._plain_of(key)
                for some in _chunks(alike[(tried == key).any(axis=1)], n_values * len(names)):
                    values = np.stack([members[block] for block in some])
                    within = blocks.sizes[some, None] * public.shares[names] / self._share[key]
                    fit = count_likelihood(blocks.view.counts[values], within)
                    similar = blocks.view.similarity_within(values)
                    held = mean_field(fit, similar, precision, plain, weight=0.05, growth=2.0).argmax(axis=-1)
                    off = (similar - plain[held[:, :, None], held[:, None]]) * (1 - np.eye(n_values))
                    total = np.array([of_block[block][key] for block in some.tolist()])
                    total += np.take_along_axis(fit, held[:, :, None], axis=2).sum(axis=(1, 2))
                    total -= 0.25 * precision * (off**2).sum(axis=(1, 2))  # two of one name would agree wholly
                    better = total > best[some]
                    best[some[better]] = total[better]
                    guesses[values[better]] = names[held[better]]
        return guesses

    def by_sizes(self, blocks: BlockView, public: PublicValues, chosen: I64) -> I64:
        """The same by the sizes of blocks alone, all that mode shared shows: one value for all rows of a block."""
        guesses = np.full(blocks.view.n_values, UNKNOWN, dtype=np.int64)
        members, known = blocks.members(), dict[bytes, int]()
        for block, fit in self._size_fits(blocks, chosen).items():
            if (seen := fit.tobytes()) not in known:
                known[seen] = self._one_value(fit, 1)
            guesses[members[block]] = known[seen]
        return guesses

    def _size_fits(self, blocks: BlockView, chosen: I64) -> dict[int, F64]:
        """Of each chosen block the log-likelihood of each key by its size."""
        minimum = blocks.sizes if blocks.minimum is None else blocks.minimum
        n_records = (blocks.sizes + minimum).sum() / 2 if self._n_records is None else self._n_records
        rate = n_records * np.outer(self._share, self._others)
        ranges = np.stack([minimum, blocks.sizes], axis=1)[chosen]
        fits = {(low, high): _size_likelihood(low, high, rate) for low, high in np.unique(ranges, axis=0).tolist()}
        return dict(zip(chosen.tolist(), (fits[low, high] for low, high in ranges.tolist()), strict=True))

    def _one_value(self, size_fit: F64, count: int) -> int:
        names = self._all
        within = self._public.shares[names] / self._share[self._key_of[names]]
        return int(names[(size_fit[self._key_of[names]] + count * np.log(within)).argmax()])

    def _plain_of(self, key: int) -> F32:
        if key not in self._plain:
            self._plain[key] = self._public.similarity(self._names[key], self._names[key])
        return self._plain[key]


def _size_likelihood(minimum: int, maximum: int, rate: F64) -> F64:
    """Log-likelihood of each key, up to a constant, for a block of `minimum` to `maximum` records; rate of shape
    (n_keys, n_others). Of many possible sizes some are looked at."""
    logarithm = np.log(np.maximum(rate, 1e-300))
    found = np.full(len(rate), -np.inf)
    for size in np.unique(np.linspace(minimum, maximum, _SIZES).round()):
        found = np.logaddexp(found, np.logaddexp.reduce(size * logarithm - rate, axis=1) - gammaln(size + 1))
    return found
