"""The peer: Splink's links of a world, one to one, by the fields, values and rules that the program has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import REPOSITORY
from benchmarks._in_process import persons
from benchmarks._quality_programs import PEER_SCRIPT, Limits, peer_pairs, write_input
from gemel.carole.evaluation.link_quality import Quality, matching_pairs, number_of_matches
from gemel.carole.fellegi_sunter.link_rule import assigned
from gemel.common.specification import Specification
from gemel.coordinator.demonstration.people import TRUTH

LIMITS = Limits(REPOSITORY / ".venv-peers" / "bin" / "python", minutes=5, memory=8)


@dataclass(frozen=True)
class PeerOutcome:
    """The peer's links; without any, `refused` says why.

    `seconds`: of the processor.
    """

    version: str = ""
    links: int = 0
    true_links: int = 0
    matches: int = 0
    seconds: float = 0.0
    refused: str = ""

    @property
    def f1(self) -> float:
        return Quality(self.links, self.true_links, self.matches).f1


class PeerInput:
    """A folder with what the peer is given of a world; `digest` is of it all, and of the program that runs the peer."""

    def __init__(self, alice: pl.DataFrame, bob: pl.DataFrame, spec: Specification, folder: Path) -> None:
        self._persons = persons(*(file[TRUTH].cast(pl.String).to_numpy() for file in (alice, bob)))
        self._folder = folder
        write_input(alice, bob, spec, folder, LIMITS)
        read = (*sorted(folder.iterdir()), PEER_SCRIPT)
        contents = (hashlib.sha256(file.read_bytes()).digest() for file in read)
        self.digest = hashlib.sha256(b"".join(contents)).hexdigest()[:24]

    def linked(self, python: Path) -> PeerOutcome:
        """The pairs of probability .5 or more, the heaviest first, each record once."""
        found = peer_pairs("splink", self._folder, Limits(python, LIMITS.minutes, LIMITS.memory))
        matches = number_of_matches(*self._persons)
        if isinstance(found, str):
            return PeerOutcome(matches=matches, refused=found)
        # Probabilities near 1 tie where weights do not; ties fall to the pair that comes first.
        pairs, facts = found[0].sort("weight", descending=True, maintain_order=True), found[1]
        row_a, row_b = (pairs[side].cast(pl.Int32).to_numpy() for side in ("alice", "bob"))
        links = assigned(row_a, row_b, pairs["probability"].to_numpy(), 0.5, "greedy")
        true = matching_pairs(*self._persons, row_a[links], row_b[links])
        taken = round(facts["processor"], 3)
        return PeerOutcome(facts["version"], len(links), int(np.count_nonzero(true)), matches, taken)
