"""Nothing is opened in a run of mode shared but what docs/shared-mode.md lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gemel.common.parties import ComputeParty
from gemel.common.signatures.layout import GROUPS, group_rows
from gemel.common.specification import Specification
from gemel.shared.run.opened_levels import AGREEMENT, CHANCE, LEVELS, VALUES_OF_ROWS, VALUES_OF_SAMPLES
from tests.shared.run.both_modes import EVERY_FEATURE, HIDDEN, both_modes

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "shared-mode.md"


def documented() -> dict[str, str]:
    """The openings of the table, each with its receiver."""
    section = DOCUMENT.read_text().split("### What is opened")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)
    return dict(rows[1:])


def test_the_table_has_every_opening() -> None:
    found = documented()
    assert set(found) == {LEVELS, CHANCE, VALUES_OF_SAMPLES, VALUES_OF_ROWS, AGREEMENT, "check"}
    assert {to for what, to in found.items() if what != "check"} == {"Carole"}


@pytest.mark.parametrize("spec", [EVERY_FEATURE, HIDDEN], ids=["every feature", "padding and decoys"])
def test_each_opening_is_documented_and_as_large_as_its_list(spec: Specification) -> None:
    run = both_modes(spec)
    a, b = (part.contributions[0] for part in run.shared)
    n_pairs = run.led.opened.pairs.n_places
    in_groups = GROUPS * group_rows(a.n_records) * group_rows(b.n_records)
    sampled = [(VALUES_OF_SAMPLES, GROUPS * group_rows(part.n_records)) for part in (a, b)]
    rows = [(VALUES_OF_ROWS, max(part.rows_per_rule.values())) for part in (a, b)]
    has_check = spec.quality is not None and spec.quality.check_field is not None
    expected = [(LEVELS, n_pairs), (CHANCE, (1 + has_check) * in_groups), *sampled, *rows]
    expected += [(AGREEMENT, len(run.kept.pattern))] * has_check
    for openings in run.openings:
        meant = [each for each in openings if each.what != "check"]
        assert [(each.what, each.words) for each in meant] == expected
        assert {each.to for each in meant} == {ComputeParty.CAROLE}
