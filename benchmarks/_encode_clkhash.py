"""One measured run of clkhash for `benchmarks.encode`, in a process of its own: CSV in, Bloom filters out.

    python benchmarks/_encode_clkhash.py CSV SCHEMA WORKERS

Prints JSON: seconds, processor seconds (of this process, hence of one worker) and rows. Imports nothing of
Gemel, so that it runs in any environment that has clkhash.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from importlib import metadata
from pathlib import Path


def main(path: str, schema_path: str, workers: int) -> None:
    """Measure one run and print it."""
    if workers == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    generate_clk_from_csv = importlib.import_module("clkhash.clk").generate_clk_from_csv
    schema = importlib.import_module("clkhash.schema").from_json_dict(
        json.loads(Path(schema_path).read_text(encoding="utf-8"))
    )
    started, used = time.perf_counter(), time.process_time()
    with open(path, encoding="utf-8", newline="") as file:  # noqa: PTH123 - clkhash rewinds this very object
        filters = generate_clk_from_csv(
            file, "a secret", schema, validate=False, progress_bar=False, max_workers=workers
        )
    times = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - used}
    print(json.dumps({**times, "rows": len(filters), "version": metadata.version("clkhash")}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
