"""What became of a run's result, in words and as the exit code by which a script can go on."""

from __future__ import annotations

from gemel.protos.linkage.v1 import project_pb2

HELD = 3
"""Exit code: the result's disclosure risk is above a limit, and it waits for a steward."""
REFUSED = 4
"""Exit code: the result was refused, by the policy or by a steward, and nothing is released."""


def ending_of(status: project_pb2.ProjectStatus) -> tuple[int, str]:
    """The exit code of a project whose newest run has ended, and a line for its result; 0 and none if it is neither.

    Parameters
    ----------
    status
        The project as Carole reports it after the run.
    """
    name = status.project
    if status.state == project_pb2.PROJECT_STATE_HELD:
        return HELD, f"HELD: the result of {name} waits for a steward; `gemel project report {name}` shows why"
    if status.state == project_pb2.PROJECT_STATE_ASSESSED and status.blocking_error:
        return REFUSED, f"REFUSED: {status.blocking_error}; `gemel project report {name}` fetches it"
    return 0, ""
