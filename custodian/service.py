"""A custodian's service as a process: wiring, readiness, and a clean end."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

import structlog
from prometheus_client import Histogram
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gemel.common.durable import whole_file
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import check_identity
from gemel.common.keys.wrapping_configuration import check_wrapping
from gemel.common.logging_setup import begin_log
from gemel.common.observability.tracing import begin_tracing
from gemel.common.parties import Party, Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.rpc.client import Connection
from gemel.common.rpc.trust import Trust, TrustWatch
from gemel.common.versions import CUSTODIAN_STATE, WIRE
from gemel.common.witnessing.log_reader import LogReader
from gemel.custodian.agent import Agent, ObserveStep
from gemel.custodian.configuration import CustodianConfiguration, load_custodian
from gemel.custodian.leakage_report import Gate
from gemel.custodian.operator.control import ADDRESS_FILE
from gemel.custodian.operator.operator_service import OperatorService, start_operator, waits_for_operator
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring
from gemel.custodian.state.state_database import Project
from gemel.custodian.steps.leakage_gate import load_gate
from gemel.custodian.steps.step_context import Progress, StepContext
from gemel.protos.linkage.v1 import custody_pb2_grpc, project_pb2
from gemel.records.registry import check_driver
from gemel.serving.families import gauge, labelled, service_metrics
from gemel.serving.machine_check import check_writable
from gemel.serving.observation import Observation
from gemel.serving.readiness import Readiness, Recent
from gemel.serving.service_manager import ServiceManager

# What the service shows of itself has nothing of a record or its source: states of projects, durations, certificates.


AGENT = "agent"
"""The check of the thread that works through Carole's tasks."""
REMEMBERED_SECONDS = 5.0
_STEP_SECONDS = (0.1, 1.0, 10.0, 60.0, 600.0)
"""Bounds of the histogram: to sign a large file takes minutes."""


def observe(context: StepContext, trust: Trust, agent: Callable[[], bool]) -> tuple[Observation, ObserveStep]:
    """The metrics and probes of one custodian's service, not yet started, and what counts its steps.

    `agent` says whether the thread that works through Carole's tasks is alive.
    """
    configuration = context.configuration
    folder = PartyFolder(configuration.keys)

    def check_state() -> None:
        # Every transaction on the state begins as one that writes.
        context.state.projects()
        check_writable(context.state.folder, "the state folder")

    def check_keys() -> None:
        check_wrapping(configuration.wrapping, folder.wrapping, context.keyring.vault)
        check_identity(configuration.identity, folder.identity, context.keyring.identity)

    def check_agent() -> None:
        if context.stopping.is_set() or not agent():
            raise GemelError(ErrorCode.UNAVAILABLE, "the service is stopping")

    readiness = Readiness({"state": check_state, "keys": check_keys, AGENT: check_agent})
    versions = {"wire": WIRE, "state": str(CUSTODIAN_STATE)}
    # The operator's calls come from this custodian's own programs: their ids are its own.
    made = Observation(configuration.observability, readiness, versions, callers_requests=True)
    made.registry.register(_CustodianMetrics(context, readiness, trust))
    what, labels = "Steps of a custodian's work, how they ended, and how long they took.", ("step", "outcome")
    steps = Histogram("gemel_step_seconds", what, labels, buckets=_STEP_SECONDS, registry=made.registry)

    def count(name: str, outcome: str, seconds: float) -> None:
        steps.labels(name, outcome).observe(seconds)

    return made, count


class _CustodianMetrics(Collector):
    def __init__(self, context: StepContext, readiness: Readiness, trust: Trust) -> None:
        self._context = context
        self._readiness = readiness
        self._trust = trust
        self._projects = Recent(self._read, REMEMBERED_SECONDS)

    def collect(self) -> Iterable[Metric]:
        context = self._context
        yield from service_metrics(self._readiness, {"state": context.state.folder}, self._trust.in_use())
        connected = context.progress.connected
        yield gauge("gemel_carole_connected", "Whether Carole answered the last call.", float(connected))
        silence = context.progress.silence
        yield gauge("gemel_carole_silence_seconds", "Since Carole last answered, or since the start.", silence)
        projects = self._projects()
        yield gauge("gemel_state_up", "Whether the state was read for this page.", float(projects is not None))
        if projects is not None:
            yield from self._work(projects)

    def _read(self) -> list[Project] | None:
        try:
            return self._context.state.projects()
        except Exception:  # noqa: BLE001 - the check of the state logs why
            return None

    def _work(self, projects: list[Project]) -> Iterable[Metric]:
        states = Counter(project.carole_state for project in projects)
        named = {
            name.removeprefix("PROJECT_STATE_").lower(): float(states[number])
            for name, number in project_pb2.ProjectState.items()
        }
        yield labelled("gemel_projects", "Projects by their state at Carole.", "state", named)
        blocked = sum(bool(project.blocking_error) for project in projects)
        yield gauge("gemel_projects_blocked", "Projects whose step failed; it is tried again.", blocked)
        policy = self._context.configuration.policy
        waiting = sum(waits_for_operator(project, policy) for project in projects)
        yield gauge("gemel_projects_waiting", "Projects that wait for this custodian's operator.", waiting)


STOP_SECONDS = 10.0
"""How long to wait for a step at shutdown. The state survives a killed step, so there is no need to wait longer."""

log = structlog.get_logger()


class CustodianService:
    """A running service: the agent in a thread, the operator's server, and what both share."""

    def __init__(
        self, party: Party, configuration: CustodianConfiguration, gate: Gate | None = None, pin: ListPin = UNPINNED
    ) -> None:
        self._stopping = threading.Event()
        with ExitStack() as opened:
            keyring = Keyring.load(configuration, party, pin)
            state = State(configuration.state, keyring.vault)
            opened.callback(state.close)
            trust = Trust(configuration.keys, party.role, only=(keyring.member.name,), pin=pin)

            def name() -> str:
                return configuration.carole.server_name or trust.members.in_role(Role.LINKER).server_name

            address, share = configuration.carole.address, configuration.observability.share_request_ids
            connection = Connection(address, name(), keyring.tls.channel(), share_request_ids=share)
            opened.callback(connection.close)
            carole = connection.stub(custody_pb2_grpc.CustodyStub)
            command = f"gemel {party.name} accept-restore"
            reader = LogReader(connection, keyring.identity, keyring.linker.identity, state, command)
            services = state, Progress(), connection, carole, reader
            context = StepContext(party, configuration, keyring, *services, self._stopping, trust, gate)
            self._observation, count_step = observe(context, trust, lambda: self._thread.is_alive())
            agent = Agent(context, count_step)
            self._thread = threading.Thread(target=agent.run, name="agent", daemon=True)
            self._watch = TrustWatch(trust, lambda: connection.renew(trust.tls.channel(), name()))
            service = OperatorService(context, agent.decided, self.stop, trust)
            operator, self.address = start_operator(context, service, trust, self._observation.recorder)
            opened.callback((state.folder / ADDRESS_FILE).unlink, missing_ok=True)
            opened.callback(operator.stop, 1.0)
            self._observation.start()
            opened.callback(self._observation.stop)
            self._context = context
            self._opened = opened.pop_all()
        self.party = party

    @property
    def observability(self) -> str:
        """Where its metrics and probes are; empty if nowhere."""
        return self._observation.address

    def start(self) -> None:
        self._watch.start()
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def wait(self) -> None:
        """Return once `stop` was called; the service manager is kept informed."""
        ServiceManager().wait(self._stopping, self._observation.readiness, vital=AGENT)

    def close(self) -> None:
        """End the agent's call and step, and close everything."""
        self._stopping.set()
        self._watch.stop()
        self._context.connection.close()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._opened.close()


def serve(party: Party, configuration_file: Path, ready_file: Path | None = None) -> None:
    """Run a custodian's service until SIGTERM, SIGINT or its operator ends it.

    The `ready_file` is written once it answers its operator: a JSON object with `party`, `address` and `pid`.
    """
    os.umask(0o077)  # files written from here on are readable by this user only
    begin_log(party.name)
    begin_tracing(party.name)
    configuration = load_custodian(configuration_file)
    check_driver(configuration.source)
    # The gate is imported now: what it lacks must not stop a project in its middle.
    service = CustodianService(party, configuration, load_gate(), ListPin(configuration_file.absolute()))
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: service.stop())
        # What SIGHUP asks of other services, to read certificates again, this one does by itself.
        signal.signal(signal.SIGHUP, lambda *_: None)
        service.start()
        ready = {"address": service.address, "observability": service.observability, "pid": os.getpid()}
        log.info("ready", **ready)
        if ready_file is not None:
            with whole_file(ready_file) as file:
                file.write(json.dumps({"party": party.name, **ready}).encode())
        service.wait()
        log.info("stopping")
    finally:
        service.close()
    log.info("stopped")
