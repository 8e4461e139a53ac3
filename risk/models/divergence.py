"""Jensen-Shannon divergence, base 2: between two models, or a model and data.

    JSD(p, q) = [KL(p || m) + KL(q || m)] / 2,   m = (p + q) / 2,   0 for equal distributions, 1 for disjoint ones.

Data occupy few cells, and outside them m is half the model: each unit of the model's probability there
contributes exactly 1/2. So a divergence from data needs the occupied cells only.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.factors import match_rows
from gemel.risk.models.fitted import FittedModel
from gemel.risk.models.sampling import sample

CHUNK = 2**16


class Distribution(Protocol):
    """What a divergence requires of a model."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The variables."""

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels of each variable."""

    def log_probability(self, cells: ArrayLike) -> NDArray[np.float64]:
        """Log probability of each given cell."""


@dataclass(frozen=True)
class Divergence:
    """A divergence in bits, with its standard error: 0 where it is exact."""

    bits: float
    standard_error: float = 0.0


def jensen_shannon(
    p: Distribution | SparseCounts,
    q: Distribution | SparseCounts,
    *,
    limit: int = 2**22,
    rng: np.random.Generator | None = None,
    samples: int = 100_000,
) -> Divergence:
    """Jensen-Shannon divergence of two distributions, in bits.

    Parameters
    ----------
    p, q
        Models, or data (which stand for their relative frequencies).
    limit
        Between two models: up to this number of cells the sum over all of them is made, a chunk at a time.
    rng, samples
        Above it: so many records are drawn from each model, and the standard error is given.

    Raises
    ------
    GemelError
        The variables differ; the table is larger than the limit and there is no generator.
    """
    if p.names != q.names or p.levels != q.levels:
        raise parameter("jensen_shannon", "both must have the same variables with the same levels")
    if isinstance(p, SparseCounts):
        return _from_data(p, q)
    if isinstance(q, SparseCounts):
        return _from_data(q, p)
    size = int(np.prod([int(n) for n in p.levels], dtype=object))
    if size <= limit:
        parts = []
        for start in range(0, size, CHUNK):
            cells = np.stack(np.unravel_index(np.arange(start, min(start + CHUNK, size)), p.levels), axis=1)
            parts.append(divergence_terms(np.exp(p.log_probability(cells)), np.exp(q.log_probability(cells))).sum())
        return Divergence(float(np.clip(np.sum(parts), 0, 1)))
    if rng is None:
        raise parameter(
            "jensen_shannon",
            "the table is too large for an exact sum",
            f"{size} cells",
            "give a generator to estimate the divergence by sampling",
        )
    first, second = (_log_ratio(a, b, samples, rng) for a, b in ((p, q), (q, p)))
    error = float(np.sqrt(first.var(ddof=1) + second.var(ddof=1)) / (2 * np.sqrt(samples)))
    return Divergence(float((first.mean() + second.mean()) / 2), error)


def divergence_terms(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each cell of two distributions of one shape adds to their divergence, in bits."""
    middle = (p + q) / 2
    terms = np.zeros_like(middle)
    for side in (p, q):
        some = (side > 0) & (middle > 0)  # half of the least number is 0
        terms[some] += side[some] * np.log2(side[some] / middle[some]) / 2
    return terms


def _from_data(data: SparseCounts, other: Distribution | SparseCounts) -> Divergence:
    p = data.counts / data.counts.sum()
    if isinstance(other, SparseCounts):
        place = match_rows(data.cells, other.cells, data.levels)
        q = np.where(place >= 0, other.counts[place] / other.counts.sum(), 0.0)
    else:
        q = np.exp(other.log_probability(data.cells))
    return Divergence(float(np.clip(divergence_terms(p, q).sum() + (1 - q.sum()) / 2, 0, 1)))


def _log_ratio(p: Distribution, q: Distribution, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """log2 of p over the middle, at records drawn from p."""
    if isinstance(p, FittedModel):
        cells = sample(p, samples, rng)
    else:
        draw = getattr(p, "sample", None)
        if draw is None:
            raise GemelError(ErrorCode.PARAMETER, "a model that can be sampled is needed", got=type(p).__name__)
        cells = draw(samples, rng)
    return np.asarray(1 - np.log2(1 + np.exp(q.log_probability(cells) - p.log_probability(cells))))
