r"""What a linked record discloses of its person under the joint model, where its link may be false.

.. math:: \Pr(t \mid i) = w_i [v_i = t] + (1 - w_i) P(t \mid \text{keys})

for record i with the value v_i and the link probability w_i: the record speaks for its own value as far as its link is
probable, and the joint distribution P fills the rest. An intruder who knows a person's keys cannot distinguish the
records that have them, and takes their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.attribution import Groups
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.inferred_values import Drawn, SensitiveValues, expected_share
from gemel.carole.assessment.measures import Measure


@dataclass(frozen=True)
class ModelledAttribution:
    """The measure, the worst of the sensitive variables, and each variable."""

    measures: Mapping[str, Measure]
    by_variable: Mapping[str, Measure]


def modelled_attribution(
    combined: Combined,
    sensitive: Sequence[SensitiveValues],
    probabilities: Sequence[NDArray[np.float64]],
    doubt: float,
) -> ModelledAttribution:
    """Expected share of the linked records whose person's value is inferred rightly and with little doubt.

    Parameters
    ----------
    sensitive
        The sensitive variables with the joint model's distributions; without any there is no measure.
    probabilities
        Link probabilities that are possible, the model's first (`possible_probabilities`).
    doubt
        Probability of another value below which a value counts as inferred.

    Notes
    -----
    O(records * levels) beside the passes through the junction tree.
    """
    found = {}
    for variable in sensitive:
        drawn = inferences(combined, variable, probabilities[0], doubt)
        found[variable.name] = expected_share([drawn.of_records(variable, each) for each in probabilities], "")
    if not found:
        return ModelledAttribution({}, {})
    worst = max(found, key=lambda name: found[name].judged)
    of = found[worst]
    how = f"link probabilities and joint distribution, posterior at least {1 - doubt:g}; worst for {worst}"
    return ModelledAttribution({"modelled_attribution": Measure(of.value, how, of.lower, of.upper)}, found)


def inferences(combined: Combined, variable: SensitiveValues, probability: NDArray[np.float64], doubt: float) -> Drawn:
    """What the intruder infers of each linked record from all records with its keys."""
    keys = combined.codes[:, combined.columns(combined.with_role("key"))]
    return Drawn.of(_means(variable.own(probability), Groups.of(keys, keys[:0]).of_record), doubt)


def _means(own: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean row of each record's group."""
    size = np.bincount(group)
    sums = [np.bincount(group, own[:, level]) for level in range(own.shape[1])]
    means = np.stack(sums, axis=1) / np.maximum(size, 1)[:, None] if sums else np.zeros((len(size), 0))
    return np.asarray(means[group])
