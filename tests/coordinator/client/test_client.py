"""What a client's commands write, show and end with: configurations, states, conditions, exit codes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from gemel.common.configuration import parse_configuration
from gemel.common.parties import Role
from gemel.coordinator.client import terminal
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.coordinator.client.run_progress import HELD, REFUSED, ending_of
from gemel.coordinator.client.terminal import SILENT_SECONDS, WORDS, condition_lines, console, show_projects
from gemel.party.configurations import PROGRAM, WRITERS, Joined, Place, program
from gemel.party.membership_file import Membership
from gemel.protos.linkage.v1 import project_pb2
from tests.vectors.make_formats import MEMBERS


def test_every_role_has_a_program_and_what_writes_its_configuration() -> None:
    assert PROGRAM.keys() == set(Role)
    assert WRITERS.keys() == set(Role)


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.STEWARD, Role.ANALYST])
def test_a_members_commands_read_the_configuration_that_it_gets(role: Role, tmp_path: Path) -> None:
    place = Place(tmp_path, "institute", role, tmp_path)
    text = program(place.role).configure(Joined(place, Membership("carole.example:7443", MEMBERS, b"", {})))
    found = parse_configuration(text, CoordinatorConfiguration, folder=tmp_path, where=place.configuration.name)
    assert (found.carole.address, found.keys) == ("carole.example:7443", tmp_path / "keys")
    assert found.members_digest
    assert place.configuration.name == f"{PROGRAM[role]}.yaml"


REASON = "the result was refused: its disclosure risk is above a limit"


@pytest.mark.parametrize(
    ("state", "error", "code", "words"),
    [
        (project_pb2.PROJECT_STATE_HELD, "", HELD, "HELD: the result of births waits for a steward"),
        (project_pb2.PROJECT_STATE_ASSESSED, REASON, REFUSED, f"REFUSED: {REASON}"),
        (project_pb2.PROJECT_STATE_ASSESSED, "", 0, ""),
        (project_pb2.PROJECT_STATE_RELEASED, "", 0, ""),
    ],
)
def test_each_ending_has_a_code(state: project_pb2.ProjectState, error: str, code: int, words: str) -> None:
    found, line = ending_of(project_pb2.ProjectStatus(project="births", state=state, blocking_error=error))
    assert (found, line.startswith(words), bool(line)) == (code, True, bool(words))
    assert {HELD, REFUSED}.isdisjoint({0, 1, 2, 130, 143})


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


SIDES = [project_pb2.SideStatus(side=side, contributed=True) for side in (project_pb2.SIDE_ALICE, project_pb2.SIDE_BOB)]


def shown(monkeypatch: pytest.MonkeyPatch, status: project_pb2.ProjectStatus) -> str:
    output = io.StringIO()
    monkeypatch.setattr(terminal, "console", Console(file=output, width=80))
    terminal.show_projects([status])
    printed = output.getvalue()
    assert "…" not in printed
    return " ".join(printed.replace("│", " ").split())


def held(**more: object) -> project_pb2.ProjectStatus:
    state = project_pb2.PROJECT_STATE_HELD
    return project_pb2.ProjectStatus(project="births", state=state, sides=SIDES, owner="coordinator", **more)  # type: ignore[arg-type]


def test_the_owner_and_the_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    state = project_pb2.PROJECT_STATE_CONTRIBUTED
    status = project_pb2.ProjectStatus(project="births", state=state, sides=SIDES, owner="registry")
    assert "of registry" in shown(monkeypatch, status)
    assert "to successor" in shown(monkeypatch, held(successor="successor"))


@pytest.mark.parametrize(
    ("signed", "signers", "words"),
    [
        ([], ["steward", "second"], "no steward has signed the release of the held result; it awaits 2 more of"),
        (["steward"], ["second", "third"], "it awaits 1 more of second and third"),
        (["steward"], [], "it awaits 1 more of a steward who is not yet a member"),
    ],
)
def test_who_has_signed_and_who_is_awaited(
    monkeypatch: pytest.MonkeyPatch, signed: list[str], signers: list[str], words: str
) -> None:
    assert words in shown(monkeypatch, held(signatures=2, signed=signed, signers=signers))
    assert "awaits" not in shown(monkeypatch, held(signatures=1, signers=signers))
