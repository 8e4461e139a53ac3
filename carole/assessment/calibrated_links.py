r"""How many people have the combinations of linked records of which some are false: the calibrated law, thinned.

The law of how many other records share a record's combination (`crowding`) is fitted to the true links, of which it is
not known which they are. A combination of f links has k true ones with the binomial probability of what is believed of
them, and stands in the likelihood once for each k, with that weight: as if the links had been thinned again and again.
What the neighbourhood of a combination says is read off all links, since the law finds out what it is worth.

With k true ones there are people outside the file for each by the fraction of the *true* links, n/N, and

.. math:: P(F = 1 \mid k = 1), \qquad E[1/F \mid k]

are those of the calibrated risk of a file in which every record is true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gemel.risk.identification.calibration.crowding import COUNTED, FEWEST_PAIRS, Crowding, fit_crowding, neighbourhood
from gemel.risk.identification.calibration.records import expected_reciprocal_with_company
from gemel.risk.models.counts import SparseCounts, distinct_rows

_THINNED = COUNTED + 1
"""Links of a combination up to which every number of true ones is looked at; above, their mean."""

Rows = NDArray[np.int32]


@dataclass(frozen=True)
class Combinations:
    """The different combinations of key values of the links, and how crowded the table is around each.

    Attributes
    ----------
    counts : ndarray of int64, shape (n_cells,)
        Links of each.
    of_link : ndarray of int64, shape (n_links,)
        The combination of each link.
    predictors : ndarray of float64, shape (n_cells, n_predictors)
        Logarithms (`neighbourhood`); no column where no key varies.
    """

    counts: NDArray[np.int64] = field(repr=False)
    of_link: NDArray[np.int64] = field(repr=False)
    predictors: NDArray[np.float64] = field(repr=False)

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

    cell: NDArray[np.int64] = field(repr=False)
    true: NDArray[np.float64] = field(repr=False)
    weight: NDArray[np.float64] = field(repr=False)

    def among(self, true: int) -> float:
        """Expected number of true links in combinations of so many of them."""
        return float(self.weight[self.true == true].sum())

    @classmethod
    def of(cls, counts: NDArray[np.int64], of_link: NDArray[np.int64], probability: NDArray[np.float64]) -> Thinned:
        """From the probability that each link is true, links taken to be true independently.

        Parameters
        ----------
        counts : ndarray of int64, shape (n_cells,)
            Links of each combination, of which some may be left out of the following.
        of_link : ndarray of int64, shape (n_links,)
        probability : ndarray of float64, shape (n_links,)
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
        return cls(
            np.concatenate([small, large]),
            np.concatenate([true + 1.0, beside]),
            np.concatenate([(true + 1.0) * law[small, true + 1], total[large]]),
        )


@dataclass(frozen=True)
class CalibratedLinks:
    """The law of the true links' company, by which the people of each combination are estimated.

    Parameters
    ----------
    row : ndarray of int64, shape (n_cells,)
        Where the law has the predictors of each combination.
    """

    law: Crowding = field(repr=False)
    row: NDArray[np.int64] = field(repr=False)
    combinations: Combinations = field(repr=False)
    true: float
    parameters: NDArray[np.float64] = field(repr=False)

    @classmethod
    def fitted(cls, combinations: Combinations, probability: NDArray[np.float64]) -> CalibratedLinks | None:
        """The law of the greatest posterior density; None where too few combinations of two true links are expected.

        Parameters
        ----------
        probability : ndarray of float64, shape (n_links,)
            That each link is true.

        Notes
        -----
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

    def alone(self, of_link: NDArray[np.int64], probability: NDArray[np.float64], population: float) -> float:
        """Expected number of the links that are true and whose person is alone in the population.

        Parameters
        ----------
        of_link : ndarray of int64, shape (n_requested,)
            Combination of each link that is asked for.
        probability : ndarray of float64, shape (n_requested,)
            That it is true.
        """
        thinned, mu, a, c = self._rows(of_link, probability, population)
        chance = np.exp(-a * np.log1p(c / (a / mu + 1.0)))
        return float(thinned.weight @ np.where(thinned.true == 1.0, chance, 0.0))

    def matched(
        self, of_link: NDArray[np.int64], probability: NDArray[np.float64], population: float
    ) -> NDArray[np.float64]:
        """Probability that each link is true and is matched to its person, 1/F, shape (n_requested,).

        Notes
        -----
        Links of one combination have the mean of those that are true.
        """
        thinned, mu, a, c = self._rows(of_link, probability, population)
        found = thinned.weight * expected_reciprocal_with_company(thinned.true, mu, a, c)
        cells = len(self.combinations.counts)
        each = np.bincount(thinned.cell, found, cells) / np.maximum(np.bincount(of_link, probability, cells), 1e-300)
        return np.asarray(each[of_link] * probability)

    def _rows(
        self, of_link: NDArray[np.int64], probability: NDArray[np.float64], population: float
    ) -> tuple[Thinned, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The thinned combinations of some links, with the law's mean and shape, and the people outside for each."""
        thinned = Thinned.of(self.combinations.counts, of_link, probability)
        mu, a = self.law.law(self.row[thinned.cell], self.parameters)
        return thinned, mu, a, np.full(len(mu), max(population / self.true - 1.0, 0.0))
