"""Unit risk: against every outcome of identifying members, units as records, the command on units."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gemel.common.errors import GemelError
from gemel.risk.commands.disclosure import app
from gemel.risk.identification.assessment.beside_keys import BesideKeys
from gemel.risk.identification.individual_risk import (
    Units,
    expected_reciprocal_of_sampled,
    individual_risk,
    unit_risk_document,
)
from gemel.risk.identification.key_file import KeyFile


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), min_size=1, max_size=8))
def test_any_member_against_every_outcome(members):
    units = Units.of([h for h, _ in members])
    found = units.any_member(np.array([r for _, r in members]))
    names = list(dict.fromkeys(h for h, _ in members))
    expected = dict.fromkeys(names, 0.0)
    for outcome in product((False, True), repeat=len(members)):
        chance = np.prod([r if hit else 1 - r for (_, r), hit in zip(members, outcome, strict=True)])
        for name in names:
            if any(hit and h == name for (h, _), hit in zip(members, outcome, strict=True)):
                expected[name] += chance
    assert found.tolist() == pytest.approx([expected[n] for n in names], abs=1e-12)


RECORDS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("xyz"), st.sampled_from("fm")), min_size=1, max_size=20)


@given(RECORDS)
def test_units_as_records_against_their_definition(rows):
    file = KeyFile.from_columns({"a": [r[1] for r in rows], "s": [r[2] for r in rows]}, 0.1)
    weights = np.arange(2.0, len(rows) + 2)
    found = unit_risk_document(file, [r[0] for r in rows], weights, {})
    members: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        members.setdefault(row[0], []).append(i)
    kinds = {h: tuple(sorted(rows[i][1:] for i in own)) for h, own in members.items()}
    heavy = {h: float(np.mean(weights[own])) for h, own in members.items()}
    number = Counter(kinds.values())
    risks = {}
    for h, kind in kinds.items():
        people = sum(heavy[o] for o in members if kinds[o] == kind)
        risks[h] = expected_reciprocal_of_sampled([number[kind]], [number[kind] / people])[0]
    own = found["by_composition"]
    assert own["expected_units"] == pytest.approx(sum(risks.values()))
    assert own["expected_people"] == pytest.approx(sum(len(members[h]) * r for h, r in risks.items()))
    assert own["uniques"] == sum(n == 1 for n in number.values())
    assert found["units"] == len(members)
    single = individual_risk(file, weights).records
    plain = [1 - np.prod(1 - single[own]) for own in members.values()]
    assert found["any_member"]["expected_units"] == pytest.approx(sum(plain))


def test_keys_of_units_must_be_those_of_all_members():
    units = Units.of(["1", "1", "2"])
    assert units.constant(np.array([3, 3, 5], dtype=np.int32), "region").tolist() == [3, 5]
    with pytest.raises(GemelError, match="same for all members") as caught:
        units.constant(np.array([3, 4, 5], dtype=np.int32), "region")
    assert "1 units whose members differ" in str(caught.value)
    with pytest.raises(GemelError, match="2 records without"):
        Units.of(["1", None, ""])


def test_the_command_on_units(tmp_path):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 80)
    rows = pl.DataFrame(
        {
            "house": np.repeat(np.arange(80), sizes),
            "hsize": np.repeat(sizes, sizes),
            "region": np.repeat(rng.integers(0, 3, 80), sizes),
            "age": rng.integers(0, 6, sizes.sum()),
            "w": np.repeat(rng.uniform(5, 50, 80), sizes),
        }
    )
    rows.write_csv(tmp_path / "r.csv")
    done = CliRunner().invoke(
        app,
        [
            "identify", str(tmp_path / "r.csv"), "--keys", "region,age", "--weights", "w", "--unit", "house",
            "--unit-keys", "region,hsize", "--json", str(tmp_path / "r.json"), "--out", str(tmp_path / "r.html"),
        ],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["file"]["fraction"] == pytest.approx(len(rows) / rows["w"].sum())
    assert found["file"]["fraction_from"] == "weights"
    own = found["unit_risk"]
    assert own["units"] == 80
    assert own["by_keys"]["keys"] == ["region", "hsize"]
    assert 0 < own["by_keys"]["expected_units"] < own["by_composition"]["expected_units"] < 80
    assert "from the weights" in done.output
    assert "unit, any member" in done.output
    assert "the unit&#39;s keys: region, hsize" in (tmp_path / "r.html").read_text()
    alone = CliRunner().invoke(
        app, ["identify", str(tmp_path / "r.csv"), "--keys", "age", "--fraction", "0.1", "--unit-keys", "region"]
    )
    assert "--unit" in str(alone.exception)


def test_units_are_taken_to_be_sampled_whole():
    file = KeyFile.from_columns({"a": list("xxyy")}, 0.1)
    with_units = BesideKeys(unit=["1", "1", "2", "3"]).with_units(file)
    assert with_units.units_of_cells.tolist() == [1, 2]  # the pair of one unit, and that of two
    assert BesideKeys().with_units(file) is file
