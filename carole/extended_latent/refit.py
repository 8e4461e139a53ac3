"""Fellegi-Sunter's second estimate, made again beside the values.

`em` estimates m with independent fields and each pair by itself. A linkage has more: fields that depend on each other,
kin, and records that have one match at most. Whoever knows of these gives `fit_extended` a `Refit`, which estimates the
whole model again with the values' Bayes factors as further evidence; u stays that of all pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent.classes import Classes, KeptPairs
from gemel.carole.extended_latent.compiled import BayesFactors
from gemel.carole.extended_latent.em import ExtendedEM
from gemel.carole.extended_latent.pairs import WeightedPairs
from gemel.carole.fellegi_sunter.fixed_point import LinkProbabilities
from gemel.carole.fellegi_sunter.patterns import PatternCounts
from gemel.carole.fellegi_sunter.schemes import FittedScheme


@dataclass(frozen=True)
class Refitted:
    """A second estimate beside the values.

    Attributes
    ----------
    scheme
        The fitted scheme, m and p estimated again.
    matches : ndarray of float64, shape (n_patterns,)
        Expected matches of each pattern.
    converged, iterations
        Of its EM.
    kept
        The pairs that compete for records, with their Bayes factors; None where pairs do not compete.
    posterior
        Their link probabilities, in that order.
    """

    scheme: FittedScheme
    matches: NDArray[np.float64] = field(repr=False)
    converged: bool
    iterations: int
    kept: KeptPairs | None = field(default=None, repr=False)
    posterior: LinkProbabilities | None = field(default=None, repr=False)

    @property
    def learn_from(self) -> WeightedPairs | None:
        """The pairs from which a value model can be estimated again; None where pairs do not compete."""
        if self.kept is None or self.posterior is None:
            return None
        return WeightedPairs(self.kept.row_a, self.kept.row_b, self.posterior.probability)

    def em(self, patterns: PatternCounts, classes: Classes) -> ExtendedEM:
        """As the outcome of an EM, with the likelihood of the classes."""
        return ExtendedEM(
            model=self.scheme.model,
            matches=self.matches,
            log_likelihood=np.array([log_likelihood(self.scheme, patterns, classes)]),
            converged=self.converged,
            iterations=self.iterations,
            unconstrained_matches=float(self.matches.sum()),
        )


class Refit(Protocol):
    """Estimates a model again, with the Bayes factors of the values as further evidence."""

    def __call__(self, factors: BayesFactors, classes: Classes) -> Refitted:
        """From the factors, and all pairs counted by pattern and factor."""


def log_likelihood(scheme: FittedScheme, patterns: PatternCounts, classes: Classes | None = None) -> float:
    """Of agreement and values of all pairs, each by itself, relative to a model without matches.

    Parameters
    ----------
    scheme : FittedScheme
    patterns : PatternCounts
    classes : Classes, optional
        The same pairs by pattern and Bayes factor; None: of agreement alone.

    Notes
    -----
    ``sum n log(p L B + 1 - p)``, L the likelihood ratio of a pattern and B the values' Bayes factor: u and the values'
    distribution among non-matches are the same in both, and cancel.
    """
    p = scheme.model.p
    log_ratio = scheme.match_weights(patterns.gamma) * math.log(2.0)
    count = patterns.count.astype(np.float64)
    if classes is not None:
        log_ratio, count = log_ratio[classes.pattern] + classes.log_factor, classes.count
    return float(count @ np.logaddexp(log_ratio + math.log(p), math.log1p(-p)))
