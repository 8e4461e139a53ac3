"""Completion: a real bash gets the candidates of its own completion function; the other shells their scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ASK = """\
source completion.bash
complete -p tryst
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tryst_completion tryst
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What bash does when the tabulator is pressed behind the words."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program `tryst`, specifications, and the script of bash."""
    folder = tmp_path_factory.mktemp("shell")
    program = folder / "bin" / "tryst"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom tryst.common.command import main\nmain()\n")
    program.chmod(0o755)
    (folder / "linkage.yaml").write_text("version: 1\nproject: births-2026\n")
    (folder / "broken.yaml").write_bytes(b"\xff project: nothing\nproject: [")
    (folder / "ask.sh").write_text(ASK)
    (folder / "completion.bash").write_text(script(folder, "bash"))
    return folder


def script(folder: Path, name: str) -> str:
    """What `--show-completion` prints in a shell, and `--install-completion` puts into its files."""
    return run(folder, "env", f"_TRYST_COMPLETE=source_{name}", "tryst")


def run(folder: Path, *command: str) -> str:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        ("tryst pro", {"project"}),
        ("tryst project st", {"status", "start"}),
        ("tryst project start --d", {"--dry-run"}),
        ("tryst project start b", {"births-2026"}),
        ("tryst alice approve b", {"births-2026"}),
        ("tryst project start x", set()),
        ("tryst project create lin", set()),
    ],
)
def test_bash(shell: Path, words: str, candidates: set[str]) -> None:
    """Where there are no candidates, `-o default` lets bash complete files."""
    if shutil.which("bash") is None:
        pytest.skip("no bash is installed")
    definition, *found = run(shell, "bash", "ask.sh", *words.split()).splitlines()
    assert "-o default" in definition
    assert {word.strip() for word in found if word} == candidates


@pytest.mark.parametrize(("name", "line"), [("zsh", "#compdef tryst"), ("fish", "complete --command tryst")])
def test_the_script_of_another_shell(shell: Path, name: str, line: str) -> None:
    text = script(shell, name)
    assert line in text
    assert "_TRYST_COMPLETE" in text
