"""A custodian's service as a process: wiring, readiness, and a clean end."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import ExitStack
from pathlib import Path

import structlog

from gemel.common.durable import whole_file
from gemel.common.logging_setup import begin_log
from gemel.common.observability.service_manager import ServiceManager
from gemel.common.observability.tracing import begin_tracing
from gemel.common.parties import Party, Role
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.records.registry import check_driver
from gemel.common.rpc.client import Connection
from gemel.common.rpc.trust import Trust, TrustWatch
from gemel.common.witnessing.log_reader import LogReader
from gemel.custodian.agent import Agent
from gemel.custodian.configuration import CustodianConfiguration, load_custodian
from gemel.custodian.leakage_report import Gate
from gemel.custodian.observation import AGENT, observe
from gemel.custodian.operator.address import ADDRESS_FILE
from gemel.custodian.operator.operator_service import OperatorService, start_operator
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.keyring import Keyring
from gemel.custodian.steps.leakage_gate import load_gate
from gemel.custodian.steps.step_context import StepContext
from gemel.custodian.steps.step_progress import Progress
from gemel.protos.linkage.v1 import custody_pb2_grpc

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
            share = configuration.observability.share_request_ids
            trust = Trust(configuration.keys, party.role, only=(keyring.member.name,), pin=pin)

            def name() -> str:
                return configuration.carole.server_name or trust.members.in_role(Role.LINKER).server_name

            connection = Connection(
                configuration.carole.address, name(), keyring.tls.channel(), share_request_ids=share
            )
            opened.callback(connection.close)
            carole = connection.stub(custody_pb2_grpc.CustodyStub)
            command = f"gemel {party.name} accept-restore"
            reader = LogReader(connection, keyring.identity, keyring.linker.identity, state, command)
            context = StepContext(
                *(party, configuration, keyring, state, Progress(), connection, carole, reader, self._stopping),
                trust,
                gate,
            )
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
            self._connection = connection
            self._opened = opened.pop_all()
        self.party = party

    @property
    def observability(self) -> str:
        """Where its metrics and probes are; empty if nowhere."""
        return self._observation.address

    def start(self) -> None:
        """Begin to request tasks from Carole."""
        self._watch.start()
        self._thread.start()

    def stop(self) -> None:
        """Let the service end; `wait` returns then."""
        self._stopping.set()

    def wait(self) -> None:
        """Return once `stop` was called; the service manager is kept informed."""
        ServiceManager().wait(self._stopping, self._observation.readiness, vital=AGENT)

    def close(self) -> None:
        """End the agent's call and step, and close everything."""
        self._stopping.set()
        self._watch.stop()
        self._connection.close()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._opened.close()


def serve(party: Party, configuration_file: Path, ready_file: Path | None = None) -> None:
    """Run a custodian's service until SIGTERM, SIGINT or its operator ends it.

    Parameters
    ----------
    ready_file
        Written once the service answers its operator: a JSON object with `party`, `address` and `pid`.

    Raises
    ------
    GemelError
        As `load_custodian` and `CustodianService`.
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
        ready = {
            "party": party.name,
            "address": service.address,
            "observability": service.observability,
            "pid": os.getpid(),
        }
        log.info("ready", **{key: value for key, value in ready.items() if key != "party"})
        if ready_file is not None:
            with whole_file(ready_file) as file:
                file.write(json.dumps(ready).encode())
        service.wait()
        log.info("stopping")
    finally:
        service.close()
    log.info("stopped")
