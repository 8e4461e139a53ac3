"""The runs that a coordinator or steward knows to be released: verified to be so in the audit log, and kept, so that
none is released twice after a restoration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gemel.common.witnessing.log_memory import FileMemory
from gemel.common.witnessing.log_reader import LogReader
from gemel.protos.linkage.v1 import project_pb2


@dataclass(frozen=True)
class ReleasedRuns:
    """What a party keeps of released runs."""

    memory: FileMemory
    log: LogReader

    def note(self, statuses: Iterable[project_pb2.ProjectStatus]) -> None:
        """Keep the released runs among these; in the state RELEASED the newest run is the released one.

        A run that is not known yet is verified first: nothing is shown as released that is not so in the log.

        Raises
        ------
        GemelError
            As `LogReader.check_release`.

        Notes
        -----
        One call for each run that is new.
        """
        for status in statuses:
            if status.state != project_pb2.PROJECT_STATE_RELEASED or not status.run.run:
                continue
            if status.run.run not in self.memory.released(status.project):
                self.log.check_release(status.project, status.run.run)
                self.memory.note_released(status.project, status.run.run)

    def note_fetched(self, project: str, run: str, root: bytes) -> None:
        """Keep the root digest of a share that was fetched."""
        self.memory.note_released(project, run, root)
