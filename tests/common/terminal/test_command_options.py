"""Options of every command, and their completion by a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.command import app
from tests.common.commands import commands, options

LINES = "prints JSON already, an object a line, or the text that goes into a file of another's"
SERVES = "runs until it is stopped; --ready-file and its log are JSON"
MAKES = "makes keys or files, and shows no state"
WRITES = "writes a result into files, documents in JSON among them"
CHANGES = "changes or sends something; what became of it is the state that another command shows"
CEREMONY = "is a step of the ceremony between people, who read its words"

WITHOUT_JSON = {
    r"demo|rehearse|join|spec draft|analyst fetch": WRITES,
    r"((alice|bob) )?console|carole (serve|scheduler|worker)|(alice|bob) serve": SERVES,
    r"compute": "runs until it is stopped; --ready-file is JSON, its lines are for who watches it",
    r"init|carole (init|cluster-keys)|(alice|bob) (seed new|attach)|risk attribution protect": MAKES,
    r"party (?!status|check).*": CEREMONY,
    r"spec (similar|known|schema)|steward log|audit (show|export)|keyvars export .*": LINES,
    r"keyvars (add|edit) .*|carole (backup|restore|upgrade|declare-restored|confirm-clock|try-notify)": CHANGES,
    r"(alice|bob) (approve|decline|override|fetch-alone|stop)|(alice|bob|project|steward) accept-restore": CHANGES,
}
"""By what the whole name of a command matches: why it prints no document."""

SENDS = (
    r"project (run|create|amend|approve|new-epoch|hand-over|take-over|start|erase|accept-restore)",
    r"steward (release|refuse|hand-over|accept-restore)",
    r"(alice|bob) (approve|decline|override|fetch-alone|accept-restore)",
    r"carole (upgrade|restore|declare-restored|confirm-clock|try-notify)",
)
"""The commands by which something is sent to another party, or is changed or destroyed at Carole."""

SENDS_NOT = {
    r"(alice|bob) (serve|stop|status|profile|specification|checkpoints)": "shows or ends one's own service",
    r"(alice|bob) (check|attach|leakage|seed new)|join|duplicates|draws .*|spec .*|keyvars .*|intrude|risk .*": (
        "works on this machine alone"
    ),
    r"demo|rehearse": "is itself a trial: nothing leaves this machine",
    r"project (status|watch|results|report)|steward (list|report|log)|audit .*": "reads",
    r"carole (serve|scheduler|worker|check|health|backup|init|cluster-keys)|init": "makes what is new, or serves",
    r"analyst .*": "reads, and confirms what it has fetched",
    r"compute": "computes what all have approved, and decides nothing",
    r"((alice|bob) )?console": "requests confirmation on its pages",
    r"party .*": "makes files that people send",
}


def matching(name: str, patterns: Iterable[str]) -> list[str]:
    return [pattern for pattern in patterns if re.fullmatch(pattern, name)]


@pytest.mark.parametrize("name", commands())
def test_a_command_prints_json_or_is_listed_with_the_reason(name: str) -> None:
    assert ("--json" in options(commands()[name])) != bool(matching(name, WITHOUT_JSON))


@pytest.mark.parametrize("name", commands())
def test_a_command_that_sends_something_can_be_run_dry(name: str) -> None:
    sends = matching(name, SENDS)
    assert len(sends) + len(matching(name, SENDS_NOT)) == 1
    assert ("--dry-run" in options(commands()[name])) == bool(sends)


@pytest.mark.parametrize("pattern", [*WITHOUT_JSON, *SENDS, *SENDS_NOT])
def test_no_entry_is_of_a_command_that_is_not_there(pattern: str) -> None:
    assert any(re.fullmatch(pattern, name) for name in commands())


ROOT = Path(__file__).resolve().parents[3]

ASK = """\
source <(_GEMEL_COMPLETE=source_bash gemel)
complete -p gemel
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_gemel_completion gemel
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What `--install-completion` has bash do, and then the tabulator behind the words."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with specifications."""
    (tmp_path / "linkage.yaml").write_text("version: 1\nproject: births-2026\n")
    (tmp_path / "broken.yaml").write_bytes(b"\xff project: nothing\nproject: [")
    return tmp_path


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash is installed")
@pytest.mark.parametrize(
    ("words", "candidates"), [("gemel project start b", {"births-2026"}), ("gemel project create lin", set())]
)
def test_bash(folder: Path, words: str, candidates: set[str]) -> None:
    """Where there are no candidates, `-o default` lets bash complete files."""
    program = folder / "bin" / "gemel"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom gemel.command import main\nmain()\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", *words.split()],  # noqa: S607
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    definition, *found = done.stdout.splitlines()
    assert "-o default" in definition
    assert {word.strip() for word in found if word} == candidates


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        ("gemel pro", {"project"}),
        ("gemel project st", {"status", "start"}),
        ("gemel project start --d", {"--dry-run"}),
        ("gemel alice approve b", {"births-2026"}),
        ("gemel project start x", set()),
    ],
)
def test_candidates(folder: Path, monkeypatch: pytest.MonkeyPatch, words: str, candidates: set[str]) -> None:
    monkeypatch.chdir(folder)
    asked = {"_GEMEL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert set(CliRunner().invoke(app, env=asked, prog_name="gemel").output.split()) == candidates
