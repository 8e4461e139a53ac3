"""The joint distribution of both files' variables, for a custodian that was granted it: codes become labels.

The labels are derived here from the seed that the custodians share, which Carole does not have. Only the labels are
added; `risk.models.joint_distribution` defines the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gemel.common.errors import GemelError
from gemel.common.keys import Seed
from gemel.common.specification import Specification
from gemel.common.specification.model.protection import CoarseningStep
from gemel.custodian.encoding.categories import coarsened_labels, labels_by_code
from gemel.custodian.steps.share import malformed


def labelled(
    document: dict[str, Any],
    spec: Specification,
    seed: Seed,
    encoding_digest: bytes,
    epoch: int,
    coarsened: Mapping[str, CoarseningStep | str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The document with the categories of each coded variable, in the order of its codes.

    Parameters
    ----------
    coarsened
        The steps by which variables are released coarsened (`coarsened_variables`): their labels are the groups'.

    Raises
    ------
    GemelError
        SEALED if it names variables or numbers of categories that the specification does not have.
    """
    known = {variable.name: variable for variable in spec.variables}
    listed = document.get("variables")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise _malformed("variables that are not a list")
    variables = []
    for item in listed:
        if not item.get("coded"):
            variables.append({key: value for key, value in item.items() if key != "labels"})
            continue
        variable = known.get(str(item.get("name")))
        if variable is None:
            raise _malformed("a variable that does not agree with the specification")
        steps, step = spec.coarsenings(variable.name), coarsened.get(variable.name)
        labels = labels_by_code(variable, spec.project, seed, encoding_digest, epoch, spec.suite, steps)
        if isinstance(step, CoarseningStep):
            labels = coarsened_labels(labels, step)
        if item.get("levels") != len(labels) or (step is not None and not isinstance(step, CoarseningStep)):
            raise _malformed("a variable that does not agree with the specification")
        variables.append({**item, "labels": list(labels)})
    return {**document, "variables": variables}


def _malformed(got: str) -> GemelError:
    return malformed(got, "the joint distribution does not fit this specification's variables")
