"""The pairs of a linkage by the rows of the two files, whatever mode compared them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.result import Linkage


@dataclass(frozen=True)
class DecidedPairs:
    """Pairs that came near to a link.

    Attributes
    ----------
    row_a, row_b : ndarray of int64, shape (n_pairs,)
        Rows of the two files.
    probability : ndarray of float64, shape (n_pairs,)
    linked : ndarray of bool, shape (n_pairs,)
    draw, drawn : ndarray of int64, shape (n_drawn_links,)
        Number of the draw, and the pair, where linkages are drawn.
    """

    row_a: NDArray[np.int64]
    row_b: NDArray[np.int64]
    probability: NDArray[np.float64]
    linked: NDArray[np.bool_]
    draw: NDArray[np.int64]
    drawn: NDArray[np.int64]


def decided(linkage: Linkage, rows: tuple[NDArray[np.int64], NDArray[np.int64]]) -> DecidedPairs:
    """A linkage's pairs by rows of the two files."""
    linked = np.zeros(len(rows[0]), dtype=np.bool_)
    linked[linkage.links] = True
    none = np.empty(0, dtype=np.int64)
    draws = linkage.draws
    draw, drawn = (none, none) if draws is None else (draws.draw.astype(np.int64), draws.pair.astype(np.int64))
    return DecidedPairs(*rows, np.clip(linkage.pairs.link_probability, 0.0, 1.0), linked, draw, drawn)
