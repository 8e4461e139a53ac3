"""The configurations of a cluster's own processes: ``scheduler.yaml`` and ``worker.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gemel.carole.cluster.engine_section import Credentials, DaskEngine
from gemel.carole.configuration import BlobsConfiguration
from gemel.common.configuration import Configuration, ConfiguredPath, Listen
from gemel.common.keys.wrapping_configuration import WrappingConfiguration

LogLevel = Literal["debug", "info", "warning", "error"]


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
