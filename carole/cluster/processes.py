"""The two kinds of processes of a cluster: its scheduler, and workers. Each serves until a signal ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from gemel.carole.cluster.engine_section import Credentials, DaskEngine
from gemel.carole.cluster.settings import CONNECT_SECONDS, NO_PAGE, installed, security, use_dask
from gemel.carole.cluster.tls import require_admitted, unreachable
from gemel.carole.configuration import BlobsConfiguration, LogLevel, write_ready
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.payload_reader import PayloadSource, provide
from gemel.common.configuration import Configuration, ConfiguredPath, Listen, load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault
from gemel.common.keys.wrapping_configuration import WrappingConfiguration, open_wrapper
from gemel.common.logging_setup import begin_log, log

if TYPE_CHECKING:
    from distributed.core import Server


# The configurations of a cluster's own processes: `scheduler.yaml` and `worker.yaml`.


class SchedulerConfiguration(Credentials):
    """All of ``scheduler.yaml``."""

    version: Literal[1]
    listen: Listen
    """host:port, for Carole and workers; port 0 takes a free one, given in the ready file."""
    log_level: LogLevel = "info"


class WorkerConfiguration(Configuration):
    """All of ``worker.yaml``."""

    version: Literal[1]
    engine: DaskEngine
    """As Carole's, with a certificate of its own."""
    listen: Listen = "0.0.0.0:0"
    """host:port, for scheduler and other workers; port 0 takes a free one."""
    contact: Listen | None = None
    """host:port by which others call it, if not as it listens."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Units that it works on at a time."""
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] | None = None
    """Its name in errors; by default the machine's, with the number of its process."""
    keys: ConfiguredPath
    """Folder of ``wrapping.key``, a copy of Carole's; nothing else of hers."""
    wrapping: WrappingConfiguration | None = None
    """Where the wrapping keys are, if not in that file: as Carole's."""
    store: BlobsConfiguration
    """Where Carole's blobs are: the same folder, which may be mounted for reading only, or the same bucket."""
    log_level: LogLevel = "info"


WRAPPING = "wrapping.key"


def serve_scheduler(path: Path, ready_file: Path | None = None) -> None:
    """Serve as scheduler until SIGTERM or SIGINT.

    `ready_file`: gets a JSON object with the address, once it can be called. Raises CONFIGURATION, MODULE_MISSING for
    what cannot be used.
    """
    configuration = load_configuration(path, SchedulerConfiguration)
    use_dask()
    import dask
    from distributed import Scheduler

    begin_log("scheduler", configuration.log_level)
    made = partial(Scheduler, **_listening(configuration.listen, configuration))
    # Dask makes a folder, and writes nothing into it.
    with tempfile.TemporaryDirectory(prefix="gemel-scheduler-") as folder, dask.config.set(temporary_directory=folder):
        _serve(made, ready_file, configuration.listen)


def serve_worker(path: Path, ready_file: Path | None = None) -> None:
    """Work until SIGTERM or SIGINT, or until the scheduler is gone.

    `ready_file`: gets a JSON object with the address, once the worker is registered. Raises CONFIGURATION,
    MODULE_MISSING, VAULT for what cannot be used; CERTIFICATE, UNAVAILABLE as `require_admitted`; UNAVAILABLE too when
    the scheduler is gone.
    """
    configuration = load_configuration(path, WorkerConfiguration)
    engine, place = configuration.engine, configuration.store.place
    os.umask(0o077)
    use_dask()
    from distributed import Worker

    from gemel.carole.engine.pairs import shards as shard_work

    begin_log("worker", configuration.log_level)
    vault = Vault(open_wrapper(configuration.wrapping, configuration.keys / WRAPPING))
    blobs = Blobs(place)
    if blobs.identity() is None:
        what = "there are no blobs of a store of Carole's"
        remedy = "mount her folder of blobs, or name her bucket"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(place), remedy=remedy)
    provide(PayloadSource(blobs, vault))
    require_admitted(engine.address, engine)
    contact = None if configuration.contact is None else f"tls://{configuration.contact}"
    name = configuration.name or f"{socket.gethostname()}-{os.getpid()}"
    listening = _listening(configuration.listen, engine)
    # What units need is imported before the first of them comes.
    log.info("installed", units=shard_work.__name__, **installed())
    # Dask wants a folder of its own, and writes nothing into it: `data` is in memory alone.
    with tempfile.TemporaryDirectory(prefix="gemel-worker-") as folder:
        made = partial(
            Worker, engine.address, contact_address=contact, nthreads=configuration.threads, name=name, data={},
            memory_limit=0, local_directory=folder, death_timeout=CONNECT_SECONDS, **listening,
        )  # fmt: skip
        if not _serve(made, ready_file, engine.address):
            raise unreachable(engine.address, "its end, or the loss of the connection")


def _listening(listen: str, credentials: Credentials) -> dict[str, Any]:
    """How a scheduler or a worker is called: by TLS, and with no page."""
    host, _, port = listen.rpartition(":")
    return {
        "host": host.strip("[]"), "port": int(port), "protocol": "tls", "security": security(credentials),
        "dashboard": False, "dashboard_address": NO_PAGE, "preload": [], "preload_argv": [],
    }  # fmt: skip


def _serve(made: Any, ready_file: Path | None, where: str) -> bool:
    """Serve until a signal to end; False if it ended otherwise."""

    async def run() -> bool:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        server: Server = made()
        try:
            await server
        except (OSError, TimeoutError) as error:
            remedy = "check the address, and that nothing else listens on it"
            raise GemelError(
                ErrorCode.UNAVAILABLE, "the process cannot begin", where=where, got=type(error).__name__, remedy=remedy
            ) from None
        write_ready(ready_file, {"address": server.address, "pid": os.getpid()})
        log.info("ready", address=server.address)
        ended = asyncio.ensure_future(server.finished())
        waiting = asyncio.ensure_future(stopped.wait())
        await asyncio.wait((ended, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        log.info("stopping")
        with suppress(Exception):  # of a scheduler that is gone already
            await asyncio.wait_for(server.close(), 10)
        ended.cancel()
        return stopped.is_set()

    return asyncio.run(run())
