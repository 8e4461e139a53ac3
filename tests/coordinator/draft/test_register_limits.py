"""Drafted limits for registers: what was measured, with its error, in whole twentieths, and the figure beside it."""

from __future__ import annotations

import pytest

from gemel.common.parties import Side
from gemel.common.specification.model.leakage import LeakageSpec
from gemel.coordinator.draft.judged_rules import JudgedRules, measured_limits
from gemel.custodian.leakage_report import EVERYBODY, REGISTER, Attacker, Finding, LeakageReport


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
