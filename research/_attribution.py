r"""The distribution by a linkage of a value that only Bob holds, for each of Alice's records.

.. math:: \Pr(t \mid a) = \sum_b w_{ab} [b_t = t] + \Bigl(1 - \sum_b w_{ab}\Bigr) P(t \mid a\text{'s values}),

with w the match (or link) probabilities: a candidate speaks for its own value, and what is left unlinked is filled
with P(t | a) from the joint distribution. A candidate whose value is missing contributes
nothing, and its share is left unlinked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gemel.carole.extended_latent.variables import Values, wrong
from gemel.risk.models.counts import distinct_rows
from gemel.risk.models.fitted import FittedModel


@dataclass(frozen=True)
class Attribution:
    """Posterior distributions of a target variable, for `rows` of A; each row of `probability` sums to 1.

    `linked` is the share of each that comes from candidates, not from the joint distribution; `scaled` counts
    records whose candidates' probabilities summed to more than 1 and were scaled down to 1.
    """

    target: str
    rows: NDArray[np.int64] = field(repr=False)
    probability: NDArray[np.float64] = field(repr=False)
    linked: NDArray[np.float64] = field(repr=False)
    scaled: int


def attribute(
    values: Values,
    joint: FittedModel,
    target: str,
    row_a: NDArray[np.integer],
    row_b: NDArray[np.integer],
    weight: NDArray[np.float64],
    rows: NDArray[np.integer] | None = None,
) -> Attribution:
    """The posterior of a variable that Bob holds alone, for records of Alice's (`rows`; all by default).

    `weight` has match probabilities, or link probabilities in a one-to-one linkage; a pair that is not listed has
    weight 0. O(n_pairs), and a pass of the distinct records of A through the junction tree for each level of the
    target. A `GemelError` names a target that Bob does not hold alone or the model lacks, and weights that are no
    probabilities.
    """
    t = _target(values, joint, target)
    if len(weight) and not (np.isfinite(weight).all() and weight.min() >= 0 and weight.max() <= 1):
        raise wrong("expected probabilities", "attribution weights", "others", "give match or link probabilities")
    levels = values.variables[t].levels
    chosen = np.arange(values.n_a) if rows is None else np.asarray(rows, dtype=np.int64)
    place = np.full(values.n_a, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    code = values.codes_b[row_b, t]
    speaks = (place[row_a] >= 0) & (code >= 0)
    cell = place[row_a[speaks]] * levels + code[speaks]
    sums = np.bincount(cell, weights=weight[speaks], minlength=len(chosen) * levels)
    votes = sums.astype(np.float64).reshape(len(chosen), levels)
    sums = votes.sum(axis=1)
    scaled = sums > 1
    votes[scaled] /= sums[scaled, None]
    linked = np.minimum(sums, 1.0)
    prior = conditional(values, joint, target, chosen)
    return Attribution(target, chosen, votes + (1 - linked)[:, None] * prior, linked, int((sums > 1 + 1e-9).sum()))


def conditional(values: Values, joint: FittedModel, target: str, rows: NDArray[np.integer]) -> NDArray[np.float64]:
    """P(target | the values that Alice holds of each record), her keys among them; shape (n_rows, n_levels)."""
    t = _target(values, joint, target)
    names = [variable.name for variable in values.variables]
    known = values.codes_a[rows][:, [names.index(str(name)) for name in joint.names]].astype(np.int32)
    column = [str(name) for name in joint.names].index(target)
    first, inverse = distinct_rows(known + 1, [n + 1 for n in joint.levels]) if len(known) else (rows, rows)
    distinct = known[first]
    levels = values.variables[t].levels
    logs = np.empty((len(distinct), levels))
    for level in range(levels):
        distinct[:, column] = level
        logs[:, level] = joint.log_marginal(distinct)
    maximum = logs.max(axis=1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        share = np.exp(logs - maximum)
    # Values that the model excludes carry no information: the target's own distribution then.
    lost = ~np.isfinite(maximum[:, 0])
    if lost.any():
        share[lost] = joint.marginal([target])
    share /= share.sum(axis=1, keepdims=True)
    return np.asarray(share[inverse])


def _target(values: Values, joint: FittedModel, target: str) -> int:
    names = [variable.name for variable in values.variables]
    if target not in names or values.variables[names.index(target)].holder != "bob" or target not in joint.names:
        raise wrong(
            "the target must be a variable of the joint model that Bob holds alone", "attribution", repr(target)
        )
    return names.index(target)
