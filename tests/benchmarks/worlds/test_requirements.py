"""Requirements of judged worlds, from made outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.worlds.judged import Claimed, Outcome
from benchmarks.worlds.kept import Judged
from benchmarks.worlds.peer import PeerOutcome
from benchmarks.worlds.report import print_report
from benchmarks.worlds.requirements import Requirement, coverage, error, held, requirements, too_slow

PERFECT = Outcome(
    seed=1,
    labels={"moves": "none"},
    records=(1000, 1000),
    people=100,
    matches=100,
    links=100,
    true_links=100,
    true={"precision": 1.0, "recall": 1.0, "sum": 100.0, "candidates": 1.0},
    claims={
        "precision": (0.99, 0.98, 1.0),
        "recall": (0.98, 0.96, 1.0),
        "sum": (101.0, 98.0, 104.0),
        "candidates": (0.99, 0.9, 1.0),
    },
    seconds={"draft": 50.0, "sign": 50.0, "count": 1.0, "decide": 2.0},
)
PEER = PeerOutcome("5.0.0", 100, 100, 100)


def of(owns: list[Outcome], peer: PeerOutcome | None = PEER) -> dict[str, Requirement]:
    return {one.what: one for one in requirements([Judged(own, peer) for own in owns])}


def claiming(claim: Claimed, figure: str = "precision", **changes: object) -> Outcome:
    return replace(PERFECT, claims={**PERFECT.claims, figure: claim}, **changes)  # type: ignore[arg-type]


def poor(**changes: object) -> Outcome:
    """Four fifths of its links and of its matches are right."""
    return replace(PERFECT, true_links=80, **changes)  # type: ignore[arg-type]


def test_an_interval_holds_what_is_true_within_its_ends() -> None:
    assert held(PERFECT, "precision") is True
    assert held(claiming((0.9, 0.8, 0.99)), "precision") is False
    assert held(claiming((0.99, None, None)), "precision") is False
    assert held(claiming((None, None, None)), "precision") is False
    assert held(replace(PERFECT, true={**PERFECT.true, "precision": None}), "precision") is None


def test_what_cannot_be_estimated_of_blocking_does_not_count() -> None:
    assert held(claiming((None, None, None), "candidates"), "candidates") is None
    assert held(claiming((0.9, None, None), "candidates"), "candidates") is False


def test_coverage_is_of_the_claims_that_count() -> None:
    owns = [PERFECT, PERFECT, claiming((0.9, 0.8, 0.99)), replace(PERFECT, refused="NOT_IDENTIFIED: of a field")]
    assert coverage(owns, "precision") == (pytest.approx(2 / 3), 3)
    assert coverage([*owns, replace(PERFECT, incident="KeyError")], "precision")[1] == 3


def test_errors_of_the_sum_are_shares_of_the_matches() -> None:
    assert error(PERFECT, "sum") == pytest.approx(0.01)
    assert error(PERFECT, "recall") == pytest.approx(-0.02)
    assert error(claiming((None, None, None)), "precision") is None


def test_all_is_met_by_perfect_worlds_but_what_there_is_nothing_to_measure_of() -> None:
    found = of([PERFECT] * 30)
    unmet = {what for what, one in found.items() if not one.met}
    assert unmet == {"a serious warning where F1 < 0.9"}
    assert found["a serious warning where F1 < 0.9"].met is None
    assert found["precision: median width"].measured == "0.0200 (n 30)"


def test_coverage_is_required_of_every_value_that_enough_worlds_have() -> None:
    line = "intervals that hold the truth, by value of 30 worlds"
    moved = claiming((0.9, 0.8, 0.99), labels={"moves": "many"})
    kept = replace(PERFECT, labels={"moves": "many"})
    assert of([PERFECT] * 400 + [kept] * 25 + [moved] * 4)[line].met
    found = of([PERFECT] * 400 + [kept] * 25 + [moved] * 5)
    assert found["precision: intervals that hold the truth"].met
    assert found[line].met is False
    assert found[line].measured == "1 of 6 below, least 83.3% (precision, moves many)"


def test_f1_may_be_a_little_below_the_peers_in_nearly_all_worlds_but_not_on_average() -> None:
    near = replace(PERFECT, links=1000, matches=1000, true_links=996)
    found = of([near] * 20)
    assert found["F1 at least the peer's less 0.005"].met
    assert found["mean F1"].met is False
    one_far = of([PERFECT] * 19 + [poor()])
    assert one_far["F1 at least the peer's less 0.005"].met
    assert of([PERFECT] * 18 + [poor()])["F1 at least the peer's less 0.005"].met is False


def test_a_peer_that_does_not_fit_is_not_compared() -> None:
    found = of([poor()], PeerOutcome(matches=100, refused="no links in 5 minutes"))
    assert found["mean F1"].met is None
    assert of([poor()], None)["F1 at least the peer's less 0.005"].met is None


def test_serious_warnings_are_where_the_links_are_poor() -> None:
    serious = {"second_solution": "serious"}
    line = "a serious warning where F1 < 0.9"
    assert of([poor(warnings=serious)])[line].met
    assert of([poor(warnings={"own_copies": "warning"})])[line].met is False
    assert of([poor(refused="NOT_IDENTIFIED: of a field")])[line].met
    good = "a serious warning where F1 > 0.97"
    assert of([PERFECT] * 19 + [replace(PERFECT, warnings=serious)])[good].met
    assert of([PERFECT] * 18 + [replace(PERFECT, warnings=serious)])[good].met is False


@pytest.mark.parametrize(
    ("records", "counting", "deciding", "slow"),
    [(5000, 1.0, 29.0, False), (5000, 1.0, 31.0, True), (9000, 4.0, 90.0, False), (9000, 6.0, 31.0, True)],
)
def test_deciding_is_bounded_by_counting_and_in_small_files_by_itself(
    records: int, counting: float, deciding: float, slow: bool
) -> None:
    seconds = {"sign": 99.0, "count": counting, "model": 1.0, "decide": deciding - 1}
    assert too_slow(replace(PERFECT, records=(100, records), seconds=seconds)) is slow


def test_the_status_says_whether_a_requirement_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_report([Judged(PERFECT, PEER)] * 30, [], "") == 0
    assert "| runs without an incident | ≥ 100% | 100.0% (n 30) | met |" in capsys.readouterr().out
    died = replace(PERFECT, seed=7, incident="KeyError in result.link: 'x'")
    assert print_report([Judged(PERFECT, PEER)] * 30 + [Judged(died, PEER)], [], "") == 1
    printed = capsys.readouterr().out
    assert "| runs without an incident | ≥ 100% | 96.8% (n 31) | NOT met |" in printed
    assert "| Gemel | incident: KeyError in result.link: 'x' | 7 |" in printed
    assert print_report([], [], "") == 1


def test_worlds_of_two_labels_are_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    before = [Judged(poor(), PEER), Judged(replace(PERFECT, seed=2), PEER)]
    print_report([Judged(PERFECT, PEER)], before, "old")
    printed = capsys.readouterr().out
    assert "## Against old, in the worlds of both" in printed
    assert "| F1 of world 1 | 0.8000 | 1.0000 |" in printed
    assert "world 2" not in printed


def test_values_of_few_worlds_have_no_row_and_usual_ones_do_not_describe_a_world(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rare = poor(seed=31, labels={"moves": "many"})
    print_report([Judged(PERFECT, PEER)] * 10 + [Judged(rare, PEER)], [], "")
    printed = capsys.readouterr().out
    assert "| moves | none | 10 | 100.0% |" in printed
    assert "| moves | many |" not in printed
    assert "| 31 | 0.200 | 1,000 x 1,000 | 0.800 / 1.000 | 0.990 / 1.000 |" in printed
    assert "moves many |" in printed
