"""The process that `benchmarks.resolve` measures.

python -m benchmarks._resolve_alone FOLDER SPECIFICATION COORDINATOR
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from gemel.carole.engine.resolution.resolution_exchange import decide, open_handles, sealed_result
from gemel.carole.engine.resolution.resolution_request import unpack_request
from gemel.carole.engine.run.specified import plan_of
from gemel.common.parties import Role, Side
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.reader import Reader
from gemel.common.processes import processors
from gemel.common.specification import read_specification
from gemel.custodian.steps.held_memory import high_water

RUN = "1"


def main(folder: Path, specification: Path, coordinator: Path) -> None:
    """Resolve, and print after each step what the process held at most."""
    spec = read_specification(specification)
    reader, plan = Reader.load(PartyFolder(coordinator), Role.COORDINATOR), plan_of(spec)
    before, began = high_water(), time.process_time()
    request = unpack_request((folder / "request").read_bytes(), plan)
    a, b = (open_handles(reader, RUN, spec, request, side, (folder / str(side)).read_bytes()) for side in Side)
    opened = high_water(), time.process_time() - began
    decided = decide(request, a, b, plan, lambda stage, fraction: None, RUN, processors())
    resolved = high_water(), time.process_time() - began
    result = sealed_result(decided, request, spec, reader.members, RUN)
    sealed = high_water(), time.process_time() - began
    n = len(request.found.pattern)
    for name, (peak, seconds) in {"opened": opened, "decided": resolved, "sealed": sealed}.items():
        print(
            f"{n:11,} pairs {name:<8} {seconds:7.1f} s of processor, {peak / 2**30:6.2f} GiB, "
            f"{(peak - before) / n:5.0f} bytes a pair beside {before / 2**20:.0f} MiB",
            flush=True,
        )
    linkage = decided.linkage
    chance = linkage.pairs.link_probability[linkage.links]
    print(f"{len(linkage.links):11,} links, precision claimed {np.mean(chance):.5f}; result of {len(result):,} bytes")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
