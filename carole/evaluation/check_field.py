r"""The share of false links from a field that the linkage never used.

A check field is sent like any other but is no part of blocking, weights or estimation. Among true links it agrees with
probability m, among false ones with probability u < m, so that its agreement among links,

.. math:: x = (1 - f) m + f u,

gives their share of false ones, f, whatever the model of the other fields claims. Two things spoil the plain form.

*Errors cluster in records.* A true link with an error in another field has one in the check field more often, so m of
perfect links is too high for the others, and f would be overestimated. m is therefore a function of d, the number of
other fields that differ at all: the log odds of a disagreement rise by a slope >= 0 with each. Both its parameters are
estimated among *sure* links: the model is sure of them, and no field is dissimilar (typing errors leave values similar,
another person's given name or birthday does not), or one field at most differs.

*False links are no random pairs.* They share what made the model link them: a surname and address with kin, a given
name, and with it the sex, with a namesake. u is therefore a function of the other fields' likeness, estimated among
pairs that are known to be false because one of their records has a sure link with another record. Given how alike a
pair is, it depends on who is in the other file, not on the check field, whether it ends as a link or as a known false
pair, so both agree on it equally often.

Links in doubt, those that are not sure and 20 at least, are divided by d and by the contrast m - u. In each stratum
they give f by the ratio of sums :math:`\sum (m - e) / \sum (m - u)`, e being 1 where the field agrees. Where m and u
hardly differ, as of sex among namesakes, false links stay hidden: they are taken to be as many, beside those seen, as
among pairs known to be false and as likely links. Sure links contribute what the model expects of them. All
uncertainty is drawn: of m by the posterior on a grid, of u by the curvature of its likelihood, of numbers by beta and
Poisson distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from gemel.carole.evaluation.link_quality import wrong
from gemel.common.arrays import F64, I8, I64, Flags

FAR, NEAR, SAME, MISSING = 0, 1, 2, -1
"""Likeness of two values: dissimilar, similar but different, equal, not compared."""


@dataclass(frozen=True)
class CheckedPairs:
    """Pairs, how alike their fields are, and whether they agree in the check field.

    `likeness` (int8, shape (n_pairs, n_fields)): `FAR`, `NEAR`, `SAME` or `MISSING` of each field of the model;
    `agrees` (int8, shape (n_pairs,)): 1 or 0 of the check field; `MISSING` where a record lacks it.
    """

    likeness: I8
    weight: F64
    agrees: I8

    def __post_init__(self) -> None:
        if self.likeness.ndim != 2 or self.agrees.shape != self.likeness.shape[:1]:
            raise wrong("one agreement per row of likenesses", f"{self.likeness.shape} and {self.agrees.shape}")

    @property
    def differing(self) -> I64:
        """Fields in which each pair differs at all: int64, shape (n_pairs,)."""
        return np.asarray(((self.likeness == FAR) | (self.likeness == NEAR)).sum(axis=1), dtype=np.int64)

    def rows(self, selected: Flags) -> CheckedPairs:
        return CheckedPairs(self.likeness[selected], self.weight[selected], self.agrees[selected])


SURE = 0.99
"""Probability from which a link may be a sure one."""

MAX_DIFFERING = 3
"""Links that differ in more fields count as if they differed in so many."""

FEWEST_DOUBTFUL = 20
"""Links that are taken to be in doubt at least, those of lowest weight: no estimate shows how one pair agrees."""

FEWEST_SURE = 30
"""Sure links with the check field below which there is no estimate."""

MIN_CONTRAST = 0.25
"""Difference of m and u from which the check field shows something."""

HIDDEN, SHOWN = 0.5, 4.5
"""Prior numbers of hidden false links, and of those that the check field shows."""

CONTRASTS = 4
"""Strata by this difference, between 0 and 1."""

DRAWS = 4000
MAX_KNOWN_FALSE = 20_000
"""Pairs known to be false from which u is estimated."""

MAX_AT_ONCE = 500
"""Links of a stratum from which the uncertainty of u is computed."""

_LOG_ODDS = np.linspace(-12.0, 3.0, 151)
_SLOPES = np.linspace(0.0, 4.0, 41)
_SLOPE_SCALE = 2.0
_EFFECT_SCALE = 3.0

DISCREPANCY = 0.3
"""Standard deviation of the log odds by which u of false links may differ from that of pairs known to be false: which
of several kin is linked depends a little on how alike they are in the check field too."""


@dataclass(frozen=True)
class FalseLinks:
    """The share of false links, with its 95 % interval, in [0, 1].

    `m`, `u`: mean probability of agreement in the check field: of the links if true, and of those in doubt if false;
    `links`, `in_doubt`: links that have the check field, and those of them that are not sure; `unseen`: links in doubt
    that would agree on the check field nearly as often if false.
    """

    share: float
    lower: float
    upper: float
    m: float
    u: float
    links: int
    in_doubt: int
    unseen: int


def sure_links(links: CheckedPairs, probability: F64) -> Flags:
    """Which links are taken to be true: bool, shape (n_links,)."""
    similar = ~(links.likeness == FAR).any(axis=1)
    return np.asarray((probability >= SURE) & (similar | (links.differing <= 1)), dtype=np.bool_)


def false_links(
    links: CheckedPairs, probability: F64, known_false: CheckedPairs, strangers: float, rng: np.random.Generator
) -> FalseLinks | None:
    """Estimate the share of false links by a check field.

    `probability` (float64, shape (n_links,)): what the model claims of each link; `known_false`: pairs one of whose
    records has a sure link with another record; `strangers`: share of all pairs of records that agree in the check
    field, in (0, 1). Returns None where fewer than `FEWEST_SURE` sure links have the field, or where most pairs that
    are known to be false, and are as likely links, agree on it about as often as true ones. Raises PARAMETER if the
    inputs disagree.

    Notes
    -----
    Cost is that of a logistic regression on at most `MAX_KNOWN_FALSE` pairs.

    References
    ----------
    .. [1] Blakely and Salmond, Int. J. Epidemiol. 31, 2002 (duplicates of links as a check). doi:10.1093/ije/31.6.1246
    """
    if probability.shape != links.agrees.shape:
        raise wrong("one probability per link", f"{probability.shape} and {links.agrees.shape}")
    if not 0 < strangers < 1:
        return None
    there = links.agrees != MISSING
    links, probability = links.rows(there), probability[there]
    sure = sure_links(links, probability)
    weakest = np.flatnonzero(sure)[np.argsort(links.weight[sure], kind="stable")]
    sure[weakest[: max(0, FEWEST_DOUBTFUL - int((~sure).sum()))]] = False
    if sure.sum() < FEWEST_SURE:
        return None
    true = _agreement_of_true(links.rows(sure), rng)
    doubtful = links.rows(~sure)
    effects, drawn_effects = _effects(known_false, strangers, rng)
    design = _design(doubtful)
    false = expit(design @ effects)
    d = np.minimum(doubtful.differing, MAX_DIFFERING)
    contrast = true[0][0] - false
    seen = contrast >= MIN_CONTRAST
    in_doubt = len(doubtful.agrees)
    hidden = _hidden(doubtful, known_false, true[0][0], effects)
    if hidden[0] > hidden[1]:
        return None
    stratum = d * CONTRASTS + np.minimum((contrast * CONTRASTS).astype(np.int64), CONTRASTS - 1)
    number, draws = 0.0, np.zeros(DRAWS)
    for cell in np.unique(stratum[seen]):
        here = seen & (stratum == cell)
        n, agreeing = int(here.sum()), int(doubtful.agrees[here].sum())
        m, m_draws = float(true[0][d[here][0]]), true[1][:, d[here][0]]
        some = design[here][:MAX_AT_ONCE]
        u, u_draws = float(false[here].mean()), expit(drawn_effects @ some.T).mean(axis=1)
        x_draws = rng.beta(agreeing + 0.5, n - agreeing + 0.5, DRAWS)
        number += n * (m - agreeing / n) / max(m - u, MIN_CONTRAST)
        draws = draws + n * (m_draws - x_draws) / np.maximum(m_draws - u_draws, MIN_CONTRAST)
    unseen = int(in_doubt - seen.sum())
    ratio = rng.beta(*hidden, DRAWS)
    ratio /= np.maximum(1 - ratio, 1e-12)  # a draw may be 1 to the last bit, and there are no more than the unseen
    draws += np.minimum(rng.poisson(ratio * rng.gamma(np.maximum(draws, 0) + 0.5)), unseen)
    number += min(max(number, 0.0) * hidden[0] / hidden[1], unseen)
    claimed = float((1 - probability[sure]).sum())
    draws += rng.poisson(claimed, DRAWS)
    total = len(links.agrees)
    lower, upper = np.clip(np.quantile(draws / total, (0.025, 0.975)), 0, 1)
    share = min(max((number + claimed) / total, 0.0), 1.0)
    mean_m = float(true[0][np.minimum(links.differing, MAX_DIFFERING)].mean())
    return FalseLinks(share, float(lower), float(upper), mean_m, float(false.mean()), total, in_doubt, unseen)


def _agreement_of_true(sure: CheckedPairs, rng: np.random.Generator) -> tuple[F64, F64]:
    """m by the number of differing fields, shape (MAX_DIFFERING + 1,), and draws of its posterior.

    The prior of m of perfect links is Jeffreys's, that of the slope half a normal distribution.
    """
    d = np.minimum(sure.differing, MAX_DIFFERING)
    pairs = np.bincount(d, minlength=MAX_DIFFERING + 1)
    errors = np.bincount(d, sure.agrees == 0, minlength=MAX_DIFFERING + 1)
    error = expit(_LOG_ODDS[:, None, None] + _SLOPES[None, :, None] * np.arange(MAX_DIFFERING + 1))
    log_posterior = (errors * np.log(error) + (pairs - errors) * np.log1p(-error)).sum(axis=2)
    log_posterior += 0.5 * (np.log(error[:, :, 0]) + np.log1p(-error[:, :, 0])) - 0.5 * (_SLOPES / _SLOPE_SCALE) ** 2
    weight = np.exp(log_posterior - log_posterior.max()).ravel()
    weight /= weight.sum()
    m = 1 - error.reshape(-1, MAX_DIFFERING + 1)
    return weight @ m, m[rng.choice(len(weight), DRAWS, p=weight)]


def _hidden(doubtful: CheckedPairs, known_false: CheckedPairs, m: float, effects: F64) -> tuple[float, float]:
    """Numbers of false links that the check field hides and shows, to each other: those of the pairs that are known to
    be false and as likely links as half of those in doubt, after a prior."""
    like_links = known_false.rows(known_false.weight >= np.median(doubtful.weight))
    shown = int((m - expit(_design(like_links) @ effects) >= MIN_CONTRAST).sum())
    return HIDDEN + len(like_links.weight) - shown, SHOWN + shown


def _effects(known_false: CheckedPairs, strangers: float, rng: np.random.Generator) -> tuple[F64, F64]:
    """The effects of how alike the fields are on the log odds of u, shape (n_effects,), and draws of them.

    Where nothing is known to be false, u is that of strangers: effects have normal priors around 0.
    """
    known = known_false.rows(known_false.agrees != MISSING)
    if len(known.agrees) > MAX_KNOWN_FALSE:
        chosen = np.zeros(len(known.agrees), dtype=np.bool_)
        chosen[rng.choice(len(chosen), MAX_KNOWN_FALSE, replace=False)] = True
        known = known.rows(chosen)
    design = _design(known)
    offset = float(np.log(strangers) - np.log1p(-strangers))
    precision = np.eye(design.shape[1]) / _EFFECT_SCALE**2
    effect, curvature = _regression(design, known.agrees.astype(np.float64), offset, precision)
    drawn = effect + rng.standard_normal((DRAWS, len(effect))) @ np.linalg.cholesky(np.linalg.inv(curvature)).T
    drawn[:, 0] += DISCREPANCY * rng.standard_normal(DRAWS)
    drawn[:, 0] += offset
    effect[0] += offset
    return effect, drawn


def _regression(design: F64, agrees: F64, offset: float, precision: F64) -> tuple[F64, F64]:
    """Effects of greatest posterior density in a logistic regression, and the curvature there: Newton's method, with
    steps halved until they gain."""

    def loss(effect: F64) -> float:
        score = offset + design @ effect
        return float((np.logaddexp(0, score) - agrees * score).sum() + effect @ precision @ effect / 2)

    effect = np.zeros(design.shape[1])
    while True:
        fitted = expit(offset + design @ effect)
        curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design + precision
        step = np.linalg.solve(curvature, design.T @ (agrees - fitted) - precision @ effect)
        before = loss(effect)
        while loss(effect + step) > before and np.abs(step).max() > 1e-8:
            step = step / 2
        effect = effect + step
        if np.abs(step).max() < 1e-6:
            return effect, curvature


def _design(pairs: CheckedPairs) -> F64:
    """A constant, and for every field whether the two values are equal and whether they are similar."""
    return np.column_stack(
        [np.ones(len(pairs.weight)), pairs.weight / 10, *(pairs.likeness == like for like in (MISSING, NEAR, SAME))]
    ).astype(np.float64)
