"""Keyed codes of categories: a permutation for each variable, seed and project, the same at both custodians."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import layout_of
from gemel.common.specification import Specification, VariableSpec, encoding_digest
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.steps.seed_agreement import canary

SEED = Seed(bytes(range(32)))
DIGEST = bytes(range(32, 64))


def variable(n: int = 5, name: str = "driving") -> VariableSpec:
    return VariableSpec.model_validate({"name": name, "holder": "both", "categories": [f"c{i}" for i in range(n)]})


SPEC = Specification.model_validate(
    {
        "version": 1,
        "project": "p",
        "mode": "open",
        "custodians": {"alice": {"identifier": "id"}, "bob": {"identifier": "id"}},
        "fields": [{"name": "surname", "kind": "name", "bits": 64}],
        "variables": [
            {"name": "driving", "holder": "alice", "categories": ["good", "fair", "poor"]},
            {"name": "home", "holder": "bob", "categories": ["city", "rural"]},
        ],
        "retention": {"uploads_days": 1, "results_days": 1, "maps_days": 1},
    }
)
FRAME = pl.DataFrame({"surname": ["ann", "bo", "cy"], "driving": ["good", "poor", None]})


@given(st.integers(2, 60), st.binary(min_size=32, max_size=32).filter(lambda b: len(set(b)) > 1))
def test_codes_are_a_permutation_that_labels_undo(n: int, seed: bytes):
    codes = Relabelling("p", Seed(seed), DIGEST, 1).codes(variable(n))
    assert sorted(codes.tolist()) == list(range(n))
    labels = Relabelling("p", Seed(seed), DIGEST, 1).labels(variable(n))
    assert [labels[code] for code in codes] == list(variable(n).categories)


def test_nothing_has_changed():
    """Golden: HKDF, BLAKE2b and ranks. Other codes would make custodians of two versions disagree on every category."""
    assert Relabelling("p", SEED, DIGEST, 1).codes(variable()).tolist() == [3, 2, 4, 0, 1]


def test_anything_that_differs_gives_another_permutation():
    plain = Relabelling("p", SEED, DIGEST, 1)
    other_seed = Seed(bytes(range(1, 33)))
    others = [
        replace(plain, **part) for part in ({"project": "q"}, {"seed": other_seed}, {"digest": bytes(32)}, {"epoch": 2})
    ]
    first = plain.codes(variable(12)).tolist()
    assert all(other.codes(variable(12)).tolist() != first for other in others)
    assert plain.codes(variable(12, "home")).tolist() != first


def test_all_permutations_are_as_likely():
    """Chi-square of the 6 permutations of 3 over 3,000 fixed seeds: 5 degrees of freedom, .999 point 20.5."""
    counts = Counter(
        tuple(Relabelling("p", Seed(i.to_bytes(32, "big")), DIGEST, 1).codes(variable(3)).tolist())
        for i in range(1, 3001)
    )
    assert len(counts) == 6
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 20.5


def test_rows_are_coded_and_missing_stays_missing():
    places = pl.Series([4, None, 0], dtype=pl.Int32)
    codes = Relabelling("p", SEED, DIGEST, 1).coded(places, variable())
    relabelled = Relabelling("p", SEED, DIGEST, 1).codes(variable())
    assert codes.codes.tolist() == [relabelled[4], -1, relabelled[0]]
    assert (codes.codes.dtype, codes.categories) == (np.int16, 5)


def test_they_are_part_of_a_contribution_in_the_order_of_its_rows():
    cleaned = clean(FRAME, SPEC, Side.ALICE)
    made = encode_records(cleaned.columns, SPEC, SEED, 1, variables=cleaned.variables)
    part, order = made.sets[0], made.order
    part.validate()
    labels = Relabelling.of(SPEC, SEED, 1).labels(SPEC.variable("driving"))
    decoded = [None if code < 0 else labels[code] for code in part.variables["driving"].codes]
    assert decoded == [FRAME["driving"][int(row)] for row in order]
    (back,) = from_bytes(layout_of([part]), b"".join(to_bytes([part])))
    assert back.variables["driving"].codes.tolist() == part.variables["driving"].codes.tolist()


@pytest.mark.parametrize("given_variables", [{}, {"home": pl.Series([0], dtype=pl.Int32)}])
def test_the_variables_must_be_those_of_one_custodian(given_variables: dict[str, pl.Series]):
    columns = clean(FRAME, SPEC, Side.ALICE).columns
    with pytest.raises(GemelError):
        encode_records(columns, SPEC, SEED, 1, variables=given_variables)


def test_the_canary_covers_the_relabelling_whoever_holds_a_variable(monkeypatch: pytest.MonkeyPatch):
    digests = {canary(SPEC, encoding_digest(SPEC), side, SEED, 1) for side in Side}
    assert len(digests) == 1
    monkeypatch.setattr(Relabelling, "codes", lambda *args: file_order(2))
    assert canary(SPEC, encoding_digest(SPEC), Side.ALICE, SEED, 1) not in digests
