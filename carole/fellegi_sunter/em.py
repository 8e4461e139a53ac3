"""Estimation of m, u and p by expectation and maximisation on counts of comparison patterns.

E: ``g = p prod m / (p prod m + (1 - p) prod u)``, in logarithms; a missing field contributes a factor of 1.
M: ``m[q, k]`` is the expected share of level k among matches that are not missing in field q, and ``p`` the
expected matches over all ``n_a * n_b`` pairs, those that blocking left out counted as non-matches.

Where pairs were blocked, u must come from pairs of the whole product (`level_counts`): inside blocks the block
itself looks like the match class. And m of a field is estimated only from rules that do not involve it.

Plain EM converges slowly where the classes overlap. After `PLAIN_STEPS` of it every third step is an extrapolation
(squared iterative method, Varadhan and Roland 2008), which is undone if it lowers the objective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.carole.fellegi_sunter.model import (
    History,
    Model,
    PatternCounts,
    corrected,
    expectation,
    shares,
    within_levels,
)
from gemel.carole.fellegi_sunter.model import level_counts as counted_levels
from gemel.carole.fellegi_sunter.model_warnings import (
    FEWEST_MATCHES,
    check_rules,
    default_m,
    identified_bits,
    not_identified,
    starting_m,
    unidentified_fields,
    warnings_of,
    why_not_identified,
)
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, RuleFields
from gemel.common.arrays import F64
from gemel.common.errors import GemelError, parameter

# Whether the counts determine the parameters.
#
# One field alone never does: its levels are distributed as p m + (1 - p) u, and any split of that mixture fits as
# well. Two fields determine m and p when u is known, but not when u is estimated from the same pairs: the
# table of two fields minus the product of its margins is p / (1 - p) times an outer product, which fixes m - r up to
# a factor only. Three fields do, unless some of them are constant or the match class is the same as the other.


PLAIN_STEPS = 10
"""EM steps before the first extrapolation: most linkages have converged by then."""

STARTS = ((2 / 3, 1.0), (0.9, 0.5), (0.5, 2.0), (2 / 3, 0.1))
"""Starts where u is free: share of the top level in m, and a factor of the number of matches to start with."""

MIN_GROWTH = 1e-4
"""Growth in one step, as a share, above which a probability has not converged, however small it is."""


@dataclass(frozen=True)
class _State:
    m: F64
    u: F64
    p: float

    def distance(self, other: _State) -> float:
        """Greatest difference of a probability in m and u, and relative difference of p."""
        of_m, of_u = (float(np.abs(one - two).max()) for one, two in ((self.m, other.m), (self.u, other.u)))
        return max(of_m, of_u, abs(math.log(self.p / other.p)))

    def is_leaving_zero(self, later: _State) -> bool:
        """Whether a probability is still growing by a share, from so near 0 that `distance` does not detect it.

        An extrapolation may reduce a probability that far, and EM then raises it by a factor in each step.
        """
        before, after = np.stack([self.m, self.u]), np.stack([later.m, later.u])
        return bool((after > before * (1 + MIN_GROWTH)).any(where=before > 0))


def fit(
    patterns: PatternCounts,
    fields: Sequence[FieldLevels],
    n_a: int,
    n_b: int,
    settings: Estimation | None = None,
    rules: Sequence[RuleFields] = (),
    level_counts: F64 | None = None,
) -> Model:
    """Fit a Fellegi-Sunter model to counts of comparison patterns.

    `patterns`: of every pair, or of the pairs that satisfy at least one blocking rule; `fields`: in the order of the
    columns of ``patterns.gamma``; `rules`: rule r is bit r of ``patterns.mask``; none: nothing was blocked;
    `level_counts` (float64, shape (n_fields, max n_levels)): pairs by level, missing ones left out, over all n_a * n_b
    pairs or a random sample of them. Needed where pairs were blocked; otherwise the patterns give it.

    Raises PARAMETER if the inputs are inconsistent, if u is free though pairs were blocked, or if blocked pairs come
    without `level_counts`; NOT_IDENTIFIED if too few fields distinguish pairs. O(n_patterns * n_fields) per iteration,
    whatever the number of pairs.

    References
    ----------
    .. [1] Jaro, JASA 84, 1989. doi:10.1080/01621459.1989.10478785
    .. [2] Varadhan and Roland, Scandinavian Journal of Statistics 35, 2008. doi:10.1111/j.1467-9469.2007.00585.x
    """
    settings = settings or Estimation()
    width = _check(patterns, fields, n_a, n_b, settings, rules, level_counts)
    inside = counted_levels(patterns.gamma, patterns.count, width)
    everywhere = inside if level_counts is None else np.asarray(level_counts, dtype=np.float64)
    reason = why_not_identified(fields, everywhere + inside, settings.u)
    if reason is not None and settings.refuse_unidentified:
        raise not_identified(reason)
    algorithm = _Algorithm(patterns, fields, n_a, n_b, settings, rules, everywhere)
    starts = STARTS if settings.u == "free" else STARTS[:1]
    model, matches = max((algorithm.run(*start) for start in starts), key=lambda done: done[0].log_likelihood)
    maximum = algorithm.maximum * n_a * n_b if settings.one_to_one else math.inf
    warnings = warnings_of(model, everywhere, matches, rules, reason, maximum)
    return replace(model, identified=reason is None, warnings=warnings)


class _Algorithm:
    def __init__(
        self, patterns: PatternCounts, fields: Sequence[FieldLevels], n_a: int, n_b: int, settings: Estimation,
        rules: Sequence[RuleFields], everywhere: F64,
    ) -> None:  # fmt: skip
        self._gamma = np.ascontiguousarray(patterns.gamma)
        self._count = patterns.count.astype(np.float64)
        self._identified = identified_bits(patterns.mask, rules, len(fields))
        self._fields, self._n_a, self._n_b = tuple(fields), n_a, n_b
        self._settings, self._everywhere = settings, everywhere
        self._valid = within_levels([field.n_levels for field in fields])
        self._n_pairs = float(n_a) * n_b
        self._left_out = self._n_pairs - patterns.n_pairs
        self.maximum = min(1 / max(n_a, n_b) if settings.one_to_one else 1.0, 1 - 1e-9)
        self._fixed_m = unidentified_fields(rules, len(fields))[:, None]
        self._default_m = default_m(fields, everywhere.shape[1])
        self._matches, self._others = np.zeros_like(everywhere), np.zeros_like(everywhere)

    def run(self, top: float, factor: float) -> tuple[Model, float]:
        """EM from one start, the top level's share in m and a factor of p: the model, and its expected matches."""
        settings = self._settings
        m = np.where(self._fixed_m, self._default_m, starting_m(self._fields, self._everywhere.shape[1], top))
        first_p = (settings.expected_matches or float(min(self._n_a, self._n_b))) / self._n_pairs
        # A probability of one half is the largest sensible start, for files of one record.
        p = min(first_p * factor, self.maximum, 0.5)
        state = _State(m, shares(self._everywhere, self._valid, settings.prior), p)
        path: list[tuple[_State, float]] = []
        steps, distance, converged = 0, math.inf, False
        while not converged and steps < settings.max_iterations:
            first, likelihood, before = self._step(state)
            path.append((state, likelihood))
            second, likelihood, _ = self._step(first)
            path.append((first, likelihood))
            steps += 2
            distance = _remaining(state.distance(first), first.distance(second))
            converged = distance < settings.tolerance and not first.is_leaving_zero(second)
            start, state = state, second
            if converged or steps < PLAIN_STEPS or steps >= settings.max_iterations:
                continue
            leap = self._extrapolated(start, first, second)
            landed, likelihood, after = self._step(leap)
            steps += 1
            if after >= before - 1e-10 * abs(before):
                path.append((leap, likelihood))
                state = landed
        _, likelihood, _ = self._step(state)
        path.append((state, likelihood))
        visited, likelihoods = zip(*path, strict=True)
        history = History(np.array([s.p for s in visited]), np.array([s.m for s in visited]), np.array(likelihoods))
        model = Model(
            self._fields, state.m, state.u, state.p, self._n_a, self._n_b, likelihood, converged, steps, distance,
            identified=True, matches_behind_m=self._matches.sum(axis=1), warnings=(), history=history,
        )  # fmt: skip
        return model, self._expected

    def _step(self, state: _State) -> tuple[_State, float, float]:
        """One EM step: the next state, and the log likelihood and the objective of this one."""
        with np.errstate(divide="ignore"):
            log_m, log_u = np.log(state.m), np.log(state.u)
        missing = np.zeros((len(log_m), 1))
        total, counted = expectation(
            self._gamma, self._count, self._identified, np.hstack([log_m, missing]), np.hstack([log_u, missing]),
            math.log(state.p), math.log1p(-state.p), self._matches, self._others,
        )  # fmt: skip
        # The pairs that blocking left out are counted as non-matches; their levels are not known.
        likelihood = counted + self._left_out * math.log1p(-state.p)
        prior = self._settings.prior
        smoothing = np.where(self._valid & (state.m > 0), log_m, 0.0) / self._valid.sum(axis=1, keepdims=True)
        objective = likelihood + prior * float(smoothing.sum())
        self._expected = total
        p = min(max(total, FEWEST_MATCHES) / self._n_pairs, self.maximum)
        m = np.where(self._fixed_m, self._default_m, shares(self._matches, self._valid, prior))
        if self._settings.u == "corrected":
            u = corrected(self._everywhere, m, p, self._valid, prior)
        elif self._settings.u == "free":
            u = shares(self._others, self._valid, prior)
        else:
            u = state.u
        return _State(m, u, p), likelihood, objective

    def _extrapolated(self, *states: _State) -> _State:
        x, y, z = (np.concatenate([s.m.ravel(), s.u.ravel(), [math.log(s.p)]]) for s in states)
        step, bend = y - x, (z - y) - (y - x)
        size = float(np.linalg.norm(bend))
        length = max(float(np.linalg.norm(step)) / size, 1.0) if size > 0 else 1.0
        leap = x + 2 * length * (y - x) + length**2 * (z - 2 * y + x)
        # A probability may fall to a hundredth of its last value in one extrapolation, never to 0.
        tables = np.maximum(leap, z / 100)[:-1].reshape(2, *self._valid.shape)
        tables = np.where(self._valid, tables, 0.0)
        m, u = tables / tables.sum(axis=2, keepdims=True)
        p = min(max(math.exp(min(float(leap[-1]), 0.0)), FEWEST_MATCHES / self._n_pairs), self.maximum)
        return _State(m, states[-1].u if self._settings.u == "all_pairs" else u, p)


def _remaining(first: float, second: float) -> float:
    """Distance to the fixed point, from the lengths of two successive steps that shrink geometrically."""
    if second == 0:
        return 0.0
    rate = second / first if first > 0 else 1.0
    return max(second, second * rate / (1 - rate)) if rate < 1 else math.inf


def _check(
    patterns: PatternCounts, fields: Sequence[FieldLevels], n_a: int, n_b: int, settings: Estimation,
    rules: Sequence[RuleFields], level_counts: F64 | None,
) -> int:  # fmt: skip
    """Raise if the inputs are inconsistent; otherwise the maximum number of levels."""
    if not 1 <= len(fields) <= 64 or patterns.n_fields != len(fields):
        raise _wrong("fields", f"{patterns.n_fields} fields, as gamma has (1 to 64)", str(len(fields)))
    if n_a < 1 or n_b < 1:
        raise _wrong("files", "at least one record in each", f"{n_a} and {n_b}")
    if patterns.n_pairs > n_a * n_b:
        raise _wrong("pattern counts", f"at most n_a * n_b = {n_a * n_b} pairs", str(patterns.n_pairs))
    for q, field in enumerate(fields):
        top = int(patterns.gamma[:, q].max(initial=-1))
        if top >= field.n_levels:
            raise _wrong(f"field {field.name}", f"levels below {field.n_levels}", str(top))
    check_rules(rules, len(fields))
    width = max(field.n_levels for field in fields)
    if level_counts is not None and level_counts.shape != (len(fields), width):
        raise _wrong("level_counts", f"shape ({len(fields)}, {width})", str(level_counts.shape))
    if rules and level_counts is None:
        raise _wrong("level_counts", "levels over all pairs, as pairs were blocked", "none")
    if rules and settings.u == "free":
        what = "u cannot be estimated freely from blocked pairs: inside a block all pairs agree on the blocking key"
        raise parameter("model.u", what, "free", "set it to corrected or all_pairs")
    if not rules and patterns.n_pairs < n_a * n_b:
        every = f"all n_a * n_b = {n_a * n_b} pairs, as there are no rules"
        raise _wrong("pattern counts", every, str(patterns.n_pairs))
    return width


def _wrong(where: str, expected: str, got: str) -> GemelError:
    return parameter(where, f"expected {expected}", got, "count the pairs again")
