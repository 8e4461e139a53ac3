"""What is measured of the blocks drawn from a large file is what is measured of the whole file, within its error."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

from gemel.common.keys.noise import AssessmentKeys
from gemel.custodian.cleaning import Profile
from gemel.custodian.drawn_records import DrawnRecords
from gemel.custodian.encoding.streamed import Records
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.source import drawing
from gemel.custodian.source.cleaned_file import CleanedFile
from tests.custodian.encoding.table_in_memory import TableInMemory
from tests.custodian.leakage.test_assessment import SPEC_KEYED, people


def drawn_of(columns: Mapping[str, pl.Series], n: int) -> DrawnRecords:
    """A ninth of a file at random, and blocks."""
    table = TableInMemory()
    table.append(pl.DataFrame(columns))
    file = CleanedFile(Records(table), Profile(n, ()), None, 1)
    with pytest.MonkeyPatch.context() as patch:
        for name, rows in (("ANY_ROWS", n // 9), ("BLOCKED_ROWS", n * 11 // 450), ("OTHER_ROWS", n // 9)):
            patch.setattr(drawing, name, rows)
        return drawing.drawn_records(file, SPEC_KEYED, np.random.default_rng(1))


@pytest.mark.parametrize("n", [900, pytest.param(9_000, marks=pytest.mark.long)])
def test_figures_of_drawn_blocks_are_those_of_the_file(n: int) -> None:
    """Of a small file the same figures are stated; that they agree is measured on a large one."""
    columns = people(n, 3)
    drawn = drawn_of(columns, n)
    keys = AssessmentKeys.of_number(5)
    whole, part = assess(columns, SPEC_KEYED, keys=keys), assess(drawn.columns, SPEC_KEYED, keys=keys, drawn=drawn)
    assert drawn.n_drawn < 0.8 * n
    assert part.records == n
    (stated,) = [warning for warning in part.warnings if warning.code == "measured_in_part"]
    assert f"Measured on {drawn.n_drawn:,} of {n:,} records" in stated.text
    assert "measured_in_part" not in {warning.code for warning in whole.warnings}
    named = [{(each.rule, each.field, each.attack) for each in report.findings} for report in (whole, part)]
    assert named[0] == named[1]
    theirs = {(each.rule, each.field, each.attack): each for each in (*part.findings, *part.recognised)}
    for each in (*whole.findings, *whole.recognised):
        other = theirs[each.rule, each.field, each.attack]
        # A sample of 200 rows of a size class has a standard error of up to .035, and none was drawn for both.
        error = (each.error**2 + other.error**2) ** 0.5
        if n > 1_000:
            assert abs(each.recovered - other.recovered) < max(0.14, 5 * error), (each, other)
            assert other.error < 0.1
