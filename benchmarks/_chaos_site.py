"""All parties of a linkage as processes of this machine, each started again whenever it has ended, for `chaos`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl

import alice
import bob
from benchmarks._chaos_metrics import Page
from gemel.carole.configuration import template as carole_yaml
from gemel.common.errors import GemelError
from gemel.common.parties import Side
from gemel.common.pki.certificates import Validity
from gemel.common.pki.provisioning import provision
from gemel.coordinator.client.client_configuration import steward_template
from gemel.coordinator.client.client_configuration import template as coordinator_yaml
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import trait_variables, with_traits
from gemel.coordinator.rehearsal.processes import ServiceProcess, make_store
from gemel.custodian.joining import custodian_yaml

CUSTODIANS = {Side.ALICE: alice.PARTY, Side.BOB: bob.PARTY}
SERVICES = ("carole", "alice", "bob")
ROLES = {"Age": "key", "SocioEcon": "key", "RiskAversion": "sensitive"}


def specification(project: str, mode: str) -> str:
    """A project whose result the policy holds for the steward."""
    variables = "\n".join(
        f"  - {{name: {v['name']}, holder: {v['holder']}, role: {ROLES[v['name']]},"
        f" categories: [{', '.join(v['categories'])}]}}"
        for v in trait_variables()
        if v["name"] in ROLES
    )
    return f"""\
version: 1
project: {project}
mode: {mode}
custodians: {{alice: {{identifier: record_id}}, bob: {{identifier: record_id}}}}
fields:
  - {{name: given_name, kind: name, bits: 512}}
  - {{name: surname, kind: name, bits: 512}}
  - {{name: sex, kind: category}}
  - {{name: date_of_birth, kind: date, date: {{order: ymd}}}}
  - {{name: street, kind: text, bits: 512}}
  - {{name: postcode, kind: code}}
  - {{name: phone, kind: code}}
blocking:
  - {{name: born, keys: [{{field: date_of_birth}}]}}
  - {{name: names, keys: [{{field: surname}}, {{field: given_name, prefix: 1}}]}}
variables:
{variables}
assessment:
  fractions: {{alice: 0.05, bob: 0.05, combined: 0.025}}
  limits: {{sample_uniques: 0}}
  on_breach: hold
release: {{assessment: policy, alice: links, bob: links, coordinator: statistics}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
"""


class Site:
    """Folders, keys and processes of all parties."""

    def __init__(self, root: Path, people: int, seed: int, approve: tuple[str, ...]) -> None:
        made = provision(root / "parties", linker_names=["127.0.0.1"], validity=Validity.lasting(timedelta(days=365)))
        self.folders = {name: party.path for name, party in made.parties.items()}
        self.logs = root / "logs"
        self.logs.mkdir()
        address, self.page = (f"127.0.0.1:{_free_port()}" for _ in range(2))
        rng = np.random.default_rng(seed)
        files = with_traits(*two_files(people, people, people // 2, 0.1, rng), rng)
        self.persons = {side: _persons(frame) for side, frame in zip(Side, files, strict=True)}
        self.configs = {name: self.folders[name] / f"{name}.yaml" for name in (*SERVICES, "coordinator", "steward")}
        self.configs["carole"].write_text(carole_yaml(address, observability=self.page))
        self.configs["coordinator"].write_text(coordinator_yaml(address))
        self.configs["steward"].write_text(steward_template(address))
        for side, frame in zip(Side, files, strict=True):
            source = root / f"{side}.csv"
            frame.drop(TRUTH).write_csv(source)
            text = custodian_yaml(
                CUSTODIANS[side],
                carole=address,
                peer_fingerprint=made.members.in_role(side.other.role).identity.fingerprint,
                source={"csv": {"path": str(source)}},
                approve=approve,
                retry_seconds=0.1,
            )
            text = text.replace("wait_seconds: 5 ", "wait_seconds: 1 ")
            self.configs[str(side)].write_text(text.replace("longest_retry_seconds: 60", "longest_retry_seconds: 1"))
        self.services = {name: ServiceProcess(name, self.configs[name], self.logs) for name in SERVICES}
        self._watching: subprocess.Popen[bytes] | None = None
        make_store(self.configs["carole"])
        self.pages: list[Page] = []

    def scrape(self, seconds: float) -> Page | None:
        """Read Carole's metrics, and keep them; None if she does not answer in time."""
        page = Page.read(self.page, seconds)
        if page is not None:
            self.pages.append(page)
        return page

    def keep(self, project: str | None) -> None:
        """Start each service that has ended, and where a run is to be followed the process that follows it."""
        for service in self.services.values():
            if not _alive(service):
                service.start()
        if project is not None and (self._watching is None or self._watching.poll() is not None):
            with (self.logs / "watch.log").open("ab") as log:
                self._watching = subprocess.Popen(
                    [
                        *(sys.executable, "-m", "gemel", "project", "watch", project),
                        *("--config", str(self.configs["coordinator"])),
                    ],
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                )

    def pids(self) -> dict[str, int]:
        """The living processes by name, Carole's worker among them."""
        found = {name: service.pid for name, service in self.services.items() if _alive(service)}
        if self._watching is not None and self._watching.poll() is None:
            found["watch"] = self._watching.pid
        if "carole" in found:
            workers = _children(found["carole"])
            found |= {"worker": workers[0]} if workers else {}
        return found

    def links(self, project: str, run: str) -> set[tuple[str, str]]:
        """The links that both custodians have, as pairs of their identifiers; raises where their shares differ."""
        tables = [
            pl.read_parquet(self.folders[str(side)] / "results" / project / run / "links.parquet") for side in Side
        ]
        joined = tables[0].join(tables[1], on="link_id", suffix="_bob")
        if not joined.height == tables[0].height == tables[1].height:
            raise AssertionError("the two custodians' links are not the same")
        return set(zip(joined["identifier"].to_list(), joined["identifier_bob"].to_list(), strict=True))

    def stop(self) -> None:
        """End every process, in order where it can."""
        for pid in self.pids().values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        if self._watching is not None and self._watching.poll() is None:
            self._watching.terminate()
            self._watching.wait()
        for name in reversed(SERVICES):
            self.services[name].stop()


def _persons(frame: pl.DataFrame) -> dict[str, str]:
    """The person of each record, by its identifier."""
    return dict(zip(frame["record_id"].to_list(), frame[TRUTH].to_list(), strict=True))


def _alive(service: ServiceProcess) -> bool:
    try:
        service.check()
    except GemelError:
        return False
    return True


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in task.read_text().split()]
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
