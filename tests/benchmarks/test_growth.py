"""A sample grown to a file's size, beside the file: the blocks of its rules, and what the gate finds in them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchmarks.growth import Columns, files, rows_of_a_block, table, three_sizes, worst
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.parties import Side
from gemel.common.specification import BlockingKey, BlockingRule, Specification
from gemel.coordinator.draft.specification_draft import draft
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage_report import EVERYBODY

ROWS, SAMPLE = 10_000, 1_000
RULES = ("phone", "street", "postcode", "date_of_birth")


@pytest.fixture(scope="module")
def case() -> tuple[Specification, Mapping[str, Columns]]:
    whole, samples = files(ROWS, SAMPLE, 1)
    spec, *_ = draft(samples[Side.ALICE], samples[Side.BOB], "growth", True, "block_keyed")
    alone = [BlockingRule(name=name, keys=(BlockingKey(field=name),)) for name in RULES]
    spec = spec.model_copy(update={"blocking": tuple(alone)})
    return spec, three_sizes(spec, whole[Side.ALICE], samples[Side.ALICE], AssessmentKeys.of_number(1))


def test_blocks_have_as_many_rows_as_in_the_file(case: tuple[Specification, Mapping[str, Columns]]) -> None:
    """Those of telephone numbers one, and those of streets seven times as many as in the sample."""
    spec, sizes = case
    rows = {
        rule.name: [rows_of_a_block(columns, spec, rule) for columns in sizes.values()] for rule in spec.keyed_rules
    }
    for _, grown, file in rows.values():
        assert grown == pytest.approx(file, rel=0.45)
    sample, grown, _ = rows["street"]
    assert grown > 5 * sample
    assert rows["phone"][1] < 1.1


@pytest.mark.long
def test_the_gate_finds_what_it_finds_in_the_file(case: tuple[Specification, Mapping[str, Columns]]) -> None:
    """Of a register's people as many are recognised, within three standard errors of such a measurement; in the
    sample far fewer."""
    spec, sizes = case
    chosen = [rule for rule in spec.blocking if rule.name in ("phone", "street", "postcode")]
    spec = spec.model_copy(update={"blocking": tuple(chosen)})
    reports = {name: assess(columns, spec) for name, columns in sizes.items()}
    for rule in spec.blocking:
        small, grown, file = (worst(report, rule.name, EVERYBODY) for report in reports.values())
        assert grown is not None
        assert file is not None
        assert abs(grown.recovered - file.recovered) < 0.02 + 3 * (grown.error**2 + file.error**2) ** 0.5
        assert grown.recovered < 0.05 if rule.name == "phone" else grown.recovered > small.recovered + 0.2  # type: ignore[union-attr]


@pytest.mark.long
def test_the_table_has_each_rule_at_three_sizes(case: tuple[Specification, Mapping[str, Columns]]) -> None:
    spec, sizes = case
    few = {name: {field: column.head(300) for field, column in columns.items()} for name, columns in sizes.items()}
    lines = list(table(spec, few))
    assert all(line.count("|") == 6 for line in lines)
    named = {line.split("|")[1].strip() for line in lines[2:]}
    assert {rule.name for rule in spec.keyed_rules} <= named
