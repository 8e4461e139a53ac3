r"""Kinds of pairs: their densities, how many pairs there are of each, and which kinds there are.

A kind is the set S of fields whose true values two records share, as bits. With m, the levels of a field that is
shared, and the law f of strangers, the comparison vectors of a kind have the density

.. math:: d_S(\gamma) = f(\gamma_{\bar S}) \prod_{q \in S} m_q(\gamma_q),

so a kind has no parameter of its own but its number of pairs. Given which kinds there are, these numbers have a concave
likelihood, whose maximum EM finds from anywhere. Kinds are added one at a time, that which raises it most, as long as
it does so by `MIN_GAIN`; m is held meanwhile, so that no kind can become what another is.

Where pairs were blocked, only candidates are seen. Of N pairs of a kind the share F is among them, which follows from
the agreement of the rules' fields (`ShareFound`), so that the expected pairs of a vector are :math:`N_S d_S` and their
total :math:`N_S F_S`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from gemel.carole.fellegi_sunter.kinds.law import Distribution
from gemel.carole.fellegi_sunter.model import MISSING
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from gemel.common.arrays import F64, I8, I64, Flags
from gemel.risk.models.graphs import mask_of, members

MIN_GAIN = 4.0
"""Minimum log likelihood ratio of a kind that is added."""

MAX_KINDS = 24
"""Maximum number of kinds, strangers and matches included."""

MAX_ROWS = 16_384
"""Comparison vectors on which kinds are looked for: those that most likely are not of strangers."""

MAX_CANDIDATES = 512
"""Kinds that are tried at a time."""

EM_STEPS = 400

TOLERANCE = 1e-4
"""Relative change of the sizes at which EM ends."""

FOUND_HARDLY = 2e-3
"""Share found of a kind below which its candidates tell nothing of how many there are."""

WEAK = 1.5
"""Agreement of matches over that of strangers below which sharing a field cannot be told from not sharing it."""

STRANGERS = 0
"""The kind that shares nothing."""

TINY = 1e-300

DIRECT = 1 << 16
"""Number of possible vectors up to which the distinct ones are found without sorting, however few there are."""

LARGEST_CODE = 1 << 48
"""Number of a vector above which distinct ones are numbered anew, before another field would overflow it."""


@dataclass(frozen=True)
class Kinds:
    """Kinds of pairs and how many there are among all pairs of the two files, those that blocking left out included.

    `shared`: of each the fields that are shared, as bits; strangers first; `pairs` (float64, shape (n_kinds,)).
    """

    shared: tuple[int, ...]
    pairs: F64

    def __len__(self) -> int:
        return len(self.shared)


class Vectors:
    """Comparison vectors, and the distinct ones over any set of fields, each found once.

    `gamma` (int8, shape (n_patterns, n_fields)).
    """

    def __init__(self, gamma: I8) -> None:
        self.gamma = gamma
        self._distinct: dict[int, tuple[I64, I8]] = {}

    def distinct(self, fields: int) -> tuple[I64, I8]:
        """Which distinct vector each pattern has over some fields, and these: other fields are missing in them."""
        if fields not in self._distinct:
            columns = list(members(fields))
            code, size = np.zeros(len(self.gamma), dtype=np.int64), 1
            for q in columns:
                if size > LARGEST_CODE:
                    code = np.unique(code, return_inverse=True)[1].ravel().astype(np.int64)
                    size = int(code.max(initial=0)) + 1
                n_values = int(self.gamma[:, q].max(initial=0)) + 2
                code, size = code * n_values + self.gamma[:, q] + 1, size * n_values
            member, first = _numbered(code, size)
            full = np.full((len(first), self.gamma.shape[1]), MISSING, dtype=np.int8)
            full[:, columns] = self.gamma[first][:, columns]
            self._distinct[fields] = member, full
        return self._distinct[fields]


def _numbered(code: I64, size: int) -> tuple[I64, I64]:
    """Numbers of the different codes, all below `size`, from 0 on, of each its own; and where each of them is."""
    if size > max(DIRECT, 4 * len(code)):
        _, first, member = np.unique(code, return_index=True, return_inverse=True)
        return member.ravel(), first
    place = np.full(size, -1, dtype=np.int64)
    place[code] = np.arange(len(code))
    number = np.cumsum(place >= 0) - 1
    return number[code], place[place >= 0]


class Densities:
    """Log densities of comparison vectors by kind, each computed once, and the law's part once for each set of fields.

    `m` (float64, shape (n_fields, n_levels)): levels of a shared field.
    """

    def __init__(self, vectors: Vectors, law: Distribution, m: F64) -> None:
        self.vectors, self.law, self.m = vectors, law, m
        self._log_m = [_logarithms(levels) for levels in m]
        self._parts: dict[tuple[int, int, int], F64] = {}
        self._found: dict[int, F64] = {}
        self._components, left = [], (1 << len(m)) - 1
        while left:
            self._components.append(law.structure.graph.component((left & -left).bit_length() - 1))
            left &= ~self._components[-1]

    def log_density(self, shared: int) -> F64:
        """Log density of each pattern among the pairs that share these fields; not to be written to."""
        if shared not in self._found:
            self._found[shared] = self._log_density(shared)
        return self._found[shared]

    def _log_density(self, shared: int) -> F64:
        total, related = np.zeros(len(self.vectors.gamma)), self.law.relatives
        alike = None if related is None else related.levels(shared)
        names = 0 if alike is None or related is None else related.names & ~shared
        for component in self._components:
            member, distinct = self.vectors.distinct(component)
            key = component, shared & component, shared if names & component else 0
            if key not in self._parts:
                gamma, columns = distinct.copy(), list(members((shared | names) & component))
                gamma[:, columns] = MISSING
                self._parts[key] = self.law.log_probability(gamma)
                for q in columns:
                    levels = self._log_m[q] if alike is None or shared >> q & 1 else _logarithms(alike[q])
                    self._parts[key] = self._parts[key] + levels[distinct[:, q]]
            total += self._parts[key][member]
        return total


def _logarithms(levels: F64) -> F64:
    """By level, and of a missing one at the end."""
    return np.append(np.log(np.maximum(levels, TINY)), 0.0)


@dataclass(frozen=True)
class Counted:
    """Pairs by comparison vector, from which sizes are learnt.

    `count` (float64, shape (n_patterns,)); `densities`: of the same patterns; `found`: by kind, the share of its pairs
    that are among those counted.
    """

    count: F64
    densities: Densities
    found: ShareFound

    def rows(self, chosen: Flags) -> Counted:
        part = Vectors(self.densities.vectors.gamma[chosen])
        return Counted(self.count[chosen], Densities(part, self.densities.law, self.densities.m), self.found)


class ShareFound:
    """The share of a kind's pairs that satisfy some blocking rule.

    `agreement` (float64, shape (n_fields, 2)): probability that two records that have a field agree in it exactly:
    where its true value is not shared, and where it is; `usable`: by set of rules, as bits, the share of random pairs
    whose records have the fields of just these.

    By inclusion and exclusion over the rules, of which the first `MAX_RULES` count: a lower bound otherwise, and where
    a key is a prefix of its field.
    """

    MAX_RULES = 10

    def __init__(self, rules: Sequence[RuleFields], agreement: F64, usable: Mapping[int, float]) -> None:
        keys = [mask_of(rule.key) for rule in rules[: self.MAX_RULES]]
        self._agreement = agreement
        self._terms = [(share, _inclusions([key for r, key in enumerate(keys) if some >> r & 1]))
                       for some, share in usable.items()]  # fmt: skip
        self._known: dict[int, float] = {}
        self._all = not keys

    def __call__(self, shared: int) -> float:
        if self._all:
            return 1.0
        if shared not in self._known:
            total = 0.0
            for share, terms in self._terms:
                for fields, sign in terms.items():
                    agreeing = [self._agreement[q, shared >> q & 1] for q in members(fields)]
                    total += share * sign * float(np.prod(agreeing))
            self._known[shared] = min(max(total, 1e-9), 1.0)
        return self._known[shared]


def _inclusions(keys: Sequence[int]) -> Mapping[int, int]:
    """By the set of fields that must agree, the sum of the signs of the sets of rules that need these."""
    terms: dict[int, int] = {}
    for key in keys:
        added = {key: 1}
        for fields, sign in terms.items():
            added[fields | key] = added.get(fields | key, 0) - sign
        for fields, sign in added.items():
            terms[fields] = terms.get(fields, 0) + sign
    return {fields: sign for fields, sign in terms.items() if sign}


def posteriors(kinds: Kinds, densities: Densities) -> F64:
    """Probability of each kind given the comparison vector: shape (n_kinds, n_patterns)."""
    with np.errstate(divide="ignore"):
        total = np.stack([densities.log_density(shared) for shared in kinds.shared]) + np.log(kinds.pairs)[:, None]
    total -= total.max(axis=0)
    odds: F64 = np.exp(total)
    return np.asarray(odds / odds.sum(axis=0))


def fitted(kinds: Kinds, counted: Counted, steps: int = EM_STEPS) -> tuple[Kinds, float]:
    """Sizes of the greatest likelihood by EM, and its logarithm; that of strangers stays, being nearly all pairs.

    O(steps * n_kinds * n_patterns).
    """
    log_density = np.stack([counted.densities.log_density(shared) for shared in kinds.shared])
    found = np.array([counted.found(shared) for shared in kinds.shared])
    highest = log_density.max(axis=0)
    density = np.ascontiguousarray(np.exp(log_density - highest).T)
    sizes = np.maximum(kinds.pairs, 1e-6)
    log_likelihood = _sized(density, counted.count, found, sizes, steps, TOLERANCE)
    return Kinds(kinds.shared, sizes), float(log_likelihood + (counted.count * highest).sum())


@njit(nogil=True, cache=True)
def _sized(density: F64, count: F64, found: F64, sizes: F64, steps: int, tolerance: float) -> float:
    """EM of the sizes in place; returns the log likelihood of Poisson counts, without their factorials.

    `density`: shape (n_patterns, n_kinds).
    """
    n, n_kinds = density.shape
    for _step in range(steps):
        expected = np.zeros(n_kinds)
        for i in range(n):
            mixture = 0.0
            for k in range(n_kinds):
                mixture += sizes[k] * density[i, k]
            if mixture <= 0.0:
                continue
            share = count[i] / mixture
            for k in range(n_kinds):
                expected[k] += share * density[i, k]
        moved = 0.0
        for k in range(1, n_kinds):
            new = max(sizes[k] * expected[k] / found[k], 1e-9)
            if new > 1e-2:
                moved = max(moved, abs(new - sizes[k]) / new)
            sizes[k] = new
        if moved < tolerance:
            break
    total = 0.0
    for k in range(n_kinds):
        total -= sizes[k] * found[k]
    for i in range(n):
        mixture = 0.0
        for k in range(n_kinds):
            mixture += sizes[k] * density[i, k]
        if mixture > 0.0:
            total += count[i] * np.log(mixture)
    return total


# Which kinds there are.


@dataclass(frozen=True)
class Shareable:
    """Which sets of fields can be told apart.

    `fields`: bits of those that a kind may share: without comparisons that follow others, and weak ones; `traits`:
    those that strangers share as well: no kind has nothing else; `follow`: the bits of others, by the fields that must
    all be shared for it.
    """

    fields: int
    traits: int = 0
    follow: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, fields: Sequence[FieldLevels], m: F64, u: F64) -> Shareable:
        strong, traits, follow = 0, 0, []
        for q, each in enumerate(fields):
            if each.of:
                follow.append((mask_of(each.of), 1 << q))
            elif m[q, each.n_levels - 1] >= WEAK * u[q, each.n_levels - 1] and each.n_levels > 1:
                strong |= 1 << q
                traits |= (each.describes == "trait") << q
            else:
                follow.append((0, 1 << q))
        return cls(strong, traits if traits != strong else 0, tuple(follow))

    def closed(self, shared: int) -> int:
        """The kind with these fields: also what follows from them, but for strangers."""
        found = shared & self.fields
        if not found & ~self.traits:
            return STRANGERS
        for needed, bit in self.follow:
            if found | self._weak & needed == found | needed:
                found |= bit
        return found

    @cached_property
    def _weak(self) -> int:
        return sum(bit for needed, bit in self.follow if not needed)

    @property
    def everything(self) -> int:
        return self.closed(self.fields)

    def candidates(self, present: Iterable[int], groups: Iterable[int]) -> list[int]:
        """Kinds to try beside those present: all, or the neighbours of these, and all fields less some groups."""
        n = self.fields.bit_count()
        if 1 << n <= MAX_CANDIDATES:
            bits = list(members(self.fields))
            every = (sum(1 << bits[i] for i in range(n) if code >> i & 1) for code in range(1, 1 << n))
            return list(dict.fromkeys(self.closed(each) for each in every))
        present, found = list(present), dict[int, None]()
        left_out = [0]
        for group in groups:
            left_out += [one | group for one in left_out]
        for one in left_out:
            found[self.closed(self.fields & ~one)] = None
            found[self.closed(self.fields & one)] = None
        for one in reversed(present):
            for q in members(self.fields):
                found[self.closed(one ^ (1 << q))] = None
        for one in present:
            for other in present:
                found[self.closed(one | other)] = None
                found[self.closed(one & other)] = None
        for q in members(self.fields):
            for r in members(self.fields & ((1 << q) - 1)):
                found[self.closed(1 << q | 1 << r)] = None
        found.pop(STRANGERS, None)
        return list(found)[:MAX_CANDIDATES]


def search(
    counted: Counted, n_pairs: float, n_persons: float, shareable: Shareable, groups: Iterable[int],
    start: Iterable[int] = (),
) -> Kinds:  # fmt: skip
    """Kinds by steepest ascent: that which raises the likelihood most is added, as long as one does by `MIN_GAIN`.

    `n_persons`: records of the smaller file, a scale of what sizes are possible; `groups`: bits of fields that change
    together; `start`: kinds that are there at first. Kinds that lost their pairs to others are left away at the end.

    O(n_candidates * rows) at each step, with at most `MAX_ROWS` rows.
    """
    groups = list(groups)
    present = list(dict.fromkeys([STRANGERS, shareable.everything, *start]))
    kinds = Kinds(tuple(present), np.array([n_pairs] + [n_persons / 4] + [1.0] * (len(present) - 2)))
    some = _likely(counted, n_pairs, n_persons, shareable)
    bound: dict[int, float] = {}
    log_strangers = some.densities.log_density(STRANGERS)
    kinds, value = fitted(kinds, some)
    while len(kinds) < MAX_KINDS:
        log_mixture = np.logaddexp.reduce(
            [some.densities.log_density(s) + np.log(n) for s, n in zip(kinds.shared, kinds.pairs, strict=True)]
        )
        over = np.exp(log_strangers - log_mixture)
        best, gain, size = STRANGERS, MIN_GAIN, 0.0
        left = [s for s in shareable.candidates(kinds.shared, groups) if s not in kinds.shared]
        first = not bound
        # Mostly a kind gains the less the more kinds there are: what it gained before says where to look first.
        for shared in sorted(left, key=lambda s: -bound.get(s, np.inf)):
            if bound.get(shared, np.inf) <= gain:
                break
            if some.found(shared) < FOUND_HARDLY:
                bound[shared] = 0.0
                continue
            ratio = np.exp(np.clip(some.densities.log_density(shared) - log_strangers, -700, 600))
            bound[shared], n = _gain(ratio, over, some.count, some.found(shared), n_persons)
            if bound[shared] > gain:
                best, gain, size = shared, bound[shared], n
        if best != STRANGERS:
            tried, raised = fitted(Kinds((*kinds.shared, best), np.append(kinds.pairs, size)), some, 100)
            if raised - value >= MIN_GAIN:
                kinds, value = tried, raised
                continue
            bound[best] = 0.0
        if first:
            break
        # A kind that took pairs from another may have raised what a third one gains: all are tried once more.
        bound.clear()
    kinds, value = fitted(kinds, some)
    kept = [k for k, n in enumerate(kinds.pairs) if k < 2 or n * some.found(kinds.shared[k]) >= 0.3]
    kinds = Kinds(tuple(kinds.shared[k] for k in kept), kinds.pairs[kept])
    return fitted(kinds, counted, 60)[0]


@njit(nogil=True, cache=True)
def _gain(ratio: F64, over: F64, count: F64, found: float, n_persons: float) -> tuple[float, float]:
    """The greatest gain of log likelihood by some pairs of a further kind, about, and how many.

    `ratio`: its density over that of strangers; `over`: of strangers over the mixture.
    """
    n = len(ratio)
    slope = 0.0
    for i in range(n):
        slope += count[i] * ratio[i] * over[i]
    if slope <= found:
        return 0.0, 0.0
    # EM with the other kinds held: monotone, from a size that is too large.
    size = n_persons
    for _ in range(12):
        expected = 0.0
        for i in range(n):
            x = size * ratio[i] * over[i]
            expected += count[i] * x / (1.0 + x)
        new = expected / found
        settled = abs(new - size) < 0.02 * size or new < 1e-3
        size = new
        if settled:
            break
    value = -size * found
    for i in range(n):
        value += count[i] * np.log1p(size * ratio[i] * over[i])
    return value, size


def _likely(counted: Counted, n_pairs: float, n_persons: float, shareable: Shareable) -> Counted:
    """The patterns that could be of another kind than strangers: at most `MAX_ROWS`, those of the greatest chance.

    The kind that suits a pattern best shares the fields that speak for being shared, each by itself.
    """
    if len(counted.count) <= MAX_ROWS:
        return counted
    of_strangers = counted.densities.log_density(STRANGERS)
    highest = np.full(len(counted.count), -np.log(n_pairs))
    for q in members(shareable.fields):
        highest += np.maximum(counted.densities.log_density(1 << q) - of_strangers, 0.0)
    chance = np.log1p(n_persons * np.exp(np.minimum(highest, 300.0))) * np.minimum(counted.count, 100.0)
    chosen = np.zeros(len(highest), dtype=np.bool_)
    chosen[np.argpartition(-chance, MAX_ROWS)[:MAX_ROWS]] = True
    return counted.rows(chosen)
