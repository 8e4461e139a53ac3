"""Own values beside own links: the right ones, nothing else, and nothing overwritten."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.records.sources import CsvSource, Source
from gemel.custodian.operator.own_check import attach


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "people.csv"
    path.write_text("rec_id,name,age,town\n7,Ann,young,north\n8,Bo,,south\n9,Cy,old,north\n")
    return Source(csv=CsvSource(path=path))


@pytest.fixture
def links(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    pl.DataFrame(
        {"identifier": ["9", "8"], "link_id": ["b" * 16, "a" * 16], "link_probability": [0.95, 0.85]}
    ).write_parquet(folder / "links.parquet")
    return folder


def test_values_of_the_linked_records_in_the_order_of_link_ids(source: Source, links: Path, tmp_path: Path) -> None:
    out = tmp_path / "attached.csv"
    assert attach(links, source, "rec_id", ["town", "age", "town"], out) == 2
    text = out.read_text().splitlines()
    assert text == ["link_id,link_probability,town,age", f"{'a' * 16},0.85,south,", f"{'b' * 16},0.95,north,old"]
    assert out.stat().st_mode & 0o777 == 0o600
    with_own = tmp_path / "attached.parquet"
    attach(links / "links.parquet", source, "rec_id", ["age"], with_own, keep_identifier=True)
    assert pl.read_parquet(with_own).columns == ["identifier", "link_id", "link_probability", "age"]


def test_a_source_that_has_lost_a_linked_record(source: Source, links: Path, tmp_path: Path) -> None:
    path = source.csv.path  # type: ignore[union-attr]
    path.write_text("rec_id,name,age,town\n7,Ann,young,north\n8,Bo,,south\n")
    with pytest.raises(GemelError) as caught:
        attach(links, source, "rec_id", ["age"], tmp_path / "attached.csv")
    assert caught.value.code is ErrorCode.NOT_FOUND
    assert caught.value.got == "1 of 2 links"
    assert not (tmp_path / "attached.csv").exists()


@pytest.mark.parametrize(
    ("columns", "code"), [(["income"], ErrorCode.FIELD_MISSING), (["link_id"], ErrorCode.PARAMETER)]
)
def test_columns_that_cannot_be(source: Source, links: Path, tmp_path: Path, columns, code) -> None:
    with pytest.raises(GemelError) as caught:
        attach(links, source, "rec_id", columns, tmp_path / "attached.csv")
    assert caught.value.code is code


def test_nothing_is_overwritten_and_what_is_no_result_is_refused(source: Source, links: Path, tmp_path: Path) -> None:
    out = tmp_path / "attached.csv"
    out.write_text("mine")
    with pytest.raises(GemelError) as caught:
        attach(links, source, "rec_id", ["age"], out)
    assert caught.value.code is ErrorCode.EXISTS
    assert out.read_text() == "mine"
    with pytest.raises(GemelError, match="does not hold the links of a result"):
        attach(tmp_path, source, "rec_id", ["age"], tmp_path / "other.csv")
