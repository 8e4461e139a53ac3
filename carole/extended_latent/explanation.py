"""Explanation of a pair's probability: the contributions of agreement and of the values, bar by bar.

All contributions are in bits and add up to the log odds of a match. The values' part is a chain: first how common the
agreed values are, then Bob's variables one after another, each given those before it. The order affects the single
contributions, not their sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gemel.carole.extended_latent.bayes_factor import columns_of, log_agreement
from gemel.carole.extended_latent.fit import ExtendedFit
from gemel.carole.fellegi_sunter.model import MISSING
from gemel.common.arrays import F64, I8, Flags, Ints

Kind = Literal["prior", "agreement", "rarity", "association"]


@dataclass(frozen=True)
class Contribution:
    """One bar of a waterfall.

    `kind`: "prior": the odds before anything is compared. "agreement": a compared field's level. "rarity": how common
    the values are on which keys agree. "association": how well a variable of Bob's fits Alice's values. `bits`: what it
    adds to the log2 odds of a match.
    """

    kind: Kind
    name: str
    bits: float


def explain_pairs(fit: ExtendedFit, row_a: Ints, row_b: Ints, gamma: I8) -> list[list[Contribution]]:
    """The contributions to the log odds of each of some pairs.

    `gamma` (int8, shape (n_pairs, n_fields)): their comparison vectors. The sum of a pair's contributions is the pair's
    match weight and the prior's log2 odds. A missing field and an unknown variable have no bar. Where fields depend on
    each other, they share one.

    All pairs pass through the junction trees together: once for each pattern of known variables.
    """
    prior = Contribution("prior", "prevalence", fit.log_prior_odds / math.log(2.0))
    parts = zip(gamma, _rarity(fit, row_a, row_b), _association(fit, row_a, row_b), strict=True)
    return [[prior, *_agreement(fit, vector), *rarity, *association] for vector, rarity, association in parts]


def _agreement(fit: ExtendedFit, gamma: I8) -> list[Contribution]:
    names = [field.name for field in fit.scheme.model.fields]
    if fit.scheme.joint is not None:
        return [Contribution("agreement", " + ".join(names), float(fit.scheme.match_weights(gamma[None])[0]))]
    return [
        Contribution("agreement", name, float(fit.scheme.weights[q, gamma[q]]))
        for q, name in enumerate(names)
        if gamma[q] != MISSING
    ]


def _rarity(fit: ExtendedFit, row_a: Ints, row_b: Ints) -> list[list[Contribution]]:
    """log2 of c_S / P(x_S): of each key that stands alone, and of the joint model's keys together."""
    values, model = fit.values, fit.value_fit.model
    agree = values.agreeing(row_a, row_b)
    logs = _log_rarity(fit, row_a, agree)
    found = []
    for i, row in enumerate(row_a):
        bars = []
        for key in model.alone:
            if agree[i, key.column]:
                bits = float(key.log_factors[values.codes_a[row, key.column]]) / math.log(2.0)
                bars.append(Contribution("rarity", values.variables[key.column].name, bits))
        names = [values.variables[v].name for v in values.model_keys if agree[i, v]]
        if names and model.match is not None:
            bits = (log_agreement(model, names) + float(logs[i])) / math.log(2.0)
            bars.append(Contribution("rarity", " + ".join(names), bits))
        found.append(bars)
    return found


def _log_rarity(fit: ExtendedFit, row_a: Ints, agree: Flags) -> F64:
    """log P(x_S) - log P_A(x_S) - log P_B(x_S) of each pair."""
    model = fit.value_fit.model
    keys = list(fit.values.model_keys)
    known = np.full((len(row_a), len(fit.values.variables)), -1, dtype=np.int32)
    known[:, keys] = np.where(agree[:, keys], fit.values.codes_a[row_a][:, keys], -1)
    names = [variable.name for variable in fit.values.variables]
    total = np.zeros(len(row_a))
    for sign, part in ((1, model.match), (-1, model.alice), (-1, model.bob)):
        if part is not None:
            total += sign * part.log_marginal(columns_of(part, known, names))
    return total


def _association(fit: ExtendedFit, row_a: Ints, row_b: Ints) -> list[list[Contribution]]:
    r"""log2 of P(b_j | a, b_1 .. b_{j-1}, x_S) / P_B(b_j | b_1 .. b_{j-1}, x_S), for each variable j of Bob's.

    The first contribution includes that of a separate model of Alice's file.
    """
    values, model = fit.values, fit.value_fit.model
    if model.match is None or model.alice is None or model.bob is None or not len(row_a):
        return [[] for _ in row_a]
    names = [variable.name for variable in values.variables]
    full = values.evidence(row_a, row_b)
    held = {side: [v for v in values.model_columns if values.variables[v].holder == side] for side in ("alice", "bob")}
    # Bob's variables, one more at each step; a step that adds none a pair has is the one before it, and has no bar.
    keys = np.full_like(full, -1)
    shared = list(values.model_keys)
    keys[:, shared] = full[:, shared]
    steps = np.repeat(keys[:, None], len(held["bob"]) + 1, axis=1)
    for j, v in enumerate(held["bob"]):
        steps[:, j + 1 :, v] = full[:, v, None]
    shape = steps.shape[:2]
    below = model.bob.log_marginal(columns_of(model.bob, steps.reshape(-1, len(names)), names)).reshape(shape)
    steps[:, :, held["alice"]] = full[:, None, held["alice"]]
    above = model.match.log_marginal(columns_of(model.match, steps.reshape(-1, len(names)), names)).reshape(shape)
    bits = np.diff(above - below, axis=1) / math.log(2.0)
    found = [
        [Contribution("association", names[v], float(bits[i, j])) for j, v in enumerate(held["bob"]) if full[i, v] >= 0]
        for i in range(len(row_a))
    ]
    if model.is_separate:
        of_alice, of_both = (
            part.log_marginal(columns_of(part, np.concatenate([steps[:, 0], keys]), names)).reshape(2, -1)
            for part in (model.alice, model.match)
        )
        own = (of_both[0] - of_both[1] - of_alice[0] + of_alice[1]) / math.log(2.0)
        for i in np.flatnonzero((full[:, held["alice"]] >= 0).any(axis=1)):
            found[i].insert(0, Contribution("association", "Alice's values by themselves", float(own[i])))
    return found
