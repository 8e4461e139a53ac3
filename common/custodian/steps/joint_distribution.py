"""The joint distribution of both files' variables, for a custodian that was granted it: codes become labels.

The labels are derived here from the seed that the custodians share, which Carole does not have. Only the labels are
added; `risk.models.joint_distribution` defines the numbers.
"""

from __future__ import annotations

from typing import Any

from tryst.common.custodian.steps.share import malformed
from tryst.common.encoding.categories import labels_by_code
from tryst.common.errors import TrystError
from tryst.common.keys import Seed
from tryst.common.specification import Specification


def labelled(
    document: dict[str, Any], spec: Specification, seed: Seed, encoding_digest: bytes, epoch: int
) -> dict[str, Any]:
    """The document with the categories of each coded variable, in the order of its codes.

    Raises
    ------
    TrystError
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
        if variable is None or item.get("levels") != len(variable.categories):
            raise _malformed("a variable that does not agree with the specification")
        labels = labels_by_code(variable, spec.project, seed, encoding_digest, epoch, spec.suite)
        variables.append({**item, "labels": list(labels)})
    return {**document, "variables": variables}


def _malformed(got: str) -> TrystError:
    return malformed(got, "the joint distribution does not fit this specification's variables")
