"""What is measured of the blocks drawn from a large file is what is measured of the whole file, within its error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

from gemel.common.cleaning import Profile
from gemel.common.custodian.source import drawing
from gemel.common.custodian.source.cleaned_file import CleanedFile
from gemel.common.drawn_records import DrawnRecords
from gemel.common.encoding.streamed import Records
from gemel.common.keys.assessment_keys import AssessmentKeys
from gemel.risk.leakage.leakage_assessment import assess
from tests.common.encoding.table_in_memory import TableInMemory
from tests.risk.leakage.test_assessment import SPEC_KEYED, people

N = 9_000


@pytest.fixture(scope="module")
def columns() -> dict[str, pl.Series]:
    return people(N, 3)


@pytest.fixture(scope="module")
def drawn(columns: Mapping[str, pl.Series]) -> DrawnRecords:
    table = TableInMemory()
    table.append(pl.DataFrame(columns))
    file = CleanedFile(Records(table), Profile(N, ()), None, 1)
    with pytest.MonkeyPatch.context() as patch:
        for name, rows in (("ANY_ROWS", 1_000), ("BLOCKED_ROWS", 220), ("OTHER_ROWS", 1_000)):
            patch.setattr(drawing, name, rows)
        return drawing.drawn_records(file, SPEC_KEYED, np.random.default_rng(1))


def test_figures_of_drawn_blocks_are_those_of_the_file(columns: Mapping[str, pl.Series], drawn: DrawnRecords) -> None:
    keys = AssessmentKeys.of_number(4)
    whole, part = assess(columns, SPEC_KEYED, keys=keys), assess(drawn.columns, SPEC_KEYED, keys=keys, drawn=drawn)
    assert drawn.n_drawn < 0.8 * N
    assert part.records == N
    (stated,) = [warning for warning in part.warnings if warning.code == "measured_in_part"]
    assert f"Measured on {drawn.n_drawn:,} of {N:,} records" in stated.text
    assert "measured_in_part" not in {warning.code for warning in whole.warnings}
    named = [{(each.rule, each.field, each.attack) for each in report.findings} for report in (whole, part)]
    assert named[0] == named[1]
    theirs = {(each.rule, each.field, each.attack): each for each in (*part.findings, *part.recognised)}
    for each in (*whole.findings, *whole.recognised):
        other = theirs[each.rule, each.field, each.attack]
        # A sample of 200 rows of a size class has a standard error of up to .035, and none was drawn for both.
        error = (each.error**2 + other.error**2) ** 0.5
        assert abs(each.recovered - other.recovered) < max(0.14, 5 * error), (each, other)
        assert other.error < 0.1
