r"""What part of each kind of pairs is one person.

Comparison vectors tell how many pairs share a set of fields, but not why. Two things tell who they are.

*Belief.* A person changes some fields and keeps others (`changes`), and relatives share some and not others (`KIN`).
With M people in both files, M times the probability that just the fields outside S changed are pairs of one person;
pairs of two people are as many as families give, or as strangers' values coincide. Both numbers are known within a
factor only, and neither M nor the rates of change are: the numbers of pairs of all kinds together say which these are.

*Exclusion.* Where a record has one match at most, pairs of one person never share a record with another pair that is as
much alike; pairs of two people do as often as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, logsumexp

from gemel.carole.fellegi_sunter.kinds.changes import FEW, STEP, Changes, Sizes, learnt, log_belief
from gemel.carole.fellegi_sunter.kinds.pair_kinds import STRANGERS, Kinds
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64
from gemel.risk.models.graphs import mask_of, members

KIN = {"name": 0.01, "birth": 0.01}
"""Probability that two of a family share such a field, further than by chance: namesakes, twins."""

DISTINCT = 1e-3
"""Strangers' agreement up to which a field of a name or of birth is a person's own, as a whole date of birth is."""

FURTHER = {"name": 0.3, "birth": 0.6}
"""Probability that a further field of a name or of birth is shared by those who share one, a date being one field:
twins were born in one place."""

WHOLE = 0.1
"""Probability that two of a family share all fields, at most: where none describes a name or birth."""

FAMILY, SPREAD_OF_FAMILY = 0.5, 1.5
"""Pairs of a record with one of another person of the same family or household, to a record of the smaller file; and
the standard deviation of the natural logarithm of that. What all kinds together say decides."""

APART = 0.1
"""Share of a family who share nothing of a family or household."""

UNKNOWN = 0.08
"""How far strangers' agreement on several fields may lie between what the law has and that of the rarest of them."""

SPREAD_OF_CHANGE, SPREAD_OF_NONE, SPREAD_OF_KIN, SPREAD_OF_CHANCE = 0.7, 0.3, 1.2, 0.3
"""Standard deviations of the natural logarithms of the expected numbers of pairs: of one person with some change and
with none, given how often what changes, of kin, given how many have family, and of two whose values coincide, beside
`UNKNOWN`."""

SPREAD_OF_NAMESAKES = 2.0
"""The same of kin who share a name: in some places every son has his father's."""

SPREAD_IN_PART = 1.8
"""The same of kinds that lack a part of a unit: which part is hardly known."""

SPREAD_TOGETHER = 1.6
"""The same of kinds that lack several units, upwards."""

OFTEN = 0.1
"""Strangers' agreement from which few pairs do not show whether they share a field."""

LEAST = -25.0
"""Least logarithm of an expected number of pairs."""

DRAWS = 400
"""Draws of the parts of all kinds."""

ACCIDENTS, SPREAD_OF_ACCIDENTS = 0.04, 1.2
"""Share of the pairs of one person that share a record with another pair as much alike, by copies of a record that
nobody knew of and by errors; and the standard deviation of its logit."""

SPREAD_OF_LEVEL, SPREAD_OF_EXCLUSION = 2.0, 1.0
"""Standard deviations of the logit of how often two people's pairs do, beside any pairs': relatives come together; of
kinds that share nearly the same, and of one beside the others."""

NEAR = 0.3
"""What another kind tells of that level, for each field that one of the two shares and the other does not."""

ALONE = {"name": 0.1, "birth": 0.5}
"""Probability that kin who share a birth or a name come one at a time: a person has one twin, a father one namesake."""

WORTH_OF_EXCLUSION = 100.0
"""Maximum number of pairs that exclusion counts as: those of one household do not fall separately."""

_LEVELS = np.linspace(0.0, 6.0, 25)
_LOGIT = np.linspace(-27.0, 12.0, 105)
_FAMILIES = np.linspace(-4.0, 2.5, 14)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


@dataclass(frozen=True)
class Exclusion:
    """Pairs of each kind by whether another pair that shares as much has a record of theirs.

    `pairs`, `excluded`: numbers among the kept pairs; `at_random`: share of random pairs of which that holds; `people`:
    pairs of people to a pair of records, copies of one being one. All float64, shape (n_kinds,).
    """

    pairs: F64
    excluded: F64
    at_random: F64
    people: F64

    @classmethod
    def unknown(cls, n_kinds: int) -> Exclusion:
        return cls(np.zeros(n_kinds), np.zeros(n_kinds), np.zeros(n_kinds), np.ones(n_kinds))

    def carried(self, seen: Kinds, kinds: Kinds) -> Exclusion:
        """The same of other kinds: of those that were seen already; of new ones nothing is known."""
        found, place = Exclusion.unknown(len(kinds)), {shared: k for k, shared in enumerate(seen.shared)}
        at = [(k, place[shared]) for k, shared in enumerate(kinds.shared) if shared in place]
        to, of = (np.array(each, dtype=np.int64) for each in zip(*at, strict=True))
        for own, other in zip(found.columns, self.columns, strict=True):
            own[to] = other[of]
        return found

    def levelled(self, kinds: Kinds, one_person: F64) -> Exclusion:
        """The same, with `at_random` as kinds have it that share nearly the same and are of two people, as far as is
        known: relatives come together with the people whose relatives they are, where all of a family are there.

        `one_person` (float64, shape (n_kinds,)): what part of each kind is one person.
        """
        known = (self.pairs > 0) & (self.at_random > 0)
        n, excluded, one = (each[known, None] for each in (self.pairs, self.excluded, one_person))
        usual = logit(np.minimum(self.at_random[known], 1 - 1e-6))
        share = np.clip(one * ACCIDENTS + (1.0 - one) * expit(usual[:, None] + _LEVELS), 1e-9, 1 - 1e-9)
        worth = np.minimum(1.0, WORTH_OF_EXCLUSION / n)
        log_likelihood = worth * (excluded * np.log(share) + (n - excluded) * np.log1p(-share))
        shared = [kinds.shared[k] for k in np.flatnonzero(known)]
        distance = np.array([[(one ^ other).bit_count() for other in shared] for one in shared]).reshape(
            2 * [len(shared)]
        )
        near = np.where(distance > 0, NEAR**distance, 0.0)
        level = _LEVELS[(near @ log_likelihood - 0.5 * (_LEVELS / SPREAD_OF_LEVEL) ** 2).argmax(axis=1)]
        at_random = self.at_random.copy()
        at_random[known] = expit(usual + level)
        return replace(self, at_random=at_random)

    @property
    def columns(self) -> tuple[F64, F64, F64, F64]:
        return self.pairs, self.excluded, self.at_random, self.people


@dataclass(frozen=True)
class Relations:
    """What part of each kind is one person, all float64, shape (n_kinds,).

    `one_person`: expected part; `doubt`: its standard deviation; `by_chance`: whether the pairs are strangers whose
    values coincide, so that the law should describe them; `matches`: people in both files that the belief speaks for;
    `drawn` (shape (n_draws, n_kinds)): the parts of all kinds, drawn together, for what one tells of another; `rates`:
    of change, by unit of `Changes`; `coincidences`: pairs of strangers that agree in everything a person keeps, and the
    standard deviation of the natural logarithm of that: as many people may hide among these.
    """

    one_person: F64
    doubt: F64
    by_chance: F64
    matches: float
    drawn: F64
    rates: tuple[float, ...] = ()
    coincidences: tuple[float, float] = (0.0, 0.0)


def log_kin(shared: int, fields: Sequence[FieldLevels], log_u: F64) -> float:
    """Log of the probability that two of a family share just these fields; -inf of traits alone, which tell of none.

    `log_u` (float64, shape (n_fields,)): log probability that strangers agree in each at the top level.
    """
    described = {each.describes for q, each in enumerate(fields) if shared >> q & 1}
    if described <= {"trait"}:
        return -math.inf
    total = 0.0 if described & {"family", "household"} else math.log(APART)
    for describes in ("name", "birth"):
        every = [q for q, each in enumerate(fields) if each.describes == describes and not each.of]
        found = [q for q in every if shared >> q & 1]
        if found:
            units = _units(found, fields, log_u, describes)
            # A part of a date of birth, or its place, is shared far more often than the whole; and what strangers often
            # share, relatives do as well: a year of birth, where a file is of one school.
            whole = len(found) == len(every) or min(units) <= math.log(DISTINCT)
            total += max(math.log(KIN[describes]) * (1.0 if whole else 0.5), min(units))
            total += math.log(FURTHER[describes]) * (len(units) - 1)
    return total


def _units(shown: Sequence[int], fields: Sequence[FieldLevels], log_u: F64, describes: str) -> list[float]:
    """Log probability that strangers agree in each name, or date or place of birth, that is shown: dates as a whole."""
    units: dict[str, float] = {}
    for q in shown:
        if fields[q].describes == describes:
            of = fields[q].part_of or str(q)
            units[of] = units.get(of, 0.0) + float(log_u[q])
    return list(units.values())


def relations(
    kinds: Kinds,
    fields: Sequence[FieldLevels],
    log_top: F64,
    n_records: tuple[int, int],
    exclusion: Exclusion,
    *,
    most: float,
    expected_matches: float | None = None,
    absent: Sequence[tuple[int, float]] = (),
    open_fields: Sequence[int] = (),
    log_alike: F64 | None = None,
) -> Relations:
    """What part of each kind is one person.

    `log_top` (float64, shape (n_kinds, n_fields + 1)): log probability that strangers agree at the top level in all
    fields of the kind; and in each of its fields, 0 of others; `log_alike`: the same of being as much alike as the
    kind's pairs are, where that is not at the top; `most`: matches that there can be; `open_fields`: by kind, the bits
    of fields of which nothing shows whether its pairs share them: these tell nothing either way;
    `absent`: fields that might have changed together and of which no kind is, each with the logarithm of the share of
    such pairs that could be found.
    """
    full = max(kinds.shared, key=lambda shared: shared.bit_count())
    range_of_numbers = math.log(0.1), math.log(max(most, 2.0))
    log_numbers = np.linspace(*range_of_numbers, max(41, round((range_of_numbers[1] - range_of_numbers[0]) / 0.2)))
    # Half of the belief is even in the share of people in common, half in its logarithm.
    log_prior = np.log(0.5 / (log_numbers[-1] - log_numbers[0]) + 0.5 * np.exp(log_numbers - log_numbers[-1]))
    if expected_matches is not None:
        log_prior -= 0.5 * ((log_numbers - math.log(expected_matches)) / 0.7) ** 2
    hidden = list(open_fields) or [0] * len(kinds)
    shown = [shared & ~each for shared, each in zip(kinds.shared, hidden, strict=True)]
    by_law = log_top if log_alike is None else log_alike
    changes = Changes.of(fields)
    of_kind = _OfKind(kinds, shown, fields, (log_top, by_law), n_records, exclusion, most)
    grid = np.arange(LEAST, log_numbers[-1] + STEP, STEP)
    missing = [each & ~out for each, out in zip(_missing(kinds, full, fields, log_top), hidden[1:], strict=True)]
    found = [
        of_kind(k, grid, several=changes.n_changed(each) > 1, in_part=changes.in_part(each))
        for k, each in enumerate(missing, 1)
    ]
    log_likelihood, density = (np.stack(each) for each in zip(*found, strict=True))
    sizes = Sizes(LEAST, of_kind.log_family, log_belief(_FAMILIES), log_likelihood, density, expit(_LOGIT))
    known = learnt(log_numbers, log_prior, changes, missing, sizes, absent)
    one_person, doubt = (np.concatenate([[0.0], each]) for each in known.parts(sizes))
    drawn = known.drawn(sizes, DRAWS, np.random.default_rng(DRAWS))
    by_chance = (one_person < 0.01) & (kinds.pairs > 3.0 * min(n_records))
    by_chance |= (one_person < 0.01) & np.array([_few(shared, fields) for shared in kinds.shared])
    by_chance[0] = True
    matches = float(known.weight @ np.exp(log_numbers))
    return Relations(
        one_person, doubt, by_chance.astype(np.float64), matches, np.hstack([np.zeros((DRAWS, 1)), drawn]),
        tuple(known.mean_rates.tolist()), of_kind.coincidences(kinds.shared.index(full)),
    )  # fmt: skip


def _missing(kinds: Kinds, full: int, fields: Sequence[FieldLevels], log_top: F64) -> list[int]:
    """What changed in the pairs of each kind that are one person, strangers left out.

    Of few pairs that share their names, or all of birth where their names were exchanged, does not show whether they
    also share a trait, on which strangers agree often: if no kind is there that shares it besides, theirs may. Of
    relatives a trait does tell: they are of either sex.
    """
    common = log_top[kinds.shared.index(full), 1:]
    often = mask_of([q for q in members(full) if fields[q].describes == "trait" and common[q] > math.log(OFTEN)])
    names, family, birth = (
        mask_of([q for q in members(full) if fields[q].describes == each]) for each in ("name", "family", "birth")
    )
    missing = []
    for shared, number in zip(kinds.shared, kinds.pairs, strict=True):
        if shared != STRANGERS:
            more = shared | often
            kept = shared & birth == birth if family and not shared & (names | family) else shared & names == names
            absorbed = number <= FEW and kept and more not in kinds.shared
            missing.append(full & ~(more if absorbed else shared))
    return missing


class _OfKind:
    """How likely the size of each kind is, by what is expected of it."""

    def __init__(
        self, kinds: Kinds, shown: Sequence[int], fields: Sequence[FieldLevels], agreeing: tuple[F64, F64],
        n_records: tuple[int, int], exclusion: Exclusion, most: float,
    ) -> None:  # fmt: skip
        self._shown, (self._log_top, self._log_alike) = shown, agreeing
        self._kinds, self._fields, self._exclusion, self._most = kinds, fields, exclusion, most
        self._log_pairs = math.log(n_records[0]) + math.log(n_records[1])
        self._full = max(kinds.shared, key=lambda shared: shared.bit_count())
        self.log_family = math.log(FAMILY * min(n_records)) + SPREAD_OF_FAMILY * _FAMILIES

    def __call__(self, k: int, grid: F64, *, several: bool, in_part: bool) -> tuple[F64, F64]:
        """Log likelihood by pairs of a family and `grid`, the logarithm of the expected pairs of one person; density of
        the part that is.

        `several`: whether several units changed; `in_part`: whether one did in part. Shapes (n_families, n_steps), and
        (n_families, n_steps, n_parts).
        """
        theta = expit(_LOGIT)
        log_theta, log_rest = -np.logaddexp(0.0, -_LOGIT), -np.logaddexp(0.0, _LOGIT)
        n, whole = float(self._kinds.pairs[k] * self._exclusion.people[k]), self._kinds.shared[k] == self._full
        log_n = math.log(max(n, 0.3))
        of_others = self._of_others(k, log_n + log_rest)
        of_others = np.where(theta * n <= self._most, of_others, of_others - 50.0)
        of_others = of_others + _log_excluded(theta, self._exclusion, k, self._alone(k))
        certain = whole and not any(field.constant for field in self._fields)
        more = log_n + log_theta - grid[:, None]
        # How many changed nothing follows from how many people there are, and what they change.
        of_one = (
            -0.5 * (more / SPREAD_OF_NONE) ** 2
            if certain
            else log_belief(more / (SPREAD_IN_PART if in_part else SPREAD_OF_CHANGE))
        )
        if several:
            # Names are exchanged, dates misread, records mixed up: units change together more often than independently.
            of_one = np.where(more > 0, -0.5 * (more / (SPREAD_IN_PART if in_part else SPREAD_TOGETHER)) ** 2, of_one)
        log_density = of_one + of_others
        total = logsumexp(log_density, axis=2)
        return total, np.exp(log_density - total[:, :, None])

    def coincidences(self, k: int) -> tuple[float, float]:
        """Pairs of strangers that agree in all fields of a kind, and the standard deviation of its logarithm."""
        number, between = self._by_law(k)
        return math.exp(number + UNKNOWN * between), SPREAD_OF_CHANCE + UNKNOWN * between

    def _alone(self, k: int) -> float:
        """Probability that those of a family exclude each other as pairs of one person do."""
        if self._is_born(k):
            return ALONE["birth"]
        return ALONE["name"] if self._is_named(k) else 0.0

    def _by_law(self, k: int) -> tuple[float, float]:
        """Logarithm of that number, and how far below that of the rarest of the fields it is."""
        by_law = self._log_pairs + float(self._log_alike[k, 0])
        rarest = self._log_pairs + float(self._log_alike[k, 1:].min())
        return by_law, rarest - by_law

    def _of_others(self, k: int, log_rest: F64) -> F64:
        """Log likelihood of a number of pairs of two people: shape (n_families, 1, n_parts)."""
        shared = self._kinds.shared[k]
        by_law, between = self._by_law(k)
        kin = log_kin(self._shown[k], self._fields, self._log_top[k, 1:])
        log_kin_pairs = (min(kin, math.log(WHOLE)) if shared == self._full else kin) + self.log_family[:, None, None]
        chance = by_law + UNKNOWN * between + math.log(float(self._exclusion.people[k]))
        log_others = np.logaddexp(chance, log_kin_pairs)
        of_chance = np.exp(chance - log_others)
        # That two people share everything a person is known by happens nowhere far more often than is believed.
        known_by = shared == self._full or (self._is_born(k) and self._has_all_names(k))
        of_kin = SPREAD_OF_NAMESAKES if self._is_named(k) and not known_by else SPREAD_OF_KIN
        spread = (1 - of_chance) * of_kin + of_chance * (SPREAD_OF_CHANCE + UNKNOWN * between)
        # Of what coincides by chance the strangers have most; of a family's pairs there may also be too few.
        deviation = np.maximum(log_rest - log_others, 0.0) / spread
        deviation += np.minimum(log_rest - log_kin_pairs, 0.0) / of_kin
        of_number = -0.5 * deviation**2 if known_by else log_belief(deviation)
        return np.asarray(of_number - np.log(spread))

    def _names(self, shown: int) -> list[int]:
        return [q for q, each in enumerate(self._fields) if shown >> q & 1 and each.describes == "name" and not each.of]

    def _is_named(self, k: int) -> bool:
        """Whether pairs of a kind share a name."""
        return bool(self._names(self._shown[k]))

    def _has_all_names(self, k: int) -> bool:
        """Whether pairs of a kind share all names that there are, of which there is one at least."""
        return self._is_named(k) and self._names(self._shown[k]) == self._names(self._full)

    def _is_born(self, k: int) -> bool:
        """Whether pairs of a kind share a birth, by what strangers hardly ever do."""
        shown = [q for q in members(self._shown[k]) if not self._fields[q].of]
        units = _units(shown, self._fields, self._log_top[k, 1:], "birth")
        return bool(units) and min(units) <= math.log(DISTINCT)


def _few(shared: int, fields: Sequence[FieldLevels]) -> bool:
    """Whether a kind shares two fields at most, traits left out."""
    return sum(1 for q in members(shared) if fields[q].describes != "trait" and not fields[q].of) <= 2


def _log_excluded(theta: F64, exclusion: Exclusion, k: int, alone: float) -> F64:
    """Log likelihood of how many pairs of a kind are excluded, by the part that is one person.

    `alone`: probability that two people's pairs are as rarely.
    """
    n, excluded, at_random = (float(each[k]) for each in (exclusion.pairs, exclusion.excluded, exclusion.at_random))
    if n <= 0 or not at_random > 0:
        return np.zeros(len(theta))
    worth = min(1.0, WORTH_OF_EXCLUSION / n)
    n, excluded = n * worth, min(excluded, n) * worth
    of_one = expit(logit(ACCIDENTS) + SPREAD_OF_ACCIDENTS * _NODES)[:, None, None]
    of_two = expit(logit(min(at_random, 1 - 1e-6)) + SPREAD_OF_EXCLUSION * _NODES)[None, :, None]
    weight = np.outer(_WEIGHTS, _WEIGHTS) / _WEIGHTS.sum() ** 2

    def likelihood(of_two: F64) -> F64:
        share = np.clip(theta * of_one + (1 - theta) * of_two, 1e-9, 1 - 1e-9)
        log_likelihood = excluded * np.log(share) + (n - excluded) * np.log1p(-share)
        return np.asarray(logsumexp(log_likelihood, axis=(0, 1), b=weight[:, :, None]))

    if not alone:
        return likelihood(of_two)
    both = math.log1p(-alone) + likelihood(of_two), math.log(alone) + likelihood(of_one)
    return np.asarray(np.logaddexp(*both))
