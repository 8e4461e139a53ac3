"""Two Dask workers of one thread beside two local threads, on the same stored shards: ``python -m benchmarks cluster``.

Two cases: blocks of many rows, where comparing takes the time, and blocks of few, where reading does. Both engines run
once before they are measured, and then in turns; what they find is compared to the last bit. Elapsed time is that of
the passes over the shards (in brackets: of the whole first half of a run); processor time is of all processes, for the
whole first half. A worker's process needs the memory that is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from benchmarks._cluster_processes import ClusterProcesses
from benchmarks._stored_files import StoredFiles
from gemel.carole.engine import LinkagePlan, Resources, compare
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import encode_records

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
        engines = {
            "local": (Resources(2 << 30, 2), lambda: 0.0),
            "dask": (cluster.resources(2 << 30), cluster.seconds),
        }
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
