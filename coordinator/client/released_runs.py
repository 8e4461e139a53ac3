"""The runs that a coordinator or steward knows to be released, so that none is released twice after a restoration."""

from __future__ import annotations

from collections.abc import Iterable

from tryst.common.witnessing.log_memory import FileMemory
from tryst.protos.linkage.v1 import project_pb2


def note_released(memory: FileMemory | None, statuses: Iterable[project_pb2.ProjectStatus]) -> None:
    """Keep the released runs among these; in the state RELEASED the newest run is the released one."""
    for status in statuses:
        if memory is not None and status.state == project_pb2.PROJECT_STATE_RELEASED and status.run.run:
            memory.note_released(status.project, status.run.run)
