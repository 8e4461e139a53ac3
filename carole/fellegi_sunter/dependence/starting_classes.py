r"""Where estimation starts: matches, strangers, and as many classes of kin between them as the counts support.

EM on counts of comparison vectors with independent fields in every class. Strangers have the levels of all pairs. The
match class is held by its belief, a prior of m in matches; the other classes start between the two and are free.

The number of classes of kin is that of the largest evidence by Cheeseman and Stutz's approximation: the marginal
likelihood of the expected counts as if every pair's class were known, times the ratio of the two likelihoods, that of
the vectors and that of the expected counts. It charges a class for its parameters by the pairs of that class: a penalty
by the number of all pairs, as BIC has it, would never allow a class of forty households among a million strangers.

The match class is the one that agrees as often as the belief has it, or more. There may be others, of records with
errors, which differ from kin by the fields that distinguish the persons of a household. A few who moved are not enough
for a class of which nothing is believed, and would be taken with the relatives who live elsewhere: so a class is tried
at last that agrees on those fields as matches do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.special import gammaln, rel_entr

from gemel.carole.fellegi_sunter.dependence.kin_classes import (
    PRIOR,
    SMALLEST,
    KinClasses,
    class_expectation,
    log_tables,
)
from gemel.carole.fellegi_sunter.link_posterior import NO_DOUBT
from gemel.carole.fellegi_sunter.model import summed
from gemel.carole.fellegi_sunter.prior import EXPECTATION_WORTH
from gemel.common.arrays import F64, I8, I64, U64, Flags

NEARNESS = (0.5, 0.2, 0.35, 0.1)
"""Where each class of kin starts: share of the match class's distribution, the rest being the strangers'."""

MAX_KIN = len(NEARNESS)

FIRST_SIZE = 50.0
"""Pairs of each class but the strangers at the start."""

MAX_STEPS = 300

TOLERANCE = 1e-5
"""Relative change of a class's size at which EM ends; only a start is wanted."""

MAX_DISAGREEMENT = 3.0
"""Divergence from the belief, in nats over all fields, above which a class cannot be that of matches."""

HALF = 0.5
"""Share of the personal fields on which a class of matches agrees at least."""

MANY_MATCHES = 1000.0
"""Matches from which those with errors are enough for a class of which nothing is believed."""

HELD = 1e12
"""Prior pairs of a distribution that stays as it is believed."""

FEWEST_STEPS = 20
"""Steps before it may end: a class can linger near its start."""


@dataclass(frozen=True)
class StartingClasses:
    """The classes from which estimation starts.

    `weight` (float64, shape (n_patterns,)): match weight of each comparison vector, in bits. `evidence`: log evidence
    with 0, 1, ... classes of kin, relative to none, as far as it was tried. `mixed`: whether a class of matches with
    errors was needed, so that the fields of matches depend on each other.
    """

    matches: float
    kin: KinClasses
    weight: F64
    evidence: tuple[float, ...] = ()
    mixed: bool = False


@dataclass(frozen=True)
class CountedPairs:
    """Counts of comparison vectors, and what is known before."""

    gamma: I8  # (n_patterns, n_fields)
    count: F64  # (n_patterns,)
    identified: U64  # (n_patterns,): fields whose m each row identifies, as bits
    valid: Flags  # (n_fields, n_levels): which entries are levels
    u: F64  # (n_fields, n_levels): levels of all pairs
    belief: F64  # (n_fields, n_levels): believed m
    worth: F64  # (n_fields,): matches that the belief is worth; infinite where m cannot be estimated
    personal: Flags  # (n_fields,): those that distinguish the persons of a household
    n_pairs: float
    expected_matches: float | None = None


def starting_classes(
    pairs: CountedPairs, max_kin: int = MAX_KIN, exclusiveness: Callable[[Flags], float] = lambda _: 0.0
) -> StartingClasses:
    """Fit the classes, with as many of kin as the evidence supports.

    `max_kin`: at most so many, up to `MAX_KIN`; `exclusiveness`: log likelihood ratio of the pairs of some patterns
    excluding each other: see `LinkPosterior.exclusiveness`.

    At most `MAX_STEPS` steps of O(n_patterns * n_classes * n_fields) for each number of classes. A number is tried only
    if the one before was better than the one before it.

    References
    ----------
    .. [1] Cheeseman and Stutz, Bayesian classification (AutoClass), 1996.
    """
    best = _fitted(pairs, pairs.belief[None], (Role.MATCH,))
    evidence = [best.evidence]
    before = best
    for n in range(1, max_kin + 1):
        tried = max((_fitted(pairs, *start) for start in _starts(pairs, before, n)), key=lambda fit: fit.evidence)
        evidence.append(tried.evidence)
        before = tried
        if tried.evidence > best.evidence:
            best = tried
        elif n > 1:
            break
    for start in _with_errors(pairs, best) if best.sizes[0] < MANY_MATCHES else ():
        tried = _fitted(pairs, *start)
        # EM may have drawn it to strangers who were born on one day.
        if tried.evidence > best.evidence and _personal_agreement(pairs, tried.levels[-1]) == 1:
            best = tried
    relative = tuple(value - evidence[0] for value in evidence)
    return _labelled(pairs, best, relative, exclusiveness)


_Start = tuple[F64, tuple["Role", ...]]
"""Distributions of the classes but the strangers, and their roles."""


class Role(Enum):
    """What is believed of a class before."""

    MATCH = "match"
    """m."""
    ERRORS = "errors"
    """m of the personal fields: matches whose records differ in the others, as those of people who moved."""
    KIN = "kin"
    """Nothing."""


@dataclass(frozen=True)
class _Fit:
    """Classes but the strangers, the match class first: distributions, roles, sizes in pairs, and the log evidence."""

    levels: F64
    roles: tuple[Role, ...]
    sizes: F64
    evidence: float


def _starts(pairs: CountedPairs, before: _Fit, n: int) -> Iterator[_Start]:
    """Where a fit with `n` classes of kin starts, after one with a class less.

    Twice, as EM finds the nearest maximum: from classes at fixed places, and with what the match class had become as a
    class of kin beside a match class as it is believed.
    """
    roles = (Role.MATCH, *[Role.KIN] * n)
    yield np.stack([pairs.belief, *(near * pairs.belief + (1 - near) * pairs.u for near in NEARNESS[:n])]), roles
    yield np.concatenate([pairs.belief[None], before.levels]), roles


def _with_errors(pairs: CountedPairs, fit: _Fit) -> Iterator[_Start]:
    """The classes, and the part of one of kin that agrees on the personal fields as matches do, if there can be one."""
    personal = np.flatnonzero(pairs.personal)
    if len(fit.levels) > 1 and 0 < len(personal) < len(pairs.personal):
        top = pairs.valid.sum(axis=1)[personal] - 1
        mixed = fit.levels[1 + int(np.argmax(fit.levels[1:, personal, top].min(axis=1)))]
        errors = np.where(pairs.personal[:, None], pairs.belief, mixed)
        yield np.concatenate([fit.levels, errors[None]]), (*fit.roles, Role.ERRORS)


def _fitted(pairs: CountedPairs, levels: F64, roles: tuple[Role, ...]) -> _Fit:
    prior = np.stack([_prior(pairs, role) for role in roles])
    levels, sizes, counted, value = _converged(pairs, levels, np.full(len(levels), FIRST_SIZE), prior)
    nearest = _nearest(pairs, levels, sizes)
    if nearest:
        # The classes have changed places: matches start again where the class is that is nearer to the belief.
        order = np.arange(len(levels))
        order[[0, nearest]] = nearest, 0
        levels, sizes, counted, value = _converged(pairs, levels[order], sizes[order], prior)
    return _Fit(levels, roles, sizes, value + _complete(pairs, levels, sizes, counted, prior))


def _prior(pairs: CountedPairs, role: Role) -> F64:
    """Prior pairs of a class by level: `HELD` of them where the belief stays."""
    even = PRIOR * pairs.valid / pairs.valid.sum(axis=1, keepdims=True)
    believed = np.minimum(pairs.worth, HELD)[:, None] * pairs.belief
    if role is Role.KIN:
        return np.asarray(even)
    if role is Role.MATCH:
        return believed
    # A field in error is like a stranger's.
    return np.where(pairs.personal[:, None], believed, PRIOR * (pairs.belief + pairs.u) / 2)


def _labelled(
    pairs: CountedPairs, fit: _Fit, evidence: tuple[float, ...], exclusiveness: Callable[[Flags], float]
) -> StartingClasses:
    """Which classes are matches, and the weights that follow.

    Records with errors, or of people who moved, can be a class of their own. It is one of matches if it agrees on every
    field that distinguishes the persons of a household, where a class of kin is no better than chance; or if its pairs
    share no records, where pairs at random would share many, unless it differs on most of those fields. Where its pairs
    share as many as at random, agreement on those fields counts only if strangers would not make so large a class: of a
    name and a sex alone namesakes do.
    """
    likeliest = _likeliest(pairs, fit)
    same = np.arange(len(fit.levels)) == 0
    for c in range(1, len(same)):
        agreed = _personal_agreement(pairs, fit.levels[c])
        if agreed < HALF:
            continue
        apart = exclusiveness(likeliest == c)
        namesakes = apart <= -NO_DOUBT and fit.sizes[c] <= _alike_by_chance(pairs, fit.levels[c])
        same[c] = apart >= NO_DOUBT or (agreed == 1 and not namesakes)
    matches = float(fit.sizes[same].sum())
    kin_sizes = fit.sizes[~same]
    rest = max(pairs.n_pairs - matches, float(kin_sizes.sum()) + SMALLEST)
    kin = KinClasses(fit.levels[~same], np.append(kin_sizes, rest - kin_sizes.sum()) / rest)
    among = KinClasses(fit.levels[same][1:], np.append(fit.sizes[same][1:], fit.sizes[0]) / matches)
    log_m = among.log_probability(pairs.gamma, summed(pairs.gamma, log_tables(fit.levels[:1])[0]))
    strangers = summed(pairs.gamma, log_tables(pairs.u[None])[0])
    weight = (log_m - kin.log_probability(pairs.gamma, strangers)) / np.log(2.0)
    return StartingClasses(matches, kin, weight, evidence, mixed=Role.ERRORS in fit.roles)


def _personal_agreement(pairs: CountedPairs, levels: F64) -> float:
    """Share of the personal fields on which a class agrees at least half as often as matches; `HALF` without any."""
    personal = np.flatnonzero(pairs.personal)
    top = pairs.valid.sum(axis=1) - 1
    belief, own = (table[personal, top[personal]] for table in (pairs.belief, levels))
    return float((own >= belief / 2).mean()) if len(personal) else HALF


def _strangers(pairs: CountedPairs, sizes: F64) -> float:
    """Pairs of no class: never none, though rounding may leave none."""
    return max(pairs.n_pairs - float(sizes.sum()), SMALLEST)


def _alike_by_chance(pairs: CountedPairs, levels: F64) -> float:
    """Strangers that are as alike in the personal fields as the pairs of a class, by Sanov's theorem."""
    divergence = rel_entr(levels, pairs.u)[pairs.personal & (pairs.valid.sum(axis=1) > 1)].sum()
    return float(pairs.n_pairs * np.exp(-divergence))


def _likeliest(pairs: CountedPairs, fit: _Fit) -> I64:
    """The class that each pattern's pairs most likely belong to; that of the strangers is the last."""
    rest = np.log(_strangers(pairs, fit.sizes)) + summed(pairs.gamma, log_tables(pairs.u[None])[0])
    own = [np.log(n) + summed(pairs.gamma, table) for n, table in zip(fit.sizes, log_tables(fit.levels), strict=True)]
    return np.asarray(np.argmax(np.stack([*own, rest]), axis=0), dtype=np.int64)


def _converged(pairs: CountedPairs, levels: F64, sizes: F64, prior: F64) -> tuple[F64, F64, F64, float]:
    """EM from some distributions and sizes: both, the expected pairs by level, and the log likelihood."""
    n = len(levels)
    strangers = summed(pairs.gamma, log_tables(pairs.u[None])[0])
    counted, expected = np.zeros_like(levels), np.zeros(n + 1)
    posterior = np.empty((len(pairs.gamma), n + 1))
    sizes = np.minimum(sizes, pairs.n_pairs / (2 * n))
    left_out = pairs.n_pairs - float(pairs.count.sum())
    for step in range(MAX_STEPS):
        log_shares = np.log(np.append(sizes, _strangers(pairs, sizes)) / pairs.n_pairs)
        value = class_expectation(
            pairs.gamma, pairs.count, pairs.identified, log_tables(levels), log_shares, strangers, 1, counted, expected,
            posterior,
        )  # fmt: skip
        value += left_out * float(log_shares[-1])
        before, sizes = sizes, np.maximum(expected[:-1], SMALLEST)
        if pairs.expected_matches is not None:
            sizes[0] = (sizes[0] + EXPECTATION_WORTH) / (1 + EXPECTATION_WORTH / pairs.expected_matches)
        if step >= FEWEST_STEPS and float(np.abs(np.log(sizes / before)).max()) < TOLERANCE:
            break
        smoothed = counted + prior
        levels = smoothed / smoothed.sum(axis=2, keepdims=True)
    return levels, sizes, counted, value


def _nearest(pairs: CountedPairs, levels: F64, sizes: F64) -> int:
    """The class that agrees as the belief has it, or more often: the match class, unless another is nearer to it.

    A match class without pairs is as it was believed, and stays empty unless another could be of matches.
    """
    below = np.array([_disagreement(pairs, one) for one in levels])
    below[0] = below[0] if sizes[0] >= 1.0 else MAX_DISAGREEMENT
    return int(np.argmin(np.where(sizes >= 1.0, below, np.where(np.arange(len(below)) == 0, below, np.inf))))


def _disagreement(pairs: CountedPairs, levels: F64) -> float:
    """Kullback-Leibler divergence from the believed agreement, of the fields on which a class agrees less often."""
    total = 0.0
    for q, (valid, worth) in enumerate(zip(pairs.valid, pairs.worth, strict=True)):
        usual = int(np.argmax(pairs.belief[q]))
        belief, own = float(pairs.belief[q, usual]), float(levels[q, usual])
        if valid.sum() > 1 and np.isfinite(worth) and own < belief:
            own = max(own, 1e-6)
            total += float(rel_entr(belief, own) + rel_entr(1 - belief, 1 - own))
    return total


def _complete(pairs: CountedPairs, levels: F64, sizes: F64, counted: F64, prior: F64) -> float:
    """Log marginal likelihood of the expected counts, less their log likelihood."""
    every = np.append(sizes, _strangers(pairs, sizes))
    total = _marginal(every, np.ones(len(every))) - float((every * np.log(every / pairs.n_pairs)).sum())
    for own, expected, before in zip(levels, counted, prior, strict=True):
        for q, valid in enumerate(pairs.valid):
            if before[q].sum() < HELD / 2:
                n = expected[q, valid]
                with np.errstate(divide="ignore", invalid="ignore"):
                    likelihood = np.where(n > 0, n * np.log(own[q, valid]), 0.0).sum()
                total += _marginal(n, before[q, valid]) - float(likelihood)
    return total


def _marginal(n: F64, prior: F64) -> float:
    """Log marginal likelihood of numbers of pairs in order, under a Dirichlet prior."""
    known = prior > 0
    parts = gammaln(prior[known] + n[known]) - gammaln(prior[known])
    return float(gammaln(prior.sum()) - gammaln(prior.sum() + n.sum()) + parts.sum())
