"""Priors of a linkage: the prior odds of one more link.

**One to one.** The number of links n is beta-binomial, ``n | c ~ Binomial(n2, c)``, ``c ~ Beta(alpha, beta)``, with n2
the records of the smaller file; given n every matching with n links is equally likely, of which there are
``C(n2, n) n1! / (n1 - n)!`` (Sadinle 2017). So a matching Z with n links has

.. math:: \\log P(Z) = \\log\\Gamma(n_1 - n + 1) + \\log\\Gamma(n + \alpha) + \\log\\Gamma(n_2 - n + \beta) + const,

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

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import betaln, gammaln, psi

from gemel.carole.fellegi_sunter.candidate_graph import Beliefs, Settled
from gemel.common.arrays import F64, Ints
from gemel.common.documents.result_warning import ResultWarning, result_warning
from gemel.common.progress import StageProgress

EXPECTATION_WORTH = 4.0
"""Matches that an expected number of matches is worth: it may then well be half or twice as large."""

MAX_EXPECTED_SHARE = 0.99


def beta_parameters(expected: float | None, maximum: int, worth: float = EXPECTATION_WORTH) -> tuple[float, float]:
    """Parameters of the beta prior of the share of records with a match; uniform without an expected number.

    `worth`: matches that the expected number is worth.
    """
    if expected is None:
        return 1.0, 1.0
    share = min(expected / maximum, MAX_EXPECTED_SHARE)
    return worth, worth * (1 - share) / share


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
        return min(self.n_a, self.n_b)

    def log_odds(self, n: float) -> float:
        """Logarithm of the prior odds of one more link around n links: d log P(Z) / d n."""
        larger = max(self.n_a, self.n_b)
        return float(psi(n + self.alpha) - psi(larger - n + 1) - psi(self.maximum - n + self.beta))

    def log_density(self, n: float | Ints | F64) -> F64:
        """log P(Z) of a matching with n links, n any number in 0 to `maximum`, or each of several."""
        larger, smaller = max(self.n_a, self.n_b), self.maximum
        total: F64 = gammaln(larger - n + 1) - gammaln(larger + 1) + gammaln(n + self.alpha)
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
        return self.n_records

    def log_odds(self, n: float) -> float:
        """Logarithm of the prior odds of one more link around n links: d log P(Z) / d n."""
        return float(psi(n + self.alpha) - psi(self.n_records - n + self.beta) - np.log(self.n_partners))

    def log_density(self, n: float) -> F64:
        """log P(Z) of a linkage with n links, n any number in 0 to `maximum`."""
        with_partner = betaln(n + self.alpha, self.n_records - n + self.beta) - betaln(self.alpha, self.beta)
        return np.asarray(with_partner - n * np.log(self.n_partners))


LinkPrior = BetaBipartite | BetaPartners


# Link probabilities at the number of links that they imply.
#
# A whole linkage Z has probability proportional to
#
#     P(Z) * product of the likelihood ratios of its links,
#
# over those that the assignment allows. The prior P(Z) (`prior`) depends on Z through its number of links n only. For
# given n it acts as prior odds theta on every link; the posterior of n is concentrated, so n is put at its mode, where
# the prior odds of one more link are those at which n links are expected: ``n = E[links | theta(n)]``. Both sides
# increase with n, so iteration from 0 rises to the smallest such n, and from the top falls to the largest; where they
# differ, the one with the larger posterior is taken and the other reported.


TOLERANCE = 3e-3
"""Change of the expected number of links, relative to its square root, at which it has converged."""

MAX_PRIORS = 200
"""Numbers of links tried on the way to a fixed point."""

SWEEPS_ON_THE_WAY = 2
"""Sweeps of messages between two of these numbers."""

MAX_TERMS = 1e8
"""Terms worked out on the way to a fixed point before giving up, which is reported: a third of a second."""

MAX_TERMS_PER_PAIR = 400.0
"""The same where there are many pairs: one to two microseconds a pair."""

MANY_PAIRS = 100_000
"""Pairs above which a solution near a known one is sought and no second one."""

PLAIN_STEPS = 15
"""Numbers of links tried by plain iteration before the fixed point is bracketed."""

SWEEPS_BRACKETED = 4
"""Sweeps of messages between two numbers after that, enough for the sign of a difference."""


@dataclass(frozen=True)
class LinkProbabilities:
    """Posterior probabilities of links.

    `probability` (float64, shape (n_pairs,)): P(link) of each candidate pair; over the candidates of a record that has
    one link at most they sum to at most 1; `log_prior_odds`: natural logarithm of the prior odds of a link, beside
    ``log(p / (1 - p))`` of the pairwise model.
    """

    probability: F64
    expected_links: float
    log_prior_odds: float
    converged: bool
    warnings: tuple[ResultWarning, ...]


class Marginals(Protocol):
    """Probabilities of links at given prior odds, under some assignment."""

    n_pairs: int

    def run(self, log_prior_odds: float, max_sweeps: int = ...) -> Settled:
        """Give every link these prior odds, and make at most so many sweeps where probabilities take any."""

    def beliefs(self) -> Beliefs:
        """Probabilities at the prior odds of the last run."""


@dataclass(frozen=True)
class _FixedPoint:
    n: float
    settled: Settled
    beliefs: Beliefs
    log_prior_odds: float
    log_posterior: float
    converged: bool
    steps: int


def at_implied_number(
    marginals: Marginals, prior: LinkPrior, progress: StageProgress, near: float | None = None
) -> LinkProbabilities:
    """Link probabilities at the number of links that is expected under them."""
    maximum = float(prior.maximum)
    if near is not None:
        low = high = _fixed_point(marginals, prior, min(near, maximum), progress)
    else:
        low = _fixed_point(marginals, prior, 0.0, lambda done: progress(0.5 * done))
        high = _fixed_point(marginals, prior, maximum, lambda done: progress(0.5 + 0.5 * done), low.n)
    warnings: list[ResultWarning] = []
    converged = low.settled.unsettled == 0 == high.settled.unsettled
    apart = abs(high.n - low.n) > max(0.5, 10 * TOLERANCE * np.sqrt(high.n))
    chosen = low if converged and not apart else max(low, high, key=lambda point: point.log_posterior)
    if converged and apart:
        other = high if chosen is low else low
        difference = chosen.log_posterior - other.log_posterior
        warnings.append(result_warning("second_solution", links=chosen.n, other=other.n, difference=difference))
    if not chosen.converged:
        warnings.append(result_warning("expected_links_not_converged", steps=chosen.steps))
    if chosen.settled.unsettled:
        warnings.append(result_warning("competing_records_not_converged", records=chosen.settled.unsettled))
    settled = chosen.converged and chosen.settled.unsettled == 0
    return LinkProbabilities(chosen.beliefs.probability, chosen.n, chosen.log_prior_odds, settled, tuple(warnings))


def _fixed_point(
    marginals: Marginals, prior: LinkPrior, start: float, progress: StageProgress, min_links: float = 0.0
) -> _FixedPoint:
    """Number of links that is expected at its own prior odds, nearest to `start` and at least `min_links`.

    Plain iteration rises or falls to it. Where most records have several candidates each further link implies another
    one, and it converges slowly: after `PLAIN_STEPS` the fixed point is bracketed and found by false position.
    """
    n, creeping, worked_out = start, False, 0.0
    maximum, allowed = float(prior.maximum), max(MAX_TERMS, MAX_TERMS_PER_PAIR * marginals.n_pairs)
    below, above = _Tried(min(start, min_links)), _Tried(maximum)
    for step in range(MAX_PRIORS):
        log_prior_odds = prior.log_odds(n)
        # On the way messages need not converge: the next prior odds change them again, and they are kept.
        settled = marginals.run(log_prior_odds, SWEEPS_BRACKETED if creeping else SWEEPS_ON_THE_WAY)
        worked_out += settled.worked_out
        expected = min(settled.expected_links, maximum)
        near = TOLERANCE * max(1.0, math.sqrt(expected))
        converged = abs(expected - n) <= near or (creeping and above.n - below.n <= near)
        exhausted = worked_out > allowed
        if (converged or exhausted) and settled.unsettled:
            settled = marginals.run(log_prior_odds)
            worked_out += settled.worked_out
            expected = min(settled.expected_links, maximum)
            # What has not converged by now will not: this is reported instead of another attempt from nearby.
            converged = abs(expected - n) <= near or (converged and (creeping or settled.unsettled > 0))
        progress(1.0 if converged or exhausted else max(step / MAX_PRIORS, worked_out / allowed))
        if converged or exhausted:
            break
        tried = _Tried(n, expected - n)
        if tried.gap > 0:
            below = tried
        else:
            above = tried
        creeping = step + 1 >= PLAIN_STEPS
        n = _cut(below, above, prior.maximum, middle=step % 3 == 0) if creeping else expected
    beliefs = marginals.beliefs()
    log_posterior = beliefs.log_weight_sum - expected * log_prior_odds + float(prior.log_density(expected))
    return _FixedPoint(expected, settled, beliefs, log_prior_odds, log_posterior, converged, step + 1)


@dataclass(frozen=True)
class _Tried:
    """A number of links, and by how much the number expected at its prior odds exceeds it; NaN if not known."""

    n: float
    gap: float = math.nan


def _cut(below: _Tried, above: _Tried, maximum: int, *, middle: bool) -> float:
    """Where to split a bracket, on a scale that stretches both ends: few links, and few records without one."""
    low, high = (math.log((tried.n + 0.5) / (maximum - tried.n + 0.5)) for tried in (below, above))
    share = 0.5
    if not middle and math.isfinite(below.gap) and math.isfinite(above.gap) and below.gap > above.gap:
        share = min(max(below.gap / (below.gap - above.gap), 0.05), 0.95)
    odds = math.exp(low + share * (high - low))
    return min(max(odds / (1 + odds) * (maximum + 1) - 0.5, below.n), above.n)
