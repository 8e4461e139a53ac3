"""The combined output of entities: a person is one record of it, however many records each file has of him."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks._built_population import SMALL, specification
from gemel.carole.assessment.combined import Combined, combine
from gemel.carole.engine.run.result import ScoredPairs
from gemel.carole.fellegi_sunter.entities import Entities
from gemel.common.parties import Side
from gemel.common.signatures.signature_sets import SignatureSet, VariableCodes
from tests.carole.assessment.outputs import assessed

SPEC = specification(SMALL, (0.5, 0.5, 0.25))
PERSONS = np.array([0, 1, 1, 3, 4, 4]), np.array([0, 0, 2, 3])
LINKED = np.array([1, 0]), np.array([0, 2])
"""Alice's persons {1, 2} and {0} are Bob's {0, 1} and {2}; her {3} and {4, 5} are alone, and so is his {3}."""


def part(side: Side, n: int) -> SignatureSet:
    """A file whose codes are its rows' numbers, as far as the variables have categories."""
    codes = {
        v.name: VariableCodes(len(v.categories), (np.arange(n) % len(v.categories)).astype(np.int16))
        for v in SPEC.variables
        if v.held_by(side)
    }
    return SignatureSet("", n, {}, {}, codes)


@pytest.fixture(scope="module")
def combined() -> Combined:
    rows = np.array([2, 1, 2, 1, 0, 3]), np.array([1, 0, 0, 1, 2, 3])
    probability = np.array([0.9, 0.8, 0.7, 0.6, 0.95, 0.3])
    entities = Entities.of(PERSONS, LINKED)
    pairs = ScoredPairs(rows[0].astype(np.int32), rows[1].astype(np.int32), np.zeros(6, np.int32), probability,
                        probability, probability)  # fmt: skip
    linked = SimpleNamespace(pairs=pairs, links=np.arange(5), entities=entities)
    return combine(linked, part(Side.ALICE, 6), part(Side.BOB, 4), SPEC)


def test_the_most_probable_pair_stands_for_two_persons(combined: Combined) -> None:
    assert (len(combined.alice), len(combined.bob), combined.n_records) == (4, 3, 2)
    age, illness = combined.columns(["age", "illness"])
    shown = {
        (int(combined.alice[a, age]), int(combined.bob[b, illness]), float(p))
        for a, b, p in zip(combined.row_a, combined.row_b, combined.probability, strict=True)
    }
    assert shown == {(2, 1, 0.9), (0, 2, 0.95)}
    assert sorted(combined.pair_probability.tolist()) == [0.3, 0.9, 0.95]
    # A person without a pair is shown by his first record.
    assert sorted(combined.alice[:, age].tolist()) == [0, 2, 3, 4]


def test_it_can_be_assessed(combined: Combined) -> None:
    document = assessed(combined, SPEC).document
    assert document["records"] == 2
    assert document["measures"]["members_disclosed"]["value"] <= 1
