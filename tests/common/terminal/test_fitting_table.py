"""The tables of all screens, narrow, wide and where standard output is no terminal: nothing is cut off."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from gemel.alice import PARTY as ALICE
from gemel.common.terminal.fitting_table import FittingTable
from gemel.coordinator.client import terminal
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.profile import profile_table
from gemel.custodian.leakage_report import Finding, LeakageReport
from gemel.custodian.operator import screen
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from tests.custodian.cleaning.test_harmonising import DRIVING, HOME, frame, spec

DIGEST = "0f" * 32
LONG = "cancer-registry-of-the-northern-counties-2026"
ERROR = f"the specification {DIGEST} was amended [twice]"


def projects() -> list[str]:
    state = project_pb2.PROJECT_STATE_CONTRIBUTED
    run = project_pb2.RunStatus(run="7", state=project_pb2.RUN_STATE_FAILED, error="out-of-memory")
    shown = project_pb2.ProjectStatus(project=LONG, state=state, owner=LONG, run=run, blocking_error=ERROR)
    terminal.show_projects([shown])
    return [LONG, *ERROR.split(), "failed:", "out-of-memory", "contributed;"]


def custodian() -> list[str]:
    project = operator_pb2.CustodianProject(project=LONG, mode="trusted", stage="contribute", rows=1234567)
    project.blocking_error, project.results = ERROR, f"/srv/{LONG}/results [1]"
    status = operator_pb2.StatusResponse(carole="carole.example:7443", connected=True, projects=[project])
    status.identity_fingerprint = DIGEST
    screen.show_status(status, ALICE)
    return [LONG, *ERROR.split(), DIGEST, "1,234,567", "contribute", "[1]"]


def profile() -> list[str]:
    cleaned = clean(frame(quality=["Good"], home=["city"]), spec({**DRIVING, "name": LONG}, HOME), "alice")
    screen.console.print(profile_table(cleaned.profile))
    return [LONG, "quality", "surname", "keyed"]


def leakage() -> list[str]:
    found = Finding(LONG, "names", "similarities", 0.25, 0.125)
    screen.show_leakage(LeakageReport("open", 5, 0.05, True, (found,), (found,)), details=True)
    return [LONG, "similarities,", "25.0%", "12.5%", "above"]


@pytest.mark.parametrize("show", [projects, custodian, profile, leakage])
@pytest.mark.parametrize("width", [60, 80, 200, None])
def test_no_word_is_cut_off(monkeypatch: pytest.MonkeyPatch, show: Callable[[], list[str]], width: int | None) -> None:
    """`None`: a file, whose width no one knows."""
    monkeypatch.delenv("COLUMNS", raising=False)
    output = io.StringIO()
    for module in (terminal, screen):
        monkeypatch.setattr(module, "console", Console(file=output, width=width, color_system=None))
    words = show()
    printed = " ".join(output.getvalue().replace("│", " ").split())
    assert "…" not in printed
    for word in words:
        # A word longer than the screen goes on in its next line.
        assert word in (printed if width != 60 else printed.replace(" ", ""))


def test_a_row_becomes_lines_only_where_its_words_do_not_fit() -> None:
    table = FittingTable("project", "digest")
    table.add_row("births", DIGEST)
    shown = {width: io.StringIO() for width in (70, 100)}
    for width, output in shown.items():
        Console(file=output, width=width).print(table)
    assert f"project: births\ndigest: \n{DIGEST}" in shown[70].getvalue()
    assert "project:" not in shown[100].getvalue()
    assert f"│ {DIGEST} │" in shown[100].getvalue()
