"""What `benchmarks.quality` sets beside each other: Gemel, and peers that see the values, each also one to one.

Gemel's engine links in this process, in mode open. A peer has a process and an environment of its own, with a limit of
time and of memory. It gets the records as Gemel cleaned them, and the texts of Gemel's blocking keys.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks._in_process import JudgedLinks, judged_pairs, linked, persons
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.link_rule import assigned
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.blocking_keys import key_text

PEERS = ("splink", "recordlinkage")

PEER_SCRIPT = Path(__file__).with_name("_quality_peers.py")

OUT_OF_TIME, OUT_OF_MEMORY = "no links in {minutes:g} minutes", "no links in {memory:g} GiB"


@dataclass(frozen=True)
class Limits:
    """Of a peer: its interpreter, minutes, and GiB of memory."""

    python: Path
    minutes: float
    memory: float


def by_gemel(alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification) -> JudgedLinks:
    """Gemel's links."""
    return linked(alice, bob, specification=spec)[1]


def by_peer(
    program: str, alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification, limits: Limits
) -> dict[str, JudgedLinks] | str:
    """As `by_measured_peer`, without what it took."""
    found = by_measured_peer(program, alice, bob, spec, limits)
    return found if isinstance(found, str) else found[0]


def by_measured_peer(
    program: str, alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification, limits: Limits
) -> tuple[dict[str, JudgedLinks], dict[str, float]] | str:
    """A peer's own links, and those of its match weights under the specification's assignment; or why there are none.

    With what linking took (`seconds`, `processor`) and held at most (`peak`, in bytes), its input and output apart.
    The peer's own links are the pairs of probability .5 or more, and it claims the means of its probabilities. Its
    match weights are Bayes factors of the same pairs; under an assignment they get link probabilities as Gemel's
    do. Pairs of less than `MINIMUM` of `_quality_peers` have none.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(alice, bob, spec, folder, limits)
        linked_pairs = peer_pairs(program, folder, limits)
    if isinstance(linked_pairs, str):
        return linked_pairs
    found, facts = linked_pairs
    version = facts.pop("version")
    row_a, row_b = (found[side].to_numpy().astype(np.int32) for side in ("alice", "bob"))
    own, weight = found["probability"].to_numpy(), found["weight"].to_numpy()
    assignment = spec.links.assignment
    posterior = LinkPosterior(assignment, row_a, row_b, alice.height, bob.height)
    assigned_probability = posterior.probabilities(weight).probability
    person_a, person_b = persons(*(file[TRUTH].cast(pl.String).to_numpy() for file in (alice, bob)))

    def judged(probability: NDArray[np.float64], links: NDArray[np.int64]) -> JudgedLinks:
        unknown = np.zeros(len(weight), dtype=np.int32)
        pairs = ScoredPairs(row_a, row_b, unknown, weight, probability, probability)
        right = float(probability[links].sum())
        claimed = (right / len(links), right / float(probability.sum())) if len(links) else (np.nan, np.nan)
        return judged_pairs(pairs, links, 0.0, claimed, person_a, person_b)

    chosen = assigned(row_a, row_b, assigned_probability, 0.5, assignment)
    both = {
        f"{program} {version}": judged(own, np.flatnonzero(own >= 0.5)),
        f"{program}, {assignment}": judged(assigned_probability, chosen),
    }
    return both, facts


def peer_pairs(program: str, folder: Path, limits: Limits) -> tuple[pl.DataFrame, dict[str, Any]] | str:
    """The pairs that a peer writes of its input in a folder, and the facts it prints; or why there are none."""
    command = [str(limits.python), str(PEER_SCRIPT), program, str(folder)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60 * limits.minutes)
    except subprocess.TimeoutExpired:
        return OUT_OF_TIME.format(minutes=limits.minutes)
    if run.returncode:
        lines = run.stderr.strip().splitlines() or [f"ended with status {run.returncode}"]
        starved = run.returncode < 0 or any("MemoryError" in line or "Out of Memory" in line for line in lines)
        said = next((line for line in reversed(lines) if line and not line.startswith((" ", "LINE "))), lines[-1])
        return OUT_OF_MEMORY.format(memory=limits.memory) if starved else f"failed: {said[:100]}"
    found = pl.read_csv(folder / "pairs.csv", schema_overrides={"probability": pl.Float64, "weight": pl.Float64})
    return found, json.loads(run.stdout.splitlines()[-1])


def write_input(alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification, folder: Path, limits: Limits) -> None:
    """Both files as cleaned, with rows for identifiers and texts of blocking keys, and what the peer has to know."""
    keys = [f"key_{number}" for number, _ in enumerate(spec.keyed_rules)]
    for side, table in (("alice", alice), ("bob", bob)):
        cleaned = clean(table, spec, side).columns
        texts = {key: key_text(cleaned, spec, rule) for key, rule in zip(keys, spec.keyed_rules, strict=True)}
        pl.DataFrame({"identifier": np.arange(table.height), **cleaned, **texts}).write_csv(folder / f"{side}.csv")
    fields = [{"name": field.name, "kind": field.kind} for field in spec.fields]
    case = {"fields": fields, "keys": keys, "memory": limits.memory}
    (folder / "case.json").write_text(json.dumps(case))
