"""A scheduler and workers as real processes over TLS on loopback, as benchmarks and tests start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from gemel.carole.cluster.cluster_units import cluster_units
from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.cluster.tls import make_certificates
from gemel.carole.engine import Resources
from gemel.common.keys.vault import WrappingKeys

START_SECONDS = 120


class ClusterProcesses:
    """A scheduler and workers, each a process started by its command."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.keys = folder / "keys"
        make_certificates(self.keys, ("carole", "scheduler", "worker"))
        self.address = "tls://127.0.0.1:0"
        self.scheduler()

    def scheduler(self) -> None:
        """Start the scheduler, or start it again where it was."""
        listen = self.address.removeprefix("tls://")
        text = f"version: 1\nlisten: {listen}\n{self.files('scheduler')}".replace(", ", "\n")
        self._begin("scheduler", "scheduler", text)
        self.address = str(self._ready("scheduler")["address"])

    def files(self, name: str, keys: Path | None = None) -> str:
        """The settings of one's certificate."""
        own = (keys or self.keys) / name
        return f"ca: {own}/ca.pem, certificate: {own}/certificate.pem, key: {own}/key.pem"

    def engine(self, name: str = "carole", keys: Path | None = None, **changed: str) -> DaskEngine:
        """Carole's section `engine`."""
        own = (keys or self.keys) / name
        files = {"ca": own / "ca.pem", "certificate": own / "certificate.pem", "key": own / "key.pem"}
        return DaskEngine(kind="dask", address=changed.pop("address", self.address), **files, **changed)

    def resources(self, memory: int = 1 << 30, **changed: Any) -> Resources:
        """What a run with these workers may use."""
        return Resources(memory, 2, partial(cluster_units, self.engine(**changed)))

    def worker(
        self,
        name: str,
        keys: WrappingKeys,
        blobs: Path,
        source: Path | None = None,
        certificates: Path | None = None,
        threads: int = 1,
        *,
        wait: bool = True,
    ) -> int:
        """Start a worker, and wait until it is registered; the number of its process.

        Parameters
        ----------
        keys
            Its wrapping keys.
        blobs
            The folder that it reads.
        source
            A folder with Gemel's source, if not this one.
        certificates
            Another folder of certificates than `keys`.
        wait
            False: it is returned at once, and `ready` waits.
        """
        own = self._folder / name
        own.mkdir(exist_ok=True)
        keys.save(own / "wrapping.key", replace=True)
        engine = f"{{kind: dask, address: '{self.address}', {self.files('worker', certificates)}}}"
        text = (
            f"version: 1\nengine: {engine}\nname: {name}\nthreads: {threads}\nlisten: 127.0.0.1:0\nkeys: {own}\n"
            f"store: {{blobs: {blobs}}}\n"
        )
        self._begin(name, "worker", text, source)
        return int(self._ready(name)["pid"]) if wait else 0

    def kill(self, name: str) -> None:
        """End a process at once, as the kernel does that has no memory left."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def log(self, name: str) -> str:
        """What a process has written on standard error."""
        return (self._folder / f"{name}.log").read_text()

    def scratch(self, name: str) -> Path:
        """Where a process would write what it writes."""
        return self._folder / f"{name}.tmp"

    def seconds(self) -> float:
        """Processor time of all processes so far."""
        ticks = 0
        for process in self._processes.values():
            columns = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(columns[11]) + int(columns[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self, name: str) -> int:
        """The most memory that a process has had so far."""
        lines = Path(f"/proc/{self._processes[name].pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

    def stop(self) -> None:
        """End all."""
        for name in list(self._processes):
            self.kill(name)

    def ready(self, *names: str) -> None:
        """Wait until these are ready."""
        for name in names:
            self._ready(name)

    def _begin(self, name: str, command: str, text: str, source: Path | None = None) -> None:
        configuration, ready = self._folder / f"{name}.yaml", self._folder / f"{name}.ready"
        configuration.write_text(text)
        ready.unlink(missing_ok=True)
        self.scratch(name).mkdir(exist_ok=True)
        with (self._folder / f"{name}.log").open("wb") as output:
            program = [sys.executable, "-m", "gemel", "carole", command]
            self._processes[name] = subprocess.Popen(
                [*program, "--config", str(configuration), "--ready-file", str(ready)],
                stdout=output,
                stderr=output,
                env={**os.environ, "TMPDIR": str(self.scratch(name))},
                cwd=source,  # from where `-m` imports
            )

    def _ready(self, name: str) -> dict[str, Any]:
        ready, deadline = self._folder / f"{name}.ready", time.monotonic() + START_SECONDS
        while not ready.exists():
            assert self._processes[name].poll() is None, self.log(name)
            assert time.monotonic() < deadline, f"{name} does not start: {self.log(name)}"
            time.sleep(0.05)
        found: dict[str, Any] = json.loads(ready.read_text())
        return found
