"""The leakage benchmark judges its figures by themselves, and its rules are those that the draft proposes."""

from __future__ import annotations

import re

import pytest

from benchmarks import DOCS
from benchmarks import _leakage_latent as valued
from benchmarks import _leakage_register as registers
from benchmarks._latent_views import insurers
from benchmarks._leakage_blocks import under_rule
from benchmarks._leakage_study import HEAD, Line, Study
from benchmarks.leakage import PAGE, SECTIONS, verdict


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
    assert any("date_of_birth_year" in name for name in names)
    rule = next(rule for rule in study.drafted.keyed_rules if rule.name == "given_name-surname")
    reported = [line.what for line in under_rule(study, rule, 0.02)]
    assert sum("by the blocks' sizes alone" in what for what in reported) == 2
    assert all(what.startswith(("given_name-surname", "of these")) for what in reported)
    assert set(SECTIONS) >= {"open", "birthday", "rules", "together", "control", "skewed", "hardening", "codes"}


@pytest.mark.long
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


@pytest.mark.long
def test_of_registers_the_attack_is_held_to_the_signatures_it_was_found_on() -> None:
    """And the hardened ones to their limit; nothing is stated of those that are drafted, and nothing required."""
    lines = list(registers.by_birthday(Study(1500, 1, "register")))
    limited = {line.what.partition(": ")[0] for line in lines if line.above_chance is not None}
    held = {line.what.partition(": ")[0] for line in lines if line.minimum is not None}
    assert (held, limited) == ({"bits 1024, the positive control"}, {"bits 64, randomised_response 0.1"})
    assert len([line for line in lines if line.what.startswith("as drafted: ")]) == 3


@pytest.mark.long
def test_of_registers_shorter_signatures_give_away_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of a month, by a register of everybody."""
    monkeypatch.setitem(registers.ATTACKED, 31, 400)
    monkeypatch.setattr(registers, "OVERLAPS", (1.0,))
    lines = list(registers._registers(Study(3000, 1, "large"), 31))
    found = {line.what.partition(": ")[0]: line.records for line in lines}
    assert list(found) == [how for how, _ in registers.OPTIONS]
    assert found["bits 1024, the positive control"] > found["as drafted"] > found["bits 64"]
    assert found["bits 64"] > found["bits 64, randomised_response 0.1"] > 0


REGISTER = re.compile(
    r"^\| (.+): blocks of (4\.2|19\.9) rows, register of (\d+)%: ([\d.]+)% of those known.*?\|  \| ([\d.]+)%"
)
ROWS = PAGE.read_text(encoding="utf-8").splitlines()
FOUND = {row.group(1, 2, 3): row.group(4, 5) for row in map(REGISTER.match, ROWS) if row}
"""By options, rows of a block and share in the register: per cent of those known, and of the rows."""


def both(how: str, share: int, which: int = 0) -> tuple[str, str]:
    """In blocks of 4 and of 20 rows."""
    small, large = (FOUND[how, rows, str(share)][which] for rows in ("4.2", "19.9"))
    return small, large


def whole(how: str, share: int, which: int = 0) -> list[int]:
    return [round(float(figure)) for figure in both(how, share, which)]


def test_the_figures_of_registers_are_those_of_the_page() -> None:
    """README and the threat model state them; the benchmark writes the page."""
    assert {how for how, _, _ in FOUND} == {how for how, _ in registers.OPTIONS}
    readme, model = (
        " ".join(path.read_text().split()) for path in (DOCS.parent / "README.md", DOCS / "threat-model.md")
    )
    (some, in_large), (all_, all_large) = whole("as drafted", 40), whole("as drafted", 100)
    assert (
        f"of 40 % of them {some} % of those she knows in blocks of 4 rows and {in_large} % in blocks of 20,"
        f" with all of them {all_} % and {all_large} %"
    ) in readme
    rows, rows_large = whole("as drafted", 40, 1)
    assert re.search(
        rf"blocks of 4 rows: {rows} % \(±\d\) of the rows, {some} % of those known;"
        rf" of 20 rows: {rows_large} % \(±\d\), {in_large} % of those known",
        model,
    )
    hard = whole("bits 64, randomised_response 0.1", 100)
    assert f"| of everybody | the same | {all_} %; {all_large} % | {hard[0]} %; {hard[1]} % |" in model
    for how, words in {
        "bits 1024, the positive control": "`bits: 1024`",
        "as drafted": "as drafted, 256 or 128",
        "bits 64": "`bits: 64`",
        "bits 64, randomised_response 0.1": "`bits: 64, randomised_response: 0.1`",
    }.items():
        part, everybody = ("; ".join(f"{figure} %" for figure in both(how, share)) for share in (40, 100))
        assert f"| {words} | {part} | {everybody} |" in model


def test_the_page_for_who_decides_has_these_figures() -> None:
    page = (DOCS / "what-is-protected.md").read_text(encoding="utf-8")
    (surnames,) = (row for row in ROWS if row.startswith("| surname, 100,000 records, 1024 bits"))
    assert f"reads {surnames.split('|')[3].strip().replace('%', ' %')} of the surnames" in page
    tenth, none = whole("as drafted", 10)
    assert none == 0
    assert f"recognises {tenth} % of those she knows in blocks of 4 rows, none in blocks of 20 |" in page
    assert "| of 40 % | the same | {} % of those she knows; {} % |".format(*whole("as drafted", 40)) in page
    assert "| of everybody | the same | {} %; {} % |".format(*whole("as drafted", 100)) in page
    noisy = whole("bits 64, randomised_response 0.1", 100)
    assert "lower the last row to {} and {} %".format(*noisy) in page
