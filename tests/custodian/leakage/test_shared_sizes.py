"""The gate in mode shared: what the sizes of blocks give away, and nothing that needs a signature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

from gemel.common.documents.result_warning import result_warning
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import load_specification
from gemel.custodian.cleaning.profile import Profile
from gemel.custodian.drawn_records import DrawnRecords
from gemel.custodian.encoding.file_records import TableRecords
from gemel.custodian.leakage.block_model import KeyLikelihood
from gemel.custodian.leakage.block_view import BlockView
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage.view import PublicValues
from gemel.custodian.leakage_report import PUBLIC
from gemel.custodian.source import drawing
from gemel.custodian.source.cleaned_file import CleanedFile
from tests.custodian.encoding.encoded_rows import TableInMemory
from tests.custodian.leakage.names import drawn_days, people
from tests.custodian.leakage.test_assessment import SPEC_KEYED
from tests.specifications import heading

TEXT = (
    heading("people", "shared")
    + """
fields:
  - {name: surname, kind: name, bits: BITS}
  - {name: sex, kind: category}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: surname, keys: [{field: surname}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)
TIMES = (320, 160, 80, 40, 20)
NAMES = ("hansen", "meyer", "schulz", "okafor", "ng")


def columns() -> dict[str, pl.Series]:
    surnames = np.repeat(NAMES, TIMES)
    n = len(surnames)
    return {
        "surname": pl.Series(surnames.tolist()),
        "sex": pl.Series(np.where(np.arange(n) % 2, "f", "m").tolist()),
        "born": drawn_days(np.random.default_rng(5), n, "1980-01-01", 9000),
    }


@pytest.mark.parametrize("bits", [64, 1024])
def test_a_surname_is_read_from_the_size_of_its_block_and_nothing_else_is_read(bits: int) -> None:
    report = assess(columns(), load_specification(TEXT.replace("BITS", str(bits))))
    found = {(each.field, each.rule): each for each in report.findings}
    assert set(found) == {("surname", "surname"), ("born", "born")}
    surname = found["surname", "surname"]
    assert surname.attack == "sizes of blocks of the field's own keys"
    # Sizes so far apart name every block, whatever the signatures in it.
    assert (surname.recovered, surname.chance) == (1.0, pytest.approx(320 / 620))
    assert found["born", "born"].above_chance < 0.02
    assert report.recognised == ()
    assert [verdict.attacker for verdict in report.verdicts] == [PUBLIC]
    assert report.refuses
    assert report.exceeds
    assert result_warning("sizes_measured") in report.warnings


def test_equal_sizes_name_nothing() -> None:
    even = columns() | {"surname": pl.Series([name for name in NAMES for _ in range(124)])}
    plain, gained = load_specification(TEXT.replace("BITS", "256")), []
    for number in range(20):  # under one key a block or two are named by luck
        found = assess(even, plain, keys=AssessmentKeys.of_number(number)).findings
        gained += [each.recovered - each.chance for each in found if each.rule == "surname"]
    assert len(gained) == 20
    assert np.mean(gained) < 0.15
    padded = load_specification(TEXT.replace("BITS", "256") + "padding: powers_of_two\n")
    assert result_warning("sizes_measured") in assess(even, padded).warnings


def test_each_block_is_the_value_under_which_its_size_is_likeliest() -> None:
    """As by hand: 100 records, keys a and b with shares .9 and .1; of b's values the commoner one is taken."""
    public = PublicValues(["anna", "berta", "bella"], np.array([90.0, 6.0, 4.0]), "bigrams")
    attack = KeyLikelihood(public, np.array([0, 1, 1]), np.ones(1), n_records=100)
    signed = FieldSignatures(
        64, np.zeros((3, 1), dtype=np.uint64), np.array([0] * 88 + [1] * 8 + [2] * 4, dtype=np.int32)
    )
    blocks = BlockView.of(signed, np.array([7] * 88 + [9] * 12, dtype=np.uint64))
    assert attack.by_sizes(blocks, public, np.array([0, 1])).tolist() == [0, 1, 1]
    assert attack.by_sizes(blocks, public, np.array([1])).tolist() == [-1, 1, 1]


# What is measured of the blocks drawn from a large file is what is measured of the whole file, within its error.


def drawn_of(columns: Mapping[str, pl.Series], n: int) -> DrawnRecords:
    """A ninth of a file at random, and blocks."""
    table = TableInMemory()
    table.append(pl.DataFrame(columns))
    file = CleanedFile(TableRecords(table), Profile(n, ()), None, 1)
    with pytest.MonkeyPatch.context() as patch:
        for name, rows in (("ANY_ROWS", n // 9), ("BLOCKED_ROWS", n * 11 // 450), ("OTHER_ROWS", n // 9)):
            patch.setattr(drawing, name, rows)
        return drawing.drawn_records(file, SPEC_KEYED, np.random.default_rng(1))


@pytest.mark.parametrize("n", [900, pytest.param(9_000, marks=pytest.mark.long)])
def test_figures_of_drawn_blocks_are_those_of_the_file(n: int) -> None:
    """As means over three keys, since a register recognises more under one key than under another."""
    columns = people(n, 3)
    drawn = drawn_of(columns, n)
    recovered: dict[tuple[bool, str, str, str], list[float]] = {}
    errors: list[list[float]] = []
    for number in (1, 2, 3):
        keys = AssessmentKeys.of_number(number)
        whole, part = assess(columns, SPEC_KEYED, keys=keys), assess(drawn.columns, SPEC_KEYED, keys=keys, drawn=drawn)
        for report in (whole, part):
            for found in (*report.findings, *report.recognised):
                recovered.setdefault((report is part, found.rule, found.field, found.attack), []).append(
                    found.recovered
                )
        errors.append([found.error for found in (*part.findings, *part.recognised)])
    assert n < 1_000 or np.mean(errors, axis=0).max() < 0.15
    assert drawn.n_drawn < 0.8 * n
    assert part.records == n
    (stated,) = [warning for warning in part.warnings if warning.code == "measured_in_part"]
    assert f"Measured on {drawn.n_drawn:,} of {n:,} records" in stated.text
    assert "measured_in_part" not in {warning.code for warning in whole.warnings}
    attacks = {tuple(attack) for in_part, *attack in recovered if in_part}
    assert attacks == {tuple(attack) for in_part, *attack in recovered if not in_part}
    for attack in attacks:
        # A sample of 200 rows of a size class has a standard error of up to .035, and none was drawn for both.
        difference = np.mean(recovered[True, *attack]) - np.mean(recovered[False, *attack])
        assert abs(difference) < 0.14, attack
