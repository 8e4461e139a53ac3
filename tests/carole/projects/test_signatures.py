"""A held result whose release two stewards must sign: in which order, by whom, on which report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.projects.operations.consent import amend
from gemel.carole.projects.operations.contribution import decline
from gemel.carole.projects.operations.linking import finish_run, start_run, take_run
from gemel.carole.projects.operations.release import expire_result, override
from gemel.carole.projects.project import Policy, ReleaseSignature, State
from gemel.carole.projects.tasks import blocking_error
from gemel.carole.projects.transitions import Action
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from tests.carole.projects.cases import BAD, STEWARDS, amendment, contributed, decided, declining
from tests.carole.refusals import refusal

REASON = "used inside the secure room only, see May"


def held(signatures=2):
    project = start_run(contributed(Policy.HOLD), "coordinator", "r", "run").project
    project = replace(take_run(project, "run").project, signatures=signatures)
    return finish_run(project, "run", 3, BAD).project


def signed(project, member, **changes):
    given = replace(ReleaseSignature("run", member, STEWARDS[member], b"r" * 32, b"s"), **changes)
    return override(project, given, REASON, STEWARDS)


def actions(outcome):
    return [entry.action for entry in outcome.entries]


def test_the_second_steward_releases_and_the_first_again_does_not():
    first = signed(held(), "steward")
    assert (actions(first), first.project.state) == ([Action.OVERRIDE], State.HELD)
    assert (first.entries[0].details["signatures"], first.entries[0].details["required"]) == (1, 2)
    assert "who must both sign its release (steward has signed its release)" in blocking_error(first.project)
    again = signed(first.project, "steward", signature=b"another")
    assert (again.changed, again.project) == (False, first.project)
    second = signed(first.project, "second")
    assert actions(second) == [Action.OVERRIDE, Action.RELEASE]
    assert second.entries[1].details["assessment"] == "overridden by the stewards steward and second"
    assert (second.project.state, second.project.release_signatures) == (State.RELEASED, ())


def test_one_refusal_is_enough_also_by_one_who_has_signed():
    for member in STEWARDS:
        project = signed(held(), "steward").project
        refused = decided(project, member, REASON, release=False)
        assert (actions(refused), refused.project.state) == ([Action.REFUSE], State.ASSESSED)
        assert not refused.project.release_signatures
        with refusal(ErrorCode.WRONG_STATE):
            signed(refused.project, "second")


def test_where_one_signature_is_required_the_log_is_as_it_was():
    outcome = signed(held(1), "steward")
    assert actions(outcome) == [Action.OVERRIDE, Action.RELEASE]
    assert outcome.entries[0].details.keys() == {"run", "reason", "signature"}
    assert outcome.entries[1].details["assessment"] == "overridden by a steward"


@pytest.mark.parametrize(
    "stewards", [{"second": "bb"}, {"steward": "cc", "second": "bb"}], ids=["has left", "has another identity"]
)
def test_a_signature_of_who_is_no_steward_any_more_does_not_count(stewards):
    project = signed(held(), "steward").project
    given = ReleaseSignature("run", "second", "bb", b"r" * 32, b"s")
    outcome = override(project, given, REASON, stewards)
    assert (actions(outcome), outcome.project.state) == ([Action.OVERRIDE], State.HELD)
    assert outcome.entries[0].details["void"] == "steward"
    assert [one.member for one in outcome.project.release_signatures] == ["second"]


def test_one_identity_under_two_names_is_one_steward():
    project = signed(held(), "steward").project
    renamed = ReleaseSignature("run", "renamed", STEWARDS["steward"], b"r" * 32, b"t")
    assert not override(project, renamed, REASON, {**STEWARDS, "renamed": "aa"}).changed


def test_signatures_on_different_reports_do_not_make_a_release():
    outcome = signed(signed(held(), "steward", report=b"x" * 32).project, "second")
    assert (actions(outcome), outcome.entries[0].details["void"]) == ([Action.OVERRIDE], "steward")


def test_what_ends_the_holding_ends_the_signatures():
    project = signed(held(), "steward").project
    amended = amend(project, "coordinator", amendment(policy=Policy.HOLD, signatures=2)).project
    assert (amended.state, amended.release_signatures, amended.signatures) == (State.DRAFT, (), 2)
    assert not decline(project, Side.BOB, declining(Side.BOB)).project.release_signatures
    assert not expire_result(project).project.release_signatures


def test_a_steward_that_left_the_list_while_its_call_was_under_way_does_not_sign():
    given = ReleaseSignature("run", "steward", STEWARDS["steward"], b"r" * 32, b"s")
    for stewards in ({"second": "bb"}, {**STEWARDS, "steward": "cc"}):
        with refusal(ErrorCode.NOT_ADMITTED):
            override(held(), given, REASON, stewards)
