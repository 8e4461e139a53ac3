"""A project from its specification to its results by one command, which may be ended and typed again at any moment.

It does what the commands for the single steps do, and waits where others have to act. Nothing is approved for anyone
but the coordinator.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.rpc.status import passes
from gemel.common.specification import Specification, specification_digest
from gemel.common.wire.project_states import STATE_WORDS
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.custodian_conditions import condition_lines
from gemel.coordinator.client.run_ending import REFUSED, ending_of
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.client.terminal import console, show_projects
from gemel.protos.linkage.v1 import project_pb2

POLL_SECONDS = 1.0

_BEFORE_RUN = (
    project_pb2.PROJECT_STATE_DRAFT,
    project_pb2.PROJECT_STATE_APPROVED,
    project_pb2.PROJECT_STATE_KEYED,
)


def carry_through(coordinator: Coordinator, spec: Specification, text: str) -> int:
    """Create and approve a project, wait for the custodians, start a run, follow it, and wait for a steward if held.

    Parameters
    ----------
    spec, text
        The specification, and the same as it is written. A project of this specification that is there goes on.

    Returns
    -------
    int
        0 once it is released; the exit code `REFUSED` if it was refused.

    Raises
    ------
    GemelError
        EXISTS if the project has another specification; WRONG_STATE for a run that fails, or an erased project.
    """
    name, digest = spec.project, specification_digest(spec)
    status = _there(coordinator, name, text, digest)
    if status.state == project_pb2.PROJECT_STATE_DRAFT:
        console.print(f"Approving specification {digest.hex()}", highlight=False)
        coordinator.approve(name, digest, status.epoch)
        console.print(
            "Waiting for the custodians: `gemel alice approve`, `gemel bob approve`. Ctrl-C ends the waiting."
        )
    status = _awaited(coordinator, name, lambda status: status.state not in _BEFORE_RUN)
    if status.state == project_pb2.PROJECT_STATE_CONTRIBUTED and _needs_run(status.run):
        console.print(f"Run {coordinator.start(name).run} is queued.", highlight=False)
        status = coordinator.get(name)[0]
    if status.state == project_pb2.PROJECT_STATE_CONTRIBUTED:
        follow_run(coordinator, name, status.run.run)
        status = coordinator.get(name)[0]
    code, line = ending_of(status)
    if code and code != REFUSED:
        console.print(f"{line}. Waiting for `gemel steward release {name}`, or refuse.", highlight=False)
        status = _awaited(coordinator, name, lambda status: status.state != project_pb2.PROJECT_STATE_HELD)
        code, line = ending_of(status)
    if status.state == project_pb2.PROJECT_STATE_ERASED:
        raise GemelError(
            ErrorCode.WRONG_STATE,
            "the project is erased",
            where=f"project {name}",
            remedy="give the project another name in its specification, and begin again",
        )
    if code:
        console.print(line, highlight=False, soft_wrap=True)
    return code


def _there(coordinator: Coordinator, name: str, text: str, digest: bytes) -> project_pb2.ProjectStatus:
    """The project, created if there is none of the name."""
    try:
        status, _ = coordinator.get(name)
    except GemelError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        status = coordinator.create(text)
    if status.specification_digest != digest:
        raise GemelError(
            ErrorCode.EXISTS,
            "the project is there with another specification",
            where=f"project {name}",
            got=status.specification_digest.hex(),
            remedy="propose this one by `gemel project amend`, or give it another name",
        )
    return status


def _needs_run(run: project_pb2.RunStatus) -> bool:
    return not run.run or run.state == project_pb2.RUN_STATE_FAILED


def _awaited(
    coordinator: Coordinator, name: str, ready: Callable[[project_pb2.ProjectStatus], bool]
) -> project_pb2.ProjectStatus:
    """The project once it is ready; meanwhile each change of it is shown, once."""
    shown: list[object] = []
    while True:
        try:
            status, _ = coordinator.get(name)
        except GemelError as error:
            if not passes(error.code):
                raise
            time.sleep(POLL_SECONDS)  # Carole is away for a while, or has too many callers
            continue
        if ready(status):
            return status
        lines = [STATE_WORDS[status.state], *condition_lines(status), status.blocking_error]
        if lines != shown:
            shown = list(lines)
            show_projects([status])
        time.sleep(POLL_SECONDS)
