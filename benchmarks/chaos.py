"""Chaos: whole projects whose processes are killed, stopped and ended; each must end as if they were not.

Projects alternate between the modes open and block_keyed, their policy holds every result, and a steward releases it.
Each project ends with the reference's links (those of a project of its mode that was left alone), in one release, under
an audit log whose entries are all proved. Carole's metrics, read before each event, agree with her log as it was then.
At the end every project is erased, and Carole, started once more, has no key and no file of any. The status is 1 where
this does not hold. The seed decides who is struck, how and when; what the processes are doing then is theirs.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks._chaos_site import Site, going_on, remains, specification
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
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

    `rng` decides everything but the moments of the processes themselves. After so many `seconds` the project is
    left alone, so that it ends; `pause` is the mean time between two random events.
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
    """A project that has ended: links as both custodians have them, entries of the audit log that release a result."""

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


MODES = ("open", "block_keyed")


def main(arguments: list[str]) -> int:
    """Print a line for each project, and what is left at the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks chaos", description=__doc__)
    parser.add_argument("--projects", type=int, default=4, help="projects that are disturbed")
    parser.add_argument("--hours", type=float, default=1.0, help="no project is begun after this time")
    parser.add_argument("--people", type=int, default=200, help="records of each file")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each project is disturbed")
    parser.add_argument("--pause", type=float, default=1.5, help="mean seconds between two events")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="decides what is struck, and when")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gemel-chaos-") as folder:
        problems = list(
            trial(
                Path(folder), options.projects, options.people, options.seed, seconds=options.seconds,
                pause=options.pause, until=time.monotonic() + 3600 * options.hours,
            )
        )  # fmt: skip
    print(
        "\n".join(problems)
        or "All ended with the reference's links, in one release each; metrics agree with the log; nothing is left."
    )
    return 1 if problems else 0


def trial(
    root: Path,
    projects: int,
    people: int,
    seed: int,
    *,
    seconds: float,
    pause: float,
    until: float = np.inf,
    modes: Sequence[str] = MODES,
) -> Iterator[str]:
    """Link undisturbed and disturbed projects in an empty folder, none begun after `until`; what is wrong with them."""
    rng = np.random.default_rng(seed)
    names = {f"chaos-{number}": modes[number % len(modes)] for number in range(projects)}
    references = {f"reference-{mode.replace('_', '-')}": mode for mode in modes if mode in names.values()}
    digests = [digest(name, mode) for name, mode in (references | names).items()]
    site = Site(root, people, seed, tuple(digests))
    expected: dict[str, set[tuple[str, str]]] = {}
    events: Counter[str] = Counter()
    begun = []
    try:
        for name, mode in (references | names).items():
            if time.monotonic() > until:
                break
            disturbance = None if name in references else Disturbance(rng, seconds, pause)
            conductor = Conductor(site, name, mode)
            begun.append(conductor)
            with kept(site, conductor, disturbance):
                ended = conductor.conduct(600 + 10 * seconds)
            if disturbance is None:
                expected[mode] = ended.links
                yield from wrong_reference(site, name, ended)
            else:
                events += disturbance.events
                struck = sum(disturbance.events.values())
                print(
                    f"{name}, {mode}: {len(ended.links)} links, {struck} events, {ended.runs} runs, "
                    f"{ended.seconds:.0f} s",
                    flush=True,
                )
            yield from differences(name, ended, expected[mode])
        print(", ".join(f"{count} {event}" for event, count in sorted(events.items())) or "no event", flush=True)
        for conductor in begun:
            with kept(site, conductor, None):
                conductor.erase(120)
        site.stop()
        yield from remains(site)
        processes = len({page.process for page in site.pages})
        print(f"{len(site.pages)} pages of metrics of {processes} processes of Carole's", flush=True)
        yield from going_on(root)
    finally:
        site.stop()


def digest(name: str, mode: str) -> str:
    """Of a project's specification, which custodians approve."""
    return specification_digest(load_specification(specification(name, mode))).hex()


def wrong_reference(site: Site, name: str, ended: Ended) -> Iterator[str]:
    """Whether an undisturbed project has the true links, but for a few."""
    alice, bob = (site.persons[side] for side in Side)
    wrong = sum(alice[a] != bob[b] for a, b in ended.links)
    matches = len(set(alice.values()) & set(bob.values()))
    if wrong or len(ended.links) < 0.9 * matches:
        yield f"{name}: {len(ended.links)} links of {matches} matches, {wrong} of them false"


def differences(name: str, ended: Ended, expected: set[tuple[str, str]]) -> Iterator[str]:
    """How a project's end differs from the reference's."""
    if ended.links != expected:
        yield f"{name}: {len(ended.links - expected)} links too many, {len(expected - ended.links)} too few"
    if ended.releases != 1:
        yield f"{name}: {ended.releases} releases"
