"""The leakage benchmark judges its figures by themselves, and its rules are those that the draft proposes."""

from __future__ import annotations

import pytest

from benchmarks._leakage_blocks import under_rule
from benchmarks._leakage_study import HEAD, Line, Study
from benchmarks.leakage import SECTIONS, verdict


@pytest.mark.parametrize(
    ("line", "met"),
    [
        (Line("a", 0.6, 0.01, minimum=0.6), True),
        (Line("a", 0.59, 0.01, minimum=0.6), False),
        (Line("a", 0.03, 0.015, above_chance=0.02), True),
        (Line("a", 0.035, 0.015, above_chance=0.02), False),
        (Line("a", 0.0, 0.015, above_chance=0.02), True),
        (Line("a", 0.9, 0.015), None),
    ],
)
def test_what_is_asked_is_judged_by_the_figures(line: Line, met: bool | None) -> None:
    assert line.met is met
    assert ("MISSED" in line.markdown()) == (met is False)
    assert line.markdown().count("|") == HEAD.splitlines()[0].count("|")


def test_the_verdict_names_what_is_missed() -> None:
    lines = [Line("good", 0.7, minimum=0.6), Line("bad", 0.1, minimum=0.6), Line("unasked", 0.0)]
    assert verdict(lines).startswith("Of 2 figures with a requirement, 1 meet it. Missed: bad (10.0%)")
    assert "Missed" not in verdict(lines[:1])


def test_the_drafted_rules_are_attacked_with_the_names_in_their_keys() -> None:
    study = Study(1500, 1, "rules")
    names = [rule.name for rule in study.drafted.keyed_rules]
    assert "given_name_3-surname_3-date_of_birth_year" in names
    rule = next(rule for rule in study.drafted.keyed_rules if rule.name == "given_name-surname")
    reported = [line.what for line in under_rule(study, rule, 0.02)]
    assert sum("by the blocks' sizes alone" in what for what in reported) == 2
    assert all(what.startswith(("given_name-surname", "of these")) for what in reported)
    assert set(SECTIONS) >= {"open", "birthday", "rules", "together", "control", "skewed", "hardening", "codes"}
