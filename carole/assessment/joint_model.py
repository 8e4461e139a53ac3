"""The measures by the joint model of the extended latent step: of the linked records, and of its own release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gemel.carole.assessment.combined import Combined
from gemel.carole.assessment.inferred_values import possible_probabilities, sensitive_values
from gemel.carole.assessment.measures import Measure
from gemel.carole.assessment.modelled_attribution import modelled_attribution
from gemel.carole.assessment.released_joint import released_joint
from gemel.common.documents.linkage_document import LinkageDocument
from gemel.common.specification import Specification
from gemel.risk.models import JointDistribution


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
