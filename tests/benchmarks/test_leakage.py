"""The leakage benchmark judges its figures by themselves, and its rules are those that the draft proposes."""

from __future__ import annotations

import pytest

from benchmarks import _leakage_latent as valued
from benchmarks._latent_views import insurers
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


def test_with_latent_a_colluding_custodian_reads_the_others_values_of_linked_records() -> None:
    """And the coordinator alone counts each code of the requested records, all of them where little is compared."""
    case = insurers(200, 1)
    assert len(case.with_values.found.pattern) > len(case.alone.found.pattern) > 0
    figures = {what: (share, chance) for what, share, chance, _ in valued.in_collusion(case)}
    share, chance = figures["Alice with the coordinator: Bob's MakeModel of her linked records"]
    assert chance is not None
    assert share > 0.8 > 0.6 > chance
    right, _ = figures["Alice with the coordinator: all that Bob holds of her linked records"]
    assert right == case.is_match(case.with_values.links).mean() > 0.5
    figures = {what: (share, chance) for what, share, chance, _ in valued.by_coordinator(case)}
    # Every record is requested, so that ranks of public margins, which here are the file's own, name each code.
    share, chance = figures["the coordinator: values of Alice's requested records read"]
    assert chance is not None
    assert share > 0.95 > chance
    alone, _ = figures["Alice's requested records alone with their codes"]
    assert 0 < alone < figures["links alone with the codes of both sides"][0] <= 1
    assert "latent" in SECTIONS
