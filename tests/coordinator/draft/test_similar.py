"""A list of similar values from public counts: what is on it, and that a specification takes it as it is printed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gemel.common.errors import ErrorCode
from gemel.common.specification import load_specification
from gemel.coordinator.draft.similar_value_list import similar_list
from tests.carole.refusals import refusal
from tests.specifications import heading
from tests.typed import printed

COUNTS = pl.DataFrame(
    {
        "name": ["Smith", "JONES", " jones ", "Abbott", "Adamson", "de la Cruz", "No", "", None, "Rare", "x" * 300],
        "count": ["1000", "800", "300", "50", "40.5", "40", "30", "99", "99", "1", "5000"],
    }
)
SPECIFICATION = (
    heading("listed")
    + """
fields:
  - name: surname
    kind: name
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


def listed(counts: pl.DataFrame = COUNTS, value: str = "name", count: str = "count", **changes: float) -> list[str]:
    settings = {"drop_commonest": 1, "minimum": 5.0, "maximum": 100, **changes}
    return similar_list(counts, value, count, **settings)  # type: ignore[arg-type]


def test_the_commonest_and_the_rare_are_left_out() -> None:
    assert listed() == ["smith", "abbott", "adamson", "de la cruz", "no"], "jones has 1,100 in two rows"
    assert listed(drop_commonest=0, minimum=0)[::6] == ["jones", "rare"]
    assert listed(maximum=2) == ["smith", "abbott"]


@pytest.mark.parametrize(
    ("changes", "code", "reported"),
    [
        ({"value": "names"}, ErrorCode.FIELD_MISSING, "did you mean name"),
        ({"count": "counted"}, ErrorCode.FIELD_MISSING, "no column 'counted'"),
        ({"count": "name"}, ErrorCode.SOURCE, "8 counts are no numbers"),
        ({"drop_commonest": 50}, ErrorCode.PARAMETER, "no value is left to list"),
        ({"maximum": 0}, ErrorCode.PARAMETER, "a list has 1 to 20,000 values"),
    ],
)
def test_counts_that_cannot_be_used_are_refused(changes: dict[str, object], code: ErrorCode, reported: str) -> None:
    with refusal(code) as caught:
        listed(**changes)  # type: ignore[arg-type]
    assert reported in str(caught.value)


def test_what_is_printed_is_pasted_under_the_field(tmp_path: Path) -> None:
    long = pl.DataFrame({"surname": [f"name{n}" for n in range(500)], "n": range(500, 0, -1)})
    pl.concat([long, pl.DataFrame({"surname": ["null", "Dr. No"], "n": [40, 30]})]).write_csv(tmp_path / "counts.csv")
    arguments = ["--value", "surname", "--count", "n", "--minimum", "20"]
    shown = printed("spec", "similar", tmp_path / "counts.csv", *arguments)
    spec = load_specification(SPECIFICATION.replace("    kind: name\n", f"    kind: name\n{shown}"))
    only = spec.field("surname").only_similar
    assert len(only) == 500 + 2 - 100 - 19
    assert {"null", "dr. no", "name100"} <= set(only)
    assert "name99" not in only
