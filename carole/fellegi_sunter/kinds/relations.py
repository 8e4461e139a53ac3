r"""What part of each kind of pairs is one person.

Comparison vectors tell how many pairs share a set of fields, but not why. Two things tell who they are.

*Belief.* A person changes some fields and keeps others, and relatives share some and not others (`CHANGED`, `KIN`).
With M people in both files, M times the probability that just the fields outside S changed are pairs of one person;
pairs of two people are as many as families give, or as strangers' values coincide. Both numbers are known within a
factor only, and M is not known: the numbers of pairs of all kinds together say which M they speak for.

*Exclusion.* Where a record has one match at most, pairs of one person never share a record with another pair that is as
much alike; pairs of two people do as often as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, logsumexp

from gemel.carole.fellegi_sunter.kinds.pair_kinds import STRANGERS, Kinds
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.arrays import F64
from gemel.risk.models.graphs import members

CHANGED = {"name": 0.03, "birth": 0.02, "trait": 0.02, "family": 0.07, "household": 0.2}
"""Probability that a person's true value is another in the second file: of each field of a name, of birth and of a
trait; of any field of family, which change together, and so do those of a household."""

UNSAID = 0.5
"""Probability that fields with one value in all records of a file say nothing of a person, as if all had changed."""

TOGETHER = 0.5
"""Share of the changes of a group that change all of its fields; the others change any of them."""

KIN = {"name": 0.01, "birth": 0.01}
"""Probability that two of a family share such a field, further than by chance: namesakes, twins."""

FURTHER = 0.3
"""Probability that a further field of a name or of birth is shared by those who share one."""

WHOLE = 0.1
"""Probability that two of a family share all fields, at most: where none describes a name or birth."""

FAMILY = 1.0
"""Pairs of a record with one of another person of the same family or household, to a record of the smaller file."""

UNKNOWN = 0.08
"""How far strangers' agreement on several fields may lie between what the law has and that of the rarest of them."""

SPREAD_OF_CHANGE, SPREAD_OF_NONE, SPREAD_OF_KIN, SPREAD_OF_CHANCE = 1.0, 0.3, 1.5, 0.3
"""Standard deviations of the natural logarithms of the expected numbers of pairs: of one person with some change and
with none, of kin, and of two whose values coincide, beside `UNKNOWN`."""

FAR_OFF, WIDER = 0.02, 3.0
"""Share of cases in which such a belief is far off, and how much wider it is then."""

ACCIDENTS, SPREAD_OF_ACCIDENTS = 0.04, 1.2
"""Share of the pairs of one person that share a record with another pair as much alike, by copies of a record that
nobody knew of and by errors; and the standard deviation of its logit."""

SPREAD_OF_EXCLUSION = 1.0
"""Standard deviation of the logit of how often two people's pairs do, beside any pairs': relatives come together."""

WORTH_OF_EXCLUSION = 100.0
"""Maximum number of pairs that exclusion counts as: those of one household do not fall separately."""

_LOGIT = np.linspace(-12.0, 12.0, 97)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


@dataclass(frozen=True)
class Exclusion:
    """Pairs of each kind by whether another pair that shares as much has a record of theirs.

    `pairs`, `excluded`: numbers among the kept pairs; `at_random`: share of random pairs of which that holds. All
    float64, shape (n_kinds,).
    """

    pairs: F64
    excluded: F64
    at_random: F64

    @classmethod
    def unknown(cls, n_kinds: int) -> Exclusion:
        return cls(np.zeros(n_kinds), np.zeros(n_kinds), np.zeros(n_kinds))

    def carried(self, seen: Kinds, kinds: Kinds) -> Exclusion:
        """The same of other kinds: of those that were seen already; of new ones nothing is known."""
        found, place = Exclusion.unknown(len(kinds)), {shared: k for k, shared in enumerate(seen.shared)}
        at = [(k, place[shared]) for k, shared in enumerate(kinds.shared) if shared in place]
        to, of = (np.array(each, dtype=np.int64) for each in zip(*at, strict=True))
        for own, other in zip(found.columns, self.columns, strict=True):
            own[to] = other[of]
        return found

    @property
    def columns(self) -> tuple[F64, F64, F64]:
        return self.pairs, self.excluded, self.at_random


@dataclass(frozen=True)
class Relations:
    """What part of each kind is one person, all float64, shape (n_kinds,).

    `one_person`: expected part; `doubt`: its standard deviation; `by_chance`: whether the pairs are strangers whose
    values coincide, so that the law should describe them; `matches`: people in both files that the belief speaks for.
    """

    one_person: F64
    doubt: F64
    by_chance: F64
    matches: float


def log_changed(missing: int, fields: Sequence[FieldLevels]) -> float:
    """Log probability that of a person just these fields changed, as bits."""
    total = 0.0
    groups: dict[str, list[int]] = {"family": [], "household": [], "constant": []}
    for q, field in enumerate(fields):
        if field.of or field.n_levels < 2:
            continue
        changed = missing >> q & 1
        if field.constant:
            groups["constant"].append(changed)
        elif field.describes in groups:
            groups[field.describes].append(changed)
        else:
            chance = CHANGED[field.describes]
            total += math.log(chance if changed else 1 - chance)
    for name, of_group in groups.items():
        n, chance = len(of_group), CHANGED.get(name, UNSAID)
        if not n:
            continue
        if not any(of_group):
            total += math.log1p(-chance)
            continue
        of_any = (1 - TOGETHER) / (2**n - 1)
        total += math.log(chance * (of_any + (TOGETHER if all(of_group) else 0.0)))
    return total


def log_kin(shared: int, fields: Sequence[FieldLevels]) -> float:
    """Log of the probability that two of a family share just these fields; -inf where they share none of a family's."""
    if not any(shared >> q & 1 and each.describes in ("family", "household") for q, each in enumerate(fields)):
        return -math.inf
    total = 0.0
    for describes in ("name", "birth"):
        n = sum(1 for q, each in enumerate(fields) if shared >> q & 1 and each.describes == describes and not each.of)
        every = sum(1 for each in fields if each.describes == describes and not each.of)
        if n:
            # A part of a date of birth is shared far more often than the whole, and a second name as well as the first.
            total += math.log(KIN[describes]) * (1.0 if n == every else 0.5) + math.log(FURTHER) * (n - 1)
    return total


def relations(
    kinds: Kinds,
    fields: Sequence[FieldLevels],
    log_top: F64,
    n_records: tuple[int, int],
    exclusion: Exclusion,
    *,
    one_each: bool,
    expected_matches: float | None = None,
) -> Relations:
    """What part of each kind is one person.

    `log_top` (float64, shape (n_kinds, n_fields + 1)): log probability that strangers agree at the top level in all
    fields of the kind; and in each of its fields, 0 of others; `one_each`: whether a record has one match at most.
    """
    smaller, n_pairs = min(n_records), float(n_records[0]) * n_records[1]
    full = max(kinds.shared, key=lambda shared: shared.bit_count())
    most = smaller if one_each else 4.0 * max(n_records)
    numbers = np.geomspace(0.1, max(most, 2.0), 61)
    theta = expit(_LOGIT)
    log_theta, log_rest = -np.logaddexp(0.0, -_LOGIT), -np.logaddexp(0.0, _LOGIT)
    # Half of the belief is even in the share of people in common, half in its logarithm.
    log_posterior = np.log(0.5 / math.log(numbers[-1] / numbers[0]) + 0.5 * numbers / numbers[-1])
    if expected_matches is not None:
        log_posterior -= 0.5 * (np.log(numbers / expected_matches) / 0.7) ** 2
    of_kind: list[F64 | None] = []
    for k, (shared, n) in enumerate(zip(kinds.shared, kinds.pairs, strict=True)):
        if shared == STRANGERS:
            of_kind.append(None)
            continue
        log_n = math.log(max(n, 0.3))
        change = log_changed(full & ~shared, fields)
        rarest = float(log_top[k, 1:].min())
        by_law = math.log(n_pairs) + float(log_top[k, 0])
        between = math.log(n_pairs) + rarest - by_law
        kin = log_kin(shared, fields) if shared != full else min(log_kin(shared, fields), math.log(WHOLE))
        chance, kin = by_law + UNKNOWN * between, kin + math.log(FAMILY * smaller)
        log_others = float(np.logaddexp(chance, kin))
        of_chance = math.exp(chance - log_others)
        spread = (1 - of_chance) * SPREAD_OF_KIN + of_chance * (SPREAD_OF_CHANCE + UNKNOWN * between)
        # Number of pairs of one person, and of two, on the grid of theta; the grid is of the logit.
        log_a = np.log(numbers)[:, None] + change
        certain = shared == full and not any(field.constant for field in fields)
        spread_of_change = SPREAD_OF_NONE if certain else SPREAD_OF_CHANGE
        deviation_a = (log_n + log_theta - log_a) / spread_of_change
        deviation_b = (log_n + log_rest - log_others) / spread
        log_density = _log_belief(deviation_a) + _log_belief(deviation_b) - math.log(spread_of_change * spread)
        if one_each:
            log_density = np.where(theta * n <= smaller, log_density, log_density - 50.0)
        log_density = log_density + _log_excluded(theta, exclusion, k)
        of_kind.append(log_density)
        log_posterior += logsumexp(log_density, axis=1)
    weight = np.exp(log_posterior - logsumexp(log_posterior))
    one_person, doubt = np.zeros(len(kinds)), np.zeros(len(kinds))
    for k, each in enumerate(of_kind):
        if each is None:
            continue
        given = np.exp(each - logsumexp(each, axis=1, keepdims=True))
        density = weight @ given
        one_person[k] = density @ theta
        doubt[k] = math.sqrt(max(density @ theta**2 - one_person[k] ** 2, 0.0))
    by_chance = (one_person < 0.01) & (kinds.pairs > 3.0 * smaller)
    by_chance |= (one_person < 0.01) & np.array([_few(shared, fields) for shared in kinds.shared])
    by_chance[0] = True
    return Relations(one_person, doubt, by_chance.astype(np.float64), float(weight @ numbers))


def _log_belief(deviation: F64) -> F64:
    """Log density of a belief that is normal, and of one in `FAR_OFF` worlds far wider, but for a constant."""
    near, far = -0.5 * deviation**2, -0.5 * (deviation / WIDER) ** 2
    return np.asarray(np.logaddexp(near + math.log1p(-FAR_OFF), far + math.log(FAR_OFF / WIDER)))


def _few(shared: int, fields: Sequence[FieldLevels]) -> bool:
    """Whether a kind shares two fields at most, traits left out."""
    return sum(1 for q in members(shared) if fields[q].describes != "trait" and not fields[q].of) <= 2


def _log_excluded(theta: F64, exclusion: Exclusion, k: int) -> F64:
    """Log likelihood of how many pairs of a kind are excluded, by the part that is one person."""
    n, excluded, at_random = (float(each[k]) for each in (exclusion.pairs, exclusion.excluded, exclusion.at_random))
    if n <= 0 or not at_random > 0:
        return np.zeros(len(theta))
    worth = min(1.0, WORTH_OF_EXCLUSION / n)
    n, excluded = n * worth, min(excluded, n) * worth
    of_one = expit(logit(ACCIDENTS) + SPREAD_OF_ACCIDENTS * _NODES)[:, None, None]
    of_two = expit(logit(min(at_random, 1 - 1e-6)) + SPREAD_OF_EXCLUSION * _NODES)[None, :, None]
    share = np.clip(theta * of_one + (1 - theta) * of_two, 1e-9, 1 - 1e-9)
    log_likelihood = excluded * np.log(share) + (n - excluded) * np.log1p(-share)
    weight = np.outer(_WEIGHTS, _WEIGHTS) / _WEIGHTS.sum() ** 2
    return np.asarray(logsumexp(log_likelihood, axis=(0, 1), b=weight[:, :, None]))
