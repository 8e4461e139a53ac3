"""The measures by the joint model of the extended latent step: of the linked records, and of its own release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemel.carole.assessment.attribution import Groups
from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.inferred_values import (
    Drawn,
    SensitiveValues,
    expected_share,
    possible_probabilities,
    sensitive_values,
)
from gemel.carole.assessment.measures import Measure
from gemel.carole.assessment.released_joint import released_joint
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification import Specification
from gemel.risk.models import JointDistribution

# What a linked record discloses of its person under the joint model, where its link may be false.
#
# .. math:: \Pr(t \mid i) = w_i [v_i = t] + (1 - w_i) P(t \mid \text{keys})
#
# for record i with the value v_i and the link probability w_i: the record speaks for its own value as far as its link
# is probable, and the joint distribution P fills the rest. An intruder who knows a person's keys cannot distinguish
# the records that have them, and takes their mean.


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


@dataclass(frozen=True)
class JointModel:
    """What the joint model adds to an assessment.

    Attributes
    ----------
    measures
        By name; empty without a latent step or sensitive variables.
    by_variable
        By measure, each sensitive variable by itself.
    released
        What the released distribution discloses, ready for JSON; empty where none is released.
    """

    measures: Mapping[str, Measure]
    by_variable: Mapping[str, Mapping[str, Measure]]
    released: list[dict[str, Any]]

    def added_to(self, document: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The sensitive variables of the document, each with what the joint model adds."""
        modelled = self.by_variable.get("modelled_attribution", {})
        return [
            {**of, **({"modelled_attribution": modelled[of["variable"]].value} if of["variable"] in modelled else {})}
            for of in document
        ]

    def without(self, variable: str) -> dict[str, float]:
        """The judged measures if a sensitive variable were left out."""
        return {
            name: max((measure.judged for other, measure in found.items() if other != variable), default=0.0)
            for name, found in self.by_variable.items()
        }


def joint_model(
    combined: Combined, spec: Specification, joint: JointDistribution | None, linkage: LinkageDocument | None
) -> JointModel:
    """The measures by the joint model.

    Parameters
    ----------
    combined
    spec
        With its section `assessment`.
    joint
        The run's joint distribution in codes. None where it has none, or all keys stand alone: the expected frequencies
        of the values then stand for it.
    linkage
        The run's decision, with the estimates of its quality.
    """
    names = combined.with_role("sensitive")
    if spec.latent is None or spec.assessment is None or not names:
        return JointModel({}, {}, [])
    probabilities = possible_probabilities(combined, linkage)
    sensitive = [sensitive_values(combined, name, joint) for name in names]
    modelled = modelled_attribution(combined, sensitive, probabilities, spec.assessment.doubt)
    released = released_joint(combined, spec, joint, sensitive, probabilities)
    by_variable = {"modelled_attribution": modelled.by_variable}
    if released.measures:
        by_variable["joint_attribution"] = released.by_variable
    return JointModel({**modelled.measures, **released.measures}, by_variable, released.document)
