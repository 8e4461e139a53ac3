"""A share is believed only when it is of the agreed form, bounded, and about rows that were uploaded."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.derivation import Seed
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.common.specification.model.granted_variables import Transfer, VariableGrant
from gemel.custodian.encoding.categories import Relabelling
from gemel.custodian.steps.own_share import OwnShare
from gemel.custodian.steps.requested_rows import check_resolved
from gemel.custodian.steps.result_fetch import labelled
from gemel.custodian.steps.share import Share, coarsened_variables, coarsening_table, identified, read_share, safe_name
from gemel.custodian.steps.variable_sending import granted_values
from gemel.records.sources import CsvSource, Source
from tests.carole.refusals import refusal
from tests.common.specification.test_block_keyed import TEXT
from tests.custodian.conftest import packed
from tests.specifications import heading


def links(rows: list[int], **changed: object) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "row": pl.Series(rows, dtype=pl.UInt32),
            "link_id": [f"{number:016x}" for number in range(len(rows), 0, -1)],
            "link_probability": [0.8] * len(rows),
            **changed,
        }
    )


OWN = pl.Series(["x", "y", "z"])


def read(tmp_path: Path, content: bytes, n_rows: int = 3) -> Share:
    (tmp_path / "share.zip").write_bytes(content)
    return read_share(tmp_path / "share.zip", n_rows)


def refused(tmp_path: Path, content: bytes) -> str:
    with refusal(ErrorCode.SEALED) as caught:
        read(tmp_path, content)
    return caught.value.got


def test_links_pairs_and_statistics_are_read(tmp_path: Path) -> None:
    pairs = links([0, 2, 2]).rename({"link_id": "pair_id"}).with_columns(linked=pl.Series([True, False, True]))
    share = read(tmp_path, packed({"links": links([2, 0]), "pairs": pairs, "statistics.json": b'{"model": 1}'}))
    assert share.statistics == {"model": 1}
    found = identified(share.tables["links"], OWN)
    assert found.columns == ["identifier", "link_id", "link_probability"]
    assert found.select("identifier", "link_id").rows() == [("x", "0" * 15 + "1"), ("z", "0" * 15 + "2")]
    assert identified(share.tables["pairs"], OWN).columns[-1] == "linked"
    assert read(tmp_path, packed({}), 0).tables == {}, "statistics alone"


def test_a_joint_distribution_is_read_where_there_is_one(tmp_path: Path) -> None:
    assert read(tmp_path, packed({"joint.json": b'{"variables": []}'})).joint == {"variables": []}
    assert read(tmp_path, packed({})).joint is None
    assert "joint distribution that is not an object" in refused(tmp_path, packed({"joint.json": b"[]"}))


@pytest.mark.parametrize(
    "table",
    [
        links([3]),
        links([0]).with_columns(link_id=pl.lit("not hexadecimal!")),
        links([0]).with_columns(link_probability=pl.lit(float("nan"))),
        links([0]).with_columns(link_probability=pl.lit(1.5)),
        links([0]).with_columns(link_probability=pl.lit(None, dtype=pl.Float64)),
        links([0]).with_columns(pl.col("row").cast(pl.Int64)),
        links([0]).drop("link_probability"),
        links([0]).with_columns(match_weight=pl.lit(7.5)),
        links([0]).with_columns(name=pl.lit("Smith")),
    ],
    ids=["row", "id", "nan", "above one", "null", "type", "column missing", "weight", "column more"],
)
def test_a_table_that_is_not_as_agreed_is_refused(tmp_path: Path, table: pl.DataFrame) -> None:
    refused(tmp_path, packed({"links": table}))


def test_other_files_compression_and_bombs_are_refused(tmp_path: Path) -> None:
    assert "other files" in refused(tmp_path, packed({"links": links([0]), "statistics.json": None}))
    assert "other files" in refused(tmp_path, packed({"../evil": b""}))
    bomb = packed({"links.parquet": bytes(1 << 22)}, zipfile.ZIP_DEFLATED)
    assert "compressed" in refused(tmp_path, bomb)
    many = links([0]).select(pl.all().repeat_by(50_000).explode())
    assert "50000 links of 3 rows" in refused(tmp_path, packed({"links": many}))


@pytest.mark.parametrize("statistics", [b"[]", b"not JSON", b"[" * 100_000, b"\xff"])
def test_statistics_that_are_no_object_are_refused(tmp_path: Path, statistics: bytes) -> None:
    refused(tmp_path, packed({"statistics.json": statistics}))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_share_never_gets_through_as_something_else(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(packed({"links": links([0, 1, 2])}))
    cut = data.draw(st.integers(0, len(content)))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        share = read(tmp_path, bytes(content[: cut or len(content)]))
    except GemelError as error:
        assert error.code is ErrorCode.SEALED  # noqa: PT017
    else:
        assert set(share.tables) <= {"links"}
        assert all(row < 3 for row in share.tables.get("links", links([])).get_column("row"))


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "x" * 65, "a\n"])
def test_a_run_that_can_be_no_folder_is_refused(name: str) -> None:
    with pytest.raises(GemelError):
        safe_name(name)
    assert safe_name("0" * 32) == "0" * 32


def test_copies_are_read_and_identified(tmp_path: Path) -> None:
    copies = pl.DataFrame({"row": pl.Series([0, 2], dtype=pl.UInt32), "copy_id": ["00000000000000aa"] * 2})
    table = identified(read(tmp_path, packed({"copies": copies})).tables["copies"], OWN)
    assert table.to_dicts() == [{"identifier": own, "copy_id": "00000000000000aa"} for own in ("x", "z")]
    elsewhere = copies.with_columns(row=pl.Series([0, 3], dtype=pl.UInt32))
    assert "not uploaded" in refused(tmp_path, packed({"copies": elsewhere}))


def test_drawn_linkages_are_read_in_the_order_of_their_draws(tmp_path: Path) -> None:
    draws = pl.DataFrame(
        {
            "row": pl.Series([2, 0, 2], dtype=pl.UInt32),
            "pair_id": [f"{number:016x}" for number in (3, 2, 1)],
            "draw": pl.Series([0, 1, 1], dtype=pl.UInt32),
            "link_probability": [0.9, 0.5, 0.5],
        }
    )
    found = identified(read(tmp_path, packed({"draws": draws})).tables["draws"], OWN)
    assert found.columns == ["identifier", "pair_id", "draw", "link_probability"]
    assert found.select("identifier", "draw").rows() == [("z", 0), ("z", 1), ("x", 1)]
    for wrong in (draws.drop("draw"), draws.with_columns(link_probability=pl.lit(float("nan")))):
        refused(tmp_path, packed({"draws": wrong}))


# What a custodian refuses of a resolver's links: it alone knows which of its rows are one record.

SPEC = load_specification(f"{TEXT}links: {{threshold: 0.5}}\n")
NAMES = pl.Series(["x", "y", "x", None], dtype=pl.String)
"""Rows 0 and 2, of different rules, are one record; row 3 is a dummy."""


def resolved_links(*rows: int, probability: float = 0.9) -> pl.DataFrame:
    return links(list(rows), link_probability=[probability] * len(rows))


def counted(number: int) -> Share:
    return Share({}, {"linkage": {"links": number}})


def test_links_as_counted_of_different_records_are_accepted() -> None:
    check_resolved({"links": resolved_links(1, 2)}, counted(2), SPEC, Side.ALICE, NAMES)


@pytest.mark.parametrize(
    ("tables", "number", "why"),
    [
        ({"links": resolved_links(0, 1)}, 3, "2 links where the statistics count 3"),
        ({"links": resolved_links(0, 2)}, 2, "two links of one record"),
        ({"links": resolved_links(1, 3)}, 2, "links of a dummy or a decoy"),
        ({"links": resolved_links(1, probability=0.3)}, 1, "less probable than the threshold"),
        (
            {"links": resolved_links(1), "draws": resolved_links(0, 2).with_columns(draw=pl.lit(0, dtype=pl.UInt32))},
            1,
            "two links of one record in a drawn linkage",
        ),
    ],
)
def test_links_that_cannot_be_of_the_agreed_plan_are_refused(
    tables: dict[str, pl.DataFrame], number: int, why: str
) -> None:
    with refusal(ErrorCode.SEALED, why):
        check_resolved(tables, counted(number), SPEC, Side.ALICE, NAMES)


# What a result says of coarsened variables is believed only as far as the approved specification allows it.

COARSENED_SPEC = load_specification(
    heading("p")
    + """
fields:
  - {name: surname, kind: name}
variables:
  - {name: home, holder: bob, categories: [City, suburb, rural], role: key}
  - {name: work, holder: alice, categories: [none, some], role: key}
assessment:
  fractions: {alice: 0.1, bob: 0.1, combined: 0.05}
  limits: {correct_matches: 0.1}
  protect:
    home: [{name: wide, groups: {town: [city, suburb], country: [rural]}}, drop]
    work: [drop]
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
""",
    "p",
)
KEYS = Seed(bytes(range(32))), bytes(32), 1


def stated(*changes: tuple[str, str]) -> dict[str, Any]:
    return {"coarsened": [{"variable": name, "coarsening": step} for name, step in changes]}


def test_every_category_is_listed_with_what_it_is_released_as() -> None:
    steps = coarsened_variables(stated(("home", "wide"), ("work", "drop")), COARSENED_SPEC)
    assert coarsening_table(steps, COARSENED_SPEC).rows() == [
        ("home", "City", "town"),
        ("home", "suburb", "town"),
        ("home", "rural", "country"),
        ("work", "none", None),
        ("work", "some", None),
    ]
    assert coarsened_variables({"model": {}}, COARSENED_SPEC) == {}


@pytest.mark.parametrize(
    "statistics",
    [
        stated(("home", "wider")),
        stated(("work", "wide")),
        stated(("age", "drop")),
        stated(("home", "wide"), ("home", "drop")),
        {"coarsened": "home"},
        {"coarsened": ["home"]},
        {"coarsened": [{"variable": ["home"], "coarsening": "drop"}]},
    ],
)
def test_another_coarsening_than_was_approved_is_refused(statistics: dict[str, Any]) -> None:
    with refusal(ErrorCode.SEALED, "the approved specification does not allow"):
        coarsened_variables(statistics, COARSENED_SPEC)


def test_a_coarsened_joint_distribution_has_the_groups_as_labels() -> None:
    steps = coarsened_variables(stated(("home", "wide")), COARSENED_SPEC)
    document = {"variables": [{"name": "home", "levels": 2, "coded": True, "holder": "bob"}]}
    (home,) = labelled(document, COARSENED_SPEC, *KEYS, steps)["variables"]
    fine = Relabelling("p", *KEYS).labels(COARSENED_SPEC.variable("home"), COARSENED_SPEC.coarsenings("home"))
    # The two codes of the town are neighbours: its group comes first exactly where a category of it does.
    assert home["labels"][0] == ("town" if fine[0] != "rural" else "country")
    assert set(home["labels"]) == {"town", "country"}
    for levels, wrong in ((3, steps), (2, {}), (2, coarsened_variables(stated(("home", "drop")), COARSENED_SPEC))):
        with pytest.raises(GemelError, match="does not fit this specification"):
            labelled({"variables": [{**document["variables"][0], "levels": levels}]}, COARSENED_SPEC, *KEYS, wrong)


def test_granted_columns_are_sent_as_the_result_was_released(tmp_path: Path) -> None:
    (tmp_path / "bob.csv").write_text("id,home,age\n1,City,40\n2,rural,\n3,SUBURB ,60\n4,n/a,70\n")
    grants = {"variables": (VariableGrant(to="alice", bob=("home", "age")),)}
    spec = COARSENED_SPEC.model_copy(update={"release": COARSENED_SPEC.release.model_copy(update=grants)})
    ids = pl.DataFrame({"identifier": ["2", "1", "3", "4"], "id": ["b", "a", "c", "d"]})
    source = Source(csv=CsvSource(path=tmp_path / "bob.csv"))

    def sent(statistics: dict[str, Any]) -> list[tuple[str, ...]]:
        own = OwnShare(b"", Share({}, statistics), {})
        found = granted_values(source, spec, own, Transfer(Side.BOB, "alice"), "id", ids)
        return found.select("id", "home", "age").rows()

    assert sent({}) == [("b", "rural", None), ("a", "City", "40"), ("c", "SUBURB", "60"), ("d", "n/a", "70")]
    wide = sent(stated(("home", "wide"), ("work", "drop")))
    assert wide == [("b", "country", None), ("a", "town", "40"), ("c", "town", "60"), ("d", None, "70")]
    assert [row[1] for row in sent(stated(("home", "drop")))] == [None] * 4


# A joint distribution in codes, with the labels put in by whoever has the seed.

JOINT_SPEC = load_specification(
    heading("p")
    + """
fields: [{name: surname, kind: name}]
variables: [{name: home, holder: bob, categories: [city, suburb, rural]}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
CODED = {"name": "home", "levels": 3, "coded": True, "holder": "bob"}
OTHER = {"name": "surname", "levels": 40, "coded": False, "holder": "both"}


def test_each_code_gets_its_category_and_nothing_else_changes():
    document = {"variables": [CODED, OTHER], "records": 3.5, "cliques": [[1]]}
    named = labelled(document, JOINT_SPEC, *KEYS)
    codes = Relabelling("p", *KEYS).codes(JOINT_SPEC.variable("home"))
    assert [named["variables"][0]["labels"][code] for code in codes] == ["city", "suburb", "rural"]
    assert named["variables"][1] == OTHER
    assert {**named, "variables": None} == {**document, "variables": None}
    assert "labels" not in CODED


@pytest.mark.parametrize(
    "variables", [None, ["x"], [{**CODED, "name": "age"}], [{**CODED, "levels": 4}], [{"coded": True}]]
)
def test_other_variables_are_refused(variables: Any):
    with pytest.raises(GemelError, match="does not fit this specification"):
        labelled({"variables": variables}, JOINT_SPEC, *KEYS)


def test_labels_that_carole_put_in_are_not_believed():
    named = labelled({"variables": [{**OTHER, "labels": ["x"]}]}, JOINT_SPEC, *KEYS)
    assert named["variables"] == [OTHER]
