r"""The Bayes factor of two records' values, plainly: the definition that the compiled one is tested against.

With S the keys that agree exactly, x_S their common values, a and b what else Alice and Bob hold of the two records:

.. math:: P(values | M, \gamma) = P(a, b, x_S), \qquad
   P(values | U, \gamma) = P(a, x_S) P(b, x_S) / c_S, \qquad c_S = \sum_x P(x_S = x)^2.

Two strangers who agree on S share the value x with probability proportional to P(x_S = x)^2; c_S makes of that a
distribution. Both sum to 1 over all values for every set S, whatever the model. A key that stands alone contributes
c / P(x) where it agrees. The denominator may have models of its own, P_A and P_B in the place of P, with
c_S the sum of their product.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tryst.carole.extended_latent.variables import Values, wrong
from tryst.risk.models.factors import Factor
from tryst.risk.models.fitted import FittedModel


@dataclass(frozen=True)
class AloneKey:
    """The distribution of a key that is independent of all other variables.

    Parameters
    ----------
    column
        Of the values.
    match : ndarray of float64, shape (n_levels,)
        Among matches. What is missing to 1 is on values that neither file has: no two people agree there.
    alice, bob : ndarray of float64, shape (n_levels,)
        In each file; where they are no other than `match`, the same array.
    """

    column: int
    match: NDArray[np.float64] = field(repr=False)
    alice: NDArray[np.float64] = field(repr=False)
    bob: NDArray[np.float64] = field(repr=False)

    @property
    def log_factors(self) -> NDArray[np.float64]:
        """Natural log Bayes factor of agreement on each value: common values count for less."""
        strangers = self.alice * self.bob
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.match) + np.log(strangers.sum()) - np.log(strangers)
        return np.where(self.match > 0, ratio, -np.inf)


@dataclass(frozen=True)
class ValueModel:
    """The distributions that the Bayes factor is made of.

    Parameters
    ----------
    match : FittedModel or None
        The joint distribution of the joint model's variables; None where all variables are keys that stand alone.
    alice, bob : FittedModel or None
        Distributions of what each file holds, keys included; over some of the variables of `match` or all of them.
        One model for everything: the same object three times.
    alone : tuple of AloneKey
    """

    match: FittedModel | None
    alice: FittedModel | None
    bob: FittedModel | None
    alone: tuple[AloneKey, ...] = ()

    @classmethod
    def of(cls, model: FittedModel | None, alone: Sequence[AloneKey] = ()) -> ValueModel:
        """One model for numerator and denominator."""
        return cls(model, model, model, tuple(alone))

    @property
    def is_separate(self) -> bool:
        """Whether the denominator has models of its own."""
        return self.alice is not self.match or self.bob is not self.match


def log_bayes_factors(
    model: ValueModel, values: Values, row_a: NDArray[np.integer], row_b: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Natural log Bayes factor of the values of each pair.

    Parameters
    ----------
    model : ValueModel
    values : Values
    row_a, row_b : ndarray of int, shape (n_pairs,)

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        Minus infinity for values that the model excludes of a match.

    Notes
    -----
    The definition: every pair passes the junction trees. `BayesFactors` gives the same fast.
    """
    agree = values.agreeing(row_a, row_b)
    total = np.zeros(len(row_a))
    for key in model.alone:
        code = values.codes_a[row_a, key.column]
        total += np.where(agree[:, key.column], key.log_factors[code], 0.0)
    if model.match is None or model.alice is None or model.bob is None:
        return total
    known = values.evidence(row_a, row_b)
    names = tuple(variable.name for variable in values.variables)
    holders = np.array([variable.holder for variable in values.variables])
    top = model.match.log_marginal(columns_of(model.match, known, names))
    of_a = columns_of(model.alice, np.where(holders == "bob", -1, known).astype(np.int32), names)
    of_b = columns_of(model.bob, np.where(holders == "alice", -1, known).astype(np.int32), names)
    below = model.alice.log_marginal(of_a) + model.bob.log_marginal(of_b)
    sets, which = np.unique(agree[:, list(values.model_keys)], axis=0, return_inverse=True)
    log_c = np.array([log_agreement(model, [values.variables[v].name for v in _chosen(values, s)]) for s in sets])
    with np.errstate(invalid="ignore"):
        total += np.where(np.isneginf(top), -np.inf, top - below + log_c[which.ravel()])
    return total


def log_agreement(model: ValueModel, keys: Sequence[Hashable]) -> float:
    """log c_S: how probably two strangers agree on these keys, under the denominator's models."""
    if not keys or model.alice is None or model.bob is None:
        return 0.0
    first = model.alice.rows(keys)
    second = first if model.bob is model.alice else _in_order_of(model.bob, model.alice, keys)
    return float(np.log(first.values @ second.look_up(first.cells)))


def columns_of(model: FittedModel, codes: NDArray[np.int32], names: Sequence[Hashable]) -> NDArray[np.int32]:
    """The columns of a model's variables, in its order."""
    place = {name: v for v, name in enumerate(names)}
    unknown = [name for name in model.names if name not in place]
    if unknown:
        raise wrong("the model has a variable that the values do not have", "value model", repr(unknown[0]))
    return codes[:, [place[name] for name in model.names]]


def _chosen(values: Values, agree: NDArray[np.bool_]) -> list[int]:
    return [v for v, there in zip(values.model_keys, agree, strict=True) if there]


def _in_order_of(bob: FittedModel, alice: FittedModel, keys: Sequence[Hashable]) -> Factor:
    """The keys' distribution by Bob's model, with its columns in the order in which Alice's model has them."""
    rows = bob.rows(keys)
    here = [bob.names[v] for v in rows.variables]
    order = [here.index(name) for name in alice.names if name in set(keys)]
    levels = tuple(rows.levels[i] for i in order)
    return Factor(tuple(range(len(order))), levels, np.ascontiguousarray(rows.cells[:, order]), rows.values)
