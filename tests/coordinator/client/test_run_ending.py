"""How `gemel project watch` ends, by what became of the result."""

from __future__ import annotations

import pytest

from gemel.coordinator.client.run_progress import HELD, REFUSED, ending_of
from gemel.protos.linkage.v1 import project_pb2

REASON = "the result was refused: its disclosure risk is above a limit"


@pytest.mark.parametrize(
    ("state", "error", "code", "words"),
    [
        (project_pb2.PROJECT_STATE_HELD, "", HELD, "HELD: the result of births waits for a steward"),
        (project_pb2.PROJECT_STATE_ASSESSED, REASON, REFUSED, f"REFUSED: {REASON}"),
        (project_pb2.PROJECT_STATE_ASSESSED, "", 0, ""),
        (project_pb2.PROJECT_STATE_RELEASED, "", 0, ""),
    ],
)
def test_each_ending_has_a_code(state: project_pb2.ProjectState, error: str, code: int, words: str) -> None:
    found, line = ending_of(project_pb2.ProjectStatus(project="births", state=state, blocking_error=error))
    assert (found, line.startswith(words), bool(line)) == (code, True, bool(words))
    assert {HELD, REFUSED}.isdisjoint({0, 1, 2, 130, 143})
