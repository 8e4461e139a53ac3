"""Where a table of linked records comes from, of a project's run."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from importlib.metadata import version

from gemel.common.documents.provenance import CLASSES, EXACT, Provenance
from gemel.common.parties import Side
from gemel.common.specification import Specification, encoding_digest, specification_digest


def run_provenance(spec: Specification, run: str, table: str, sides: Iterable[Side], *, exact: bool) -> Provenance:
    """The provenance of a table that is made now.

    Parameters
    ----------
    sides
        Whose identifiers or variables are in it.
    exact
        Whether its link probabilities are exact.
    """
    content = {
        "project": spec.project,
        "run": run,
        "table": table,
        "sides": [str(side) for side in sides],
        "specification_digest": specification_digest(spec).hex(),
        "encoding_digest": encoding_digest(spec).hex(),
        "assignment": spec.links.assignment,
        "exact": exact,
        "probabilities": EXACT if exact else CLASSES,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("gemel"),
    }
    return Provenance.of(content, "provenance")
