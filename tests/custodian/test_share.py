"""A share is believed only when it is of the agreed form, bounded, and about rows that were uploaded."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.custodian.steps.share import identified, read_share, safe_name


def links(rows: list[int], **changed: object) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "row": pl.Series(rows, dtype=pl.UInt32),
            "link_id": [f"{number:016x}" for number in range(len(rows), 0, -1)],
            "link_probability": [0.8] * len(rows),
            **changed,
        }
    )


def packed(files: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


STATISTICS = {"statistics.json": b"{}"}


def refused(tmp_path: Path, content: bytes, n_rows: int = 3) -> str:
    path = tmp_path / "share.zip"
    path.write_bytes(content)
    with pytest.raises(GemelError) as caught:
        read_share(path, n_rows)
    assert caught.value.code is ErrorCode.SEALED
    return caught.value.got


def test_links_pairs_and_statistics_are_read(tmp_path: Path) -> None:
    path = tmp_path / "share.zip"
    pairs = links([0, 2, 2]).rename({"link_id": "pair_id"}).with_columns(linked=pl.Series([True, False, True]))
    path.write_bytes(
        packed(
            {
                "links.parquet": parquet(links([2, 0])),
                "pairs.parquet": parquet(pairs),
                "statistics.json": json.dumps({"model": 1}).encode(),
            }
        )
    )
    share = read_share(path, 3)
    assert share.statistics == {"model": 1}
    assert share.tables["links"].height == 2
    own = pl.Series(["x", "y", "z"])
    found = identified(share.tables["links"], own)
    assert found.columns == ["identifier", "link_id", "link_probability"]
    assert found.select("identifier", "link_id").rows() == [("x", "0" * 15 + "1"), ("z", "0" * 15 + "2")]
    assert identified(share.tables["pairs"], own).columns[-1] == "linked"


def test_a_joint_distribution_is_read_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "share.zip"
    path.write_bytes(packed({**STATISTICS, "joint.json": b'{"variables": []}'}))
    assert read_share(path, 3).joint == {"variables": []}
    path.write_bytes(packed(STATISTICS))
    assert read_share(path, 3).joint is None
    assert "joint distribution that is not an object" in refused(tmp_path, packed({**STATISTICS, "joint.json": b"[]"}))


def test_statistics_alone(tmp_path: Path) -> None:
    path = tmp_path / "share.zip"
    path.write_bytes(packed(STATISTICS))
    share = read_share(path, 0)
    assert share.tables == {}


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
    refused(tmp_path, packed({**STATISTICS, "links.parquet": parquet(table)}))


def test_other_files_compression_and_bombs_are_refused(tmp_path: Path) -> None:
    good = parquet(links([0]))
    assert "other files" in refused(tmp_path, packed({"links.parquet": good}))
    assert "other files" in refused(tmp_path, packed({**STATISTICS, "../evil": b""}))
    bomb = packed({**STATISTICS, "links.parquet": bytes(1 << 22)}, zipfile.ZIP_DEFLATED)
    assert "compressed" in refused(tmp_path, bomb)
    many = links([0]).select(pl.all().repeat_by(50_000).explode())
    assert "50000 links of 3 rows" in refused(tmp_path, packed({**STATISTICS, "links.parquet": parquet(many)}))


@pytest.mark.parametrize("statistics", [b"[]", b"not JSON", b"[" * 100_000, b"\xff"])
def test_statistics_that_are_no_object_are_refused(tmp_path: Path, statistics: bytes) -> None:
    refused(tmp_path, packed({"statistics.json": statistics}))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_share_never_gets_through_as_something_else(tmp_path: Path, data: st.DataObject) -> None:
    good = packed({**STATISTICS, "links.parquet": parquet(links([0, 1, 2]))})
    path = tmp_path / "share.zip"
    cut = data.draw(st.integers(0, len(good)))
    randomised_response = data.draw(st.integers(0, len(good) - 1))
    content = bytearray(good)
    content[randomised_response] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(content[: cut or len(good)]))
    try:
        share = read_share(path, 3)
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
    path = tmp_path / "share.zip"
    path.write_bytes(packed({**STATISTICS, "copies.parquet": parquet(copies)}))
    table = identified(read_share(path, 3).tables["copies"], pl.Series(["x", "y", "z"]))
    assert table.to_dicts() == [{"identifier": own, "copy_id": "00000000000000aa"} for own in ("x", "z")]
    elsewhere = copies.with_columns(row=pl.Series([0, 3], dtype=pl.UInt32))
    assert "not uploaded" in refused(tmp_path, packed({**STATISTICS, "copies.parquet": parquet(elsewhere)}))


def test_drawn_linkages_are_read_in_the_order_of_their_draws(tmp_path: Path) -> None:
    path = tmp_path / "share.zip"
    draws = pl.DataFrame(
        {
            "row": pl.Series([2, 0, 2], dtype=pl.UInt32),
            "pair_id": [f"{number:016x}" for number in (3, 2, 1)],
            "draw": pl.Series([0, 1, 1], dtype=pl.UInt32),
            "link_probability": [0.9, 0.5, 0.5],
        }
    )
    path.write_bytes(packed({**STATISTICS, "draws.parquet": parquet(draws)}))
    found = identified(read_share(path, 3).tables["draws"], pl.Series(["x", "y", "z"]))
    assert found.columns == ["identifier", "pair_id", "draw", "link_probability"]
    assert found.select("identifier", "draw").rows() == [("z", 0), ("z", 1), ("x", 1)]
    for wrong in (draws.drop("draw"), draws.with_columns(link_probability=pl.lit(float("nan")))):
        refused(tmp_path, packed({**STATISTICS, "draws.parquet": parquet(wrong)}))
