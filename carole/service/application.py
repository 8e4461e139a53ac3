"""Carole's parts wired together: store, worker, server; started in this order and stopped in reverse."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.configuration import CaroleConfiguration, load_carole, write_ready
from gemel.carole.notification.notifier import Notifier
from gemel.carole.service.computation import Computation
from gemel.carole.service.context import Limits, ServiceContext, record_members, refuse_reused_names
from gemel.carole.service.coordination import Coordination
from gemel.carole.service.custody import Custody
from gemel.carole.service.exchange import Analysis, Auditing, Restoration
from gemel.carole.service.metrics import CaroleMetrics
from gemel.carole.service.stewardship import Stewardship
from gemel.carole.service.supervisor import Supervisor, log_swept
from gemel.carole.store import Store
from gemel.carole.store.store import milliseconds
from gemel.carole.store.tenure import Standing
from gemel.carole.store.uploads import Quota
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import check_identity, open_identity
from gemel.common.keys.vault import Vault
from gemel.common.keys.wrapping_configuration import check_wrapping, open_wrapper
from gemel.common.logging_setup import begin_log, log
from gemel.common.observability.settings import Observability
from gemel.common.observability.tracing import begin_tracing
from gemel.common.parties import Role
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import ListPin
from gemel.common.pki.reader import check_own
from gemel.common.rpc.status import SWITCH_SECONDS
from gemel.common.rpc.trust import Trust, TrustWatch
from gemel.common.versions import STORE, WIRE
from gemel.protos.linkage.v1 import (
    audit_pb2_grpc,
    computation_pb2_grpc,
    coordination_pb2_grpc,
    custody_pb2_grpc,
    restoration_pb2_grpc,
    stewardship_pb2_grpc,
    variables_pb2_grpc,
)
from gemel.serving.observation import Observation
from gemel.serving.readiness import Readiness
from gemel.serving.server import RunningServer, ServerSettings, Service, start_server
from gemel.serving.service_manager import ServiceManager

# What Carole shows of herself: her checks, her metrics, the record of her calls.


def observe(
    settings: Observability,
    service: ServiceContext,
    supervisors: Sequence[Supervisor],
    trust: Trust,
    check_keys: Callable[[], None],
) -> Observation:
    """The metrics and probes of one Carole, not yet started.

    `service`: her store, and whether she is stopping. `trust`: her members and certificates. `check_keys`: raises if
    the wrapping keys cannot be used.
    """
    monitoring = service.store.monitoring

    def check_serving() -> None:
        if service.stopping.is_set():
            raise GemelError(ErrorCode.UNAVAILABLE, "Carole is stopping")

    readiness = Readiness(
        {
            "database": monitoring.check_database,
            "blobs": monitoring.check_blobs,
            "tenure": monitoring.check_tenure,
            "keys": check_keys,
            "clock": service.store.clock_guard.require,
            "serving": check_serving,
        }
    )
    versions = {"wire": WIRE, "store": str(STORE)}
    made = Observation(settings, readiness, versions, callers_requests=settings.share_request_ids)
    label_projects = settings.label_projects
    workers = [supervisor.health for supervisor in supervisors]
    metrics = CaroleMetrics(monitoring, readiness, trust, workers, label_projects=label_projects)
    made.registry.register(metrics)
    return made


# Denied calls, recorded in the audit log: who requested what it may not have.

AGAIN_SECONDS = 3600.0
"""The same caller at the same method is recorded once in this time, so that no caller can fill the log."""

MAX_REMEMBERED = 1000


class Denials:
    """Called with every denied call; see `serving.server.Denied`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._reported: dict[tuple[str, str], float] = {}

    def __call__(self, actor: str, method: str) -> None:
        """Record a denied call, unless the same was recorded recently."""
        now = time.monotonic()
        with self._lock:
            recent = {key: at for key, at in self._reported.items() if now - at < AGAIN_SECONDS}
            # Methods and members are few; unknown callers count as one. A full memory indicates another error.
            self._reported = recent
            if (actor, method) in recent or len(recent) >= MAX_REMEMBERED:
                return
            recent[actor, method] = now
        self._store.audit.deny(actor, method, milliseconds())


GRACE_SECONDS = 8.0


class Application:
    """One Carole, from her configuration."""

    def __init__(
        self,
        path: Path,
        supervise: Callable[[Store, Path], Supervisor] = Supervisor,
        ended: threading.Event | None = None,
    ) -> None:
        self._path = path.absolute()
        self.configuration: CaroleConfiguration = load_carole(self._path)
        folder = PartyFolder(self.configuration.keys)
        self._trust = Trust(folder.path, Role.LINKER, members=self.configuration.members, pin=ListPin(self._path))
        self._watch = TrustWatch(self._trust, self._record_members)
        vault = Vault(open_wrapper(self.configuration.wrapping, folder.wrapping))
        identity = open_identity(self.configuration.identity, folder.identity)
        check_own(self._trust.members.in_role(Role.LINKER), {"identity": (identity.public,)}, str(folder.path))
        self.store = Store(self.configuration.store.database, self.configuration.store.place, vault, identity)
        if isinstance(self.configuration.engine, DaskEngine):
            self.configuration.engine.check()
        for way in self.configuration.notify:
            way.check()
        limits = self.configuration.limits
        quota = Quota(limits.max_stored_bytes, limits.new_uploads)
        own = Limits(limits.max_upload_bytes, limits.max_rows, quota)
        self._identity = identity
        self._service = ServiceContext(self.store, own, endings=self._trust.endings)
        self._supervisors = [supervise(self.store, self._path) for _ in range(limits.workers)]
        observability = self.configuration.observability

        def check_keys() -> None:
            check_wrapping(self.configuration.wrapping, folder.wrapping, vault)
            check_identity(self.configuration.identity, folder.identity, identity)

        self._observation = observe(observability, self._service, self._supervisors, self._trust, check_keys)
        trust = self._trust
        self.computation = Computation(self._service, trust)
        """Sessions of computations; tests change how long a party may be away."""
        self._notifier = Notifier(self.configuration.notify, self.store, lambda: trust.members, trust.endings)
        self._server: RunningServer | None = None
        self._ended = ended or threading.Event()
        self._lost = False

    @property
    def address(self) -> str:
        """Where this Carole can be called on this machine: the configured host, with the port she got."""
        host = self.configuration.listen.rpartition(":")[0]
        assert self._server is not None  # noqa: S101 - after `start` only
        return f"{host}:{self._server.port}"

    @property
    def observability(self) -> str:
        """Where her metrics and probes are; empty if nowhere."""
        return self._observation.address

    def wait(self) -> None:
        """Return once she has to end; the service manager is kept informed."""
        ServiceManager().wait(self._ended, self._observation.readiness)

    @property
    def worker_pid(self) -> int | None:
        """Process id of the first worker."""
        return self._supervisors[0].pid

    def start(self) -> None:
        """Recover from a crash, start the workers, then the server.

        Raises CONFIGURATION if the address cannot be listened on; otherwise as `Store.recover`.
        """
        try:
            log_swept(self.store.recover(self._stand))
            self._trust.require(partial(refuse_reused_names, self.store))
            self._record_members()
            # Workers come first: a process must not be started while gRPC's threads run.
            for supervisor in self._supervisors:
                supervisor.start()
            self._server = start_server(
                self.configuration.listen,
                self._servicers(),
                self._trust,
                ServerSettings(member=self.configuration.limits.member.limits),
                denied=Denials(self.store),
                recorder=self._observation.recorder,
            )
            for supervisor in self._supervisors:
                supervisor.announce(self.address)
            self._watch.start()
            self._notifier.start()
            self._observation.start()
        except BaseException:
            self.stop()
            raise

    def _servicers(self) -> list[Service]:
        service, trust = self._service, self._trust
        return [
            (custody_pb2_grpc.add_CustodyServicer_to_server, Custody(service, trust)),
            (audit_pb2_grpc.add_AuditServicer_to_server, Auditing(service, trust, self._identity)),
            (stewardship_pb2_grpc.add_StewardshipServicer_to_server, Stewardship(service, trust)),
            (restoration_pb2_grpc.add_RestorationServicer_to_server, Restoration(service, trust)),
            (variables_pb2_grpc.add_AnalysisServicer_to_server, Analysis(service)),
            (computation_pb2_grpc.add_ComputationServicer_to_server, self.computation),
            (coordination_pb2_grpc.add_CoordinationServicer_to_server, Coordination(service, trust)),
        ]

    def require_held(self) -> None:
        """Refuse to have ended in order where another Carole has taken over."""
        if self._lost:
            remedy = "let one of them serve; this one wrote nothing since"
            raise GemelError(ErrorCode.BUSY, "another Carole has taken over the store", where="store", remedy=remedy)

    def _stand(self, standing: Standing) -> None:
        """Health is that of the store; without her tenure Carole ends."""
        if self._server is not None:
            self._server.report(serving=standing is Standing.HELD)
        if standing is Standing.LOST:
            self._lost = True
            self._ended.set()

    def stop(self) -> None:
        """Report NOT_SERVING, let active calls end, stop the workers, close the store."""
        self._service.stopping.set()
        self._watch.stop()
        self._notifier.stop()
        if self._server is not None:
            self.computation.close()
            self._server.stop(GRACE_SECONDS)
        for supervisor in self._supervisors:
            supervisor.terminate()
        for supervisor in self._supervisors:
            supervisor.stop()
        # The last to end: meanwhile a probe sees that she is stopping, not that she is dead.
        self._observation.stop()
        self.store.close()

    def _record_members(self) -> None:
        if record_members(self.store, self._trust.members):
            log.info("membership list recorded", members=len(self._trust.members))


def serve(path: Path, ready_file: Path | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    `ready_file`: gets a JSON object with the address, once Carole is ready; it is written whole or not at all.
    Raises the error for what cannot be used, before anything is served.
    """
    os.umask(0o077)  # files written from here on are readable by this user only
    sys.setswitchinterval(SWITCH_SECONDS)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    # What SIGHUP asks of other services, to read their files again, Carole does by herself.
    signal.signal(signal.SIGHUP, lambda *_: None)
    application = Application(path, ended=ended)
    begin_log("carole", application.configuration.log_level)
    begin_tracing("carole")
    application.start()
    try:
        ready = {"address": application.address, "observability": application.observability}
        write_ready(ready_file, {**ready, "pid": os.getpid()})
        log.info("ready", **ready, worker=application.worker_pid)
        application.wait()
        log.info("stopping")
    finally:
        application.stop()
    application.require_held()
    log.info("stopped")
