"""The pairs that a custodian is shown of a run's result, and their numbers: what the specification grants it."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.engine.run.probability_classes import classed
from gemel.carole.engine.run.result import Linkage
from gemel.carole.fellegi_sunter.linkage_draws import DrawnLinks
from gemel.common.parties import Side
from gemel.common.specification.model.content import ReleaseSpec


@dataclass(frozen=True)
class ShownPairs:
    """Pairs of a result, for one custodian.

    Attributes
    ----------
    pair : ndarray of int64, shape (n,)
        Ascending positions among the pairs of the result.
    probability : ndarray of float64, shape (n,)
        Link probabilities: means of classes of links, and of other pairs, unless exact ones are granted.
    linked : ndarray of bool, shape (n,)
    draws
        Drawn linkages, where they are granted, by positions among the shown pairs.
    every
        Whether every pair that was kept is granted.
    """

    pair: NDArray[np.int64] = dataclass_field(repr=False)
    probability: NDArray[np.float64] = dataclass_field(repr=False)
    linked: NDArray[np.bool_] = dataclass_field(repr=False)
    draws: DrawnLinks | None = dataclass_field(default=None, repr=False)
    every: bool = False


def shown_pairs(linkage: Linkage, release: ReleaseSpec, side: Side) -> ShownPairs | None:
    """What a custodian is shown of the pairs; None where it receives statistics only, or nothing.

    Parameters
    ----------
    linkage
        With the patterns that its pairs refer to.
    """
    if side not in release.recipients_of_pairs:
        return None
    grant = getattr(release, str(side))
    pairs = linkage.pairs
    linked = np.zeros(len(pairs.link_probability), dtype=np.bool_)
    linked[linkage.links] = True
    there = linked.copy()
    drawn = linkage.draws if grant == "draws" else None
    if drawn is not None:
        there[drawn.pair] = True
    if grant == "pairs":
        there[:] = True
    pair = np.flatnonzero(there).astype(np.int64)
    probability = np.clip(pairs.link_probability[pair], 0.0, 1.0)
    if not release.exact_to(side):
        # A pattern is a comparison vector with the rules its pairs satisfy; the vector alone tells of fields.
        _, vector = np.unique(linkage.patterns.gamma, axis=0, return_inverse=True)
        vector = vector.ravel()[pairs.pattern[pair]]
        # Links by themselves: both custodians then have the same numbers of them, whatever else either is granted.
        for same in (linked[pair], ~linked[pair]):
            probability[same] = classed(probability[same], vector[same])
    draws = None if drawn is None else DrawnLinks(drawn.draw, np.searchsorted(pair, drawn.pair).astype(np.int64))
    return ShownPairs(pair, probability, linked[pair], draws, grant == "pairs")
