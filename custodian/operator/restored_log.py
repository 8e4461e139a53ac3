"""A custodian's decision on Carole's log after her store was put back from a backup."""

from __future__ import annotations

from pathlib import Path

import structlog

from gemel.common.audit import Checkpoint
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Party
from gemel.common.witnessing.log_reader import Restored
from gemel.common.witnessing.wording import restored_lines, when
from gemel.custodian.configuration import load_custodian
from gemel.custodian.operator.control import Control
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring
from gemel.custodian.state.state_database import Project
from gemel.custodian.steps.step_context import StepContext
from gemel.protos.linkage.v1 import project_pb2

log = structlog.get_logger()


def shown(step_context: StepContext, project: Project) -> tuple[Restored, list[str]]:
    """The newest restoration, verified, and what the operator reads about it; WRONG_STATE for a project that was
    erased.
    """
    _refuse_erased(step_context, project)
    restored = step_context.log_reader.restored()
    return restored, list(restored_lines(restored, _known(step_context.state, project)))


def decide_restored(
    step_context: StepContext, project: Project, restoration: int, *, accept: bool, reason: str
) -> project_pb2.ProjectStatus:
    """Sign and send the decision on the restoration that was shown; WRONG_STATE if another one is the newest now."""
    _refuse_erased(step_context, project)
    restored = step_context.log_reader.restored()
    if restored.restoration != restoration:
        what = "Carole's store has been restored once more since that was shown"
        remedy = "look again, and decide then"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=f"project {project.name}", remedy=remedy)
    runs = {result.run: result.root for result in step_context.state.results(project.name)}
    status = step_context.log_reader.decide(project.name, restored, runs, accept=accept, reason=reason)
    log.info("restored log decided", project=project.name, restoration=restoration, accepted=accept)
    return status


def _refuse_erased(step_context: StepContext, project: Project) -> None:
    if project.stage == "erased":
        what = "this project was erased before Carole's store was restored, and must not come back"
        remedy = f"have the coordinator erase it again: `gemel project erase {project.name}`"
        raise GemelError(ErrorCode.WRONG_STATE, what, where=f"project {project.name}", remedy=remedy)


def _known(state: State, project: Project) -> list[str]:
    found = []
    if project.decided_at:
        found.append((project.decided_at, f"the specification {project.decision} by the {project.decided_by}"))
    upload = state.uploads.newest(project.name)
    if upload is not None and upload.committed_at is not None:
        found.append((upload.committed_at, f"upload of {upload.rows} rows, complete"))
    for result in state.results(project.name):
        found.append((result.fetched_at, f"run {result.run} released, and its share with {result.links} links fetched"))
    return [f"{when(int(1000 * at))}: {what}" for at, what in sorted(found)]


def kept_checkpoints(config: Path, party: Party, *, lost: bool = False) -> list[Checkpoint]:
    """The verified checkpoints, oldest first: from the running service, else from the state folder.

    With `lost` those of logs that a restoration has cut, instead. Raises `GemelError`: BUSY if a service has the state
    folder and does not answer; AUDIT, CONFIGURATION.
    """
    try:
        with Control.open(config, party) as control:
            return list(control.checkpoints(lost=lost))
    except GemelError as error:
        if error.code is not ErrorCode.UNAVAILABLE:
            raise
    configuration = load_custodian(config)
    state = State(configuration.state, Keyring.load(configuration, party).vault)
    try:
        return state.all_lost() if lost else state.seen()
    finally:
        state.close()
