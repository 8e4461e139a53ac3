"""All parties of a linkage, installed by the former release's own commands; any of them goes on with either release."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from tests.ports import free_port
from tests.upgrades.former_release import Release
from tryst.common.parties import Side
from tryst.common.specification import load_specification, specification_digest
from tryst.coordinator.client.connection import connect
from tryst.coordinator.client.run_progress import follow_run
from tryst.coordinator.demonstration.people import TRUTH, two_files
from tryst.coordinator.rehearsal.processes import ServiceProcess
from tryst.protos.linkage.v1 import project_pb2

SECONDS = 240.0
"""How long anything may take before a test gives up."""

N, COMMON = 80, 50


def specification(project: str) -> str:
    """In mode block_keyed, with signatures so long that a contribution has several chunks."""
    return f"""\
version: 1
project: {project}
mode: block_keyed
custodians: {{alice: {{identifier: record_id}}, bob: {{identifier: record_id}}}}
fields:
  - {{name: given_name, kind: name, bits: 8192}}
  - {{name: surname, kind: name, bits: 8192}}
  - {{name: sex, kind: category}}
  - {{name: date_of_birth, kind: date, date: {{order: ymd}}, bits: 8192}}
  - {{name: street, kind: text, bits: 8192}}
  - {{name: postcode, kind: code, bits: 8192}}
  - {{name: phone, kind: code, bits: 8192}}
blocking:
  - {{name: born, keys: [{{field: date_of_birth}}]}}
  - {{name: names, keys: [{{field: surname}}, {{field: given_name, prefix: 1}}]}}
leakage: {{limit: 0.5}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
"""


DYING = """
# Bob's service, which is killed between the chunks of his contribution: the first has arrived, the next is not sent.
import os, runpy, signal, threading
from tryst.common.rpc.client import Connection
from tryst.protos.linkage.v1 import contribution_pb2

call, arrived = Connection.call, threading.Event()

def dying(connection, method, request, **settings):
    if not isinstance(request, contribution_pb2.PutChunkRequest):
        return call(connection, method, request, **settings)
    if request.chunk.index > 0:
        arrived.wait()
        os.kill(os.getpid(), signal.SIGKILL)
    answer = call(connection, method, request, **settings)
    arrived.set()
    return answer

Connection.call = dying
runpy.run_module("tryst.bob", run_name="__main__", alter_sys=True)
"""


class Site:
    """Keys, configurations, records and running services.

    Parameters
    ----------
    root
        An empty folder.
    former
        Whose ``tryst init`` makes keys and configurations.
    projects
        What both custodians' policies approve.
    database
        Carole's; by default SQLite in her folder.
    """

    def __init__(self, root: Path, former: Release, projects: tuple[str, ...], database: str = "") -> None:
        self.former, self.root = former, root
        made = former.tryst("init", root / "parties", "--address", f"127.0.0.1:{free_port()}")
        assert made.returncode == 0, made.stderr
        folders = {name: root / "parties" / name for name in ("carole", "alice", "bob", "coordinator")}
        self.folders = folders
        self.configs = {name: folder / f"{name}.yaml" for name, folder in folders.items()}
        self.logs = root / "logs"
        self.logs.mkdir()
        self.services: dict[str, ServiceProcess] = {}
        digests = [specification_digest(load_specification(specification(name))).hex() for name in projects]
        files = two_files(N, N, COMMON, 0.05, np.random.default_rng(3))
        for side, frame in zip(Side, files, strict=True):
            frame.drop(TRUTH).write_csv(folders[side] / f"{side}.csv")
            self._configure(side, "approve: []", f"approve: {json.dumps(digests)}")
            self._configure(side, "wait_seconds: 5 ", "wait_seconds: 1 ")
            self._configure(side, "retry_seconds: 5 ", "retry_seconds: 0.1 ")
            self._configure(side, "longest_retry_seconds: 60", "longest_retry_seconds: 1")
        if database:
            self._configure("carole", "sqlite:///store/carole.db", database)
        both = files[0].join(files[1], on=TRUTH, suffix="_bob")
        self.persons = set(zip(both["record_id"].to_list(), both["record_id_bob"].to_list(), strict=True))
        """Records of one person, by the identifiers of both files."""

    def start(self, release: Release, *parties: str) -> None:
        """Start services, and wait until they are ready."""
        for party in parties:
            self.services[party] = release.start(party, self.configs[party], self.logs)
        for party in parties:
            self.services[party].wait_ready(SECONDS)

    def stop(self, *parties: str) -> None:
        """End services in order."""
        for party in parties:
            self.services[party].dismiss()
        for party in parties:
            self.services.pop(party).stop()

    def kill(self) -> None:
        """End whatever runs."""
        for service in self.services.values():
            service.kill()

    def half_uploaded(self, project: str) -> None:
        """All of the former release: created, approved, contributed by Alice, begun by a Bob who is killed."""
        self.start(self.former, "carole", "alice")
        script, path = self.root / "dying.py", self.root / f"{project}.yaml"
        script.write_text(DYING)
        path.write_text(specification(project))
        with (self.logs / "dying.log").open("wb") as log:
            bob = subprocess.Popen(
                [sys.executable, str(script), "--config", str(self.configs["bob"])],
                env=self.former.environment,
                stdout=log,
                stderr=log,
            )
        try:
            for words in (("create", path), ("approve", project)):
                done = self.former.tryst("project", *words, "--config", self.configs["coordinator"])
                assert done.returncode == 0, done.stderr
            assert bob.wait(SECONDS) == -9, (self.logs / "dying.log").read_text()
        finally:
            bob.kill()
        self.eventually(lambda: self.contributions("alice") == 1)

    def link(self, project: str) -> set[tuple[str, str]]:
        """Link with this release's coordinator until both custodians have their shares; the links, as in both."""
        with connect(self.configs["coordinator"]) as coordinator:

            def status() -> project_pb2.ProjectStatus:
                return coordinator.get(project)[0]

            self.eventually(lambda: status().state == project_pb2.PROJECT_STATE_CONTRIBUTED)
            run = follow_run(coordinator, project, coordinator.start(project).run).run
            self.eventually(lambda: all(side.result_acknowledged for side in status().sides))
        tables = [pl.read_parquet(self.folders[side] / "results" / project / run / "links.parquet") for side in Side]
        joined = tables[0].join(tables[1], on="link_id", suffix="_bob")
        assert joined.height == tables[0].height == tables[1].height
        return set(zip(joined["identifier"].to_list(), joined["identifier_bob"].to_list(), strict=True))

    def create(self, project: str) -> None:
        """Create and approve a project with this release's coordinator."""
        text = specification(project)
        with connect(self.configs["coordinator"]) as coordinator:
            coordinator.create(text)
            coordinator.approve(project, specification_digest(load_specification(text)))

    def eventually(self, condition: Callable[[], object]) -> None:
        """Wait for a condition."""
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, "\n".join(log.read_text()[-2000:] for log in self.logs.glob("*.log"))
            time.sleep(0.1)

    def contributions(self, side: str) -> int:
        """Uploads that a custodian has sent whole."""
        database = sqlite3.connect(self.folders[side] / "state" / "custodian.sqlite")
        found = database.execute("SELECT count(*) FROM upload WHERE committed_at IS NOT NULL").fetchone()
        database.close()
        return int(found[0])

    def log(self, party: str) -> str:
        """What a service's processes have written so far."""
        return "\n".join(path.read_text() for path in self.logs.glob(f"*{party}*.log"))

    def _configure(self, party: str, old: str, new: str) -> None:
        text = self.configs[party].read_text()
        assert old in text, (party, old)
        self.configs[party].write_text(text.replace(old, new))
