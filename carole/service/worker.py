"""The process that works on runs: ``python -m gemel.carole.service.worker``, started and watched by `supervisor`.

It takes runs from the database by lease, one at a time, and erases what is due in between. There are as many workers as
`limits.workers`; a project has one active run at most, so that none ever has two of them, and runs are taken in the
order in which they were requested, but for those that gave way. It reads its input from the database and writes its
results there; it calls no service but Carole's own, where a run of mode shared is computed with two other parties. It
ends when its parent does: the parent holds the other end of its standard input, which closes with the parent, and
writes the service's address. What links is imported with the first run, so that a worker without one is ready at once.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import threading
import time
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from structlog.contextvars import bound_contextvars

from gemel.carole.cluster.engine_section import DaskEngine, EngineConfiguration
from gemel.carole.configuration import CaroleConfiguration, load_carole
from gemel.carole.service.health import OwnAddress, OwnService
from gemel.carole.service.supervisor import STORAGE_FAILED
from gemel.carole.store import Store
from gemel.carole.store.runs import Lease
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.vault import Vault
from gemel.common.keys.wrapping_configuration import open_wrapper
from gemel.common.logging_setup import begin_log, log, place_of
from gemel.common.observability.tracing import begin_span, begin_tracing
from gemel.common.parties import Role
from gemel.common.periodic import Periodic
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.list_pin import UNPINNED, ListPin
from gemel.common.pki.reader import Reader
from gemel.common.pki.sealing_suites import require_sealing_keys
from gemel.common.processes import end_with_parent
from gemel.common.rpc.status import for_others, passes
from gemel.common.specification import load_specification

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from gemel.carole.engine.run.resources import Resources, UnitPools
    from gemel.carole.service.computing import Computing

POLL_SECONDS = 0.2
RENEWAL_SECONDS = 0.3
QUIET_SECONDS = 5.0
"""How often to renew the lease when there is no progress to report."""

RETENTION_SECONDS = 600.0


class Stages:
    """What a run has spent on its stages; a stage ends where the next one begins."""

    def __init__(self, run: str, project: str = "", request: str = "") -> None:
        self._run, self._request, self._project = run, request, project
        self._lock = threading.Lock()
        self._stage = ""
        self._begun = 0.0
        self._span: Span | None = None
        self._seconds: dict[str, float] = {}
        self.sizes: dict[str, float] = {}

    def note(self, pairs: int, patterns: int, peak_bytes: int) -> None:
        """Note the sizes of the work; see `ending.Note`."""
        named = {"candidate_pairs": pairs, "patterns": patterns, "peak_bytes": peak_bytes}
        self.sizes |= {name: float(size) for name, size in named.items()}

    def enter(self, stage: str) -> None:
        """Note that the run is in a stage now; called often, and by several threads."""
        if stage == self._stage:
            return
        with self._lock:
            if stage != self._stage:
                self._end()
                self._stage, self._begun = stage, time.monotonic()
                self._span = begin_span(f"run {stage}", run=self._run, request=self._request)
                if self._project:
                    self._span.set_attribute("gemel.project", self._project)

    def end(self) -> dict[str, float]:
        """End the last stage; the seconds of each, in the order in which they first began."""
        with self._lock:
            self._end()
            return dict(self._seconds)

    def _end(self) -> None:
        if self._span is not None:
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + time.monotonic() - self._begun
            self._span.end()
        self._stage, self._span = "", None


class LostRunError(Exception):
    """The run is no longer this worker's: its project was erased, or the lease was given to another."""


class Heartbeat:
    """Writes a run's progress to the database from a separate thread, and detects when the run is lost."""

    def __init__(self, store: Store, lease: Lease, stages: Stages) -> None:
        self._store, self._lease, self._stages = store, lease, stages
        self._now = ("", 0.0)
        self._reported, self._at = ("", -1.0), 0.0
        self._lost = threading.Event()
        self._periodic = Periodic("heartbeat", RENEWAL_SECONDS, self._renew)

    def __enter__(self) -> Heartbeat:
        self._periodic.start()
        return self

    def __exit__(self, *ignored: object) -> None:
        self._periodic.stop()

    def progress(self, stage: str, fraction: float) -> None:
        """Note the run's progress; raises `LostRunError` when the run is no longer this worker's."""
        if self._lost.is_set():
            raise LostRunError
        self._now = (stage, fraction)
        self._stages.enter(stage)

    def _renew(self) -> bool:
        now = self._now
        if now == self._reported and time.monotonic() - self._at < QUIET_SECONDS:
            return True
        try:
            if not self._store.runs.renew_lease(self._lease, *now):
                self._lost.set()
                return False
            self._reported, self._at = now, time.monotonic()
        except GemelError as error:
            # The lease outlives a short absence of the database.
            log.warning("lease renewal failed", run=self._lease.run, request=self._lease.call, code=error.code.name)
        return True


class Worker:
    """Takes runs and carries them out, until the process ends.

    `holder`: its Carole's, under which it writes. `service`: hers too, which it calls where it computes with others.
    `pin`: which membership list to take.
    """

    def __init__(
        self, configuration: CaroleConfiguration, owner: str, holder: str, service: OwnService, pin: ListPin = UNPINNED
    ) -> None:
        folder = PartyFolder(configuration.keys)
        vault = Vault(open_wrapper(configuration.wrapping, folder.wrapping))
        identity = open_identity(configuration.identity, folder.identity)
        places = configuration.store
        self._store = Store(places.database, places.place, vault, identity, holder=holder)
        self._pin = pin
        self._folder, self._members = folder, configuration.members or folder.members
        self._configuration, self._service, self._identity = configuration, service, identity
        if isinstance(configuration.engine, DaskEngine):
            configuration.engine.check()
        self._owner = owner
        self._label_projects = configuration.observability.label_projects

    @cached_property
    def _computing(self) -> Computing:
        from gemel.carole.service.computing import Computing

        return Computing(self._service, self._identity, self._store.runs.give_way)

    @cached_property
    def _resources(self) -> Resources:
        from gemel.carole.engine.run.resources import Resources

        limits = self._configuration.limits
        return Resources(limits.worker_bytes, limits.worker_threads, _units(self._configuration.engine))

    def work(self) -> None:
        """Work until the process ends. A failure of the database ends it: the parent starts it again a little later."""
        erased_at = 0.0
        while True:
            if erased_at == 0.0 or time.monotonic() - erased_at > RETENTION_SECONDS:
                self._erase()
                erased_at = time.monotonic()
            lease = self._store.runs.take(self._owner)
            if lease is None:
                time.sleep(POLL_SECONDS)
            else:
                self._carry_out(lease)

    def _erase(self) -> None:
        try:
            count = self._store.retention.enforce()
        except GemelError as error:
            if error.code is not ErrorCode.CONFIGURATION:
                raise
            log.error("nothing erased", error=str(error))
        else:
            if count:
                log.info("erased", due=count)

    def _carry_out(self, lease: Lease) -> None:
        # Every line about the run has the id that the log of the service has of the call that requested it.
        with bound_contextvars(run=lease.run, **({"request": lease.call} if lease.call else {})):
            self._link(lease)

    def _link(self, lease: Lease) -> None:
        from gemel.carole.service.computing import GaveWayError
        from gemel.carole.service.ending import RunWork
        from gemel.carole.service.linking import carry_out

        log.info("run started", project=lease.project, attempt=lease.attempt)
        started = time.monotonic()
        stages = Stages(lease.run, lease.project if self._label_projects else "", lease.call)
        try:
            spec = load_specification(self._store.projects.specification(lease.project), lease.project)
            log.info("reading contributions", project=lease.project, mode=spec.mode, values_sent=spec.mode == "trusted")
            if self._resources.units is not None and spec.mode != "block_keyed":
                log.info("the run stays on this machine", project=lease.project, mode=spec.mode)
            with Heartbeat(self._store, lease, stages) as heart:
                # The list is read for every run: it may have changed since the last one.
                reader = Reader.load(self._folder, Role.LINKER, self._pin.load(self._members))
                require_sealing_keys(spec, reader.members, f"run of {spec.project}")
                work = (self._store, lease, spec, reader, self._resources, heart.progress, stages.note)
                links = carry_out(RunWork(*work, computing=self._computing))
        except LostRunError:
            log.warning("run lost", project=lease.project)
        except GaveWayError:
            log.info("run gave way", project=lease.project)
        except GemelError as error:
            if passes(error.code):
                raise
            # For the coordinator. The memory of a run can be discussed; paths of Carole's machine are for her log.
            shown = error if error.code is ErrorCode.MEMORY else for_others(error)
            self._fail(lease, str(shown), code=error.code.name, error=str(error))
        except Exception as error:  # noqa: BLE001 - a run's failure is not the worker's
            incident = secrets.token_hex(8)
            what = "there was not enough memory" if isinstance(error, MemoryError) else "something unforeseen happened"
            self._fail(
                lease,
                f"{what}, incident {incident}; give this number to Carole's operator",
                incident=incident,
                type=type(error).__name__,
                at=place_of(error),
            )
        else:
            seconds = round(time.monotonic() - started, 3)
            if links is None:
                log.info("run waiting", project=lease.project, seconds=seconds)
                return
            log.info("run finished", project=lease.project, links=links, seconds=seconds)
        finally:
            self._note(lease, stages)

    def _note(self, lease: Lease, stages: Stages) -> None:
        granted = {"granted_bytes": float(self._resources.memory_bytes)}
        try:
            self._store.runs.note_figures(lease.project, lease.run, stages.end(), {**stages.sizes, **granted})
        except GemelError as error:
            # The run itself has ended as it should.
            log.warning("figures of a run not stored", code=error.code.name)

    def _fail(self, lease: Lease, text: str, **details: str) -> None:
        log.error("run failed", project=lease.project, **details)
        try:
            self._store.runs.fail(lease, text)
        except GemelError as error:
            if error.code is not ErrorCode.WRONG_STATE:
                raise
            log.warning("run lost", project=lease.project)


def _units(engine: EngineConfiguration) -> UnitPools | None:
    """Where the shards of a run are worked on, if not here."""
    if not isinstance(engine, DaskEngine):
        return None
    from gemel.carole.cluster.cluster_units import cluster_units

    return partial(cluster_units, engine)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Carole's worker, started by her service.")
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--owner", required=True)
    parser.add_argument("--holder", required=True)
    given = parser.parse_args(arguments)
    address = OwnAddress()
    end_with_parent(lambda: os._exit(0), address.hear)
    os.umask(0o077)
    try:
        configuration = load_carole(given.config)
        begin_log("worker", configuration.log_level)
        begin_tracing("worker")
        pin = ListPin(given.config.absolute())
        Worker(configuration, given.owner, given.holder, OwnService(configuration, address, pin), pin).work()
    except GemelError as error:
        log.error("worker failed", code=error.code.name, error=str(error))
        return STORAGE_FAILED if passes(error.code) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
