r"""The model of the Bayes factor of two records' values.

With S the keys that agree exactly, x_S their common values, a and b the other values of Alice's and of Bob's record:

.. math:: P(values | M, \gamma) = P(a, b, x_S), \qquad
   P(values | U, \gamma) = P(a, x_S) P(b, x_S) / c_S, \qquad c_S = \sum_x P(x_S = x)^2.

Two different people who agree on S share the value x with probability proportional to P(x_S = x)^2; c_S normalises
that. Both sum to 1 over all values for every set S, whatever the model. A key that stands alone contributes
c / P(x) where it agrees. The denominator may have separate models, P_A and P_B in place of P, with c_S
the sum of their product.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemel.carole.extended_latent.variables import Values, WeightedPairs, wrong
from gemel.common.arrays import F64, I32
from gemel.common.errors import parameter
from gemel.risk.models.factors import Factor
from gemel.risk.models.fitted import FittedModel


@dataclass(frozen=True)
class AloneKey:
    """The distribution of a key that is independent of all other variables.

    `share` (float64, shape (n_levels,)): of each value, among matches and in either file. The remainder to 1 is on
    values that neither file has, so that no pair agrees there.
    """

    column: int
    share: F64 = field(repr=False)

    @property
    def log_factors(self) -> F64:
        """Natural log Bayes factor of agreement on each value: less for common values."""
        strangers = self.share * self.share
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.share) + np.log(strangers.sum()) - np.log(strangers)
        return np.where(self.share > 0, ratio, -np.inf)


@dataclass(frozen=True)
class ValueModel:
    """The distributions of which the Bayes factor is a ratio.

    `match`: the joint distribution of the joint model's variables; None where all variables are keys that stand alone.
    `alice`, `bob`: distributions of each file's variables, keys included: some or all of the variables of `match`. With
    a single model, the same object three times. Raises PARAMETER where some of the three are None and others are not.
    """

    match: FittedModel | None
    alice: FittedModel | None
    bob: FittedModel | None
    alone: tuple[AloneKey, ...] = ()

    def __post_init__(self) -> None:
        given = [model is not None for model in (self.match, self.alice, self.bob)]
        if any(given) != all(given):
            raise parameter("value model", "expected one of the match and of each file, or none", "some of the three")

    @classmethod
    def of(cls, model: FittedModel | None, alone: Sequence[AloneKey] = ()) -> ValueModel:
        """One model for numerator and denominator."""
        return cls(model, model, model, tuple(alone))

    @property
    def is_separate(self) -> bool:
        """Whether the denominator has separate models."""
        return self.alice is not self.match or self.bob is not self.match


def log_agreement(model: ValueModel, keys: Sequence[Hashable]) -> float:
    """log c_S: probability that two different people agree on these keys, under the denominator's models."""
    if not keys or model.alice is None or model.bob is None:
        return 0.0
    first = model.alice.rows(keys)
    second = first
    if model.bob is not model.alice:
        rows = model.bob.rows(keys)
        second = renamed(rows, {v: model.alice.names.index(model.bob.names[v]) for v in rows.variables})
    return float(np.log(first.values @ second.look_up(first.cells)))


def columns_of(model: FittedModel, codes: I32, names: Sequence[Hashable]) -> I32:
    """The columns of a model's variables, in its order."""
    place = {name: v for v, name in enumerate(names)}
    unknown = [name for name in model.names if name not in place]
    if unknown:
        raise wrong("the model has a variable that the values lack", "value model", repr(unknown[0]))
    return codes[:, [place[name] for name in model.names]]


def renamed(factor: Factor, place: Mapping[int, int]) -> Factor:
    """The same table, its variables numbered anew and its columns in their order."""
    columns = [place[v] for v in factor.variables]
    order = np.argsort(columns)
    variables, levels = (tuple(numbers[i] for i in order) for numbers in (columns, factor.levels))
    return Factor(variables, levels, np.ascontiguousarray(factor.cells[:, order]), factor.values)


def frequencies(values: Values, weighted: WeightedPairs | None = None, training: I32 | None = None) -> list[AloneKey]:
    r"""Distributions of the keys that stand alone, from how many people have each value.

    `weighted`: pairs and their match probabilities: one person in both files counts once; `training` (int32, shape
    (n_records, n_variables)): records of other people. Returns list of AloneKey: their shares need not sum to 1: the
    rest is the values that neither file has, on which no pair can agree.

    The weight of a pair's agreement on x must not be estimated from the pair itself. If the pair is no match, the
    second record has a name that the first has and n others: that has probability (n + 1 - d) / N. The discount d is
    Pitman and Yor's, n1 / (n1 + 2 n2) from the values that a file has once and twice: most names that occur once are
    far rarer than 1 / N. Plain shares would give agreement on the rarest names no weight.
    """
    found = []
    for column in values.alone_columns:
        levels = values.variables[column].levels
        in_a, in_b = (_counts(codes[:, column], levels) for codes in (values.codes_a, values.codes_b))
        people = in_a + in_b
        if training is not None:
            people = people + _counts(training[:, column], levels)
        twice = np.zeros(levels)
        if weighted is not None:
            of_a, of_b = values.codes_a[weighted.row_a, column], values.codes_b[weighted.row_b, column]
            agree = (of_a == of_b) & (of_a >= 0)
            twice = np.bincount(of_a[agree], weighted.weight[agree], minlength=levels).astype(np.float64)
            twice = np.minimum(twice, np.minimum(in_a, in_b))
        total = max(float(people.sum() - twice.sum()), 1.0)
        elsewhere = twice * (1 - 1 / np.maximum(in_a * in_b, 1))
        others = np.maximum(people - 1 - elsewhere, 1.0)
        share = (others - max(discount(in_a), discount(in_b))) / total
        if share.sum() > 1:
            share /= share.sum()
        found.append(AloneKey(column, share))
    return found


def discount(counts: F64) -> float:
    """Pitman and Yor's discount of counts of values, between 0 (few values, all common) and .95."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return min(once / (once + 2 * twice), 0.95) if once else 0.0


def _counts(codes: I32, levels: int) -> F64:
    return np.bincount(codes[codes >= 0], minlength=levels).astype(np.float64)
