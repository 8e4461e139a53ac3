"""One measured run of Gemel for `benchmarks.encode`, in a process of its own: CSV in, signature sets out.

    python -m benchmarks._encode_gemel CSV SPECIFICATION THREADS

Prints JSON: seconds for reading, cleaning and signing, processor seconds, and what came out. The compiled
loops are loaded, from a tiny file, before the clock starts, as they are in a service.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import Encoded, encode_records
from gemel.records.csv_file import csv_batches
from gemel.records.sources import CsvSource
from gemel.records.table import joined


def run(path: Path, spec: Specification, threads: int) -> tuple[Encoded, dict[str, float]]:
    """Read, clean and sign one file, as a custodian does."""
    started, used = time.perf_counter(), time.process_time()
    columns = [name for field in spec.fields for name in field.columns_of(Side.ALICE)]
    frame = joined(csv_batches(CsvSource(path=path), columns)).frame
    read = time.perf_counter()
    cleaned = clean(frame, spec, Side.ALICE)
    ready, ready_used = time.perf_counter(), time.process_time()
    encoded = encode_records(cleaned.columns, spec, Seed.generate(), 1, threads=threads)
    done = time.perf_counter()
    times = {"read": read - started, "clean": ready - read, "sign": done - ready}
    times["sign_cpu"] = time.process_time() - ready_used
    return encoded, {**times, "seconds": done - started, "cpu": time.process_time() - used}


def peak_mib() -> float:
    """Most memory this process has had; `getrusage` would count what its parent had before it was started."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def main(path: str, specification: str, threads: int) -> None:
    """Measure one run and print it."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    spec = load_specification(Path(specification).read_text(encoding="utf-8"), specification)
    few = Path(path).with_suffix(".few")
    run(few, spec, threads)
    encoded, times = run(Path(path), spec, threads)
    fields = [field for part in encoded.sets for field in part.fields.values()]
    result = {
        **times,
        "rows": max(len(order) for order in encoded.orders.values()),
        "rule_rows": sum(len(order) for order in encoded.orders.values()),
        "signatures": sum(int((field.codes >= 0).sum()) for field in fields),
        "distinct": sum(field.n_distinct for field in fields),
        "bytes": sum(part.layout.total_bytes for part in encoded.sets),
        "peak_mib": peak_mib() if Path("/proc/self/status").exists() else float("nan"),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
