"""Keyed codes of categories: a permutation for each variable, seed and project, the same at both custodians."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.signatures.layout import JOINT, TRAINING, known_layouts
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import Specification, VariableSpec, encoding_digest
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.categories import Relabelling, known_set
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.expected_layout import expected_layout, file_counts
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.steps.seed_agreement import canary
from tests.carole.refusals import refusal
from tests.specifications import of_sections

SEED = Seed(bytes(range(32)))
DIGEST = bytes(range(32, 64))


def variable(n: int = 5, name: str = "driving") -> VariableSpec:
    return VariableSpec.model_validate({"name": name, "holder": "both", "categories": [f"c{i}" for i in range(n)]})


SPEC = of_sections(
    fields=[{"name": "surname", "kind": "name", "bits": 64}],
    variables=[
        {"name": "driving", "holder": "alice", "categories": ["good", "fair", "poor"]},
        {"name": "home", "holder": "bob", "categories": ["city", "rural"]},
    ],
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


# Sets of training records and of a known joint distribution: the files' own codes, in an order of the codes alone.

KNOWN = {"training": {"by": "alice", "sha256": "0" * 64, "records": 20}}
NAMED = Specification.model_validate({**SPEC.model_dump(), "latent": KNOWN})
PLACES = {"driving": pl.Series([0, 1, 2, None] * 5, dtype=pl.Int32), "home": pl.Series([1, None] * 10, dtype=pl.Int32)}
CELLS = {"driving": pl.Series([2, 0, 1], dtype=pl.Int32), "home": pl.Series([0, 0, 1], dtype=pl.Int32)}
COUNTS = np.array([1.5, 2.0, 0.0])
WHOLE = encode_records(
    clean(FRAME, SPEC, "alice").columns, NAMED, SEED, 1, variables=clean(FRAME, SPEC, "alice").variables
).sets[0]


def training(places: dict[str, pl.Series] = PLACES, counts: np.ndarray | None = None) -> SignatureSet:
    return known_set(places, counts, NAMED, SEED, 1)


def labels(part: SignatureSet, name: str) -> list[str | None]:
    words = Relabelling.of(NAMED, SEED, 1).labels(NAMED.variable(name))
    return [None if code < 0 else words[code] for code in part.variables[name].codes]


def test_codes_are_those_of_the_files_own_variables():
    """Of both custodians' variables, and as the records of their files have them."""
    found = training()
    assert (found.rule, found.n_rows, list(found.variables)) == (TRAINING, 20, ["driving", "home"])
    together = sorted(zip(labels(found, "driving"), labels(found, "home"), strict=True), key=str)
    given_rows = [("good", "rural"), ("fair", None), ("poor", "rural"), (None, None)] * 5
    assert together == sorted(given_rows, key=str)
    (own,) = [part for part in (WHOLE,) if part.variables]
    assert sorted(labels(own, "driving"), key=str) == sorted(["good", "poor", None], key=str)


def test_a_cell_keeps_its_count():
    found = training(CELLS, COUNTS)
    assert found.rule == JOINT
    by_cell = dict(
        zip(zip(labels(found, "driving"), labels(found, "home"), strict=True), found.counts.tolist(), strict=True)
    )
    assert by_cell == {("poor", "city"): 1.5, ("good", "city"): 2.0, ("fair", "rural"): 0.0}


@given(st.permutations(range(20)))
def test_nothing_of_the_order_of_the_file_is_sent(order: list[int]):
    other = {name: column[order] for name, column in PLACES.items()}
    assert b"".join(to_bytes([training(other)])) == b"".join(to_bytes([training()]))


def test_they_are_sent_and_read_behind_the_file():
    sets = (WHOLE, training(), training(CELLS, COUNTS))
    layout = layout_of(sets)
    payload = b"".join(to_bytes(sets))
    assert len(payload) == layout.total_bytes
    _, first, second = from_bytes(layout, payload)
    for name in PLACES:
        np.testing.assert_array_equal(first.variables[name].codes, sets[1].variables[name].codes)
    np.testing.assert_array_equal(second.counts, sets[2].counts)


@pytest.mark.parametrize("count", [-1.0, np.nan, np.inf])
def test_counts_that_are_none_are_refused_by_the_receiver(count: float):
    part = training(CELLS, COUNTS)
    bad = replace(part, counts=np.array([1.0, count, 1.0]))
    with refusal(ErrorCode.UPLOAD_CORRUPT, "counts must be finite and not negative"):
        from_bytes(layout_of([WHOLE, bad]), b"".join(to_bytes([WHOLE, bad])))
    nothing = replace(part, counts=np.zeros(3))
    with pytest.raises(GemelError, match="a finite sum above 0"):
        nothing.validate()
    with pytest.raises(GemelError, match="counts: an array"):
        replace(part, counts=None).validate()


def test_their_sizes_are_expected_of_the_custodian_that_has_the_file():
    (layout,) = known_layouts(NAMED, Side.ALICE)
    assert layout == training().layout
    assert known_layouts(NAMED, Side.BOB) == ()
    assert known_layouts(SPEC, Side.ALICE) == ()
    cleaned = clean(FRAME, NAMED, "alice")
    expected = expected_layout(file_counts(cleaned.columns, NAMED), NAMED, Side.ALICE)
    assert expected.total_bytes == layout_of((WHOLE, training())).total_bytes
