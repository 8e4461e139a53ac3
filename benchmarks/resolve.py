"""The resolver alone, on many candidate pairs: ``python -m benchmarks resolve --copies 20``.

A linkage of mode block_keyed is compared once, in this process, by `benchmarks/large.yaml`. The resolver is then given
that many copies of it side by side, each with records of its own: its request is as large as that of files so many
times as large. It runs in a process of its own, which reads the request and the custodians' sealed handles as it does
live, and seals what each custodian is granted. What that process held at most is printed for each pair, beside what it
takes without any; and what is claimed of its links.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import REPOSITORY
from benchmarks._block_keyed import compared, encoded
from benchmarks._in_process import KEY, RESOURCES
from benchmarks._resolve_alone import RUN
from gemel.carole.engine.inputs.candidates import Candidates
from gemel.carole.engine.pairs.selection import FieldsPresent
from gemel.carole.engine.resolution.resolution_request import ResolutionRequest, pack_request
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.specification import Specification, read_specification, specification_digest
from gemel.common.wire.row_handles import HANDLES, About, seal_row_handles
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.provisioning import Provisioned, provision

SPECIFICATION = REPOSITORY / "benchmarks" / "large.yaml"
ERRORS = 0.2


def main(arguments: list[str]) -> int:
    """Compare once, and resolve so many copies of it in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks resolve", description=__doc__)
    parser.add_argument("--people", type=int, default=100_000, help="records in each file that is compared")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 10], help="how often the resolver is given it")
    parser.add_argument("--specification", type=Path, default=SPECIFICATION, help="what to link by")
    parser.add_argument("--seed", type=int, default=1, help="of the invention")
    given = parser.parse_args(arguments)
    print(f"{given.people:,} records in each file, half in both, seed {given.seed}")
    spec = read_specification(given.specification)
    found, rows = _compared(spec, given.people, given.seed)
    with tempfile.TemporaryDirectory(prefix="resolve-") as name:
        parties = provision(Path(name) / "parties", suite=spec.suite)
        for copies in given.copies:
            folder = Path(name) / str(copies)
            folder.mkdir()
            _write(folder, spec, parties, _copied(found, copies), [_beside(row, copies) for row in rows])
            alone = [sys.executable, "-m", "benchmarks._resolve_alone", str(folder), str(given.specification)]
            subprocess.run([*alone, str(parties.parties["coordinator"].path)], check=True)
    return 0


def _compared(spec: Specification, people: int, seed: int) -> tuple[Candidates, list[NDArray[np.int64]]]:
    """What Carole finds, and the record of each of its pairs in either file."""
    tables = two_files(people, people, people // 2, ERRORS, np.random.default_rng(seed))
    files = {side: table.drop(TRUTH) for side, table in zip(Side, tables, strict=True)}
    made = encoded(files, spec, KEY)
    found, rows = compared(files, made, plan_of(spec), RESOURCES)
    return found, [made[side].order[rows[side]] for side in Side]


def _copied(found: Candidates, copies: int) -> Candidates:
    """The candidates of that many linkages side by side. Pairs of two copies' records are not compared."""
    patterns, outside = found.patterns, found.outside_blocks
    return replace(
        found,
        n_a=found.n_a * copies,
        n_b=found.n_b * copies,
        patterns=PatternCounts(patterns.gamma, patterns.mask, patterns.count * copies),
        levels=None if found.levels is None else found.levels * copies**2,
        outside_blocks=None if outside is None else replace(outside, scale=outside.scale * copies),
        pattern=np.tile(found.pattern, copies),
        lacking=(_more(found.lacking[0], copies), _more(found.lacking[1], copies)),
        equal=(found.equal[0] * copies, found.equal[1] * copies),
    )


def _more(present: FieldsPresent, copies: int) -> FieldsPresent:
    return replace(present, records=present.records * copies)


def _beside(rows: NDArray[np.int64], copies: int) -> NDArray[np.uint32]:
    """Handles of each copy's records after those of the copies before."""
    numbers = np.unique(rows, return_inverse=True)[1].ravel()
    n = int(numbers.max()) + 1
    return (np.tile(numbers, copies) + np.repeat(np.arange(copies), len(numbers)) * n).astype(np.uint32)


def _write(
    folder: Path, spec: Specification, parties: Provisioned, found: Candidates, handles: list[NDArray[np.uint32]]
) -> None:
    digests = bytes(32), bytes([1] * 32)
    order = np.random.default_rng(1).permutation(len(found.pattern))
    (folder / "request").write_bytes(pack_request(ResolutionRequest(found, digests, 2), order))
    reader = parties.members.in_role(Role.COORDINATOR)
    for side, digest, of_side in zip(Side, digests, handles, strict=True):
        identity = open_identity(None, parties.parties[str(side)].identity)
        about = About(spec.project, RUN, side, specification_digest(spec), digest, reader.name, reader.sealing)
        (folder / str(side)).write_bytes(seal_row_handles(identity, about, {HANDLES: of_side[order]}))
