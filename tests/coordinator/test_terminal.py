"""The table of projects on a terminal of 80 columns: whose each is, and who must sign, with no word cut off."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gemel.coordinator.client import terminal
from gemel.protos.linkage.v1 import project_pb2

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
