"""What belief propagation gives: messages, how far they have come, and probabilities of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Messages(NamedTuple):
    """Weights and messages of each edge, in the graph's order; each of shape (n_edges,).

    Parameters
    ----------
    weight : ndarray of float64
    to_a, to_b : ndarray of float64
        Message to the edge's record of A, and of B.
    """

    weight: NDArray[np.float64]
    to_a: NDArray[np.float64]
    to_b: NDArray[np.float64]


@dataclass(frozen=True)
class Settled:
    """How far messages have come.

    Parameters
    ----------
    expected_links : float
        Sum of the links' probabilities.
    rounds : int
        Rounds of messages.
    unsettled : int
        Records whose messages still changed when they were stopped.
    worked_out : float
        Terms worked out, some nanoseconds each: the cost.
    """

    expected_links: float
    rounds: int
    unsettled: int = 0
    worked_out: float = 0.0


@dataclass(frozen=True)
class Beliefs:
    """Marginal probabilities of links.

    Parameters
    ----------
    probability : ndarray of float64, shape (n_pairs,)
        Of each link, in the order of the caller's arrays.
    log_weight_sum : float
        Logarithm of the summed weights of all matchings, the empty one weighing 1; where messages approximate, Bethe's.
    """

    probability: NDArray[np.float64]
    log_weight_sum: float
