"""All parties of a linkage as processes of this machine, each started again whenever it has ended, for `chaos`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
from sqlalchemy import Connection, select

from benchmarks._chaos_metrics import Page, compared
from benchmarks.ceremony import free_address
from gemel.alice import PARTY as ALICE
from gemel.bob import PARTY as BOB
from gemel.carole.configuration import CaroleConfiguration, load_carole
from gemel.carole.configuration import template as carole_yaml
from gemel.carole.store import audit
from gemel.carole.store.database import Database
from gemel.carole.store.releases import COUNTS
from gemel.carole.store.tables import payloads, results
from gemel.common.audit import AuditEntry
from gemel.common.errors import GemelError
from gemel.common.parties import Role, Side
from gemel.common.pki.certificates import Validity
from gemel.coordinator.client.client_configuration import template as coordinator_yaml
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import trait_variables, with_traits
from gemel.coordinator.provisioning import provision
from gemel.coordinator.rehearsal.processes import ServiceProcess, make_store
from gemel.custodian.joining import custodian_yaml

CUSTODIANS = {Side.ALICE: ALICE, Side.BOB: BOB}
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
        address, self.page = free_address(), free_address()
        rng = np.random.default_rng(seed)
        files = with_traits(*two_files(people, people, people // 2, 0.1, rng), rng)
        self.persons = {side: _persons(frame) for side, frame in zip(Side, files, strict=True)}
        self.configs = {name: self.folders[name] / f"{name}.yaml" for name in (*SERVICES, "coordinator", "steward")}
        self.configs["carole"].write_text(carole_yaml(address, observability=self.page))
        self.configs["coordinator"].write_text(coordinator_yaml(address))
        self.configs["steward"].write_text(coordinator_yaml(address, role=Role.STEWARD))
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


_COUNTS = select(results.c.payload).where(results.c.recipient == COUNTS)


def remains(site: Site, seconds: float = 120.0) -> Iterator[str]:
    """Start Carole once more, who clears up, stop her, and say what is left; all projects must have been erased."""
    service = site.services["carole"]
    service.start()
    service.wait_ready()
    configuration = load_carole(site.configs["carole"])
    until = time.monotonic() + seconds
    released = _released_counts(configuration)
    while (left := _left(configuration, released)) and time.monotonic() < until:  # she may clear up while she serves
        time.sleep(0.2)
    entries = _log(configuration)
    # She may add an entry yet, and shows a page again for some seconds.
    while (page := site.scrape(10)) is None or page.entries != len(entries):
        if time.monotonic() > until:
            yield f"the last page shows {page and page.entries} entries of a log of {len(entries)}"
            break
        time.sleep(0.2)
        entries = _log(configuration)
    service.stop()
    yield from left
    yield from compared(site.pages, entries)
    if page is not None:
        yield from nothing_left(page, released)
    command = [sys.executable, "-m", "gemel", "audit", "verify", "--config", str(site.configs["carole"])]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    if verified.returncode:
        yield f"the audit log is not intact: {verified.stdout}{verified.stderr}"


def nothing_left(page: Page, released: int) -> Iterator[str]:
    """What the page shows of content, after every project has been erased: of releases the counts of their tables."""
    if page.value("gemel_store_payloads") != released:
        yield f"of {released} releases gemel_store_payloads is {page.value('gemel_store_payloads'):g}"
    for name in ("uploads_open", "uploads_open_bytes", "retention_due", "queue_runs"):
        if page.value(f"gemel_{name}"):
            yield f"after all was erased gemel_{name} is {page.value(f'gemel_{name}'):g}"
    for check, passed in page.labelled("gemel_check").items():
        if passed != 1:
            yield f"check {check} is not passed at the end"


def going_on(root: Path) -> Iterator[str]:
    """The processes that were started with a file of a folder and are still there."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            if str(root).encode() in line.read_bytes():
                yield f"process {line.parent.name} goes on"


@contextmanager
def _reading(configuration: CaroleConfiguration) -> Iterator[Connection]:
    database = Database(configuration.store.database)
    try:
        with database.read() as connection:
            yield connection
    finally:
        database.close()


def _log(configuration: CaroleConfiguration) -> list[AuditEntry]:
    with _reading(configuration) as connection:
        return audit.entries(connection)


def _released_counts(configuration: CaroleConfiguration) -> int:
    """Releases whose counts are kept, as they are when a project is erased."""
    with _reading(configuration) as connection:
        return len(connection.execute(_COUNTS).all())


def _left(configuration: CaroleConfiguration, released: int) -> list[str]:
    """Keys in the database, and files in the folder of blobs, but for those of the counts of releases."""
    with _reading(configuration) as connection:
        others = payloads.c.wrapped_key.is_not(None), payloads.c.id.not_in(_COUNTS)
        keys = connection.execute(select(payloads.c.id).where(*others)).all()
    files = [path for path in configuration.store.blobs.rglob("*") if path.is_file() and len(path.name) == 32]
    found = [f"{len(keys)} keys of erased projects"] if keys else []
    return [*found, f"{len(files)} files of erased projects"] if len(files) != released else found
