"""The model with dependent fields and latent classes: what it is, and how it scores comparison vectors.

Two dependent fields are not independent evidence. A relative who shares name, address and telephone with a person looks
like that person, because under independence so many agreements by chance are next to impossible. Here non-matches are
classes of kin with independent fields (`kin_classes`) and strangers, and strangers and matches each have the fields'
joint distribution by a decomposable graph: products of tables over small cliques (`distribution`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.fellegi_sunter.dependence.diagnosis import Misfit
from gemel.carole.fellegi_sunter.dependence.distribution import Distribution
from gemel.carole.fellegi_sunter.dependence.kin_classes import KinClasses
from gemel.carole.fellegi_sunter.model import probability


@dataclass(frozen=True)
class OutsideBlocks:
    """Comparison vectors of pairs that blocking left out, from a random sample of them.

    Parameters
    ----------
    gamma : ndarray of int8, shape (n_patterns, n_fields)
    count : ndarray of float64, shape (n_patterns,)
        Pairs that they stand for.
    scale : float
        Pairs that a sampled one stands for.
    """

    gamma: NDArray[np.int8]
    count: NDArray[np.float64]
    scale: float


@dataclass(frozen=True)
class JointModel:
    """Distributions of comparison vectors, in each class.

    Parameters
    ----------
    matches, strangers : Distribution
        Of pairs of one person, and of two people who have nothing in common but by chance.
    kin : KinClasses
        Of two people who have something in common.
    p : float
        Share of matches among all pairs, those that blocking left out with the others.
    recall : float
        Share of the matches that blocking kept; 1 where it is not estimable.
    rounds : int
    converged : bool
    misfits : tuple of Misfit
        Where independence fails, matches first.
    evidence_of_kin : tuple of float
        Log evidence with 0, 1, ... classes of kin, relative to none, at the start.
    """

    matches: Distribution
    strangers: Distribution
    kin: KinClasses
    p: float
    recall: float = 1.0
    rounds: int = 0
    converged: bool = False
    misfits: tuple[Misfit, ...] = ()
    evidence_of_kin: tuple[float, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether fields are independent given match status and there is one class of non-matches."""
        return not (len(self.kin) or self.matches.structure.edges or self.strangers.structure.edges)

    @property
    def kind(self) -> str:
        """What the graphs are: none, pairwise (forests) or decomposable."""
        graphs = self.matches.structure.graph, self.strangers.structure.graph
        largest = max(clique.bit_count() for graph in graphs for clique in graph.cliques)
        return ("none", "pairwise", "decomposable")[min(largest, 3) - 1]

    def log_probability_of_others(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Log probability of comparison vectors among non-matches, kin and strangers together."""
        return self.kin.log_probability(gamma, self.strangers.log_probability(gamma))

    def match_weights(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Match weights of comparison vectors, in bits: not a sum over fields unless the model is plain."""
        ratio = self.matches.log_probability(gamma) - self.log_probability_of_others(gamma)
        return np.asarray(ratio / np.log(2.0))

    def match_probabilities(self, gamma: NDArray[np.int8]) -> NDArray[np.float64]:
        """Match probabilities of comparison vectors, each pair without its rivals."""
        return probability(self.match_weights(gamma) * np.log(2.0) + np.log(self.p) - np.log1p(-self.p))
