r"""Standard errors of m, u and p.

Without one-to-one the estimates are the root of estimating functions, one for each parameter, to which every pair
contributes: of m, ``g ([gamma_q = k] - m[q, k])`` over the pairs that identify field q, with g the match
probability; of p, ``g - p`` over all pairs; of u, ``(1 - g)([gamma_q = k] - u[q, k])`` where it is free and
``[gamma_q = k] - p m[q, k] - (1 - p) u[q, k]`` where it is corrected. With H the derivative of their sums, by Louis'
identity complete less missing information, and B the sum of their squares, the covariance is ``inv(H) B inv(H)'``.
Where all pairs identify all fields and u is fixed or free the functions are the score of the likelihood, H is its
observed information, and the covariance is ``inv(H)``. All in logits, so that no probability leaves (0, 1).

Under one-to-one (`linked_errors`) the matches are those of the link probabilities: complete information is that of so
many matches and of the prior, missing information the covariance of the score over the uncertain links. The links of
different records of A are assumed to vary independently, which somewhat overstates it.

These are standard errors of the parameters of the generating process, with each pair a draw. A match is one person
whose two records differ by chance, so this is correct for m and p. Non-matching pairs share records, so that u varies
more between files than a count of pairs implies (1.5 times as much in the files of the tests); u counted over all pairs
is exact for these files, so no error is reported.

Where fields depend on each other (`carole.fellegi_sunter.dependence`) how often one of them agrees is still a
share among matches. But how much a doubtful pair's match probability changes with it is not known; so an error
is reported only where doubtful pairs add less than `DOUBT` to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from gemel.carole.fellegi_sunter.model import Model, PatternCounts, shares, within_levels
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import expected_levels, identified_bits, unidentified_fields, worth
from gemel.carole.fellegi_sunter.settings import Estimation, RuleFields
from gemel.common.arrays import F64, I8, U64, Flags, Ints

BATCH = 1 << 13
"""Patterns, or records of A, whose scores are held in memory at a time."""

DOUBT = 0.1
"""Share by which doubtful pairs may increase an error where fields depend on each other."""

FEWEST = 1.0
"""Expected matches at a level, the prior's among them, below which its m has no standard error."""

MIN_CURVATURE = 1e-9
"""Smallest eigenvalue of the information, each parameter scaled to 1, at which the parameters are identified."""


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of a model's parameters; NaN where none is reported.

    `m`, `u` (float64, shape (n_fields, n_levels)); `note`: the basis of the errors, or why there are none.
    """

    m: F64
    u: F64
    p: float
    note: str


PAIRWISE = "standard errors: each pair a draw, from the information that the comparison vectors hold"
LINKED = "standard errors: each match a draw, with what is not known of the links and the prior of m taken into account"
SHARED_U = "; u varies more than that from files to files, as pairs share records"
COUNTED_U = "; u is counted over all pairs of these files and has none"


def no_errors(model: Model, reason: str) -> StandardErrors:
    nothing = np.full(model.m.shape, np.nan)
    return StandardErrors(nothing, nothing.copy(), float("nan"), f"no standard errors: {reason}")


def pairwise_errors(
    model: Model, patterns: PatternCounts, settings: Estimation, rules: Sequence[RuleFields], level_counts: F64 | None
) -> StandardErrors:
    """Standard errors of a model from `fit`, of the same inputs.

    There are none of an unidentified field, of a level with less than `FEWEST` expected matches (near 0
    an estimate is not symmetric about the truth), of p at its bound, and of a model that is not identified or not
    converged.

    O(n_patterns * (n_fields * n_levels)**2), once; nothing depends on the number of pairs.

    References
    ----------
    .. [1] Louis, Journal of the Royal Statistical Society B 44, 1982. doi:10.1111/j.2517-6161.1982.tb01203.x
    .. [2] Godambe, Annals of Mathematical Statistics 31, 1960. doi:10.1214/aoms/1177705693
    """
    if not model.identified:
        return no_errors(model, "the model is not identified")
    if not model.converged:
        return no_errors(model, "the estimation had not converged")
    layout = _Layout(model, settings, rules)
    width = model.m.shape[1]
    gamma = np.ascontiguousarray(patterns.gamma)
    everywhere = counted_levels(gamma, patterns.count, width) if level_counts is None else level_counts
    total = everywhere.sum(axis=1)
    n_pairs = float(model.n_a) * model.n_b
    identified = identified_bits(patterns.mask, rules, patterns.n_fields)
    g = model.match_probabilities(gamma)
    count = patterns.count.astype(np.float64)
    sampled = np.minimum(total / n_pairs, 1.0) if rules else np.ones(len(total))
    curvature = np.zeros((layout.size, layout.size))
    squares = np.zeros_like(curvature)
    for first in range(0, len(gamma), BATCH):
        part = slice(first, first + BATCH)
        m_score, u_score, odds = layout.scores(gamma[part])
        identified_m = m_score * layout.identifies(identified[part])
        doubt = (count[part] * g[part] * (1 - g[part]))[:, None]
        likely, unlikely = g[part, None], 1 - g[part, None]
        ones = np.ones((len(likely), int(layout.has_p)))
        if settings.u == "free":
            moved_u, reported_u = -u_score, unlikely * u_score
        else:
            moved_u, reported_u = np.zeros_like(u_score), layout.residuals(gamma[part], model.p)
        reported = np.hstack([likely * identified_m, reported_u, likely * ones])
        curvature -= (doubt * np.hstack([identified_m, moved_u, ones])).T @ odds
        squares += (count[part, None] * reported).T @ reported
    matches, others = (expected_levels(patterns, rules, count * share, width).sum(axis=1) for share in (g, 1 - g))
    layout.add_multinomial(curvature, layout.m_at, model.m, matches + settings.prior)
    if layout.has_p:
        curvature[-1, -1] += n_pairs * model.p * (1 - model.p)
        squares[-1, -1] -= n_pairs * model.p**2
    exact_score = not rules
    if settings.u == "free":
        layout.add_multinomial(curvature, layout.u_at, model.u, others + settings.prior)
    elif settings.u == "corrected":
        exact_score = False
        layout.add_correction(curvature, model.p, total, settings.prior)
        if rules:
            layout.replace_counts(squares, everywhere, sampled)
    covariance = _covariance(curvature, None if exact_score else squares)
    if covariance is None:
        return no_errors(model, "the comparison vectors hardly identify the parameters")
    note = PAIRWISE + (COUNTED_U if settings.u == "all_pairs" else SHARED_U)
    return layout.errors(covariance, note, matches + settings.prior)


def linked_errors(
    model: Model,
    patterns: PatternCounts,
    row: Ints | None,
    pattern: Ints,
    probability: F64,
    rules: Sequence[RuleFields] = (),
    *,
    dependent: bool = False,
) -> StandardErrors:
    """Standard errors of a model that `fit_joint` estimated from link probabilities, with its prior of m.

    Of each kept pair, `row`: the record of A, which has one match at most; None: every pair separately, one for each
    pair of `patterns`; `pattern`: the row of `patterns` in which it is counted; `probability`: of a link. `dependent`:
    whether fields depend on each other in the model. O(n_pairs * n_fields * n_levels) for the uncertain pairs, and the
    square of that for their patterns.
    """
    if not model.identified:
        return no_errors(model, "the model is not identified")
    layout = _Layout(model, Estimation(u="all_pairs", one_to_one=False, prior=0), rules)
    gamma = np.ascontiguousarray(patterns.gamma)
    identified = identified_bits(patterns.mask, rules, patterns.n_fields)
    if not layout.has_p:
        return no_errors(model, "there is no sign of matches")
    expected = patterns.count[pattern] * probability if row is None else probability
    links = np.bincount(pattern, expected, minlength=len(gamma)).astype(np.float64)
    learnt = expected_levels(patterns, rules, links, model.m.shape[1])
    complete = np.zeros((layout.size, layout.size))
    layout.add_multinomial(complete, layout.m_at, model.m, learnt.sum(axis=1) + worth(model.fields))
    matched = float(links.sum())
    complete[-1, -1] += max(matched, 1e-300) * (1 - model.p)
    if row is not None:
        # A record of the smaller file has a match or none: the number of matches varies less than a count of pairs.
        complete[-1, -1] /= max(1 - matched / min(model.n_a, model.n_b), 1e-6)
    doubtful_pairs = _doubtful(row, probability)
    weight = probability[doubtful_pairs]
    if row is None:
        weight = patterns.count[pattern[doubtful_pairs]] * weight * (1 - weight)
    used, of_pair = np.unique(pattern[doubtful_pairs], return_inverse=True)
    m_score, _, odds = layout.scores(gamma[used])
    reported = np.hstack([m_score * layout.identifies(identified[used]), np.ones((len(used), 1))])
    by_pattern = np.bincount(of_pair, weight, minlength=len(used))[:, None]
    missing, own = (by_pattern * reported).T @ odds, (by_pattern * reported).T @ reported
    if row is not None:
        for of_record in _by_record(row[doubtful_pairs], of_pair, weight, len(used)):
            mean_reported = of_record @ reported
            missing -= mean_reported.T @ (of_record @ odds)
            own -= mean_reported.T @ mean_reported
    covariance = _covariance(complete - missing, None if not rules else complete - own)
    if covariance is None:
        return no_errors(model, "the links are too uncertain")
    matches = learnt.sum(axis=1) + worth(model.fields)
    found = layout.errors(covariance, LINKED + COUNTED_U, matches)
    if not dependent:
        return found
    certain = _covariance(complete, None)
    if certain is None:
        return no_errors(model, "a field's levels have not been seen among matches")
    sure = layout.errors(certain, "", matches)
    with np.errstate(invalid="ignore"):
        doubtful = found.m > (1 + DOUBT) * sure.m
    m = np.where(doubtful, np.nan, found.m)
    p = found.p if found.p <= (1 + DOUBT) * sure.p else float("nan")
    note = found.note + "; none where dependence of the fields could matter to it" if doubtful.any() else found.note
    return StandardErrors(m, found.u, p, note)


def _doubtful(row: Ints | None, probability: F64) -> Ints:
    """The uncertain pairs; where a record has one match at most, all pairs of the uncertain records.

    A record is uncertain if any of its pairs is: the certain ones would add and subtract the same.
    """
    if row is None:
        return np.flatnonzero((probability > 1e-9) & (probability < 1 - 1e-9))
    kept = np.flatnonzero(probability > 1e-9)
    in_doubt = np.zeros(int(row.max(initial=0)) + 1, dtype=np.bool_)
    in_doubt[row[kept][probability[kept] < 1 - 1e-9]] = True
    doubtful: Ints = kept[in_doubt[row[kept]]]
    return doubtful


def _by_record(row: Ints, pattern: Ints, weight: F64, n_patterns: int) -> Iterator[csr_matrix]:
    """Summed weights of each record's pairs by pattern, a batch of records at a time."""
    rows, record = np.unique(row, return_inverse=True)
    weights = csr_matrix((weight, (record, pattern)), shape=(len(rows), n_patterns))
    for first in range(0, weights.shape[0], BATCH):
        yield weights[first : first + BATCH]


class _Layout:
    """The position of each parameter among those estimated: logits of m, of u, and of p last.

    A distribution's logits are relative to its largest probability, which has none. `m_at`, `u_at` (int, shape (n, 2)):
    field and level of each.
    """

    def __init__(self, model: Model, settings: Estimation, rules: Sequence[RuleFields]) -> None:
        self._model = model
        fixed = unidentified_fields(rules, len(model.fields))
        self.m_at = self._places(model.m, fixed)
        self.u_at = self._places(model.u, np.full(len(fixed), settings.u == "all_pairs"))
        maximum = 1 / max(model.n_a, model.n_b) if settings.one_to_one else 1.0
        self.has_p = 1e-6 / (model.n_a * model.n_b) < model.p < maximum * (1 - 1e-9)
        self.size = len(self.m_at) + len(self.u_at) + int(self.has_p)
        self._of_u = slice(len(self.m_at), len(self.m_at) + len(self.u_at))

    @staticmethod
    def _places(table: F64, left_out: Flags) -> Ints:
        """Levels with a logit. A corrected u of 0, all of whose pairs are taken for matches, is the prior's alone."""
        estimated = (table > 0) & ~left_out[:, None]
        estimated[np.arange(len(table)), table.argmax(axis=1)] = False
        return np.argwhere(estimated)

    def scores(self, gamma: I8) -> tuple[F64, F64, F64]:
        """Derivatives of log m, of log u, and of the log odds of a match by all parameters."""
        m_score = self._scores(gamma, self.m_at, self._model.m)
        u_score = self._scores(gamma, self.u_at, self._model.u)
        return m_score, u_score, np.hstack([m_score, -u_score, np.ones((len(gamma), int(self.has_p)))])

    @staticmethod
    def _scores(gamma: I8, places: Ints, table: F64) -> F64:
        q, k = places.T
        return np.ascontiguousarray(np.where(gamma[:, q] >= 0, (gamma[:, q] == k) - table[q, k], 0.0))

    def residuals(self, gamma: I8, p: float) -> F64:
        """The contributions of pairs to the equations of a corrected u."""
        return self._scores(gamma, self.u_at, p * self._model.m + (1 - p) * self._model.u)

    def identifies(self, identified: U64) -> F64:
        """1 where a pattern identifies the field of a parameter of m: shape (n_patterns, n_m)."""
        fields = self.m_at[:, 0].astype(np.uint64)
        return ((identified[:, None] >> fields[None, :]) & np.uint64(1)).astype(np.float64)

    def add_multinomial(self, into: F64, places: Ints, table: F64, number: F64) -> None:
        """Add the information of a number of draws of each field's level."""
        q, k = places.T
        of_logits = slice(0, len(places)) if places is self.m_at else self._of_u
        into[of_logits, of_logits] += np.where(
            q[:, None] == q, (number[q] * table[q, k])[:, None] * ((k[:, None] == k) - table[q, k]), 0.0
        )

    def add_correction(self, into: F64, p: float, total: F64, prior: float) -> None:
        """Add the derivatives of the equations of a corrected u."""
        m, u = self._model.m, self._model.u
        self.add_multinomial(into, self.u_at, u, total * (1 - p) + prior)
        (q, k), (r, other) = self.u_at.T, self.m_at.T
        only_prior = u[q, k] * (total[q] * (1 - p) + prior) <= prior + 1e-9 * total[q]
        moves = ~(only_prior & (m[q, k] * p * total[q] > 1))
        by_m = (total[q] * p * m[q, k])[:, None] * ((k[:, None] == other) - m[r, other])
        into[self._of_u, : len(r)] += np.where(moves[:, None] & (q[:, None] == r), by_m, 0.0)
        if self.has_p:
            into[self._of_u, -1] += np.where(moves, total[q] * p * (1 - p) * (m[q, k] - u[q, k]), 0.0)

    def replace_counts(self, squares: F64, everywhere: F64, sampled: F64) -> None:
        """Add the variance of levels counted over all pairs, where the patterns cover only some pairs."""
        share = sampled[self.u_at[:, 0]]
        squares[self._of_u] *= share[:, None]
        squares[:, self._of_u] *= share[None, :]
        squares[self._of_u, self._of_u] = 0.0
        valid = within_levels([field.n_levels for field in self._model.fields])
        self.add_multinomial(squares, self.u_at, shares(everywhere, valid, 0.0), everywhere.sum(axis=1))

    def errors(self, covariance: F64, note: str, matches: F64) -> StandardErrors:
        """Standard errors of the probabilities from the covariance of the logits; `matches` identified each field."""
        of_m = slice(0, len(self.m_at))
        m = self._spread(self._model.m, self.m_at, covariance[of_m, of_m])
        m[self._model.m * matches[:, None] < FEWEST] = np.nan
        u = self._spread(self._model.u, self.u_at, covariance[self._of_u, self._of_u])
        p = self._model.p
        return StandardErrors(
            m, u, p * (1 - p) * float(np.sqrt(covariance[-1, -1])) if self.has_p else float("nan"), note
        )

    @staticmethod
    def _spread(table: F64, places: Ints, covariance: F64) -> F64:
        found = np.full(table.shape, np.nan)
        for q in range(len(table)):
            at = np.flatnonzero(places[:, 0] == q)
            if not len(at):
                continue
            levels = places[at, 1]
            derivative = -np.outer(table[q], table[q, levels])
            derivative[levels, range(len(levels))] += table[q, levels]
            variance = np.einsum("ki,ij,kj->k", derivative, covariance[np.ix_(at, at)], derivative)
            found[q] = np.where(table[q] > 0, np.sqrt(np.maximum(variance, 0.0)), np.nan)
        return found


def _covariance(curvature: F64, squares: F64 | None) -> F64 | None:
    """``inv(H) B inv(H)'``, or ``inv(H)`` without B; None where H does not identify the parameters."""
    diagonal = np.diag(curvature)
    if not len(diagonal) or (diagonal <= 0).any() or not np.isfinite(curvature).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    scaled = curvature * np.outer(scale, scale)
    if squares is None:
        scaled = (scaled + scaled.T) / 2
        if np.linalg.eigvalsh(scaled)[0] < MIN_CURVATURE:
            return None
        return np.asarray(np.linalg.inv(scaled) * np.outer(scale, scale))
    if np.linalg.eigvals(scaled).real.min() < MIN_CURVATURE:
        return None
    inverse = np.linalg.inv(scaled)
    found = inverse @ (squares * np.outer(scale, scale)) @ inverse.T * np.outer(scale, scale)
    return None if (np.diag(found) <= 0).any() else np.asarray(found)
