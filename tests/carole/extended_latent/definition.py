"""The Bayes factor of two records' values, plainly; the compiled form must agree with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent.bayes_factor import ValueModel, columns_of, log_agreement
from gemel.carole.extended_latent.variables import Values


def log_bayes_factors(
    model: ValueModel, values: Values, row_a: NDArray[np.integer], row_b: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Natural log Bayes factor of the values of each pair, minus infinity for what the model excludes of a match.

    Every pair passes the junction trees; `BayesFactors` gives the same fast.
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


def _chosen(values: Values, agree: NDArray[np.bool_]) -> list[int]:
    return [v for v, there in zip(values.model_keys, agree, strict=True) if there]
