"""A custodian that does not go on is named in words, with the time since when."""

from __future__ import annotations

import pytest

from gemel.coordinator.client.terminal import SILENT_SECONDS, WORDS, condition_lines, console, show_projects
from gemel.protos.linkage.v1 import project_pb2

NOW = 1_800_000_000


def status(state: int = project_pb2.PROJECT_STATE_KEYED, **side: int) -> project_pb2.ProjectStatus:
    found = project_pb2.ProjectStatus(
        project="births",
        sides=[project_pb2.SideStatus(side=project_pb2.SIDE_ALICE), project_pb2.SideStatus(side=project_pb2.SIDE_BOB)],
    )
    found.state = state  # type: ignore[assignment]
    for name, value in side.items():
        setattr(found.sides[1], name, value)
    return found


def test_every_kind_has_words() -> None:
    assert set(WORDS) == set(project_pb2.CustodianCondition.values()) - {0}


@pytest.mark.parametrize("kind", sorted(WORDS))
def test_a_line_names_the_custodian_the_reason_and_the_time(kind: int) -> None:
    (line,) = condition_lines(status(condition=kind, condition_since_unix_ms=1000 * NOW), NOW)
    assert line.startswith(f"births: Bob's service {WORDS[kind]} (since 2027-01-1")  # type: ignore[index]


def test_a_custodian_that_no_longer_calls_is_named_while_the_project_is_under_way() -> None:
    silent = round(1000 * (NOW - SILENT_SECONDS - 1))
    (line,) = condition_lines(status(last_poll_unix_ms=silent), NOW)
    assert "Bob's service has not called Carole since 2027-01-1" in line
    assert not list(condition_lines(status(last_poll_unix_ms=1000 * NOW), NOW))
    assert not list(condition_lines(status(project_pb2.PROJECT_STATE_RELEASED, last_poll_unix_ms=silent), NOW))
    assert not list(condition_lines(status(), NOW)), "a Carole of an older version reports no time"


def test_the_table_of_projects_ends_with_them() -> None:
    with console.capture() as captured:
        show_projects(
            [status(condition=project_pb2.CUSTODIAN_CONDITION_LEAKAGE, condition_since_unix_ms=1000 * NOW), status()]
        )
    printed = " ".join(captured.get().split())
    assert "Bob's service waits for its operator: its records, or the handles that a run requests, disclose" in printed
