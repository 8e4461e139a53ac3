"""Sets of training records and of a known joint distribution: the files' own codes, in an order of the codes alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import JOINT, TRAINING, known_layouts
from gemel.common.signatures.payload import from_bytes, to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import Specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.categories import Relabelling, known_set
from gemel.custodian.encoding.expected_layout import expected_layout, file_counts
from gemel.custodian.encoding.records import encode_records
from tests.custodian.encoding.test_categories import FRAME, SEED, SPEC

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
    with pytest.raises(GemelError, match="counts must be finite and not negative") as raised:
        from_bytes(layout_of([WHOLE, bad]), b"".join(to_bytes([WHOLE, bad])))
    assert raised.value.code is ErrorCode.UPLOAD_CORRUPT
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
