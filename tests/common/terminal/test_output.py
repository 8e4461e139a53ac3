"""What commands print: tables that fit, figures, pages."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gemel.alice import PARTY as ALICE
from gemel.command import main
from gemel.common.terminal.fitting_table import FittingTable
from gemel.common.terminal.output import write_json
from gemel.coordinator.client import terminal
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.cleaning.profile import profile_table
from gemel.custodian.leakage_report import Finding, LeakageReport
from gemel.custodian.operator import screen
from gemel.protos.linkage.v1 import operator_pb2, project_pb2
from tests.custodian.cleaning.test_harmonising import DRIVING, HOME, frame, spec
from tests.specifications import heading

ROOT = Path(__file__).resolve().parents[3]
GOOD = heading("births") + "fields: [{name: a, kind: category}, {name: b, kind: category}, {name: c, kind: category}]\n"
GOOD += "retention: {uploads_days: 7, results_days: 30, maps_days: 90}\n"


Run = Callable[..., tuple[int | str | None, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the program here, in an empty folder; its status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")

    def ended(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr(sys, "argv", ["gemel", *arguments])
        with pytest.raises(SystemExit) as status:
            main()
        return status.value.code, *capsys.readouterr()

    return ended


def document(run: Run, *arguments: str, status: int = 0) -> Any:
    ended, out, words = run(*arguments)
    assert ended == status, words
    return json.loads(out)


def process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "300"}
    program = [sys.executable, "-m", "gemel", *arguments]
    return subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_state_and_its_words_as_a_process_prints_them(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    done = process(tmp_path, "spec", "check", "good.yaml", "--json")
    found = json.loads(done.stdout)
    assert (found["project"], found["fields"], found["estimate"]) == ("births", 3, None)
    assert found["specification_digest"] in done.stderr


def test_without_it_the_words_are_on_standard_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    digest = document(run, "spec", "check", "good.yaml", "--json")["specification_digest"]
    assert digest in run("spec", "check", "good.yaml")[1]


def test_what_a_check_has_found_is_printed_and_not_the_error_that_ends_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD)
    arguments = ("spec", "check", "good.yaml", "--rows", "5000", "--max-rows", "1000", "--json")
    found = document(run, *arguments, status=1)
    assert found["estimate"]["exceeded"]
    assert found["estimate"]["custodians"]["alice"]["records"] == 5000


def test_an_error_is_a_document_and_in_words(run: Run) -> None:
    ended, out, words = run("spec", "check", "none.yaml", "--json")
    error = json.loads(out)["error"]
    assert set(error) == {"code", "what", "where", "got", "remedy"}
    assert (ended, error["code"], error["where"]) == (1, "SPECIFICATION", "none.yaml")
    assert error["what"] in words


def test_errors_found_together_are_listed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(GOOD.replace("version: 1", "version: 2").replace("kind: category", "kind: x"))
    error = document(run, "spec", "check", "bad.yaml", "--json", status=1)["error"]
    assert len(error["errors"]) > 1
    assert all(set(each) == {"code", "what", "where", "got", "remedy"} for each in error["errors"])


def test_a_wrong_command_line_has_no_document(tmp_path: Path) -> None:
    """As a process: what parses the command line ends it without giving standard output back."""
    done = process(tmp_path, "spec", "check", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Missing argument" in done.stderr


def test_figures_go_to_a_file_or_to_standard_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "estimates.csv").write_text("estimate,variance\n1,2\n1.5,2\n1.2,2\n")
    command = ("draws", "combine", "estimates.csv", "--json")
    found = document(run, *command, "-")
    assert found["draws"] == 3
    _, out, _ = run(*command, "found.json")
    assert "standard error" in out
    assert json.loads((tmp_path / "found.json").read_text()) == found
    assert not (tmp_path / "-").exists()


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    assert write_json(tmp_path / "link.json", {"a": 1})
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == {"a": 1}
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(pipe.read_text)
        assert write_json(pipe, {"b": 2})
        assert json.loads(received.result()) == {"b": 2}
    assert pipe.is_fifo()


def test_a_file_that_cannot_be_written_whole_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_json(tmp_path / "found.json", {"a": object()})
    assert list(tmp_path.iterdir()) == []


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
