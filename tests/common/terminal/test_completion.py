"""Completion: a real bash gets the candidates of its own completion function; the candidates themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.command import app

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
