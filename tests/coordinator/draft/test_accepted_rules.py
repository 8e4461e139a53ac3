"""Drafted rules under the custodians' own leakage gate: accepted as drafted, or the draft states why they cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.specification import BlockingRule, Specification, load_specification
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.draft.accepted_rules import PAIRS_TRIED, accepted_rules
from gemel.coordinator.draft.blocking_rules import PAIRS_PER_ROW, Proposal, is_within_any
from gemel.coordinator.draft.judged_rules import MARGIN, JudgedRules, KeyedGate, measured_limits
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage_report import EVERYBODY, REGISTER, Attacker, Finding, LeakageReport

N, COMMON = 5_000, 2_000
LEVELS = {"sex": 2, "region": 16, "schooling": 6, "marital_status": 5, "employment": 5, "household": 7, "tenure": 4}


def survey(seed: int, n: int = N, common: int = COMMON) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two files of a survey's variables, which depend on the year of birth; a value in thirty redrawn."""
    rng = np.random.default_rng(seed)
    people = 2 * n - common
    age = np.clip(rng.gamma(6, 8, people).astype(int), 16, 95)
    columns = {"birth_year": 2020 - age}
    for name, levels in LEVELS.items():
        shares = np.sort(rng.dirichlet(np.full(levels, 2.0)))[::-1]
        columns[name] = (rng.choice(levels, people, p=shares) + (age > 60) * (rng.random(people) < 0.3)) % levels
    files = []
    for rows in (np.arange(n), np.arange(people - n, people)):
        values = {name: column[rows] for name, column in columns.items()}
        for column in values.values():
            redrawn = rng.random(n) < 1 / 30
            column[redrawn] = rng.permutation(column)[redrawn]
        identifiers = [f"r{number}" for number in rng.permutation(n)]
        files.append(pl.DataFrame({"id": identifiers, **values}).with_columns(pl.all().cast(pl.String)))
    return files[0], files[1]


@pytest.mark.long
def test_a_survey_is_accepted_by_its_own_gate_as_it_is_drafted() -> None:
    alice, bob = survey(2)
    spec, comments, accepted = draft(alice, bob, "survey", True, "block_keyed", gate=assess)
    assert accepted
    assert load_specification(dump_specification(spec, comments)) == spec
    assert "`gemel alice leakage` and `gemel bob leakage` accept these rules: at most" in comments["blocking"]
    assert spec.blocking
    # The rules that would be taken without it are refused.
    loose, unmeasured, _ = draft(alice, bob, "survey", True, "block_keyed")
    assert "leakage" not in unmeasured["blocking"]
    worst = [assess(clean(alice, each, Side.ALICE).columns, each).worst for each in (loose, spec)]
    assert worst[0] is not None
    assert worst[1] is not None
    assert worst[0].above_chance > loose.leakage.limit
    assert worst[1].above_chance <= MARGIN * spec.leakage.limit


def test_a_survey_that_cannot_be_is_refused_with_the_figure_the_limit_and_the_remedy() -> None:
    few = [frame.select("id", "sex", "tenure", "schooling") for frame in survey(2, 600, 200)]
    spec, comments, accepted = draft(*few, "survey", True, "block_keyed", gate=assess)
    assert not accepted
    stated = comments["blocking"].split("\n")[-1]
    assert "THE CUSTODIANS' GATES REFUSE THIS SPECIFICATION, and none was found that they accept: " in stated
    for words in (" of alice's records above guessing, limit 5%", "above it: ", "--ignore", "`leakage: {limit: ...}`"):
        assert words in stated.replace("bob's", "alice's")
    for other in ("mode open", "mode trusted"):
        assert other in stated
    assert spec.blocking


def test_mode_open_is_not_measured_since_its_gate_warns_only() -> None:
    def never(*_: object) -> LeakageReport:
        raise AssertionError

    alice, bob = survey(3, 300, 100)
    assert draft(alice, bob, "survey", True, "open", gate=never)[0].mode == "open"
    assert draft(alice, bob, "survey", False, None, gate=never)[0].mode == "open"


def judged_by(gate: KeyedGate, spec: Specification, alice: pl.DataFrame, bob: pl.DataFrame) -> JudgedRules:
    cleaned = {Side.ALICE: clean(alice, spec, "alice").columns, Side.BOB: clean(bob, spec, "bob").columns}

    def with_rules(proposals: Sequence[Proposal]) -> Specification:
        return spec.model_copy(update={"blocking": tuple(proposal.rule for proposal in proposals)})

    return accepted_rules(spec.fields, cleaned, with_rules, gate, block_keyed=True)


@pytest.mark.parametrize(
    ("recovered", "accepted", "trials"), [(0.01, True, 1), (MARGIN * 0.05 + 0.001, True, 6), (0.2, False, 6)]
)
def test_rules_give_way_to_narrower_ones_and_what_discloses_least_is_left(
    recovered: float, accepted: bool, trials: int
) -> None:
    alice, bob = survey(4, 400, 100)
    spec, *_ = draft(alice, bob, "survey", True, "block_keyed")
    measured: list[Specification] = []

    def gate(
        columns: Mapping[str, pl.Series], under: Specification, variables: Mapping[str, pl.Series]
    ) -> LeakageReport:
        measured.append(under)
        findings = tuple(
            Finding("sex", rule.name, "luck", recovered + 0.001 * len(measured), 0.0) for rule in under.blocking
        )
        return LeakageReport(under.mode, 400, 0.05, refuses=True, findings=findings)

    judged = judged_by(gate, spec, alice, bob)
    assert judged.accepted is accepted
    # Each width of the rules twice: as proposed, and with what their keys give away withheld.
    assert len(measured) == 2 * trials
    narrowest = {sum(len(rule.keys) for rule in under.blocking) for under in measured}
    assert len(narrowest) > 1 or recovered < MARGIN * 0.05
    # With each trial the figure of this gate grows: the first discloses least.
    assert {p.rule.keys for p in judged.proposals} == {rule.keys for rule in measured[0].blocking}


def test_rules_that_are_accepted_stay_and_others_give_way() -> None:
    alice, bob = survey(5, 800, 300)
    spec, *_ = draft(alice, bob, "survey", True, "block_keyed")
    kept: BlockingRule = spec.blocking[0]

    def gate(
        columns: Mapping[str, pl.Series], under: Specification, variables: Mapping[str, pl.Series]
    ) -> LeakageReport:
        findings = tuple(
            Finding("sex", rule.name, "luck", 0.0 if rule == kept else 0.5, 0.0) for rule in under.blocking
        )
        return LeakageReport(under.mode, 800, 0.05, refuses=True, findings=findings)

    judged = judged_by(gate, spec, alice, bob)
    assert judged.accepted
    assert [proposal.rule for proposal in judged.proposals] == [kept]
    assert is_within_any(judged.proposals[0], judged.proposals)
    assert PAIRS_TRIED[0] == PAIRS_PER_ROW


def test_a_rule_withholds_what_its_keys_give_away_and_states_cost_and_gain() -> None:
    alice, bob = two_files(1_500, 1_500, 700, 0.1, np.random.default_rng(1))
    files = {Side.ALICE: alice.drop(TRUTH), Side.BOB: bob.drop(TRUTH)}

    def gate(columns: Mapping[str, pl.Series], under: Specification, *_: object) -> LeakageReport:
        given = tuple(
            Finding("sex", rule.name, "by the name", 0.6, 0.5, error=0.01)
            for rule in under.blocking
            if "given_name" in rule.fields and "sex" not in rule.withheld
        )
        someone = (
            Finding("", under.blocking[0].name, "register of 40%", 0.21, 0.0, attacker=REGISTER, error=0.02),
            Finding("", under.blocking[0].name, "register of 100%", 0.97, 0.0, attacker=EVERYBODY, error=0.02),
        )
        found = (*given, Finding("surname", "", "samples", 0.01, 0.0))
        return LeakageReport(under.mode, 1_500, 0.05, refuses=True, findings=found, recognised=someone)

    spec, comments, _ = draft(files[Side.ALICE], files[Side.BOB], "people", True, "block_keyed", gate=gate)
    plain, *_ = draft(files[Side.ALICE], files[Side.BOB], "people", True, "block_keyed")
    # Every rule is kept, with the same keys; those that withhold come last, since a pair counts under the first it has.
    assert {rule.keys for rule in spec.blocking} == {rule.keys for rule in plain.blocking}
    assert {rule.withheld for rule in spec.blocking if "given_name" in rule.fields} == {("sex",)}
    assert not any(rule.withheld for rule in spec.blocking if "given_name" not in rule.fields)
    withholding = [bool(rule.withheld) for rule in spec.blocking]
    assert withholding == sorted(withholding)
    stated = [line for line in comments["blocking"].split("\n") if " withholds sex " in line]
    assert len(stated) == sum(withholding)
    assert all("1.0 bits; 10.0% read before" in line and "of imagined matches" in line for line in stated)
    # Limits of registers: the figure, three errors on top, rounded up to twentieths, both stated.
    assert (spec.leakage.partial_register, spec.leakage.full_register) == (pytest.approx(0.30), 1.0)
    assert "partial_register: measured 21.0% ±2.0%" in comments["leakage"]
    assert load_specification(dump_specification(spec, comments)) == spec


def reports(
    partial: tuple[float, float], full: tuple[float, float], given: LeakageSpec | None = None
) -> dict[Side, LeakageReport]:
    def found(attacker: Attacker, recovered: float, error: float) -> Finding:
        return Finding("", "born", "fingerprints", recovered, 0.0, attacker=attacker, error=error, precision=1.0)

    given = LeakageSpec() if given is None else given
    limits = (given.partial_register, given.full_register)
    worst = (found(REGISTER, *partial), found(EVERYBODY, *full))
    none = (found(REGISTER, 0.0, 0.0), found(EVERYBODY, 0.0, 0.0))
    made = {Side.ALICE: worst, Side.BOB: none}
    return {
        side: LeakageReport("block_keyed", 900, 0.05, True, (), (), (), each, *limits) for side, each in made.items()
    }


@pytest.mark.parametrize(
    ("partial", "full", "limits"),
    [
        ((0.21, 0.07), (0.43, 0.06), (0.45, 0.65)),
        ((0.10, 0.0), (0.15, 0.0), (0.10, 0.15)),
        ((0.0, 0.0), (0.99, 0.1), (0.05, 1.0)),
        # Of few blocks the larger register can have the smaller figure; its limit is never the smaller one.
        ((0.11, 0.03), (0.13, 0.005), (0.20, 0.20)),
    ],
)
def test_limits_are_measured_figures_with_three_errors(
    partial: tuple[float, float], full: tuple[float, float], limits: tuple[float, float]
) -> None:
    made, comment = measured_limits(reports(partial, full), LeakageSpec(), 1234)
    assert (made.partial_register, made.full_register) == limits
    assert f"measured {partial[0]:.1%} ±{partial[1]:.1%} (fingerprints; rule born), limit {limits[0]:.0%}" in comment
    assert f"measured {full[0]:.1%} ±{full[1]:.1%}" in comment
    assert "1,234 records" in comment
    assert "by what rule?" in comment


def test_limits_that_were_given_stay_and_nothing_is_advised_that_was_done() -> None:
    given = LeakageSpec(partial_register=0.3, full_register=0.2)
    found = reports((0.10, 0.0), (0.15, 0.0), given)
    made, comment = measured_limits(found, given, 900)
    assert made == given
    assert "limit 30%" in comment
    assert "by what rule?" not in comment
    assert "10% by a register of a share" in JudgedRules((), found).registers
    assert "--partial-register" not in JudgedRules((), found).registers
    assert "--partial-register" in JudgedRules((), reports((0.10, 0.0), (0.15, 0.0))).registers


def test_nothing_measured_sets_no_limit() -> None:
    assert measured_limits({}, LeakageSpec(), 900) == (LeakageSpec(), "")
