"""Two Dask workers of one thread beside two local threads, on the same stored shards: ``python -m benchmarks cluster``.

Two cases: blocks of many rows, where comparing takes the time, and blocks of few, where reading does. Both engines run
once before they are measured, and then in turns; what they find is compared to the last bit. Elapsed time is that of
the passes over the shards (in brackets: of the whole first half of a run); processor time is of all processes, for the
whole first half. A worker's process needs the memory that is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from gemel.carole.cluster.cluster_units import cluster_units
from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.cluster.tls import make_certificates
from gemel.carole.engine import Contribution, LinkagePlan, Resources, compare
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.projects.operations.consent import approve, report_keys
from gemel.carole.projects.project import Approval, Grant, KeyReport, Policy
from gemel.carole.store import Store
from gemel.carole.store.provision import StorePlace, initialise
from gemel.carole.store.registry import NewProject
from gemel.common.keys.derivation import Seed
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.noise import NoiseKey
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Role, Side
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import load_specification
from gemel.common.wire.chunks import Chunk, chunk_slices, root_digest
from gemel.custodian.encoding.records import encode_records

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
        """Start a worker that reads `blobs`; its process, once it is registered or, without `wait`, at once.

        `source`: a folder with Gemel's source, if not this one; `certificates`: another folder of them than
        `keys`.
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


PROJECT = "stored"
_DIGEST = b"\1" * 32


class StoredFiles:
    """A store with the contributions of both custodians, and the keys that wrap its data keys."""

    def __init__(self, folder: Path, sets: Sequence[tuple[SignatureSet, ...]], n_records: int) -> None:
        self.blobs, self.keys = folder / "blobs", WrappingKeys.create()
        identity = Identity(IdentityKey.create())
        place = StorePlace(f"sqlite:///{folder}/carole.db", self.blobs, identity)
        initialise(place)
        self._store = Store(place, Vault(self.keys))
        self._store.recover()
        self._key_project()
        self.total_bytes = self.sets = 0
        for side, of_side in zip(Side, sets, strict=True):
            self._contribute(side, of_side, n_records)

    def contributions(self) -> tuple[Contribution, Contribution]:
        """Of Alice and of Bob."""
        a, b = (Contribution(self._store.uploads.open(PROJECT, side)) for side in Side)
        return a, b

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _key_project(self) -> None:
        grants = {Role.CUSTODIAN_A: Grant.LINKS, Role.CUSTODIAN_B: Grant.LINKS, Role.COORDINATOR: Grant.STATISTICS}
        new = NewProject(
            name=PROJECT,
            specification="a specification",
            specification_digest=_DIGEST,
            encoding_digest=b"\2" * 32,
            grants=grants,
            policy=Policy.NONE,
            uploads_days=7,
            results_days=30,
        )
        self._store.projects.create(new, "coordinator")
        for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B):
            given = Approval(str(role), _DIGEST, b"s" * 64)
            self._store.apply(PROJECT, lambda project, _, role=role, given=given: approve(project, role, given))
        for side in Side:
            report = side, str(side), 1, KeyReport(b"k" * 8, b"c" * 32)
            self._store.apply(PROJECT, lambda project, _, report=report: report_keys(project, *report))

    def _contribute(self, side: Side, sets: tuple[SignatureSet, ...], n_records: int) -> None:
        payload = b"".join(to_bytes(sets))
        chunks = [payload[part] for part in chunk_slices(len(payload))]
        digests = [hashlib.sha256(chunk).digest() for chunk in chunks]
        root, upload = root_digest(digests), str(side)[0] * 32
        uploads = self._store.uploads
        uploads.begin(PROJECT, side, str(side), upload, layout_of(sets, n_records))
        for index, (chunk, digest) in enumerate(zip(chunks, digests, strict=True)):
            uploads.put(PROJECT, side, upload, Chunk(index, len(chunks), root, digest, chunk))
        uploads.commit(PROJECT, side, str(side), upload, len(chunks), len(payload), root)
        self.total_bytes += len(payload)
        self.sets += len(sets) - 1


PASSES = ("tables", "count", "keep")
"""The stages that read and compare shards."""

WORKERS = ("one", "two")

TEXT = """version: 1
project: cluster
mode: block_keyed
custodians: {alice: {identifier: id}, bob: {identifier: id}}
fields:
  - {name: surname, kind: name, bits: BITS}
  - {name: given, kind: name, bits: BITS}
  - {name: street, kind: text, bits: BITS}
  - {name: town, kind: category}
  - {name: phone, kind: code, bits: BITS}
blocking:
  - {name: town, keys: [{field: town}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""


class Case(NamedTuple):
    """Files whose blocks have so many rows of each."""

    name: str
    rows: int
    block: int
    bits: int


class Figures(NamedTuple):
    """Of one run: seconds of the passes and of the whole, processor seconds, and a digest of what was found."""

    passes: float
    whole: float
    processor: float
    found: str


def main(arguments: list[str]) -> int:
    """Make the files, run both engines in turns, and print their ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cluster", description=__doc__)
    parser.add_argument("--rows", type=int, default=130_000, help="records in each file")
    parser.add_argument("--rounds", type=int, default=3, help="measured runs of each engine")
    parser.add_argument("--seed", type=int, default=1, help="of the invention")
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}")
    cases = (Case("compute-bound", given.rows, 400, 256), Case("data-bound", given.rows, 2, 1024))
    with tempfile.TemporaryDirectory() as name:
        for case in cases:
            folder = Path(name) / case.name
            folder.mkdir()
            _measure(case, folder, given.rounds, given.seed)
    return 0


def _measure(case: Case, folder: Path, rounds: int, seed: int) -> None:
    spec = load_specification(TEXT.replace("BITS", str(case.bits)))
    plan = replace(plan_of(spec), dependence="none")
    rng = np.random.default_rng(seed)
    files = [_people(case, rng, np.random.default_rng(seed)) for _ in range(2)]
    key, noise = Seed(bytes(range(32))), NoiseKey(bytes(range(1, 33)))
    sets: list[tuple[SignatureSet, ...]] = [encode_records(file, spec, key, 1, noise=noise).sets for file in files]
    stored = StoredFiles(folder, sets, case.rows)
    cluster = ClusterProcesses(folder)
    try:
        for name in WORKERS:
            cluster.worker(name, stored.keys, stored.blobs, wait=False)
        cluster.ready(*WORKERS)
        engines = {"local": (Resources(2 << 30, 2), lambda: 0.0), "dask": (cluster.resources(2 << 30), cluster.seconds)}
        found: dict[str, list[Figures]] = {"local": [], "dask": []}
        for _ in range(rounds + 1):
            for name, (resources, elsewhere) in engines.items():
                found[name].append(_run(stored, plan, resources, elsewhere))
        _show(case, stored, {name: figures[1:] for name, figures in found.items()})
        assert len({figures.found for of_engine in found.values() for figures in of_engine}) == 1
        peaks = [cluster.peak_bytes(name) / 2**20 for name in WORKERS]
        print(
            f"  the same counts and pairs in all runs; workers' memory {', '.join(f'{peak:.0f} MiB' for peak in peaks)}"
        )
    finally:
        cluster.stop()
        stored.close()


def _run(stored: StoredFiles, plan: LinkagePlan, resources: Resources, elsewhere: Callable[[], float]) -> Figures:
    began, processor = time.perf_counter(), time.process_time() + elsewhere()
    candidates, kept = compare(*stored.contributions(), plan, resources, lambda stage, done: None)
    whole, processor = time.perf_counter() - began, time.process_time() + elsewhere() - processor
    patterns = candidates.patterns
    arrays = (patterns.gamma, patterns.mask, patterns.count, kept.row_a, kept.row_b, kept.pattern)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()
    return Figures(sum(candidates.seconds[stage] for stage in PASSES), whole, processor, digest)


def _show(case: Case, stored: StoredFiles, found: dict[str, list[Figures]]) -> None:
    print(
        f"{case.name}: {case.rows:,} by {case.rows:,} records in blocks of {case.block} by {case.block}, "
        f"{stored.total_bytes / 2**20:,.0f} MiB of signatures in {stored.sets} sets"
    )
    middle = {
        name: [statistics.median(figures[column] for figures in of_engine) for column in range(3)]
        for name, of_engine in found.items()
    }
    for name, (passes, whole, processor) in middle.items():
        print(f"  {name:<6} {passes:6.2f} s ({whole:.2f} s), processor {processor:.2f} s")
    elapsed, whole, processor = (there / here for there, here in zip(middle["dask"], middle["local"], strict=True))
    print(f"  ratio  {elapsed:6.2f} elapsed ({whole:.2f}), {processor:.2f} processor")


def _people(case: Case, rng: np.random.Generator, towns: np.random.Generator) -> dict[str, pl.Series]:
    """Records of `case.block` to a town; half of the values are of few, so that pairs agree now and then."""
    n = case.rows
    numbers = towns.permutation(n) // case.block

    def words(length: int, shared: int) -> pl.Series:
        drawn = rng.integers(0, 26, (n, length)).astype(np.uint8) + 97
        common = drawn[:shared][rng.integers(0, shared, n)]
        chosen = np.where((rng.random(n) < 0.5)[:, None], common, drawn)
        return pl.Series([row.tobytes().decode() for row in chosen])

    return {
        "surname": words(7, 50),
        "given": words(6, 20),
        "street": words(12, 100),
        "town": pl.Series([f"town{number}" for number in numbers]),
        "phone": words(9, 30),
    }
