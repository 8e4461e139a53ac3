"""Padded blocks through real services: what went over the wire, and the links that come out.

Carole and her worker are processes; both custodians are services in this process, so that their messages can be kept.
The same files are linked twice, with and without padding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.signatures.layout import sample_rows
from gemel.coordinator.demonstration.people import IDENTIFIER
from gemel.protos.linkage.v1 import resolution_pb2
from tests.e2e.deployment import BOBS_NAMES, Deployment, people, specification
from tests.e2e.recording import Recorded, recorded_linkage
from tests.e2e.test_block_keyed import BLOCKING

N, COMMON = 300, 150
WIDE = BLOCKING.replace("keys: [{field: born}]", "keys: [{field: born, part: year}]")
"""With blocks of several rows, as have dummies."""
PLAIN = specification("unpadded", bits=512, more=WIDE, mode="block_keyed")
PADDED = specification("padded", bits=512, more=f"{WIDE}padding: powers_of_two\n", mode="block_keyed")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[Side, pl.DataFrame], Recorded, Recorded]]:
    files = people(N, COMMON, seed=5)
    deployment = Deployment(tmp_path_factory.mktemp("padding"), [PLAIN, PADDED], files)
    try:
        deployment.processes("carole")
        for side in Side:
            deployment.start(side)
        yield files, recorded_linkage(deployment, PLAIN), recorded_linkage(deployment, PADDED)
    finally:
        deployment.close()


def test_every_block_on_the_wire_has_a_power_of_two_of_rows(made: tuple[Any, Recorded, Recorded]) -> None:
    _, plain, padded = made
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


def test_the_links_are_those_without_padding(made: tuple[Any, Recorded, Recorded]) -> None:
    _, plain, padded = made
    assert len(plain.links) > 0.9 * COMMON
    assert len(plain.links ^ padded.links) <= 4
    assert padded.statistics["linkage"]["links"] == len(padded.links)
    assert padded.statistics["linkage"]["pairs"] == N * N
    assert list(padded.shown_links.values()) == [len(padded.links)] * 2


def test_no_dummy_is_in_any_result(made: tuple[dict[Side, pl.DataFrame], Recorded, Recorded]) -> None:
    files, _, padded = made
    assert "pairs" in padded.tables[Side.ALICE]
    named = {Side.ALICE: IDENTIFIER, Side.BOB: BOBS_NAMES[IDENTIFIER]}
    for side in Side:
        for table in padded.tables[side].values():
            assert table["identifier"].null_count() == 0
            assert set(table["identifier"]) <= set(files[side][named[side]])
    pairs = padded.tables[Side.ALICE]["pairs"]
    assert pairs.filter("linked").height == len(padded.links)


def test_what_the_resolver_receives_of_dummies_is_sealed(made: tuple[Any, Recorded, Recorded]) -> None:
    _, _, padded = made
    handles = [artifact for artifact in padded.artifacts if artifact.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES]
    assert len(handles) == 2
    assert all(artifact.chunk.data.startswith(b"gemel sealed 1\n") for artifact in handles)
