"""How the variables of the linked records are released, where a limit was breached: as the parties had approved.

The statistics name the step by which each variable is coarsened. Values never leave a custodian with its links, so that
the file that is written here, every category with what it is released as, is what whoever uses the linked records joins
them with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from gemel.common.specification import Specification
from gemel.common.specification.model.protection import CoarseningStep, step_name
from gemel.common.specification.model.section import folded_label
from gemel.custodian.steps.share import malformed

COARSENING = "coarsening.csv"


def coarsened_variables(statistics: Mapping[str, Any], spec: Specification) -> dict[str, CoarseningStep | str]:
    """The step of each variable that is released coarsened."""
    listed = statistics.get("coarsened")
    if listed is None:
        return {}
    found: dict[str, CoarseningStep | str] = {}
    for item in listed if isinstance(listed, list) else [None]:
        name = str(item.get("variable")) if isinstance(item, dict) else ""
        steps = {step_name(step): step for step in spec.coarsenings(name)}
        step = steps.get(str(item.get("coarsening"))) if isinstance(item, dict) else None
        if step is None or name in found:
            raise malformed(
                "a variable twice" if name in found else "another one",
                "the result is coarsened in a way that the approved specification does not allow",
            )
        found[name] = step
    return found


def coarsening_table(steps: Mapping[str, CoarseningStep | str], spec: Specification) -> pl.DataFrame:
    """Every category of the coarsened variables with what it is released as."""
    rows = [
        (name, label, step.group_of[folded_label(label)] if isinstance(step, CoarseningStep) else None)
        for name, step in steps.items()
        for label in spec.variable(name).categories
    ]
    columns = {"variable": pl.String, "category": pl.String, "released_as": pl.String}
    return pl.DataFrame(rows, schema=columns, orient="row")
