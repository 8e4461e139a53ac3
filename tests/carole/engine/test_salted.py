"""Rules that Carole forms from the signatures of a salted field find pairs of one salt, and all of those."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine import Resources, link
from gemel.carole.engine.run.specified import plan_of
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.coordinator.demonstration.people import two_files
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from tests.specifications import heading

TEXT = (
    heading("salted", alice="record_id", bob="record_id")
    + """
fields:
  - {name: surname, kind: name, salt: {field: date_of_birth, part: year}}
  - {name: given_name, kind: name}
  - {name: date_of_birth, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
blocking:
  - {name: alike, RULE}
links: {assignment: none, threshold: 0.5}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


@pytest.mark.parametrize("rule", ["lsh: {field: surname}", "similar: {field: surname}", "canopies: {field: surname}"])
def test_a_rule_of_signatures_works_within_a_salt(rule: str) -> None:
    spec = load_specification(TEXT.replace("RULE", rule))
    files = two_files(400, 400, 200, 0.2, np.random.default_rng(3))
    columns = [clean(frame, spec, side).columns for side, frame in zip(Side, files, strict=True)]
    seed = Seed(bytes(range(32)))
    a, b = (encode_records(each, spec, seed, 1, shuffle=file_order).sets[0] for each in columns)
    linkage = link(a, b, plan_of(spec), Resources(memory_bytes=1 << 30, threads=2), lambda stage, done: None)
    linked = {(int(linkage.pairs.row_a[k]), int(linkage.pairs.row_b[k])) for k in linkage.links}
    surname, year = (
        [pl.Series(each[name]).str.head(4 if name == "date_of_birth" else 64).to_list() for each in columns]
        for name in ("surname", "date_of_birth")
    )
    assert linked
    assert all(year[0][i] == year[1][j] for i, j in linked), "nothing is found across salts"
    persons = [frame["person_id"].to_list() for frame in files]
    found = {(i, j) for i in range(400) for j in range(400) if persons[0][i] == persons[1][j]}
    same = {(i, j) for i, j in found if surname[0][i] and surname[0][i] == surname[1][j] and year[0][i] == year[1][j]}
    assert len(same) > 100
    assert len(linked & same) > 0.95 * len(same)
