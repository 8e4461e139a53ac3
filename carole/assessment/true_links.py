r"""Which links are true, given the key values that they put together.

A false link puts together the halves of two people. No one has most such combinations, so that false links are unique
more often than true ones, and a unique link is more often false than its link probability says. With w the link
probability and k the number of links that have the combination (:data:`CLASSES`),

.. math:: \Pr(\text{true} \mid w, k) = \frac{w P_t(k)}{w P_t(k) + (1 - w) P_f(k)}.

:math:`P_f` comes from halves that are put together at random, as far as false links do that. Where they are made within
blocks, their halves go together as those of true links do: a share rho of the false links is taken to be like that, and
the links, with the pairs that came near, tell how large it is, as far as doubtful ones are unique less often than
halves put together at random. :math:`P_t` is what is left of the links after that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.calibrated_links import Combinations
from gemel.carole.assessment.combined import Combined
from gemel.risk.identification.population_spectrum import Spectrum
from gemel.risk.models.counts import distinct_rows

CLASSES = 4
"""Of a link by how many have its combination: one, two, three, or more."""

DRAWS = 20_000
"""Halves that are put together at random."""

_SEED = 20
_GRID = np.linspace(0.0, 1.0, 41)
_MINIMUM = 1e-6  # probability of a class, so that no link is impossible

Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Halves:
    """Key values of the links, of halves put together at random, and of the pairs that are no link.

    Attributes
    ----------
    links : ndarray of int32, shape (n_links, n_keys)
    mixed : ndarray of int32, shape (n_draws, n_keys)
        Alice's half of one link with Bob's of another; the first is a link as often as it is likely to be false.
    mixed_of : ndarray of int64, shape (n_draws,)
        The link whose half of Alice's it is.
    others : ndarray of int32, shape (n_others, n_keys)
        Pairs that came near to a link.
    probability : ndarray of float64, shape (n_links,)
    other_probability : ndarray of float64, shape (n_others,)
    """

    links: Rows = field(repr=False)
    mixed: Rows = field(repr=False)
    mixed_of: NDArray[np.int64] = field(repr=False)
    others: Rows = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    other_probability: NDArray[np.float64] = field(repr=False)
    combinations: Combinations = field(repr=False)

    @classmethod
    def of(cls, combined: Combined) -> Halves:
        """Of a combined output, with the same random halves each time."""
        keys = combined.columns(combined.with_role("key"))
        n, w = combined.n_records, combined.probability
        rng = np.random.default_rng(_SEED)
        doubt = 1.0 - w
        if doubt.sum() > 0:
            first = rng.choice(n, DRAWS, p=doubt / doubt.sum())
            second = rng.integers(0, n, DRAWS)
        else:
            first = second = np.zeros(0, dtype=np.int64)
        linked = np.unique(combined.row_a * len(combined.bob) + combined.row_b)
        near = ~np.isin(combined.pair_a * len(combined.bob) + combined.pair_b, linked)
        links = combined.codes[:, keys]
        return cls(
            links,
            combined.side_by_side(combined.row_a[first], combined.row_b[second])[:, keys],
            first.astype(np.int64),
            combined.pair_codes[near][:, keys],
            w,
            combined.pair_probability[near],
            Combinations.of(links),
        )

    def recoded(self, recoding: Callable[[Rows], Rows]) -> Halves:
        """The same with their key values changed."""
        links, mixed, others = recoding(self.links), recoding(self.mixed), recoding(self.others)
        return replace(self, links=links, mixed=mixed, others=others, combinations=Combinations.of(links))

    def believed(self, probability: NDArray[np.float64]) -> Halves:
        """The same with other probabilities of the links."""
        return replace(self, probability=probability)


@dataclass(frozen=True)
class TrueLinks:
    """What is to be believed of each link.

    Attributes
    ----------
    frequency : ndarray of int64, shape (n_links,)
        Links with its combination.
    probability : ndarray of float64, shape (n_links,)
        That it is true, given its link probability and how often its combination occurs.
    of_link : ndarray of int64, shape (n_links,)
        Its combination (`Halves.combinations`).
    """

    frequency: NDArray[np.int64] = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    of_link: NDArray[np.int64] = field(repr=False)
    alike: float
    spread: float

    @property
    def without_uniques(self) -> TrueLinks:
        """The links that share their combination with others."""
        kept = self.frequency > 1
        return TrueLinks(self.frequency[kept], self.probability[kept], self.of_link[kept], self.alike, self.spread)

    @property
    def spectrum(self) -> Spectrum:
        """Expected number of combinations that so many true links have.

        Each link of a combination is true with the mean probability of those whose combination occurs as often.
        """
        from scipy.stats import binom  # slow to import, and a service starts without it

        sizes, which = np.unique(self.frequency, return_inverse=True)
        true = np.bincount(which, self.probability) / np.bincount(which)
        cells = np.bincount(which) / sizes
        number = np.zeros(int(sizes.max()) + 1)
        for size, chance, n_cells in zip(sizes.tolist(), true.tolist(), cells.tolist(), strict=True):
            number[: size + 1] += n_cells * binom.pmf(np.arange(size + 1), size, chance)
        there = np.flatnonzero(number > 1e-9)
        there = there[there > 0]
        return Spectrum(there.astype(np.int64), number[there])


def true_links(halves: Halves, alike: float | None = None) -> TrueLinks:
    """What is to be believed of each link.

    Notes
    -----
    Without doubtful links, or where all are as doubtful, nothing tells the share, and half is supposed, with a spread
    that goes into the intervals. O((links + draws + pairs) * keys).
    """
    n, w, of_cell = len(halves.links), halves.probability, halves.combinations.of_link
    frequency, mixed, others = _frequencies(halves)
    if not len(mixed) or not (1.0 - w).sum() > 0:
        return TrueLinks(frequency, w.copy(), of_cell, 0.5, 0.0)
    of_link, of_mixed, of_other = (np.minimum(k, CLASSES) - 1 for k in (frequency, mixed, others))
    seen = np.bincount(of_link, minlength=CLASSES).astype(np.float64)
    at_random = np.bincount(of_mixed, minlength=CLASSES) / len(of_mixed)
    false = float((1.0 - w).sum())

    def laws(share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        strange = (1.0 - share) * false
        true = np.maximum((seen - strange * at_random) / (n - strange), _MINIMUM) if strange < n else seen / n
        true = true / true.sum()
        wrong = np.maximum((1.0 - share) * at_random + share * true, _MINIMUM)
        return true, wrong / wrong.sum()

    def posterior(share: float) -> NDArray[np.float64]:
        true, wrong = laws(share)
        right = w * true[of_link]
        return np.asarray(right / (right + (1.0 - w) * wrong[of_link]))

    if alike is not None:
        return TrueLinks(frequency, posterior(alike), of_cell, alike, 0.0)
    every_class = np.concatenate([of_link, of_other])
    every_w = np.concatenate([w, halves.other_probability])
    scores = np.empty(len(_GRID))
    for k, share in enumerate(_GRID.tolist()):
        true, wrong = laws(share)
        scores[k] = np.log(every_w * true[every_class] + (1.0 - every_w) * wrong[every_class]).sum()
    weight = np.exp(scores - scores.max())
    weight /= weight.sum()
    mean = float(weight @ _GRID)
    spread = float(np.sqrt(weight @ (_GRID - mean) ** 2))
    return TrueLinks(frequency, posterior(mean), of_cell, mean, spread)


def _frequencies(halves: Halves) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """How many links have the combination of each link, and would have that of each other row if it were one."""
    n, m = len(halves.links), len(halves.mixed)
    rows = np.concatenate([halves.links, halves.mixed, halves.others]) + 1
    _, which = distinct_rows(rows, (rows.max(axis=0, initial=0) + 1).tolist())
    counts = np.bincount(which[:n], minlength=int(which.max()) + 1)
    own = which[n : n + m] == which[:n][halves.mixed_of]
    mixed = counts[which[n : n + m]] + 1 - own  # the link itself is not counted beside what it would be
    return counts[which[:n]].astype(np.int64), mixed.astype(np.int64), counts[which[n + m :]] + 1
