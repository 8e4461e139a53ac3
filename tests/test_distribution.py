"""The order in which a parallel run takes the files: nothing lost, nothing torn apart, no folder that is not there."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path

import pytest

pytest.importorskip("xdist")

from tests.distribution import FIRST, TOGETHER, arranged, file_of, rank  # after what it needs

ROOT = Path(__file__).resolve().parents[1]


def test_what_is_named_is_there() -> None:
    assert [folder for folder in FIRST if not (ROOT / folder).is_dir()] == []
    assert [file for file in (*TOGETHER, *TOGETHER.values()) if not (ROOT / file).is_file()] == []


def test_every_file_stays_whole_and_keeps_its_order() -> None:
    files = [*TOGETHER, *TOGETHER.values(), "tests/risk/test_a.py", *(f"{folder}/test_a.py" for folder in FIRST)]
    random.Random(1).shuffle(files)
    nodeids = [f"{file}::test_{number}" for file in files for number in range(3)]
    found = [nodeids[place] for place in arranged(nodeids)]
    assert sorted(found) == sorted(nodeids)
    ranks = [rank(nodeid) for nodeid in found]
    assert ranks == sorted(ranks)
    taken = [file for file, _ in groupby(found, file_of)]
    assert len(taken) == len(set(taken)) == len(files) - len(TOGETHER)
    for file in files:
        own = [nodeid for nodeid in found if nodeid.startswith(f"{file}::")]
        assert own == [f"{file}::test_{number}" for number in range(3)]
