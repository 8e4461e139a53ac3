"""Which links are true, by how often their combination of key values occurs, and how many people share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.combined import Combined
from gemel.risk.arrays import Floats, Integers
from gemel.risk.identification.calibration.crowding import COUNTED, FEWEST_PAIRS, Crowding, fit_crowding, neighbourhood
from gemel.risk.identification.calibration.records import expected_reciprocal_with_company
from gemel.risk.identification.population_spectrum import Spectrum
from gemel.risk.models.counts import SparseCounts, distinct_rows

# How many people have the combinations of linked records of which some are false: the calibrated law, thinned.
#
# The law of how many other records share a record's combination (`crowding`) is fitted to the true links, of which it
# is not known which they are. A combination of f links has k true ones with the binomial probability of what is
# believed of them, and stands in the likelihood once for each k, with that weight: as if the links had been thinned
# again and again. What the neighbourhood of a combination says is read off all links, since the law finds out what it
# is worth.
#
# With k true ones there are people outside the file for each by the fraction of the *true* links, n/N, and
#
# .. math:: P(F = 1 \mid k = 1), \qquad E[1/F \mid k]
#
# are those of the calibrated risk of a file in which every record is true.

_THINNED = COUNTED + 1
"""Links of a combination up to which every number of true ones is looked at; above, their mean."""

Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Combinations:
    """The different combinations of key values of the links: the links of each and the combination of each link; and
    how crowded the table is around each, in logarithms (`neighbourhood`), without a column where no key varies."""

    counts: Integers = field(repr=False)
    of_link: Integers = field(repr=False)
    predictors: Floats = field(repr=False)

    @classmethod
    def of(cls, links: Rows) -> Combinations:
        """Of the key values of the links, shape (n_links, n_keys), -1 where missing."""
        columns = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in links.T]
        levels = [int(column.max()) + 1 for column in columns]
        codes = np.stack(columns, axis=1)
        first, which = distinct_rows(codes, levels)
        counts = np.bincount(which)
        kept = [q for q, n in enumerate(levels) if n > 1]
        if not kept:
            return cls(counts, which, np.empty((len(counts), 0)))
        table = SparseCounts.from_records(codes[first][:, kept], [levels[q] for q in kept], kept, counts)
        return cls(counts, which, neighbourhood(table))


@dataclass(frozen=True)
class Thinned:
    """How many true links each combination may have, and how many true links are expected to see so many.

    Attributes
    ----------
    cell : ndarray of int64, shape (n_rows,)
        Number of the combination.
    true : ndarray of float64, shape (n_rows,)
        True links, k; not a whole number where a combination has more links than are gone through one by one.
    weight : ndarray of float64, shape (n_rows,)
        Expected number of true links of the combination among k true ones.
    """

    cell: Integers = field(repr=False)
    true: Floats = field(repr=False)
    weight: Floats = field(repr=False)

    def among(self, true: int) -> float:
        """Expected number of true links in combinations of so many of them."""
        return float(self.weight[self.true == true].sum())

    @classmethod
    def of(cls, counts: Integers, of_link: Integers, probability: Floats) -> Thinned:
        """From the probability that each link is true, links taken to be true independently.

        `counts` are the links of each combination, of which `of_link` and `probability` may leave some out.
        """
        order = np.argsort(of_link, kind="stable")
        cell, chance = of_link[order], probability[order]
        place = np.arange(len(cell)) - np.searchsorted(cell, cell)  # of each link among those of its combination
        law = np.zeros((len(counts), _THINNED + 1))
        law[:, 0] = 1.0
        few = counts[cell] <= _THINNED
        for k in range(_THINNED):
            own = few & (place == k)
            p, before = chance[own, None], law[cell[own]]
            after = before * (1.0 - p)
            after[:, 1:] += before[:, :-1] * p
            law[cell[own]] = after
        # Combinations whose links are all left out stay without weight.
        small, true = np.nonzero(np.arange(1, _THINNED + 1) <= np.where(counts <= _THINNED, counts, 0)[:, None])
        total = np.bincount(of_link, probability, len(counts))
        large = np.flatnonzero(counts > _THINNED)
        beside = 1.0 + total[large] * (counts[large] - 1.0) / counts[large]
        weight = np.concatenate([(true + 1.0) * law[small, true + 1], total[large]])
        return cls(np.concatenate([small, large]), np.concatenate([true + 1.0, beside]), weight)


@dataclass(frozen=True)
class CalibratedLinks:
    """The law of the true links' company, by which the people of each combination are estimated; `row` is where the
    law has the predictors of each combination."""

    law: Crowding = field(repr=False)
    row: Integers = field(repr=False)
    combinations: Combinations = field(repr=False)
    true: float
    parameters: Floats = field(repr=False)

    @classmethod
    def fitted(cls, combinations: Combinations, probability: Floats) -> CalibratedLinks | None:
        """The law of the greatest posterior density; None where too few combinations of two true links are expected.

        O(n_cells) for each step of the search; the neighbourhoods are those of `combinations`.
        """
        thinned = Thinned.of(combinations.counts, combinations.of_link, probability)
        if thinned.among(2) < 2 * FEWEST_PAIRS or thinned.among(1) < FEWEST_PAIRS:
            return None
        few = combinations.counts[thinned.cell] <= _THINNED
        true = np.where(few, thinned.true, _THINNED + 1.0)  # the law looks at no more
        law = fit_crowding(combinations.predictors[thinned.cell], true, thinned.weight)
        _, row = np.unique(thinned.cell, return_index=True)
        return cls(law, row, combinations, float(probability.sum()), law.parameters)

    @cached_property
    def near(self) -> tuple[tuple[CalibratedLinks, CalibratedLinks], ...]:
        """For each of some independent directions, the laws a standard error to both sides."""
        values, vectors = np.linalg.eigh(self.law.covariance)
        steps = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return tuple(
            (replace(self, parameters=self.parameters - step), replace(self, parameters=self.parameters + step))
            for step in steps
        )

    def alone(self, of_link: Integers, probability: Floats, population: float) -> float:
        """Expected number of the links asked for, each with its combination and the probability that it is true, that
        are true and whose person is alone in the population."""
        thinned, mu, a, c = self._rows(of_link, probability, population)
        chance = np.exp(-a * np.log1p(c / (a / mu + 1.0)))
        return float(thinned.weight @ np.where(thinned.true == 1.0, chance, 0.0))

    def matched(self, of_link: Integers, probability: Floats, population: float) -> Floats:
        """Probability that each link is true and is matched to its person, 1/F, shape (n_requested,).

        Links of one combination have the mean of those that are true.
        """
        thinned, mu, a, c = self._rows(of_link, probability, population)
        found = thinned.weight * expected_reciprocal_with_company(thinned.true, mu, a, c)
        cells = len(self.combinations.counts)
        each = np.bincount(thinned.cell, found, cells) / np.maximum(np.bincount(of_link, probability, cells), 1e-300)
        return np.asarray(each[of_link] * probability)

    def _rows(
        self, of_link: Integers, probability: Floats, population: float
    ) -> tuple[Thinned, Floats, Floats, Floats]:
        """The thinned combinations of some links, with the law's mean and shape, and the people outside for each."""
        thinned = Thinned.of(self.combinations.counts, of_link, probability)
        mu, a = self.law.law(self.row[thinned.cell], self.parameters)
        return thinned, mu, a, np.full(len(mu), max(population / self.true - 1.0, 0.0))


# Which links are true, given the key values that they put together.
#
# A false link puts together the halves of two people. No one has most such combinations, so that false links are unique
# more often than true ones, and a unique link is more often false than its link probability says. With w the link
# probability and k the number of links that have the combination (:data:`CLASSES`),
#
# .. math:: \Pr(\text{true} \mid w, k) = \frac{w P_t(k)}{w P_t(k) + (1 - w) P_f(k)}.
#
# :math:`P_f` comes from halves that are put together at random, as far as false links do that. Where they are made
# within blocks, their halves go together as those of true links do: a share rho of the false links is taken to be
# like that, and the links, with the pairs that came near, tell how large it is, as far as doubtful ones are unique
# less often than halves put together at random. :math:`P_t` is what is left of the links after that.

CLASSES = 4
"""Of a link by how many have its combination: one, two, three, or more."""

DRAWS = 20_000
"""Halves that are put together at random."""

_SEED = 20
_GRID = np.linspace(0.0, 1.0, 41)
_MINIMUM = 1e-6  # probability of a class, so that no link is impossible


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
    mixed_of: Integers = field(repr=False)
    others: Rows = field(repr=False)
    probability: Floats = field(repr=False)
    other_probability: Floats = field(repr=False)
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
        links, others = combined.codes[:, keys], combined.pair_codes[near][:, keys]
        mixed = combined.side_by_side(combined.row_a[first], combined.row_b[second])[:, keys]
        of_others = combined.pair_probability[near]
        return cls(links, mixed, first.astype(np.int64), others, w, of_others, Combinations.of(links))

    def recoded(self, recoding: Callable[[Rows], Rows]) -> Halves:
        """The same with their key values changed."""
        links, mixed, others = recoding(self.links), recoding(self.mixed), recoding(self.others)
        return replace(self, links=links, mixed=mixed, others=others, combinations=Combinations.of(links))


@dataclass(frozen=True)
class TrueLinks:
    """What is to be believed of each link: the number of links with its combination; the probability that it is true,
    given its link probability and how often its combination occurs; and its combination (`Halves.combinations`)."""

    frequency: Integers = field(repr=False)
    probability: Floats = field(repr=False)
    of_link: Integers = field(repr=False)
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

    def laws(share: float) -> tuple[Floats, Floats]:
        strange = (1.0 - share) * false
        true = np.maximum((seen - strange * at_random) / (n - strange), _MINIMUM) if strange < n else seen / n
        true = true / true.sum()
        wrong = np.maximum((1.0 - share) * at_random + share * true, _MINIMUM)
        return true, wrong / wrong.sum()

    def posterior(share: float) -> Floats:
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


def _frequencies(halves: Halves) -> tuple[Integers, Integers, Integers]:
    """How many links have the combination of each link, and would have that of each other row if it were one."""
    n, m = len(halves.links), len(halves.mixed)
    rows = np.concatenate([halves.links, halves.mixed, halves.others]) + 1
    _, which = distinct_rows(rows, (rows.max(axis=0, initial=0) + 1).tolist())
    counts = np.bincount(which[:n], minlength=int(which.max()) + 1)
    own = which[n : n + m] == which[:n][halves.mixed_of]
    mixed = counts[which[n : n + m]] + 1 - own  # the link itself is not counted beside what it would be
    return counts[which[:n]].astype(np.int64), mixed.astype(np.int64), counts[which[n + m :]] + 1
