"""One whole project while its parties are killed, stopped and ended at random and at stages of the run; its checks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from typing import TypeVar

import numpy as np

from benchmarks._chaos_site import Site, specification
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.specification import load_specification, specification_digest
from gemel.coordinator.client.connection import connect
from gemel.coordinator.client.steward_client import connect_steward
from gemel.protos.linkage.v1 import project_pb2

STATE = project_pb2.ProjectState
ACTIVE = (project_pb2.RUN_STATE_QUEUED, project_pb2.RUN_STATE_RUNNING, project_pb2.RUN_STATE_RESOLVING)
STAGES = (
    "approved",
    "keyed",
    "contributed",
    "count",
    "model",
    "handles",
    "resolve",
    "assess",
    "seal",
    "held",
    "released",
)
"""At one of these moments of a project one of its processes is killed."""

T = TypeVar("T")

TARGETS = ("carole", "worker", "alice", "bob", "watch")
HOW = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
STOPPED_SECONDS = 2.0
TICK_SECONDS = 0.05
SCRAPE_SECONDS = 0.5
"""Before an event; longer, and there would be too few of them."""
REASON = "a trial of what survives: no one receives anything of a person"


@dataclass
class Disturbance:
    """What is done to the processes of a project: at random moments for a time, and once at a stage.

    Parameters
    ----------
    rng
        Decides everything but the moments of the processes themselves.
    seconds
        How long; then the project is left alone, so that it ends.
    pause
        Mean time between two random events.
    """

    rng: np.random.Generator
    seconds: float
    pause: float
    events: Counter[str] = dataclass_field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._began = self._next = time.monotonic()
        self._stage: str | None = str(self.rng.choice(STAGES))
        self._stopped: list[tuple[float, int]] = []

    def tick(self, site: Site, stage: str) -> None:
        """Do what is due."""
        now = time.monotonic()
        for since, pid in [each for each in self._stopped if now - each[0] > STOPPED_SECONDS * self.rng.random()]:
            self._stopped.remove((since, pid))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        if now - self._began > self.seconds:
            return
        if stage == self._stage:
            self._stage = None
            self._strike(site, signal.SIGKILL)
        if now >= self._next:
            self._next = now + float(self.rng.exponential(self.pause))
            self._strike(site, HOW[self.rng.integers(len(HOW))])

    def end(self) -> None:
        """Let go on what stands still."""
        for _, pid in self._stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._stopped.clear()

    def _strike(self, site: Site, how: signal.Signals) -> None:
        target, pids = TARGETS[self.rng.integers(len(TARGETS))], site.pids()
        if target not in pids:
            return
        site.scrape(SCRAPE_SECONDS)
        with suppress(ProcessLookupError):
            os.kill(pids[target], how)
            self.events[f"{how.name} of {target}"] += 1
            if how is signal.SIGSTOP:
                self._stopped.append((time.monotonic(), pids[target]))


@dataclass(frozen=True)
class Ended:
    """A project that has ended.

    Attributes
    ----------
    links
        Pairs of identifiers, as both custodians have them.
    releases
        Entries of the audit log that release a result of it.
    runs
        Runs it took.
    seconds
        How long it took.
    """

    links: set[tuple[str, str]]
    releases: int
    runs: int
    seconds: float


class Conductor:
    """Drives a project to its end, whatever fails on the way; what is answered with an error is done again."""

    def __init__(self, site: Site, project: str, mode: str) -> None:
        self._site, self._project = site, project
        self._text = specification(project, mode)
        self._digest = specification_digest(load_specification(self._text))
        self.stage, self.following = "", False
        self.last_error = ""

    def conduct(self, seconds: float) -> Ended:
        """Until both custodians have confirmed their shares."""
        began = time.monotonic()
        runs: set[str] = set()
        with ExitStack() as opened:
            coordinator = self._reached(opened, partial(connect, self._site.configs["coordinator"]), seconds)
            steward = self._reached(opened, partial(connect_steward, self._site.configs["steward"]), seconds)
            while time.monotonic() - began < seconds:
                time.sleep(TICK_SECONDS)
                try:
                    known = {status.project for status in coordinator.projects()}
                    if self._project not in known:
                        coordinator.create(self._text)
                    status, _ = coordinator.get(self._project)
                    self._observe(status)
                    runs |= {status.run.run} - {""}
                    if status.state == STATE.PROJECT_STATE_DRAFT:
                        coordinator.approve(self._project, self._digest)
                    elif status.state == STATE.PROJECT_STATE_CONTRIBUTED and status.run.state not in ACTIVE:
                        coordinator.start(self._project)
                    elif status.state == STATE.PROJECT_STATE_HELD:
                        report = steward.report(self._project, status.run.run)
                        steward.decide(self._project, status.run.run, report.sha256, release=True, reason=REASON)
                    elif status.state == STATE.PROJECT_STATE_RELEASED and all(
                        side.result_acknowledged for side in status.sides
                    ):
                        entries = list(steward.entries(self._project))
                        releases = sum(entry.action == "release" for entry in entries)
                        links = self._site.links(self._project, status.run.run)
                        return Ended(links, releases, len(runs), time.monotonic() - began)
                except GemelError as error:
                    self.last_error = str(error)
        raise AssertionError(f"{self._project} did not end: in {self.stage}, last error: {self.last_error}")

    def erase(self, seconds: float) -> None:
        """Erase the project at Carole."""
        until = time.monotonic() + seconds
        with ExitStack() as opened:
            coordinator = self._reached(opened, partial(connect, self._site.configs["coordinator"]), seconds)
            while True:
                try:
                    coordinator.erase(self._project)
                    return
                except GemelError:
                    if time.monotonic() > until:
                        raise
                time.sleep(TICK_SECONDS)

    def _reached(self, opened: ExitStack, call: Callable[[], AbstractContextManager[T]], seconds: float) -> T:
        """What calls Carole, once she answers: each connection begins with the audit log."""
        until = time.monotonic() + seconds
        while True:
            try:
                return opened.enter_context(call())
            except GemelError as error:
                self.last_error = str(error)
                if error.code is not ErrorCode.UNAVAILABLE or time.monotonic() > until:
                    raise
            time.sleep(TICK_SECONDS)

    def _observe(self, status: project_pb2.ProjectStatus) -> None:
        self.following = status.state == STATE.PROJECT_STATE_CONTRIBUTED and status.run.state in ACTIVE
        name = STATE.Name(status.state).removeprefix("PROJECT_STATE_").lower()
        self.stage = status.run.stage or name if self.following else name


@contextmanager
def kept(site: Site, conductor: Conductor, disturbance: Disturbance | None) -> Iterator[None]:
    """While the block runs, keep all processes alive and disturb them, on a thread of its own."""
    ended = threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            while not ended.wait(TICK_SECONDS):
                site.keep(conductor._project if conductor.following else None)
                if disturbance is not None:
                    disturbance.tick(site, conductor.stage)
        except BaseException as error:  # noqa: BLE001 - raised where the block ends
            failed.append(error)

    thread = threading.Thread(target=work, name="chaos")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if disturbance is not None:
            disturbance.end()
    if failed:
        raise failed[0]
