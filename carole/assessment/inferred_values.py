"""Whose sensitive value is inferred rightly, where behind a false link stands a person with another value.

The share of false links as a measure with a limit, from the estimates that a run makes of its own quality.

No release discloses more by false links, but whoever uses it takes two people for one. The estimate that supposes least
is judged: the check field's, or else the decoys'; by the upper end of its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.measures import CONFIDENCE, Measure
from gemel.common.documents.linkage_document import LinkageDocument, ShareInterval
from gemel.common.specification import Specification
from gemel.risk.arrays import Codes, Floats, Integers, Mask
from gemel.risk.models.joint_distribution import JointDistribution

_PREFERRED = ("check_field", "decoys")


def false_links(spec: Specification, linkage: LinkageDocument | None) -> Mapping[str, Measure]:
    """The measure `false_links`, where the specification requests an estimate of the links' quality.

    Where there are links but no estimate, any share is possible, and the upper end is 1: what the model claims does
    not stand in for a check of it.
    """
    if spec.quality is None or linkage is None:
        return {}
    if linkage.links == 0:
        return {"false_links": Measure(0.0, "no link", 0.0, 0.0)}
    estimated = estimated_precision(linkage)
    if estimated is not None:
        precision, method = estimated
        how = f"{method}, with a 95 % interval"
        return {"false_links": Measure(1 - precision.value, how, 1 - precision.upper, 1 - precision.lower)}
    claims, claimed = linkage.claims, 0.0
    if claims is not None and claims.precision is not None:
        precise = claims.precision.value
        claimed = 1 - (claims.precision.lower if precise is None else precise)
    return {"false_links": Measure(claimed, "the model's claim; there is no estimate beside it", 0.0, 1.0)}


def estimated_precision(linkage: LinkageDocument) -> tuple[ShareInterval, str] | None:
    """The estimate of the share of true links that supposes least, and its method; None where there is none."""
    by_method = {estimate.method: estimate.precision for estimate in linkage.quality}
    for method in _PREFERRED:
        if method in by_method:
            return by_method[method], method.replace("_", " ")
    return None


# An intruder with a posterior of each linked record's sensitive value takes the most probable one, if its probability
# leaves little doubt. Whether that is right depends on the link: the value of a true link is the person's; that of a
# false link is another person's, and of the person's own only the joint distribution tells. The person is whoever the
# record is about that has not brought the value.

_STEPS = 60
"""Of bisection for the change of odds."""


@dataclass(frozen=True)
class SensitiveValues:
    """One sensitive variable of the linked records.

    Parameters
    ----------
    values : ndarray of int32, shape (n_records,)
        As the combined output has it; -1 where missing.
    elsewhere : ndarray of float64, shape (n_records, n_levels)
        What the joint distribution says of the person's own value if the link is false: given the keys of the half that
        has not brought the value.
    unknown : ndarray of float64, shape (n_records, n_levels)
        What it says where the value is missing: given all keys.
    """

    name: str
    values: Codes = field(repr=False)
    elsewhere: Floats = field(repr=False)
    unknown: Floats = field(repr=False)
    hangs: bool

    def own(self, link_probability: Floats) -> Floats:
        """Distribution of the person's own value by record, shape (n_records, n_levels), given its link's probability.

        The candidate speaks for its value as far as the link is probable; the joint distribution fills the rest.
        """
        true = link_probability if self.hangs else np.ones(len(self.values))
        found = (1.0 - true)[:, None] * self.elsewhere
        there = self.values >= 0
        found[np.flatnonzero(there), self.values[there]] += true[there]
        found[~there] = self.unknown[~there]
        return found


def sensitive_values(combined: Combined, name: str, joint: JointDistribution | None) -> SensitiveValues:
    (column,) = combined.columns([name])
    keys, hangs = combined.with_role("key"), combined.hangs(name)
    if joint is None or name not in joint.names:
        row = frequencies(combined, column)
        elsewhere = unknown = np.broadcast_to(row, (combined.n_records, len(row)))
    else:
        elsewhere = unknown = joint.conditional(name, known(combined, joint, combined.codes, keys))
        if hangs:
            in_alice = combined.variables[column].holder == "alice"
            half = combined.bob[combined.row_b] if in_alice else combined.alice[combined.row_a]
            elsewhere = joint.conditional(name, known(combined, joint, half, keys))
    return SensitiveValues(name, combined.codes[:, column], elsewhere, unknown, hangs)


def known(combined: Combined, joint: JointDistribution, codes: Codes, names: Sequence[str]) -> Codes:
    """Codes by the combined output's variables in the joint distribution's columns, of the named ones; -1 elsewhere."""
    found = np.full((len(codes), len(joint.variables)), -1, dtype=np.int32)
    for place, variable in enumerate(joint.variables):
        if variable.coded and variable.name in names:
            (column,) = combined.columns([variable.name])
            found[:, place] = codes[:, column]
    return found


def frequencies(combined: Combined, column: int) -> Floats:
    """Expected distribution of a variable's values over the combined output; equal shares where no value is known."""
    values = combined.pair_codes[:, column]
    levels = len(combined.variables[column].categories)
    sums = np.bincount(values[values >= 0], combined.pair_probability[values >= 0], levels).astype(np.float64)
    return np.asarray(sums / sums.sum()) if sums.sum() > 0 else np.full(levels, 1.0 / levels)


@dataclass(frozen=True)
class Drawn:
    """What an intruder with a posterior infers of each linked record: the most probable value, and whether its
    posterior is at least 1 - doubt, so that the intruder takes it for known."""

    value: Integers = field(repr=False)
    sure: Mask = field(repr=False)

    @classmethod
    def of(cls, posterior: Floats, doubt: float) -> Drawn:
        """The inferences from posteriors, shape (n_records, n_levels)."""
        value = posterior.argmax(axis=1)
        return cls(value, posterior[np.arange(len(posterior)), value] >= 1.0 - doubt)

    def of_records(self, sensitive: SensitiveValues, link_probability: Floats) -> Floats:
        """Probability, by record, that the value is known and right, for an intruder who has the record's keys.

        Of a false link the keys that the other half has brought are then another person's too.
        """
        own = sensitive.own(link_probability)
        return np.where(self.sure, own[np.arange(len(own)), self.value], 0.0)

    def of_people(self, sensitive: SensitiveValues, link_probability: Floats) -> Floats:
        """The same for an intruder who has the person's true keys.

        They are the record's if the link is true; of the people behind false links as much is supposed to be inferred
        as of those behind true ones.
        """
        true = link_probability if sensitive.hangs else np.ones(len(self.value))
        rows = np.arange(len(self.value))
        as_linked = np.where(sensitive.values >= 0, sensitive.values == self.value, sensitive.unknown[rows, self.value])
        inferred = np.where(self.sure, as_linked, 0.0)
        share = float(true @ inferred / true.sum()) if true.sum() > 0 else 0.0
        return np.asarray(true * inferred + (1.0 - true) * share)


def expected_share(right: Sequence[Floats], method: str) -> Measure:
    """Expected share of the linked records whose person's value is known and right, with an interval.

    The interval is of two numbers: records whose value is probably inferred and is not, and those where it is the other
    way round. Each is beta-binomial from Jeffreys' prior, as if as many had been seen before as are expected, which
    holds the links' randomness and that their probabilities are estimates. They are put together by the squares of
    their distances from the estimate, to whole records. The ends are the farthest of all sets.
    """
    n = len(right[0])
    if not n or not right[0].any():
        return Measure(0.0, method, 0.0, 0.0)
    lows, highs = [], []
    for chances in right:
        chance = chances[chances > 0].clip(0.0, 1.0)
        likely = chance >= 0.5
        lost, few_lost, many_lost = _number((1.0 - chance)[likely])
        won, few_won, many_won = _number(chance[~likely])
        number = int(likely.sum()) - lost + won
        # Whole records: an end between two of them would leave out one that belongs to the interval.
        lows.append(math.floor(number - math.hypot(many_lost - lost, won - few_won)))
        highs.append(math.ceil(number + math.hypot(lost - few_lost, many_won - won)))
    value = float(right[0].sum()) / n
    return Measure(value, method, max(0.0, min(value, min(lows) / n)), min(1.0, max(value, max(highs) / n)))


def _number(chances: Floats) -> tuple[float, float, float]:
    """How many of some events happen: expected, and the ends of the interval."""
    if not len(chances):
        return 0.0, 0.0, 0.0
    from scipy.stats import betabinom  # slow to import, and a service starts without it

    expected = float(chances.sum())
    law = betabinom(len(chances), expected + 0.5, len(chances) - expected + 0.5)
    few, many = law.ppf([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return expected, min(float(few), expected), max(float(many), expected)


def possible_probabilities(combined: Combined, linkage: LinkageDocument | None) -> list[Floats]:
    """Link probabilities of the links: the model's, and with its odds at either end of the precision's interval, as
    estimated or else as claimed."""
    claimed = combined.probability
    if linkage is None or not len(claimed):
        return [claimed]
    estimated, claims = estimated_precision(linkage), linkage.claims
    precision = estimated[0] if estimated is not None else None if claims is None else claims.precision
    if precision is None:
        return [claimed]
    return [claimed, _with_mean(claimed, precision.lower), _with_mean(claimed, precision.upper)]


def _with_mean(probability: Floats, mean: float) -> Floats:
    """Probabilities with all odds multiplied by one number, so that they have a given mean."""
    inside = probability.clip(1e-9, 1 - 1e-9)
    log_odds = np.log(inside) - np.log1p(-inside)
    low, high = -60.0, 60.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if float((1 / (1 + np.exp(-(log_odds + middle)))).mean()) < mean:
            low = middle
        else:
            high = middle
    return np.asarray(1 / (1 + np.exp(-(log_odds + (low + high) / 2))))
