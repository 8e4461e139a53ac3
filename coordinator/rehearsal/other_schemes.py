"""The same files linked by other schemes, and by agreement alone, to compare with what the specification selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemel.common.documents.evaluation_document import EvaluationDocument, SchemeResult
from gemel.common.specification import Specification
from gemel.common.specification.model.schemes import SCHEMES

AGREEMENT_ALONE = "agreement alone"
"""What the comparison calls the linkage without its extended latent step."""


def compared(scheme: str, evaluation: EvaluationDocument) -> SchemeResult:
    """What a scheme's evaluation gives to the comparison of schemes."""
    return SchemeResult(
        scheme=scheme,
        **evaluation.at_decision.plain(),
        auc=evaluation.auc,
        calibration_largest_gap=evaluation.calibration_largest_gap,
        curve=evaluation.curve,
    )


def other_schemes(spec: Specification, schemes: Sequence[str]) -> Iterator[tuple[str, Specification]]:
    """The same linkage by other schemes, and without the values where they are judged by; what to call each."""
    if spec.latent is not None:
        data = spec.model_dump()
        alone = {**data, "latent": None, "release": {**data["release"], "joint": "none"}}
        yield AGREEMENT_ALONE, Specification.model_validate(alone)
    for scheme in schemes:
        if scheme != spec.model.scheme:
            yield scheme, _with_scheme(spec, scheme)


def _with_scheme(spec: Specification, scheme: str) -> Specification:
    """The same linkage by another scheme; shaded weights know no frequencies of values."""
    data = spec.model_dump()
    data["model"]["scheme"] = scheme
    if not SCHEMES[scheme].calibrated:
        for field in data["fields"]:
            field["value_frequencies"] = False
    return Specification.model_validate(data)
