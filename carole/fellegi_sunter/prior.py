r"""Priors of a linkage: the prior odds of one more link.

**One to one.** The number of links n is beta-binomial, ``n | c ~ Binomial(n2, c)``, ``c ~ Beta(alpha, beta)``, with n2
the records of the smaller file; given n every matching with n links is equally likely, of which there are
``C(n2, n) n1! / (n1 - n)!`` (Sadinle 2017). So a matching Z with n links has

.. math:: \log P(Z) = \log\Gamma(n_1 - n + 1) + \log\Gamma(n + \alpha) + \log\Gamma(n_2 - n + \beta) + const,

and one more link multiplies its probability by ``(n + alpha) / ((n1 - n) (n2 - n - 1 + beta))``: about
``n / (n1 n2)``, the pairwise p, as long as few records have a match, and far more when nearly all have one, since two
records still without a link are then likely to match each other. The derivative of log P(Z) in n makes this smooth, and
finite up to n = n2.

**Many to one.** Each of the n1 records of one file has a partner with probability ``c ~ Beta(alpha, beta)``, and each
of the n2 records of the other is as likely to be it, whoever else has it. So a linkage with n links has

.. math:: P(Z) = B(n + \alpha, n_1 - n + \beta) / B(\alpha, \beta) / n_2^n,

and one more link multiplies it by ``(n + alpha) / ((n1 - n - 1 + beta) n2)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, psi

EXPECTATION_WORTH = 4.0
"""Matches that an expected number of matches is worth: it may then well be half or twice as large."""

MAX_EXPECTED_SHARE = 0.99


def beta_parameters(expected: float | None, maximum: int) -> tuple[float, float]:
    """Parameters of the beta prior of the share of records with a match; uniform without an expected number."""
    if expected is None:
        return 1.0, 1.0
    share = min(expected / maximum, MAX_EXPECTED_SHARE)
    return EXPECTATION_WORTH, EXPECTATION_WORTH * (1 - share) / share


@dataclass(frozen=True)
class BetaBipartite:
    """Beta prior on bipartite matchings.

    References
    ----------
    .. [1] Sadinle, JASA 112, 2017. doi:10.1080/01621459.2016.1148612
    """

    n_a: int
    n_b: int
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def maximum(self) -> int:
        """Maximum number of links."""
        return min(self.n_a, self.n_b)

    def log_odds(self, n: float) -> float:
        """Logarithm of the prior odds of one more link around n links: d log P(Z) / d n."""
        larger = max(self.n_a, self.n_b)
        return float(psi(n + self.alpha) - psi(larger - n + 1) - psi(self.maximum - n + self.beta))

    def log_density(self, n: float) -> float:
        """log P(Z) of a matching with n links, n any number in 0 to `maximum`."""
        return float(self.log_densities(np.array([n]))[0])

    def log_densities(self, n: NDArray[np.integer] | NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for each of several numbers of links."""
        larger, smaller = max(self.n_a, self.n_b), self.maximum
        total: NDArray[np.float64] = gammaln(larger - n + 1) - gammaln(larger + 1) + gammaln(n + self.alpha)
        total = total + gammaln(smaller - n + self.beta) - gammaln(smaller + self.alpha + self.beta)
        total = total + gammaln(self.alpha + self.beta) - gammaln(self.alpha) - gammaln(self.beta)
        return total


@dataclass(frozen=True)
class BetaPartners:
    """Beta prior on linkages in which each record of one file has a partner at most."""

    n_records: int
    n_partners: int
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def maximum(self) -> int:
        """Maximum number of links."""
        return self.n_records

    def log_odds(self, n: float) -> float:
        """Logarithm of the prior odds of one more link around n links: d log P(Z) / d n."""
        return float(psi(n + self.alpha) - psi(self.n_records - n + self.beta) - np.log(self.n_partners))

    def log_density(self, n: float) -> float:
        """log P(Z) of a linkage with n links, n any number in 0 to `maximum`."""
        with_partner = betaln(n + self.alpha, self.n_records - n + self.beta) - betaln(self.alpha, self.beta)
        return float(with_partner - n * np.log(self.n_partners))
