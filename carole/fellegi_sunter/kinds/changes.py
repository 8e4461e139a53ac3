r"""What a person changes between two files, and how often: believed of each field, and learnt from all kinds together.

Fields that change together are one unit: those of a family, those of a household, the parts of a date; every other
field is one by itself. Given names and surname that one file exchanges are lost together, which is a unit, too: pairs
that have neither lost them either way.
Of M people in both files, in :math:`M \prod_u c_u \prod_v (1 - c_v)` pairs just the units u changed. The rates c are
known within a factor only: names that one file romanises change in most people. Then they do so among those who moved,
too, and among those who did not; the relatives of a person share an address, but not in that proportion. So all kinds
together say what the rates are: a mean field for each M, the rates being independent given it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, logsumexp, softmax

from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64, Flags

CHANGED = {"name": 0.03, "birth": 0.02, "trait": 0.02, "family": 0.07, "household": 0.2}
"""Probability that a person's true value is another in the second file: of each field of a name, of birth and of a
trait; of any field of family, which change together, and so do those of a household."""

EXCHANGED, SPREAD_OF_EXCHANGED = 0.01, 1.5
"""Probability that a person's surname and other names are all lost, as where one file exchanges them; and the standard
deviation of its natural logarithm."""

UNSAID, SPREAD_OF_UNSAID, MOST_UNSAID = 0.5, 1.0, 0.998
"""Probability that fields with one value in all records of a file say nothing of a person, as if all had changed; the
standard deviation of its logarithm, and its maximum: they say something of everyone, or of nearly nobody."""

TOGETHER = 0.5
"""Share of the changes of a group that change all of its fields; the others change any of them."""

SPREAD_OF_RATE = {"name": 1.5, "birth": 0.8, "trait": 1.0, "family": 1.0, "household": 1.0}
"""Standard deviation of the natural logarithm of how often a unit changes, about what is believed: a file may write all
names otherwise, but not the dates of birth."""

FAR_OFF, WIDER = 0.02, 3.0
"""Share of cases in which a belief is far off, and how much wider it is then."""

MOST = 0.9
"""Largest rate of change."""

NEVER, LEAST_RATE = 0.1, 1e-6
"""Probability that a unit does not change at all, in files of one day; and the rate that stands for it."""

FEW, SPREAD_OF_FEW = 5.0, 1.2
"""Pairs that a kind that was not found may have, about, and the standard deviation of the logarithm of that."""

STEP = 0.25
"""Between the logarithms of expected numbers for which is known how likely a kind's size is."""

SWEEPS = 4

_RATES = np.linspace(-2.5, 5.0, 16)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(5)


def log_belief(deviation: F64) -> F64:
    """Log density of a belief that is normal, and of one in `FAR_OFF` worlds far wider, but for a constant."""
    near, far = -0.5 * deviation**2, -0.5 * (deviation / WIDER) ** 2
    return np.asarray(np.logaddexp(near + math.log1p(-FAR_OFF), far + math.log(FAR_OFF / WIDER)))


@dataclass(frozen=True)
class Ways:
    """How the pairs of each kind may have come to lack what they lack.

    `changed`, `kept` (bool, shape (n_ways, n_kinds, n_units)): units that changed, and that did not; of others nothing
    shows. `log_which` (float64, shape (n_ways, n_kinds)): log probability that just these fields changed, given which
    units did; -inf of a way that is none.
    """

    changed: Flags
    kept: Flags
    log_which: F64

    def first(self, n_kinds: int) -> Ways:
        return Ways(self.changed[:, :n_kinds], self.kept[:, :n_kinds], self.log_which[:, :n_kinds])

    def log_of_rates(self, log_rates: F64) -> F64:
        """Log probability by rates of shape (..., n_units): of each kind, (..., n_kinds)."""
        log_rest = np.log1p(-np.exp(log_rates))
        of_ways = np.einsum("...u,wku->...wk", log_rates, self.changed)
        of_ways += np.einsum("...u,wku->...wk", log_rest, self.kept)
        return np.asarray(logsumexp(of_ways + self.log_which, axis=-2))


@dataclass(frozen=True)
class Changes:
    """Units of fields that change together.

    `units`: as bits; `believed`, `spread`: rate of change of each, and the standard deviation of its logarithm;
    `constant`: bits of fields with one value in a file, which are a unit; `names`, `family`: bits of the fields that
    are lost together where names are exchanged, which the last unit has then; 0 where there is none of either.
    """

    units: tuple[int, ...]
    believed: tuple[float, ...]
    spread: tuple[float, ...]
    constant: int
    names: int = 0
    family: int = 0

    @classmethod
    def of(cls, fields: Sequence[FieldLevels]) -> Changes:
        units: dict[str, int] = {}
        for q, field in enumerate(fields):
            if field.of or field.n_levels < 2:
                continue
            own = field.part_of if field.part_of else q
            name = field.describes if field.describes in ("family", "household") else f"{field.describes} {own}"
            name = "constant" if field.constant else name
            units[name] = units.get(name, 0) | 1 << q
        described = [name.split()[0] for name in units]
        tables = {**CHANGED, "constant": UNSAID}, {**SPREAD_OF_RATE, "constant": SPREAD_OF_UNSAID}
        believed, spread = (tuple(table[name] for name in described) for table in tables)
        family, constant = units.get("family", 0), units.get("constant", 0)
        names = sum(unit for name, unit in units.items() if name.startswith("name "))
        if not names or not family:
            return cls(tuple(units.values()), believed, spread, constant)
        return cls(
            (*units.values(), names | family), (*believed, EXCHANGED), (*spread, SPREAD_OF_EXCHANGED), constant,
            names, family,
        )  # fmt: skip

    @property
    def by_themselves(self) -> tuple[int, ...]:
        """The units but for the names that are exchanged."""
        return self.units[:-1] if self.names else self.units

    def n_changed(self, missing: int) -> int:
        """How many units changed, each by itself, where just these fields did."""
        return sum(1 for unit in self.by_themselves if unit & missing & ~self.constant)

    def in_part(self, missing: int) -> bool:
        """Whether some of a unit's fields changed and others did not."""
        return any(0 != unit & missing != unit for unit in self.by_themselves if unit != self.constant)

    def ways(self, missing: Sequence[int]) -> Ways:
        """How just these fields may have changed, for each of several kinds."""
        n_ways, shape = 2 if self.names else 1, (len(missing), len(self.units))
        changed, kept = (np.zeros((n_ways, *shape), dtype=np.bool_) for _ in range(2))
        log_which = np.full((n_ways, len(missing)), -math.inf)
        for k, each in enumerate(missing):
            exchanged = bool(self.names & each) and self.family & each == self.family
            for way in range(1 + exchanged):
                lost = self.names | self.family if way else 0
                groups = [unit for unit in self.by_themselves if not unit & lost]
                for u, unit in enumerate(self.by_themselves):
                    changed[way, k, u], kept[way, k, u] = unit & each & ~lost, not unit & (each | lost)
                if self.names:
                    changed[way, k, -1], kept[way, k, -1] = way, not way
                log_which[way, k] = sum(_log_of_group(group, each, 1.0) for group in groups if group & each)
                # Which of the names is exchanged with the family's, or whether all are, is not known.
                log_which[way, k] -= math.log(2 ** self.names.bit_count() - 1) if way else 0.0
        return Ways(changed, kept, log_which)

    def log_changed(self, missing: int, rates: Sequence[float]) -> float:
        """Log probability that just these fields of a person changed."""
        return float(self.ways([missing]).log_of_rates(np.log(rates))[0])


def _log_of_group(group: int, missing: int, rate: float) -> float:
    n, changed = group.bit_count(), group & missing
    if not changed:
        return math.log1p(-rate)
    if n == 1:
        return math.log(rate)
    return math.log(rate * ((1 - TOGETHER) / (2**n - 1) + (TOGETHER if changed == group else 0.0)))


@dataclass(frozen=True)
class Sizes:
    """How likely the sizes of kinds are, by what is expected of them.

    `first`: the least logarithm of the expected number of pairs of one person; `family`, `log_family` (float64, shape
    (n_families,)): logarithm of a number of pairs of one family, and its belief; `log_likelihood` (float64, shape
    (n_kinds, n_families, n_steps)): of the size of a kind, at steps of `STEP` from `first`; `density` (the same, and
    n_parts): of the part that is one person, over `part`.
    """

    first: float
    family: F64
    log_family: F64
    log_likelihood: F64
    density: F64
    part: F64

    def place(self, log_expected: F64) -> tuple[np.ndarray, F64]:
        """The step below each number, and how far it is from there to the next."""
        at = np.clip((log_expected - self.first) / STEP, 0.0, self.log_likelihood.shape[2] - 1.001)
        below = at.astype(np.int64)
        return below, at - below

    def of(self, table: F64, log_expected: F64) -> F64:
        """Values at expected numbers of a table of shape (n_numbers, n_kinds, n_steps); numbers first, kinds last."""
        below, part = self.place(log_expected)
        kind = np.arange(table.shape[1], dtype=np.int64)
        number = np.arange(len(table)).reshape(-1, *[1] * (below.ndim - 1))
        return np.asarray(table[number, kind, below] * (1 - part) + table[number, kind, below + 1] * part)

    @cached_property
    def moments(self) -> tuple[F64, F64]:
        """Mean and mean square of the part that is one person, of the shape of `log_likelihood`."""
        return self.density @ self.part, self.density @ self.part**2


@dataclass(frozen=True)
class Learnt:
    """What all kinds together say of how many people are in both files, what they change, and how many have family.

    `log_numbers`, `weight` (float64, shape (n_numbers,)); `rates` (float64, shape (n_units, n_rates)); `chance`
    (float64, shape (n_numbers, n_units, n_rates)): of each rate given the number; `of_family` (float64, shape
    (n_numbers, n_families)): of each number of pairs of a family; `ways`: of the kinds.
    """

    log_numbers: F64
    weight: F64
    rates: F64
    chance: F64
    of_family: F64
    ways: Ways

    @property
    def mean_rates(self) -> F64:
        """Rates of change: the mean of their logarithms."""
        return np.asarray(np.exp(np.einsum("j,juv,uv->u", self.weight, self.chance, np.log(self.rates))))

    def parts(self, sizes: Sizes) -> tuple[F64, F64]:
        """Of each kind the expected part that is one person, and its standard deviation."""
        of_ways, variances = _expected(self.log_numbers, self.ways, self.chance, np.log(self.rates))
        mean, variance = logsumexp(of_ways, axis=1), (softmax(of_ways, axis=1) * variances).sum(axis=1)
        first, second = (np.zeros(mean.shape[1]) for _ in range(2))
        for moment, table in zip((first, second), sizes.moments, strict=True):
            averaged = np.einsum("jf,kfx->jkx", self.of_family, table)
            for node, of_node in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
                moment += of_node * (self.weight @ sizes.of(averaged, mean + node * np.sqrt(variance)))
        return first, np.sqrt(np.maximum(second - first**2, 0.0))

    def drawn(self, sizes: Sizes, n: int, rng: np.random.Generator) -> F64:
        """Parts of all kinds, drawn together: shape (n, n_kinds)."""
        number = rng.choice(len(self.weight), size=n, p=self.weight)
        rate, family = _drawn(self.chance[number], rng), _drawn(self.of_family[number], rng)
        drawn = np.take_along_axis(self.rates, rate.T, axis=1).T
        below, _ = sizes.place(self.log_numbers[number, None] + self.ways.log_of_rates(np.log(drawn)))
        of_kinds = sizes.density[np.arange(below.shape[1]), family[:, None], below]
        return np.asarray(sizes.part[_drawn(of_kinds, rng)])


def _drawn(probability: F64, rng: np.random.Generator) -> np.ndarray:
    """Places drawn by probabilities along the last axis."""
    until = probability.cumsum(axis=-1)
    u = rng.random((*until.shape[:-1], 1)) * until[..., -1:]
    return np.asarray((u > until).sum(axis=-1).clip(max=until.shape[-1] - 1))


def learnt(
    log_numbers: F64, log_prior: F64, changes: Changes, missing: Sequence[int], sizes: Sizes,
    absent: Sequence[tuple[int, float]] = (),
) -> Learnt:  # fmt: skip
    """What kinds of these sizes say, of which just the fields `missing` changed.

    `log_numbers`, `log_prior` (float64, shape (n_numbers,)): people in both files, and what is believed of them;
    `absent`: what else might have changed, and was not found: of each the fields and the logarithm of the share of
    such pairs that could be.

    O(n_numbers * n_units * n_rates * n_kinds) in each of `SWEEPS` sweeps.
    """
    believed, spread = (np.array(each)[:, None] for each in (changes.believed, changes.spread))
    most = np.where([[unit == changes.constant] for unit in changes.units], MOST_UNSAID, MOST)
    rates = np.minimum(believed * np.exp(spread * _RATES), most)
    belief = -0.5 * (np.log(rates / believed) / spread) ** 2
    if len(belief):
        belief -= logsumexp(belief, axis=1, keepdims=True) - math.log1p(-NEVER)
    rates = np.hstack([np.full((len(rates), 1), LEAST_RATE), rates])
    belief = np.hstack([np.full((len(belief), 1), math.log(NEVER)), belief])
    ways = changes.ways([*missing, *(each for each, _ in absent)])
    ways.log_which[:, len(missing) :] += [log_found for _, log_found in absent]
    grid = sizes.first + STEP * np.arange(sizes.log_likelihood.shape[2])
    unseen = log_ndtr((math.log(FEW) - grid) / SPREAD_OF_FEW)
    unseen = np.broadcast_to(unseen, (len(absent), *sizes.log_likelihood.shape[1:]))
    table = np.concatenate([sizes.log_likelihood, unseen])
    log_rates, log_rest = np.log(rates), np.log1p(-rates)
    chance = np.repeat(np.exp(belief)[None], len(log_numbers), axis=0)
    of_family = np.repeat(softmax(sizes.log_family)[None], len(log_numbers), axis=0)
    for _ in range(SWEEPS):
        averaged = np.einsum("jf,kfx->jkx", of_family, table)
        for u in range(len(rates)):
            mean, _ = _expected(log_numbers, ways, chance, log_rates, without=u)
            of_rate = np.multiply.outer(log_rates[u], ways.changed[..., u])
            of_rate += np.multiply.outer(log_rest[u], ways.kept[..., u])
            of_kinds = sizes.of(averaged, logsumexp(mean[:, None] + of_rate, axis=2))
            chance[:, u] = softmax(of_kinds.sum(axis=2) + belief[u], axis=1)
        mean, _ = _expected(log_numbers, ways, chance, log_rates)
        below, part = sizes.place(logsumexp(mean, axis=1))
        lower, upper = (table[np.arange(len(table)), :, place] for place in (below, below + 1))
        by_family = (lower * (1 - part[..., None]) + upper * part[..., None]).sum(axis=1)
        of_family = softmax(by_family + sizes.log_family, axis=1)
    log_weight = log_prior + (of_family * by_family).sum(axis=1)
    log_weight += _entropy(chance, belief).sum(axis=1) + _entropy(of_family, sizes.log_family)
    return Learnt(log_numbers, softmax(log_weight), rates, chance, of_family, ways.first(len(missing)))


def _entropy(chance: F64, belief: F64) -> F64:
    return np.asarray((chance * (belief - np.log(np.maximum(chance, 1e-300)))).sum(axis=-1))


def _expected(log_numbers: F64, ways: Ways, chance: F64, log_rates: F64, without: int = -1) -> tuple[F64, F64]:
    """Mean and variance of the logarithm of the expected number of each kind: shape (n_numbers, n_ways, n_kinds).

    `without`: a unit that is left out.
    """
    log_rest = np.log1p(-np.exp(log_rates))
    mean = log_numbers[:, None, None] + ways.log_which
    variance = np.zeros_like(mean)
    for u, (one, none) in enumerate(zip(log_rates, log_rest, strict=True)):
        if u == without:
            continue
        for values, of_kinds in ((one, ways.changed[..., u]), (none, ways.kept[..., u])):
            centre = chance[:, u] @ values
            spread = np.maximum(chance[:, u] @ values**2 - centre**2, 0.0)
            mean = mean + centre[:, None, None] * of_kinds
            variance = variance + spread[:, None, None] * of_kinds
    return mean, variance


def unfound(changes: Changes, missing: Sequence[int]) -> list[int]:
    """The fields of each unit, and of every two, that might have changed and of which no kind is."""
    known = set(missing)
    pairs = [one | other for k, one in enumerate(changes.units) for other in changes.units[:k]]
    return [each for each in dict.fromkeys((*changes.units, *pairs)) if each not in known]
