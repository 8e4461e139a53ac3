"""A whole linkage on one machine: real services with throw-away certificates, driven as in a live project.

Everything goes the way it goes live: processes, mutual TLS, approvals, seed agreement, upload, run, sealed shares. Only
two things differ: one person plays all parties, and the folder with all keys is deleted at the end.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from gemel.common.documents.claimed_words import claimed_sentence
from gemel.common.documents.document import LINKED_FILES
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.language.message_words import listed
from gemel.common.parties import PARTIES, Party, Role, Side
from gemel.common.pki.certificates import Validity, server_name
from gemel.common.pki.reader import Reader
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.specification import Specification, specification_digest
from gemel.coordinator.client.analyst_client import Analyst
from gemel.coordinator.client.client_configuration import template
from gemel.coordinator.client.connection import connection_of
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.risk_reports import verdict_lines
from gemel.coordinator.client.run_progress import bars, follow_run, pairs_compared
from gemel.coordinator.client.steward_client import Steward
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.coordinator.rehearsal.narration import Narrator, show_warnings
from gemel.coordinator.rehearsal.processes import COMPUTE, ServiceProcess, Services, make_store
from gemel.custodian.operator.control import Control
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from gemel.records.sources import Source
from gemel.shared.parties.computing_screen import DONE

POLL_SECONDS = 0.1
STEP_SECONDS = 3600.0
"""Longest time one step may take before the rehearsal gives up."""
REHEARSED = "a rehearsal: no one receives anything, and all of it is deleted at the end"
"""Why the rehearsal's steward releases what the policy holds."""
STATE = project_pb2.ProjectState


@dataclass(frozen=True)
class Resources:
    memory: str
    threads: int
    max_upload: str = "2GiB"


@dataclass(frozen=True)
class Rehearsed:
    """The results of a rehearsal.

    `shares` are folders with ``links.parquet``, ``pairs.parquet`` and ``statistics.json``, with the custodian's own
    identifiers; `linked` is the linked file of each recipient of granted columns; `profiles` are counts by field and
    cleaning step. `assessment` is None if the specification requests none. `peak_memory` is in bytes by service, as far
    as the operating system reports it, `processor_seconds` by service from its start.
    """

    shares: dict[Side, Path]
    linked: dict[str, Path]
    profiles: dict[Side, dict[str, Any]]
    timings: dict[Side, dict[str, float]]
    statistics: StatisticsDocument
    assessment: dict[str, Any] | None
    peak_memory: dict[str, int]
    processor_seconds: dict[str, float]


def rehearse(
    spec: Specification,
    text: str,
    sources: dict[Side, Source],
    narrator: Narrator,
    resources: Resources,
    collect: Callable[[Rehearsed], None],
    known: Sequence[Path] = (),
) -> None:
    """Run a whole linkage and give its results to `collect`, while the custodians' folders still exist."""
    with tempfile.TemporaryDirectory(prefix="gemel-rehearsal-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        with Services(folder) as services:
            _Rehearsal(spec, text, sources, narrator, resources, known, folder, services).run(collect)


@dataclass
class _Rehearsal:
    _spec: Specification
    _text: str
    _sources: dict[Side, Source]
    _narrator: Narrator
    _resources: Resources
    _known: Sequence[Path]
    _folder: Path
    _services: Services
    _operators: dict[Side, Control] = field(default_factory=dict)
    _carole: str = ""

    @property
    def _digest(self) -> bytes:
        return specification_digest(self._spec)

    def run(self, collect: Callable[[Rehearsed], None]) -> None:
        narrator = self._narrator
        narrator.step("provision")
        made = provision(
            self._folder / "parties",
            linker_names=["127.0.0.1"],
            validity=Validity.lasting(timedelta(hours=12)),
            suite=self._spec.suite,
            parties={**PARTIES, **dict.fromkeys(self._analysts, Role.ANALYST), **self._computing},
        )
        narrator.step("start")
        address = self._carole = self._start_all(made)
        coordinator_folder = made.parties["coordinator"]
        with connection_of(address, coordinator_folder.path) as connection:
            identity = open_identity(None, coordinator_folder.identity)
            coordinator = Coordinator(connection, identity, Reader.load(coordinator_folder, Role.COORDINATOR))
            rehearsed = self._drive(coordinator, made)
        # What is left to do needs the folders and no service: these end meanwhile.
        self._services.dismiss()
        collect(rehearsed)

    @property
    def _analysts(self) -> list[str]:
        return sorted({transfer.to for transfer in self._spec.release.transfers if transfer.to_analyst})

    @property
    def _computing(self) -> dict[str, Role]:
        if self._spec.mode != "shared":
            return {}
        return {self._spec.compute.coordinator: Role.COORDINATOR, self._spec.compute.steward: Role.STEWARD}

    def _start_all(self, made: Provisioned) -> str:
        logs = self._folder
        carole = made.parties["carole"].path / "carole.yaml"
        carole.write_text(_carole_configuration(self._resources))
        make_store(carole)
        address = str(self._services.start(ServiceProcess("carole", carole, logs)).wait_ready()["address"])
        custodians: dict[Side, ServiceProcess] = {}
        for side in Side:
            party = made.parties[side]
            peer = made.members.in_role(side.other.role)
            path = party.path / f"{side}.yaml"
            path.write_text(
                _custodian_configuration(
                    address, self._sources[side], peer.identity.hex, self._digest.hex(), self._spec.mode, self._known
                )
            )
            custodians[side] = self._services.start(ServiceProcess(str(side), path, logs))
        for side, service in custodians.items():
            operator = str(service.wait_ready()["address"])
            credentials = channel_credentials(made.parties[side].path, side.role, to=side.role)
            connection = Connection(operator, server_name(side.role), credentials)
            self._operators[side] = Control(connection, Party(side, side.title()))
        self._start_computing(made, address)
        self._narrator.show(
            f"Carole listens on {address}; "
            + " and ".join(f"{side.title()} (process {service.pid})" for side, service in custodians.items())
            + " call her."
        )
        return address

    def _start_computing(self, made: Provisioned, address: str) -> None:
        started = []
        for name, role in self._computing.items():
            path = made.parties[name].path / f"{role}.yaml"
            path.write_text(template(address, role=role))
            started.append(self._services.start(ServiceProcess(name, path, self._folder, COMPUTE)))
        for service in started:
            service.wait_ready()
            self._narrator.show(f"{service.party} computes with her (process {service.pid}).")

    def _drive(self, coordinator: Coordinator, made: Provisioned) -> Rehearsed:
        project = self._spec.project
        self._narrator.step("specify")
        coordinator.create(self._text)
        coordinator.approve(project, self._digest)
        self._wait(coordinator, STATE.PROJECT_STATE_APPROVED)
        self._narrator.show("All three have signed the specification.")
        self._narrator.step("agree")
        self._wait(coordinator, STATE.PROJECT_STATE_KEYED)
        self._narrator.show("Both hold the same seed and clean alike: their check values agree.")
        self._narrator.step("contribute")
        self._wait(coordinator, STATE.PROJECT_STATE_CONTRIBUTED, show=True)
        sent = "shares" if self._spec.mode == "shared" else "signatures"
        for contribution in coordinator.get(project)[0].contributions:
            side = "Alice" if contribution.side == project_pb2.SIDE_ALICE else "Bob"
            self._narrator.show(
                f"{side}: {contribution.rows:,} rows, {contribution.bytes_received / 2**20:.1f} MiB of {sent}."
            )
        self._narrator.step("link")
        run = follow_run(coordinator, project, coordinator.start(project).run, self._services.check)
        for service in self._services.all:
            if service.party in self._computing:
                done = [line.strip() for line in service.lines() if line.strip().startswith(DONE)]
                self._narrator.show(f"{service.party}: {done[-1] if done else 'computed'}")
        assessment = None if self._spec.assessment is None else self._judged(coordinator, made, run.run)
        statistics = coordinator.statistics(project, run.run)
        self._narrator.show(f"{pairs_compared(statistics.linkage)} {claimed_sentence(statistics.linkage.claims)}")
        show_warnings(statistics.warnings)
        self._narrator.step("release")
        self._wait_until(coordinator, lambda status: all(side.result_acknowledged for side in status.sides))
        self._narrator.show("Both custodians hold their share.")
        shares = {side: Path(self._project_of(side).results) for side in Side}
        linked = self._exchanged(coordinator, made, shares, run.run) if self._spec.release.transfers else {}
        self._narrator.end()
        return Rehearsed(
            shares=shares,
            linked=linked,
            profiles={side: json.loads(operator.profile(project)) for side, operator in self._operators.items()},
            timings={side: _read_json(share / "timings.json") for side, share in shares.items()},
            statistics=statistics,
            assessment=assessment,
            peak_memory={service.party: service.peak_memory() for service in self._services.all},
            processor_seconds={service.party: service.processor_seconds() for service in self._services.all},
        )

    def _exchanged(
        self, coordinator: Coordinator, made: Provisioned, shares: dict[Side, Path], run: str
    ) -> dict[str, Path]:
        spec, project = self._spec, self._spec.project
        self._wait_until(coordinator, lambda status: all(each.sent for each in status.transfers))
        linked = {}
        for name in self._analysts:
            folder = made.parties[name]
            with connection_of(self._carole, folder.path, Role.ANALYST) as connection:
                analyst = Analyst(connection, made.members.named(name), SealingKey.load(folder.sealing), made.members)
                granted = analyst.project(project)
                received, roots = analyst.fetch(granted)
                linked[name] = received.write(folder.path / "results" / run)[0]
                analyst.acknowledge(granted, roots)
        self._wait_until(coordinator, lambda status: all(each.received for each in status.transfers))
        for transfer in spec.release.transfers:
            columns = listed(spec.release.granted_columns(transfer))
            self._narrator.show(f"{transfer.recipient} has received {columns} of {transfer.sender.title()}'s records.")
            if not transfer.to_analyst:
                linked[transfer.to] = shares[Side(transfer.to)] / LINKED_FILES["links"]
        return linked

    def _judged(self, coordinator: Coordinator, made: Provisioned, run: str) -> dict[str, Any]:
        project = self._spec.project
        self._narrator.step("assess")
        folder = made.parties["steward"]
        linker = made.members.in_role(Role.LINKER).identity
        with connection_of(self._carole, folder.path, Role.STEWARD) as connection:
            steward = Steward(connection, open_identity(None, folder.identity), linker)
            report = steward.report(project, run)
            for line in verdict_lines(report.document):
                self._narrator.show(line)
            if coordinator.get(project)[0].state == STATE.PROJECT_STATE_HELD:
                steward.decide(project, run, report.sha256, release=True, reason=REHEARSED)
                self._narrator.show(
                    "The steward, whom you play here too, releases it, so that the links can be judged."
                )
        return report.document

    def _wait(self, coordinator: Coordinator, state: int, *, show: bool = False) -> None:
        """Wait until the project has arrived at `state`; any blocking error of any party ends the rehearsal."""
        with bars(disable=not show) as progress:
            shown = {side: progress.add_task(side.title(), total=1.0) for side in Side}

            def look(side: Side, own: operator_pb2.CustodianProject) -> None:
                words = f"{side.title():<6} {own.stage}"
                progress.update(shown[side], description=words, completed=own.fraction)

            self._wait_until(
                coordinator, lambda status: status.state >= state, f"a step took longer than {STEP_SECONDS:.0f} s", look
            )
            for task in shown.values():
                progress.update(task, completed=1.0)

    def _wait_until(
        self,
        coordinator: Coordinator,
        holds: Callable[[project_pb2.ProjectStatus], bool],
        late: str = "the custodians did not fetch their shares, or what was granted them",
        look: Callable[[Side, operator_pb2.CustodianProject], None] = lambda side, own: None,
    ) -> None:
        """Wait until the parties have done their part; what blocks one of them ends the rehearsal."""
        deadline = time.monotonic() + STEP_SECONDS
        while time.monotonic() < deadline:
            status, _ = coordinator.get(self._spec.project)
            if holds(status):
                return
            self._services.check()
            for side in Side:
                own = self._project_of(side)
                look(side, own)
                if own.blocking_error:
                    raise GemelError(ErrorCode.WRONG_STATE, f"{side.title()} cannot continue: {own.blocking_error}")
            if status.blocking_error:
                raise GemelError(ErrorCode.WRONG_STATE, status.blocking_error, where=self._spec.project)
            time.sleep(POLL_SECONDS)
        raise GemelError(ErrorCode.UNAVAILABLE, late)

    def _project_of(self, side: Side) -> operator_pb2.CustodianProject:
        waiting = operator_pb2.CustodianProject(project=self._spec.project, stage="waits for Carole")
        projects = self._operators[side].status().projects
        return next((project for project in projects if project.project == self._spec.project), waiting)


def _carole_configuration(resources: Resources) -> str:
    return yaml.safe_dump(
        {
            "version": 1,
            "listen": "127.0.0.1:0",
            "keys": ".",
            "store": {"database": "sqlite:///store/carole.db", "blobs": "store/blobs"},
            "limits": asdict(resources),
        },
        sort_keys=False,
    )


def _custodian_configuration(
    address: str, source: Source, peer: str, digest: str, mode: str, known: Sequence[Path]
) -> str:
    return yaml.safe_dump(
        {
            "carole": {"address": address},
            "keys": ".",
            "state": "state",
            "results": "results",
            "source": source.model_dump(mode="json", exclude_none=True),
            "known_files": [str(path) for path in known],
            "peer": {"identity": peer},
            "policy": {"approve": [digest], "modes": [mode]},
            "poll": {"retry_seconds": 0.5},
        },
        sort_keys=False,
    )


def _read_json(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text()) if path.exists() else {}
    return document if isinstance(document, dict) else {}
