"""Which custodian sends which file of known values, and the sizes of its set: they follow from the specification."""

from __future__ import annotations

from gemel.common.parties import Side
from gemel.common.signatures.layout import KNOWN, SetLayout, VariableLayout
from gemel.common.specification import Specification
from gemel.common.specification.model.blocking import JointSpec, TrainingSpec

KnownFile = TrainingSpec | JointSpec


def known_files(spec: Specification, side: Side | str) -> dict[str, KnownFile]:
    """The files of known values that one custodian has, by the name of their set, in the order of the sets."""
    if spec.latent is None:
        return {}
    named: tuple[KnownFile | None, ...] = (spec.latent.training, spec.latent.joint)
    return {
        rule: file for rule, file in zip(KNOWN, named, strict=True) if file is not None and Side(file.by) is Side(side)
    }


def known_layouts(spec: Specification, side: Side) -> tuple[SetLayout, ...]:
    """The sizes of the sets that one custodian makes of its files of known values; they follow from the specification.

    What Carole requires of them too: a file of another length is not the one that was named.
    """
    variables = tuple(VariableLayout(each.name, len(each.categories)) for each in spec.value_variables)
    return tuple(
        SetLayout(rule, file.records if isinstance(file, TrainingSpec) else file.cells, (), (), variables)
        for rule, file in known_files(spec, side).items()
    )
