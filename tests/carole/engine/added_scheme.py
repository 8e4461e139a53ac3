"""A program that adds an entry to two modules: a scheme that the product does not have, and a run under it.

`python -m tests.carole.engine.added_scheme` prints nothing on success.
"""

from __future__ import annotations

import importlib.machinery
from types import CodeType

ADDED = {
    "gemel.common.specification.model.schemes": """
SCHEMES["halved"] = SchemeFacts("halved", "half", "half of a weight", binary=True, graded=True, calibrated=False)
SchemeName = Literal[tuple(SCHEMES)]
""",
    "gemel.carole.fellegi_sunter.schemes": """
SCHEMES["halved"] = Scheme(known.SCHEMES["halved"], lambda a, d, s: log_ratio_shaded(a, d, s) / 2)
""",
}
"""By module, the lines at its end."""

as_it_is = importlib.machinery.SourceFileLoader.get_code


def with_addition(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
    """A module's code with what is added to it."""
    if name not in ADDED:
        return as_it_is(loader, name)
    return compile(f"{loader.get_source(name)}{ADDED[name]}", loader.get_filename(name), "exec")


def check() -> None:
    """Name the scheme in a specification, link under it, and read about it."""
    import numpy as np

    from gemel.carole.engine import Resources, link
    from gemel.carole.engine.documents.run_documents import findings
    from gemel.carole.engine.run.specified import plan_of
    from gemel.common.specification import specification_notes
    from gemel.coordinator.draft.specification_text import json_schema
    from gemel.coordinator.reports.linkage import wording
    from tests.carole.engine.conftest import TwoFiles
    from tests.common.specification.test_model import with_scheme

    spec = with_scheme("halved")
    assert any(note.startswith("Scheme halved: its match probabilities") for note in specification_notes(spec))
    assert "halved: half." in str(json_schema())
    assert wording.SCHEMES["halved"] == "half of a weight"
    files, enough = TwoFiles(1, 400, 350, 200), Resources(memory_bytes=2**28, threads=2)
    runs = {}
    for scheme in (plan_of(spec).scheme, "log_lr_weighted"):
        plan = files.plan(blocked=True, scheme=scheme, dependence="pairwise")
        runs[scheme] = link(files.a, files.b, plan, enough, lambda stage, fraction: None)
    halved, whole = runs.values()
    assert np.allclose(halved.scheme.weights, whole.scheme.weights / 2)
    assert any(warning.text.startswith("Scheme halved: ") for warning in halved.warnings)
    document = findings(halved, files.plan(blocked=True, scheme="halved"), enough, {}).plain()
    assert document["model"]["scheme"] == "halved"
    assert "shaded" in document["model"]["fields"][0]


if __name__ == "__main__":
    importlib.machinery.SourceFileLoader.get_code = with_addition  # type: ignore[method-assign]
    check()
