"""What specifications written out in tests begin with."""

from __future__ import annotations


def heading(project: str, mode: str = "open", alice: str = "id", bob: str = "id") -> str:
    """All before the fields; `alice` and `bob` are the columns of identifiers."""
    custodians = f"{{alice: {{identifier: {alice}}}, bob: {{identifier: {bob}}}}}"
    return f"version: 1\nproject: {project}\nmode: {mode}\ncustodians: {custodians}\n"
