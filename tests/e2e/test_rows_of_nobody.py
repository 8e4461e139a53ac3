"""Rows of nobody's through real services, dummies of padding and decoys: on the wire, in no result, changing no link.

Carole and her worker are processes; both custodians are services in this process, so that their messages can be kept.
The same files are linked in mode open, without and with decoys, and in mode block_keyed, where the coordinator's
process resolves: as they are, padded, and with decoys.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.signatures.layout import SAMPLES, sample_rows
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from gemel.protos.linkage.v1 import resolution_pb2
from tests.e2e.deployment import BOBS_NAMES, Deployment, people, specification
from tests.e2e.recording import Recorded, recorded_linkage
from tests.e2e.test_block_keyed import BLOCKING

N, COMMON, DECOYS = 300, 150, 100
WIDE = BLOCKING.replace("keys: [{field: born}]", "keys: [{field: born, part: year}]").replace("draws: 6", "draws: 2")
"""With blocks of several rows, as have dummies."""
WITH_DECOYS = f"quality: {{decoys: {DECOYS}}}\n"
TEXTS = {
    "plain": specification("plain", bits=1024, more=WIDE),
    "open": specification("open", bits=1024, more=WIDE + WITH_DECOYS),
    "unpadded": specification("unpadded", bits=512, more=WIDE, mode="block_keyed"),
    "padded": specification("padded", bits=512, more=f"{WIDE}padding: powers_of_two\n", mode="block_keyed"),
    "keyed": specification("keyed", bits=1024, more=WIDE + WITH_DECOYS, mode="block_keyed"),
}
NAMED = {Side.ALICE: IDENTIFIER, Side.BOB: BOBS_NAMES[IDENTIFIER]}


class Made:
    """The files, and what came of each linkage; each is made where a test asks for it first."""

    def __init__(self, deployment: Deployment, files: dict[Side, pl.DataFrame]) -> None:
        self.files = files
        self._deployment = deployment
        self._linkages: dict[str, Recorded] = {}

    def __getattr__(self, name: str) -> Recorded:
        if name not in self._linkages:
            self._linkages[name] = recorded_linkage(self._deployment, TEXTS[name])
        return self._linkages[name]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    files = people(N, COMMON, seed=5)
    with Deployment(tmp_path_factory.mktemp("nobodys"), TEXTS.values(), files) as deployment:
        deployment.start_all(worker=True)
        yield Made(deployment, files)


def test_decoys_are_on_the_wire(made: Made) -> None:
    for side in Side:
        (part,) = made.open.sets[side]
        assert part.n_rows == N + DECOYS
        assert made.keyed.layouts[side].records == N
        by_name = {part.rule: part for part in made.keyed.sets[side]}
        assert by_name[SAMPLES].n_rows == sample_rows(N)
        assert N < by_name["born"].n_rows <= N + DECOYS
        assert made.open.reported_rows[side] == made.keyed.reported_rows[side] == N


@pytest.mark.long  # of a custodian alone: tests/custodian/encoding/test_padding.py
def test_the_links_are_those_without_decoys(made: Made) -> None:
    assert len(made.plain.links) > 0.9 * COMMON
    assert made.plain.statistics["linkage"]["quality"] == []
    # Projects have keys of their own, and with them other errors of estimated similarities; under one key the links are
    # the same (tests/carole/engine/test_decoys.py).
    assert len(made.open.links ^ made.plain.links) <= 8
    assert len(made.keyed.links ^ made.plain.links) <= 10
    for linkage in (made.open, made.keyed):
        assert linkage.statistics["linkage"]["links"] == len(linkage.links)
        assert linkage.statistics["linkage"]["records"] == {"alice": N, "bob": N}
        assert linkage.statistics["linkage"]["pairs"] == N * N
    assert made.open.statistics["linkage"]["candidates"] == made.plain.statistics["linkage"]["candidates"]


@pytest.mark.parametrize("name", ["open", pytest.param("padded", marks=pytest.mark.long), "keyed"])
def test_no_row_of_nobodys_is_in_any_result(made: Made, name: str) -> None:
    linkage: Recorded = getattr(made, name)
    assert "pairs" in linkage.tables[Side.ALICE]
    assert "draws" in linkage.tables[Side.BOB]
    for side in Side:
        for table in linkage.tables[side].values():
            assert table["identifier"].null_count() == 0
            assert set(table["identifier"]) <= set(made.files[side][NAMED[side]])
    assert linkage.tables[Side.ALICE]["pairs"].filter("linked").height == len(linkage.links)


def test_the_estimate_is_beside_the_claim(made: Made) -> None:
    truth = [dict(made.files[side].select(NAMED[side], TRUTH).rows()) for side in Side]
    for linkage in (made.open, made.keyed):
        (found,) = linkage.statistics["linkage"]["quality"]
        assert (found["method"], found["observations"]) == ("decoys", 2 * DECOYS)
        right = sum(truth[0][a] == truth[1][b] for a, b in linkage.links)
        # In so small a file half of the decoys have kin in the other one, and the interval may lie below the truth; how
        # often it holds: `python -m benchmarks claimed`.
        interval = found["precision"]
        assert 0 <= interval["lower"] < interval["upper"] <= 1
        assert interval["upper"] > right / len(linkage.links) - 0.15
        assert interval["lower"] <= right / len(linkage.links)


@pytest.mark.long  # of a run without services: tests/carole/engine/test_decoys.py
def test_every_block_on_the_wire_has_a_power_of_two_of_rows(made: Made) -> None:
    plain, padded = made.unpadded, made.padded
    for side in Side:
        assert padded.layouts[side].records == N
        rows = 0
        for before, after in zip(plain.sets[side][:-1], padded.sets[side][:-1], strict=True):
            _, true = np.unique(before.blocks[before.rule], return_counts=True)
            _, sizes = np.unique(after.blocks[after.rule], return_counts=True)
            assert sorted(sizes) == sorted(1 << (int(n) - 1).bit_length() for n in true)
            rows += after.n_rows - before.n_rows
        assert rows > N / 6
        assert padded.layouts[side].sets[-1].rows == sample_rows(N)


@pytest.mark.long  # of a run without services: tests/carole/engine/test_decoys.py
def test_the_links_are_those_without_padding(made: Made) -> None:
    plain, padded = made.unpadded, made.padded
    assert len(plain.links) > 0.9 * COMMON
    assert len(plain.links ^ padded.links) <= 4
    assert padded.statistics["linkage"]["links"] == len(padded.links)
    assert padded.statistics["linkage"]["pairs"] == N * N
    assert list(padded.shown_links.values()) == [len(padded.links)] * 2


@pytest.mark.long  # of a run without dummies: tests/e2e/test_block_keyed.py
def test_what_the_resolver_receives_of_dummies_is_sealed(made: Made) -> None:
    kind = resolution_pb2.RUN_ARTIFACT_HANDLES
    handles = [artifact for artifact in made.padded.artifacts if artifact.artifact == kind]
    assert len(handles) == 2
    assert all(artifact.chunk.data.startswith(b"gemel sealed 1\n") for artifact in handles)
