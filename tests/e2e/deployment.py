"""All parties of a linkage in one folder: keys, files, configurations; services in this process or as processes.

Keys, certificates and configuration files are made by the very functions behind `gemel init`; processes are started as
`gemel rehearse` starts them. A test's requests go over the wire: the coordinator's to Carole, an operator's to a
custodian.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from gemel.alice import PARTY as ALICE
from gemel.bob import PARTY as BOB
from gemel.carole.configuration import load_carole, template
from gemel.carole.service.application import Application
from gemel.carole.service.supervisor import Supervisor
from gemel.carole.store.provision import StorePlace, initialise
from gemel.common.errors import GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.suite import Suite
from gemel.common.parties import PARTIES, Role, Side
from gemel.common.pki.certificates import Validity, server_name
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.specification import load_specification, specification_digest
from gemel.coordinator.client.client_configuration import template as coordinator_template
from gemel.coordinator.client.connection import connect
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.client.steward_client import Steward
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.demonstration.people.insured import trait_variables, with_traits
from gemel.coordinator.provisioning import provision
from gemel.coordinator.rehearsal.processes import ServiceProcess
from gemel.custodian.configuration import load_custodian
from gemel.custodian.joining import custodian_yaml
from gemel.custodian.operator.control import Control
from gemel.custodian.service import CustodianService
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from tests.custodian.conftest import tested
from tests.ports import free_port
from tests.typed import printed

CUSTODIANS = {Side.ALICE: ALICE, Side.BOB: BOB}
STATE = project_pb2.ProjectState
SECONDS = 300.0
"""How long anything may take before a test gives up; a hundred times what it takes."""

BOBS_NAMES = {IDENTIFIER: "patient", "surname": "family_name"}
"""What some columns are called in Bob's file."""


def people(n: int = 120, common: int = 60, seed: int = 1) -> dict[Side, pl.DataFrame]:
    """Two files of invented people, with the truth in the column `TRUTH`."""
    ours, theirs = two_files(n, n, common, 0.2, np.random.default_rng(seed))
    return {Side.ALICE: ours, Side.BOB: theirs.rename(BOBS_NAMES)}


def specification(project: str, *, bits: int = 256, mode: str = "open", more: str = "") -> str:
    """A specification for files as `people` makes them; `more` is further top-level YAML."""
    return f"""\
version: 1
project: {project}
mode: {mode}
custodians: {{alice: {{identifier: record_id}}, bob: {{identifier: patient}}}}
fields:
  - {{name: given_name, kind: name, bits: {bits}}}
  - {{name: surname, kind: name, columns: {{alice: surname, bob: family_name}}, bits: {bits}}}
  - {{name: sex, kind: category}}
  - {{name: born, kind: date, columns: {{alice: date_of_birth, bob: date_of_birth}}, date: {{order: ymd}}}}
  - {{name: street, kind: text, bits: {bits}}}
  - {{name: postcode, kind: code}}
  - {{name: phone, kind: code}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
{more}"""


TWO_RULES = """\
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}
"""
THREE_RULES = TWO_RULES + "  - {name: place, keys: [{field: postcode}, {field: sex}]}\n"
"""Top-level YAML for files as `people` makes them."""


def variables_of(roles: Mapping[str, str]) -> str:
    """Top-level YAML with those of the insurers' variables that have a role; `with_traits` adds them to files."""
    lines = (
        f"  - {{name: {v['name']}, holder: {v['holder']}, role: {roles[v['name']]},"
        f" categories: [{', '.join(v['categories'])}]}}"
        for v in trait_variables()
        if v["name"] in roles
    )
    return "variables:\n" + "\n".join(lines)


def insured(files: Mapping[Side, pl.DataFrame]) -> dict[Side, pl.DataFrame]:
    both = with_traits(files[Side.ALICE], files[Side.BOB], np.random.default_rng(3))
    return dict(zip(Side, both, strict=True))


def linked_people(files: Mapping[Side, pl.DataFrame], links: Mapping[Side, pl.DataFrame]) -> pl.DataFrame:
    """Both custodians' shares side by side, with all columns of the records; they must have the same links.

    Bob's columns end in ``_bob``, where Alice's have the same name; the identifiers are `identifier` and
    `identifier_bob`.
    """
    named = {Side.ALICE: IDENTIFIER, Side.BOB: BOBS_NAMES[IDENTIFIER]}
    alice, bob = (
        links[side].join(
            files[side].with_columns(pl.col(named[side]).alias("identifier")), on="identifier", validate="1:1"
        )
        for side in Side
    )
    joined = alice.join(bob, on="link_id", suffix="_bob", validate="1:1")
    assert joined.height == links[Side.ALICE].height == links[Side.BOB].height
    return joined


def pairs_of(links: Mapping[Side, pl.DataFrame]) -> set[tuple[str, str]]:
    """Linked identifiers, Alice's and Bob's, by both custodians' shares, which must have the same links."""
    alice, bob = (links[side].select("link_id", "identifier") for side in Side)
    joined = alice.join(bob, on="link_id", suffix="_bob", validate="1:1")
    assert joined.height == alice.height == bob.height
    return set(joined.select("identifier", "identifier_bob").rows())


def f1_of(joined: pl.DataFrame, matches: int) -> float:
    """F1 of `linked_people`, by the truth."""
    right = joined.filter(pl.col(TRUTH) == pl.col(f"{TRUTH}_bob")).height
    return 2 * right / (joined.height + matches)


def entries_in(printed: str) -> list[dict[str, Any]]:
    """The entries of an audit log in what a command printed, or the lines of a service's log."""
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


def digest_of(text: str) -> bytes:
    return specification_digest(load_specification(text, "test"))


class NoWorker(Supervisor):
    """Lets runs stay in the queue, for tests that are not about what a run finds."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Deployment:
    """Three organisations and a coordinator.

    Parameters
    ----------
    root
        An empty folder, in which everything is.
    specifications
        Texts that both custodians' policies approve.
    files
        The custodians' records; by default `people()`.
    more
        Parties besides the usual ones: a second coordinator, a second steward.
    suite
        Of the parties' sealing keys.
    """

    def __init__(
        self,
        root: Path,
        specifications: Iterable[str],
        files: dict[Side, pl.DataFrame] | None = None,
        more: Mapping[str, Role] = MappingProxyType({}),
        suite: Suite = Suite.DEFAULT,
    ) -> None:
        self.root = root
        self.made = provision(
            root / "parties",
            linker_names=["127.0.0.1"],
            validity=Validity.lasting(timedelta(hours=2)),
            parties={**PARTIES, **more},
            suite=suite,
        )
        self.address = f"127.0.0.1:{free_port()}"
        self.logs = root / "logs"
        self.logs.mkdir()
        self.folders = {name: folder.path for name, folder in self.made.parties.items()}
        self.files = {side: root / "data" / f"{side}.csv" for side in Side}
        self.good: dict[Side, bytes] = {}
        (root / "data").mkdir()
        self.truth = files or people()
        for side, frame in self.truth.items():
            self.good[side] = frame.drop(TRUTH, strict=False).write_csv().encode()
            self.mend(side)
        self.carole_yaml = self.folders["carole"] / "carole.yaml"
        self.carole_yaml.write_text(template(self.address).replace("level: info", "level: debug"))
        configured = load_carole(self.carole_yaml).store
        identity = open_identity(None, self.made.parties["carole"].identity)
        initialise(StorePlace(configured.database, configured.place, identity))
        self.coordinator_yaml = self.client_yaml("coordinator")
        digests = tuple(digest_of(text).hex() for text in specifications)
        self.configs = {side: self.folders[side] / f"{side}.yaml" for side in Side}
        for side, party in CUSTODIANS.items():
            text = custodian_yaml(
                party,
                carole=self.address,
                peer_fingerprint=self.made.members.in_role(side.other.role).identity.fingerprint,
                source={"csv": {"path": str(self.files[side])}},
                approve=digests,
                retry_seconds=0.1,
            )
            self.configs[side].write_text(tested(text))
        self._opened = ExitStack()
        self._controls: dict[Side, Control] = {}

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Files and configurations

    def spoil(self, side: Side, content: bytes) -> None:
        """Put other bytes into the place of a custodian's file, as a copy does: whole."""
        temporary = self.files[side].with_suffix(".new")
        temporary.write_bytes(content)
        temporary.replace(self.files[side])

    def mend(self, side: Side) -> None:
        self.spoil(side, self.good[side])

    @contextmanager
    def spoilt(self, side: Side, content: bytes) -> Iterator[None]:
        self.spoil(side, content)
        try:
            yield
        finally:
            self.mend(side)

    def configure(self, side: Side, old: str, new: str) -> None:
        text = self.configs[side].read_text()
        assert old in text
        self.configs[side].write_text(text.replace(old, new))

    def client_yaml(self, party: str) -> Path:
        config = self.folders[party] / f"{party}.yaml"
        config.write_text(coordinator_template(self.address))
        return config

    # Services

    def start_carole(self, supervise: Callable[..., Supervisor] = NoWorker) -> Application:
        """Carole in this process, with a real server and store; without a worker unless `supervise` starts one."""
        application = Application(self.carole_yaml, supervise)
        application.start()
        self._opened.callback(application.stop)
        return application

    def start(self, side: Side) -> CustodianService:
        """A custodian in this process."""
        service = CustodianService(CUSTODIANS[side], load_custodian(self.configs[side]))
        service.start()
        self._opened.callback(service.close)
        return service

    def processes(self, *names: str) -> list[ServiceProcess]:
        """Services as processes, started together and ready; ``processes("carole")`` after her `kill` is a restart."""
        services = []
        for name in names:
            config = self.carole_yaml if name == "carole" else self.configs[Side(name)]
            services.append(ServiceProcess(name, config, self.logs))
            services[-1].start()
            # Killed, not stopped: tests of an orderly end stop services themselves, and the suite stays short.
            self._opened.callback(services[-1].kill)
        for service in services:
            service.wait_ready()
        return services

    def start_all(self, *, worker: bool = False) -> dict[Side, CustodianService]:
        """Both custodians in this process, whose services are returned; Carole too, or as processes with a worker."""
        if worker:
            self.processes("carole")
        else:
            self.start_carole()
        return self.start_custodians()

    def start_custodians(self) -> dict[Side, CustodianService]:
        """Both custodians in this process."""
        return {side: self.start(side) for side in Side}

    # Callers

    @cached_property
    def coordinator(self) -> Coordinator:
        return self._opened.enter_context(connect(self.coordinator_yaml))

    def connection(self, party: str) -> Connection:
        credentials = channel_credentials(self.folders[party], PARTIES[party])
        return self._opened.enter_context(Connection(self.address, server_name(Role.LINKER), credentials))

    def steward(self) -> Steward:
        """The steward, connected to Carole."""
        identity = open_identity(None, self.made.parties["steward"].identity)
        return Steward(self.connection("steward"), identity, self.made.members.in_role(Role.LINKER).identity)

    def create(self, text: str, *, approve: bool = True) -> str:
        """Create a project, and approve it on the coordinator's behalf; its name."""
        project = self.coordinator.create(text).project
        if approve:
            self.coordinator.approve(project, digest_of(text))
        return project

    def link(self, text: str) -> tuple[str, project_pb2.RunStatus]:
        """Link by a specification until both custodians have their shares; the project, and its run."""
        project = self.contributed(text)
        run = follow_run(self.coordinator, project, self.coordinator.start(project).run)
        self.received(project)
        return project, run

    def status(self, project: str) -> project_pb2.ProjectStatus:
        """A project as Carole shows it to the coordinator."""
        return self.coordinator.get(project)[0]

    def shown(self, side: Side, project: str) -> operator_pb2.CustodianProject:
        """A project as a custodian's operator sees it; empty while the service does not answer or know it."""
        try:
            if side not in self._controls:
                self._controls[side] = self._opened.enter_context(Control.open(self.configs[side], CUSTODIANS[side]))
            found = [shown for shown in self._controls[side].status().projects if shown.project == project]
        except GemelError:
            self._controls.pop(side, None)  # it may have been started again, at another address
            found = []
        return found[0] if found else operator_pb2.CustodianProject()

    def received(self, project: str) -> None:
        self.eventually(lambda: all(side.result_acknowledged for side in self.status(project).sides))

    def links(self, project: str) -> dict[Side, pl.DataFrame]:
        """Both custodians' links of the newest run, when both have them."""
        self.received(project)
        return {side: pl.read_parquet(Path(self.shown(side, project).results) / "links.parquet") for side in Side}

    def audited(self) -> list[dict[str, Any]]:
        """The audit log as Carole's operator sees it."""
        return entries_in(printed("audit", "show", "--config", self.carole_yaml))

    def contributed(self, text: str) -> str:
        """A new project, once both custodians have contributed to it; its name."""
        project = self.create(text)
        self.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
        return project

    def wait_for(self, project: str, state: int) -> project_pb2.ProjectStatus:
        self.eventually(lambda: self.status(project).state >= state, lambda: self._explained(project))
        return self.status(project)

    def blocking_error(self, side: Side, project: str, other_than: Collection[str] = ()) -> str:
        """Wait for the error that blocks a project at a custodian; its text."""
        without = {"", *other_than}
        self.eventually(
            lambda: self.shown(side, project).blocking_error not in without, lambda: self._explained(project)
        )
        return self.shown(side, project).blocking_error

    def well(self, side: Side, project: str) -> None:
        """Wait until no error blocks a project at a custodian any more."""
        self.eventually(lambda: not self.shown(side, project).blocking_error, lambda: self._explained(project))

    def eventually(self, condition: Callable[[], object], explain: Callable[[], str] = str) -> None:
        end, pause = time.monotonic() + SECONDS, 0.02
        while not condition():
            assert time.monotonic() < end, f"it did not come about: {explain()}"
            time.sleep(pause)
            pause = min(1.5 * pause, 0.2)  # a condition is mostly a call or two

    def _explained(self, project: str) -> str:
        reported = [f"{self.status(project)}"] + [f"{side}: {self.shown(side, project)}" for side in Side]
        return "\n".join(reported)
