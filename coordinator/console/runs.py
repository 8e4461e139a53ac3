"""Runs of mode block_keyed that wait for the resolver, resolved by this console on threads of its own."""

from __future__ import annotations

import threading
from contextlib import suppress

from gemel.common.errors import GemelError
from gemel.common.language import gettext, written
from gemel.coordinator.client.run_progress import RESOLVE
from gemel.coordinator.console.member import Member
from gemel.protos.linkage.v1 import project_pb2


class Resolutions:
    """What the console resolves, or has resolved, by project and run.

    Parameters
    ----------
    member
        The coordinator, whose key opens the custodians' handles.
    """

    def __init__(self, member: Member) -> None:
        self._member = member
        self._lock = threading.Lock()
        self._done: dict[tuple[str, str], float] = {}
        self._failed: dict[tuple[str, str], GemelError] = {}

    def begin(self, project: str, run: str) -> None:
        """Begin to resolve a run that waits for it, unless that is under way already."""
        key = (project, run)
        with self._lock:
            if key in self._done:
                return
            self._done[key] = 0.0
            self._failed.pop(key, None)
        threading.Thread(target=self._resolve, args=key, name=f"resolve {project}", daemon=True).start()

    def follow(self, project: str, run: str) -> None:
        """Resolve a run as soon as it waits for that, as `gemel project watch` would."""
        threading.Thread(target=self._follow, args=(project, run), name=f"follow {project}", daemon=True).start()

    def words(self, project: str, run: str) -> str:
        """How far it is, or why it failed; empty if it was not begun here."""
        key = (project, run)
        with self._lock:
            if key in self._failed:
                return gettext("It could not be resolved here: {error}").format(error=self._failed[key])
            if key not in self._done:
                return ""
            return gettext("It is being resolved here, {share} done.").format(share=written(self._done[key], ".0%"))

    def _follow(self, project: str, run: str) -> None:
        # What fails here is shown by the project's page too, with a button to try again.
        with suppress(GemelError):
            for status in self._member.unchecked_coordinator().watch(project, run):
                if status.state == project_pb2.RUN_STATE_RESOLVING and status.stage == RESOLVE:
                    self.begin(project, run)
                    return

    def _resolve(self, project: str, run: str) -> None:
        key = (project, run)

        def progress(_: str, done: float) -> None:
            with self._lock:
                self._done[key] = done

        try:
            self._member.unchecked_coordinator().resolve(project, run, progress)
        except GemelError as error:
            with self._lock:
                del self._done[key]
                self._failed[key] = error
