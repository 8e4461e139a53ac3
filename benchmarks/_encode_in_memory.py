"""A custodian's whole way from a CSV file to an encrypted upload, within a limit of memory, for `benchmarks.encode`.

    python -m benchmarks._encode_in_memory FOLDER MEMORY GATE

is the process that is measured: it reads `people.csv` and `linkage.yaml` in the folder and prints JSON. Each batch of
people is a population of its own, with other names for its persons: the file's values are as common as in one of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from gemel.common.configuration import size_in_bytes
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import AssessmentKeys, NoiseKey
from gemel.common.keys.vault import DataKey
from gemel.common.parties import Side
from gemel.common.signatures.payload import to_bytes
from gemel.common.specification import load_specification
from gemel.coordinator.demonstration.people import generate
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.source.cleaned_file import read_into
from gemel.custodian.source.drawing import drawn_records
from gemel.custodian.state.pending_uploads import encrypted_file
from gemel.custodian.state.row_map import RowMapWriter
from gemel.custodian.state.working_tables import WorkingFolder
from gemel.custodian.steps.held_memory import MemoryLimit, high_water
from gemel.custodian.steps.signing import portions
from gemel.records.sources import CsvSource, Source

FIELDS = (
    "{{name: date_of_birth, kind: date, date: {{order: ymd}}, bits: {bits}}}",
    "{{name: surname, kind: name, bits: {bits}}}",
    "{{name: given_name, kind: name, bits: {bits}}}",
    "{{name: street, kind: text, bits: {bits}}}",
    "{{name: postcode, kind: code, bits: {bits}}}",
)
RULES = (
    "{name: born, keys: [{field: date_of_birth}]}",
    "{name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}",
    "{name: street, keys: [{field: street}, {field: date_of_birth, part: year}]}",
)
_BATCH = 500_000


def in_memory(options: argparse.Namespace) -> int:
    """Generate the file, run the process that encodes it, and print what it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "linkage.yaml").write_text(_specification(options.fields, options.rules, options.bits))
        begin = time.perf_counter()
        with (folder / "people.csv").open("wb") as file:
            for number, batch in enumerate(_people(options.rows)):
                batch.write_csv(file, include_header=number == 0)
        size = (folder / "people.csv").stat().st_size
        print(
            f"{options.rows:,} people generated in {time.perf_counter() - begin:,.0f} s, {size / 1e9:.2f} GB",
            flush=True,
        )
        print(f"{options.fields} fields of {options.bits} bits, {options.rules} rules, limit {options.memory}\n")
        command = [sys.executable, "-m", "benchmarks._encode_in_memory", name, options.memory, str(int(options.gate))]
        ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if ended.returncode:
            return ended.returncode
        found = json.loads(ended.stdout)
    for stage, seconds in found["seconds"].items():
        print(f"{stage:10s} {seconds:10,.1f} s {options.rows / max(seconds, 1e-9):14,.0f} records per second")
    print(f"\nhigh-water mark of the process {found['high_water'] / 2**20:,.0f} MiB")
    print(f"upload {found['bytes'] / 1e9:,.2f} GB, {found['bytes'] / options.rows:,.0f} bytes a record")
    return 0


def _people(rows: int) -> Iterator[pl.DataFrame]:
    """People in batches, each with an identifier of its own."""
    rng = np.random.default_rng(1)
    for begin in range(0, rows, _BATCH):
        people = generate(min(_BATCH, rows - begin), rng)
        yield people.with_columns(pl.format("{}-{}", "person_id", pl.lit(begin // _BATCH)).alias("person_id"))


def _specification(fields: int, rules: int, bits: int) -> str:
    lines = ["version: 1", "project: benchmark", "mode: block_keyed"]
    lines += ["custodians: {alice: {identifier: person_id}, bob: {identifier: person_id}}", "fields:"]
    lines += [f"  - {field.format(bits=bits)}" for field in FIELDS[:fields]]
    lines += ["blocking:", *(f"  - {rule}" for rule in RULES[:rules])]
    return "\n".join([*lines, "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"])


def _encode(folder: Path, memory: str, *, gate: bool) -> None:
    spec = load_specification((folder / "linkage.yaml").read_text(), "linkage.yaml")
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin

    limit = MemoryLimit(size_in_bytes(memory))
    (folder / "working").mkdir()
    working = WorkingFolder(folder / "working")
    table = working.table(by_column=True)
    file = read_into(table, Source(csv=CsvSource(path=folder / "people.csv")), spec, Side.ALICE, stage)
    print(f"read: {high_water() / 2**20:,.0f} MiB", file=sys.stderr)
    if gate:
        with stage("gate"):
            keys = AssessmentKeys.of_number(1)
            drawn = drawn_records(file, spec, keys.generator("drawn records"))
            assess(drawn.columns, spec, keys=keys, drawn=drawn)
        print(f"gate: {drawn.n_drawn:,} records drawn, {high_water() / 2**20:,.0f} MiB", file=sys.stderr)
    seed, noise, key = Seed.generate(), NoiseKey.generate(), DataKey.unkept("benchmark")
    total = 0
    with (
        stage("sign"),
        encrypted_file(folder / "payload", key) as payload,
        encrypted_file(folder / "map", key.apart("map")) as row_map,
    ):
        writer = RowMapWriter(row_map.write, file.n_rows)
        made = portions(
            file, spec, seed, 1, noise=noise, make=working.table, memory=limit, progress=lambda name, done: None
        )
        for portion in made:
            for part in to_bytes(portion.sets):
                payload.write(part)
                total += part.nbytes
            for identifiers in portion.identifiers:
                writer.add(identifiers, portion.order)
            limit.check("benchmark")
            print(f"{total / 1e9:.2f} GB: {high_water() / 2**20:,.0f} MiB", file=sys.stderr)
    table.erase()
    seconds["altogether"] = sum(seconds.values())
    print(json.dumps({"seconds": seconds, "high_water": high_water(), "bytes": total}))


if __name__ == "__main__":
    _encode(Path(sys.argv[1]), sys.argv[2], gate=bool(int(sys.argv[3])))
