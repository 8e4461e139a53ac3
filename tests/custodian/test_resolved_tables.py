"""What a custodian refuses of a resolver's links: it alone knows which of its rows are one record."""

from __future__ import annotations

import polars as pl
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.steps.requested_rows import check_resolved
from gemel.custodian.steps.share import Share
from tests.common.specification.test_block_keyed import TEXT

SPEC = load_specification(TEXT)
NAMES = pl.Series(["x", "y", "x", None], dtype=pl.String)
"""Rows 0 and 2, of different rules, are one record; row 3 is a dummy."""


def links(*rows: int, probability: float = 0.9) -> pl.DataFrame:
    ids = [f"{number:016x}" for number in range(len(rows))]
    return pl.DataFrame(
        {"row": pl.Series(rows, dtype=pl.UInt32), "link_id": ids, "link_probability": [probability] * len(rows)}
    )


def counted(number: int) -> Share:
    return Share({}, {"linkage": {"links": number}})


def test_links_as_counted_of_different_records_are_accepted() -> None:
    check_resolved({"links": links(1, 2)}, counted(2), SPEC, Side.ALICE, NAMES)


@pytest.mark.parametrize(
    ("tables", "number", "why"),
    [
        ({"links": links(0, 1)}, 3, "2 links where the statistics count 3"),
        ({"links": links(0, 2)}, 2, "two links of one record"),
        ({"links": links(1, 3)}, 2, "links of a dummy or a decoy"),
        ({"links": links(1, probability=0.3)}, 1, "less probable than the threshold"),
        (
            {"links": links(1), "draws": links(0, 2).with_columns(draw=pl.lit(0, dtype=pl.UInt32))},
            1,
            "two links of one record in a drawn linkage",
        ),
    ],
)
def test_links_that_cannot_be_of_the_agreed_plan_are_refused(
    tables: dict[str, pl.DataFrame], number: int, why: str
) -> None:
    with pytest.raises(GemelError, match=why) as caught:
        check_resolved(tables, counted(number), SPEC, Side.ALICE, NAMES)
    assert caught.value.code is ErrorCode.SEALED
