"""Dask as Carole uses it: all its settings are here, and none is read from files of its own or the environment.

What it holds in memory, it never writes to a disk: it would be in the clear there. It serves no page: what it answers
by HTTP, which is nothing, is on the loopback address. Its log's texts, which have the arguments of tasks, are not
written; that it has logged something is (`logging_setup`).
"""

from __future__ import annotations

import hashlib
import logging
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gemel
from gemel.carole.cluster.engine_section import Credentials
from gemel.common.missing_module import missing_module

if TYPE_CHECKING:
    from distributed.security import Security


TRIES = 3
"""How often a unit is begun that fails, or whose worker dies, before it ends the run."""

NO_WORKERS_SECONDS = 300
"""After which a run ends, to be tried again, where no worker is left."""

CONNECT_SECONDS = 20

NO_PAGE = "127.0.0.1:0"
"""Where what would be Dask's pages answers that there is none."""

_SETTINGS: dict[str, Any] = {
    "distributed.comm.require-encryption": True,
    "distributed.comm.tls.min-version": 1.2,
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    "distributed.comm.compression": False,
    "distributed.scheduler.allowed-failures": TRIES - 1,
    "distributed.scheduler.no-workers-timeout": f"{NO_WORKERS_SECONDS}s",
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.preload": [],
    "distributed.scheduler.jupyter": False,
    "distributed.worker.http.routes": [],
    "distributed.worker.preload": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.terminate": False,
    # What it measures of itself has no reader, and takes processor time all the while.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.tick.limit": "30s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.diagnostics.erred-tasks.max-history": 1,
    # The plan of a unit and the choice of the second pass are as large as they are.
    "distributed.admin.large-graph-warning-threshold": "1TiB",
}


def use_dask() -> None:
    """Import Dask, with these settings and nothing else; MODULE_MISSING without the extra `cluster`."""
    try:
        import dask
        import distributed  # noqa: F401 - it fails here, and not in the midst of a run
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    dask.config.refresh(paths=[], env={})
    dask.config.set(_SETTINGS)
    for name in ("distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.ERROR)


def security(credentials: Credentials) -> Security:
    """TLS by these files, for a client, a scheduler or a worker.

    Raises CONFIGURATION if one cannot be read, or the key's file is open to others.
    """
    from distributed.security import Security

    credentials.check()
    certificate, key = str(credentials.certificate), str(credentials.key)
    parts = {f"tls_{role}_{part}" for role in ("client", "scheduler", "worker") for part in ("cert", "key")}
    files = {name: certificate if name.endswith("_cert") else key for name in parts}
    return Security(require_encryption=True, tls_ca_file=str(credentials.ca), **files)


# What decides the numbers that a process computes: Gemel's own code, and the packages that compute with it.

PACKAGES = ("cryptography", "dask", "distributed", "numba", "numpy", "scipy")

PARTS = ("carole/blocking", "carole/cluster", "carole/comparison", "carole/engine", "carole/store", "common/signatures")
"""Folders of Gemel's code whose digest is compared."""

DIGITS = 12
"""Of the digest, as it is shown."""


@cache
def installed() -> Mapping[str, str]:
    """What this process has, by name: Python, Gemel and the packages."""
    found = {"python": platform.python_version(), "gemel": f"{_version('gemel')} {_digest()[:DIGITS]}"}
    return found | {package: _version(package) for package in PACKAGES}


def differences(mine: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What another process has otherwise, as text; empty if nothing."""
    return ", ".join(
        f"{name} {other.get(name, 'missing')} instead of {mine.get(name, 'none')}"
        for name in sorted({*mine, *other})
        if mine.get(name) != other.get(name)
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _digest() -> str:
    root = Path(gemel.__file__).parent
    digest = hashlib.sha256()
    for part in PARTS:
        for file in sorted((root / part).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
