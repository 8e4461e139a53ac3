"""Explanation of a pair's probability: the contributions of agreement and of the values, bar by bar.

All contributions are in bits and add up to the log odds of a match. The values' part is a chain: first how common the
agreed values are, then Bob's variables one after another, each given those before it. The order affects the single
contributions, not their sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tryst.carole.extended_latent.bayes_factor import columns_of, log_agreement
from tryst.carole.extended_latent.fit import ExtendedFit
from tryst.carole.fellegi_sunter.patterns import MISSING

Kind = Literal["prior", "agreement", "rarity", "association"]


@dataclass(frozen=True)
class Contribution:
    """One bar of a waterfall.

    Attributes
    ----------
    kind
        "prior": the odds before anything is compared. "agreement": a compared field's level. "rarity": how common the
        values are on which keys agree. "association": how well a variable of Bob's fits Alice's values.
    name
        The field or variable; several keys are joined by " + ".
    bits
        What it adds to the log2 odds of a match.
    """

    kind: Kind
    name: str
    bits: float


def explain(fit: ExtendedFit, row_a: int, row_b: int, gamma: Sequence[int] | NDArray[np.int8]) -> list[Contribution]:
    """The contributions to one pair's log odds.

    Parameters
    ----------
    fit : ExtendedFit
    row_a, row_b : int
        The pair.
    gamma : sequence of int
        Its comparison vector.

    Returns
    -------
    list of Contribution
        Their sum is the pair's match weight and the prior's log2 odds. A missing field and an unknown variable
        have no bar. Where fields depend on each other, they share one.
    """
    found = [Contribution("prior", "prevalence", fit.log_prior_odds / math.log(2.0))]
    vector = np.asarray(gamma, dtype=np.int8)
    found += _agreement(fit, vector)
    found += _rarity(fit, row_a, row_b)
    found += _association(fit, row_a, row_b)
    return found


def _agreement(fit: ExtendedFit, gamma: NDArray[np.int8]) -> list[Contribution]:
    names = [field.name for field in fit.scheme.model.fields]
    if fit.scheme.joint is not None:
        return [Contribution("agreement", " + ".join(names), float(fit.scheme.match_weights(gamma[None])[0]))]
    return [
        Contribution("agreement", name, float(fit.scheme.weights[q, gamma[q]]))
        for q, name in enumerate(names)
        if gamma[q] != MISSING
    ]


def _rarity(fit: ExtendedFit, row_a: int, row_b: int) -> list[Contribution]:
    """log2 of c_S / P(x_S): of each key that stands alone, and of the joint model's keys together."""
    values, model = fit.values, fit.value_fit.model
    agree = values.agreeing(np.array([row_a]), np.array([row_b]))[0]
    found = [
        Contribution(
            "rarity",
            values.variables[key.column].name,
            float(key.log_factors[values.codes_a[row_a, key.column]]) / math.log(2.0),
        )
        for key in model.alone
        if agree[key.column]
    ]
    keys = [v for v in values.model_keys if agree[v]]
    if keys and model.match is not None:
        names = [values.variables[v].name for v in keys]
        logs = log_agreement(model, names) + _log_rarity(fit, keys, row_a)
        found.append(Contribution("rarity", " + ".join(names), logs / math.log(2.0)))
    return found


def _log_rarity(fit: ExtendedFit, keys: Sequence[int], row_a: int) -> float:
    """log P(x_S) - log P_A(x_S) - log P_B(x_S)."""
    model = fit.value_fit.model
    known = np.full((1, len(fit.values.variables)), -1, dtype=np.int32)
    known[0, list(keys)] = fit.values.codes_a[row_a, list(keys)]
    names = [variable.name for variable in fit.values.variables]
    total = 0.0
    for sign, part in ((1, model.match), (-1, model.alice), (-1, model.bob)):
        if part is not None:
            total += sign * float(part.log_marginal(columns_of(part, known, names))[0])
    return total


def _association(fit: ExtendedFit, row_a: int, row_b: int) -> list[Contribution]:
    r"""log2 of P(b_j | a, b_1 .. b_{j-1}, x_S) / P_B(b_j | b_1 .. b_{j-1}, x_S), for each variable j of Bob's.

    The first contribution includes that of a separate model of Alice's file.
    """
    values, model = fit.values, fit.value_fit.model
    if model.match is None or model.alice is None or model.bob is None:
        return []
    names = [variable.name for variable in values.variables]
    full = values.evidence(np.array([row_a]), np.array([row_b]))[0]
    shared = [v for v in values.model_keys if full[v] >= 0]
    of_a = [v for v in values.model_columns if values.variables[v].holder == "alice" and full[v] >= 0]
    of_b = [v for v in values.model_columns if values.variables[v].holder == "bob" and full[v] >= 0]
    steps = np.full((len(of_b) + 1, len(names)), -1, dtype=np.int32)
    for i in range(len(of_b) + 1):
        steps[i, [*shared, *of_b[:i]]] = full[[*shared, *of_b[:i]]]
    below = model.bob.log_marginal(columns_of(model.bob, steps, names))
    steps[:, of_a] = full[of_a]
    above = model.match.log_marginal(columns_of(model.match, steps, names))
    found = [
        Contribution("association", names[v], float(above[i + 1] - above[i] - below[i + 1] + below[i]) / math.log(2.0))
        for i, v in enumerate(of_b)
    ]
    if model.is_separate and of_a:
        keys = np.full((1, len(names)), -1, dtype=np.int32)
        keys[0, shared] = full[shared]
        alice = model.alice.log_marginal(columns_of(model.alice, np.concatenate([steps[:1], keys]), names))
        base = model.match.log_marginal(columns_of(model.match, keys, names))
        logs = float(above[0] - base[0] - alice[0] + alice[1])
        found.insert(0, Contribution("association", "Alice's values by themselves", logs / math.log(2.0)))
    return found
