"""What specifications written out in tests begin with."""

from __future__ import annotations

from typing import Any

from gemel.common.specification import Specification


def heading(project: str, mode: str = "open", alice: str = "id", bob: str = "id") -> str:
    """All before the fields; `alice` and `bob` are the columns of identifiers."""
    custodians = f"{{alice: {{identifier: {alice}}}, bob: {{identifier: {bob}}}}}"
    return f"version: 1\nproject: {project}\nmode: {mode}\ncustodians: {custodians}\n"


def of_sections(**sections: Any) -> Specification:
    """In mode open, of `fields` and other sections."""
    custodians = {"alice": {"identifier": "id"}, "bob": {"identifier": "id"}}
    retention = {"uploads_days": 1, "results_days": 1, "maps_days": 1}
    start = {"version": 1, "project": "test", "mode": "open", "custodians": custodians, "retention": retention}
    return Specification.model_validate({**start, **sections})
