"""A deployment of mode shared with few records, whose services are killed and started again, and its compute processes.

The two compute processes take orders: they stop at a stage, or deviate in it (`compute_program`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl

from gemel.common.parties import Side
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.rehearsal.processes import ServiceProcess
from gemel.protos.linkage.v1 import project_pb2
from tests.e2e.deployment import BOBS_NAMES, Deployment, entries_in, pairs_of
from tests.e2e.ordered_service import OrderedService

N, COMMON = 12, 8

Links = set[tuple[str, str]]
"""Linked identifiers, Alice's and Bob's."""


def text(project: str) -> str:
    """A specification of few bits: what is tested here is not the quality of links.

    Values are equal or not. With levels between, about one run of a hundred takes two strangers of so few for a link.
    """
    return f"""\
version: 1
project: {project}
mode: shared
custodians: {{alice: {{identifier: record_id}}, bob: {{identifier: patient}}}}
fields:
  - {{name: surname, kind: name, columns: {{alice: surname, bob: family_name}}, bits: 64, levels: exact}}
  - name: born
    kind: date
    columns: {{alice: date_of_birth, bob: date_of_birth}}
    date: {{order: ymd}}
    bits: 64
    levels: exact
  - {{name: phone, kind: code, bits: 64, levels: exact}}
blocking: [{{name: sex, keys: [{{field: sex}}]}}]
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
release: {{alice: pairs, bob: links, coordinator: statistics}}
""".replace("blocking", "  - {name: sex, kind: category, bits: 64}\nblocking")


def files() -> dict[Side, pl.DataFrame]:
    """Few people, so that a computation takes seconds, and without errors, so that each run finds the same."""
    ours, theirs = two_files(N, N, COMMON, 0.0, np.random.default_rng(5))
    return {Side.ALICE: ours, Side.BOB: theirs.rename(BOBS_NAMES)}


def right_links() -> Links:
    """The truth, which a run finds with such files where it is left alone."""
    alice, bob = files()[Side.ALICE], files()[Side.BOB].rename({BOBS_NAMES[IDENTIFIER]: "bobs"})
    return set(alice.join(bob, on=TRUTH).select(IDENTIFIER, "bobs").rows())


class Site:
    """All services of a deployment.

    Parameters
    ----------
    root
        An empty folder.
    projects
        Names of all projects that are created.
    """

    def __init__(self, root: Path, projects: Iterable[str]) -> None:
        self.made = Deployment(root, map(text, projects), files())
        (self.carole,) = self.made.processes("carole")
        self.computing = {party: OrderedService(self.made, party) for party in ("coordinator", "steward")}
        for service in self.computing.values():
            service.start()
            service.wait_ready()
        self.made.start_custodians()

    def close(self) -> None:
        for service in self.computing.values():
            service.kill()
        self.made.close()

    def contributed(self, project: str) -> str:
        """A new project, with both contributions; its name."""
        self.made.contributed(text(project))
        return project

    def begun(self, project: str) -> str:
        return self.made.coordinator.start(self.contributed(project)).run

    def order(self, kind: str, stage: str) -> None:
        for service in self.computing.values():
            service.order(kind, stage)

    def come_to(self, project: str, stage: str) -> None:
        """Wait until all three parties are in a stage, where two of them have stopped."""
        made = self.made

        def there() -> bool:
            run = made.status(project).run
            assert run.state in (project_pb2.RUN_STATE_QUEUED, project_pb2.RUN_STATE_RUNNING), run
            return all(each.has_stopped() for each in self.computing.values()) and run.stage == stage

        made.eventually(there, lambda: f"{made.status(project)}")

    def kill(self, party: str) -> None:
        if party in self.computing:
            self.computing[party].kill()
        elif party == "worker":
            os.kill(worker_of(self.carole), signal.SIGKILL)
        else:
            os.kill(self.carole.pid, signal.SIGKILL)  # the worker ends with it

    def start_again(self, party: str) -> None:
        """What was killed; a worker is started by Carole's service."""
        if party in self.computing:
            self.computing[party].start()
        elif party == "carole":
            (self.carole,) = self.made.processes("carole")

    def links(self, project: str, run: str) -> Links:
        """Follow a run to its end; the linked identifiers of both files."""
        made = self.made
        assert follow_run(made.coordinator, project, run).state == project_pb2.RUN_STATE_DONE
        return pairs_of(made.links(project))


def worker_of(carole: ServiceProcess) -> int:
    """The process of Carole's newest worker, by her log: tests may give her service further children."""
    *_, newest = (int(line["pid"]) for line in entries_in(carole.log.read_text()) if line["event"] == "worker started")
    return newest
