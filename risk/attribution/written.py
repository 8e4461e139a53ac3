"""A release written as the document that `documents.release_of` reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.attribution import laws
from gemel.risk.attribution.laws import UNPUBLISHED, Law, Sampled
from gemel.risk.attribution.release import Axis, Release


def document_of(release: Release) -> dict[str, Any]:
    """The document of a release whose laws a document can name; `release_of` reads it back."""
    tables = []
    for table in release.tables:
        counts: Any = np.where(table.counts == UNPUBLISHED, None, table.counts.astype(object)).tolist()  # type: ignore[call-overload]
        if table.intervals is not None:
            cells = np.empty(table.counts.shape, dtype=object)
            for i in np.ndindex(table.counts.shape):
                low, high = int(table.intervals[0][i]), int(table.intervals[1][i])
                shown = int(table.counts[i])
                ranged = {"low": low, "high": high} if high < laws.INFINITE else None
                cells[i] = shown if shown != UNPUBLISHED else ranged
            counts = cells.tolist()
        axes: list[Any] = []
        for axis in table.axes:
            variable = next(v for v in release.variables if v.name == axis.variable)
            if axis == Axis.full(variable):
                axes.append(axis.variable)
            else:
                groups = {
                    label: [variable.levels[k] for k in m] for label, m in zip(axis.labels, axis.members, strict=True)
                }
                axes.append({"name": axis.variable, "groups": groups})
        tables.append({"name": table.name, "variables": axes, "protection": _law_document(table.law), "counts": counts})
    document: dict[str, Any] = {
        "name": release.name,
        "variables": [{"name": v.name, "levels": list(v.levels)} for v in release.variables],
        "tables": tables,
    }
    if release.truth is not None:
        document["truth"] = release.truth.counts.tolist()
    return document


def _law_document(law: Law) -> dict[str, Any]:
    if isinstance(law, laws.Conventional | laws.Random | laws.Adjacent):
        return {"kind": law.name, "base": law.base}
    if isinstance(law, laws.Barnardised):
        return {"kind": "barnardisation", "stay": law.stay}
    if isinstance(law, laws.BelowThreshold):
        return {"kind": "record_suppression", "threshold": law.threshold}
    if isinstance(law, Sampled):
        return {"kind": "sample", "population": law.population, "size": law.size}
    if isinstance(law, laws.Within):
        return {"kind": "adjustment", "reach": max(law.floor, law.ceiling)}
    if law.exact:
        return {"kind": "exact"}
    raise GemelError(ErrorCode.PARAMETER, f"a document has no name for the law {law.name!r}")
