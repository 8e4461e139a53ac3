"""An incomplete installation is found when the service starts or is checked, not in the middle of a project."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

LONG = pytest.mark.long
ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Without `site`, which would find this checkout, installed for its developers.
        [sys.executable, "-S", *arguments],
        env={**os.environ, "PYTHONPATH": f"{folder}:{sysconfig.get_path('purelib')}"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("command", ["serve", pytest.param("check", marks=LONG)])
def test_a_driver_that_is_missing_is_named_with_what_installs_it(make_world, command: str) -> None:
    world = make_world()
    source = 'source:\n  database:\n    url: "mysql+pymysql://host/name"\n    query: SELECT 1\n'
    lines = world.alice.config.read_text().splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if line.startswith("source:"))
    end = next(number for number in range(start + 1, len(lines)) if not lines[number].startswith((" ", "#", "\n")))
    world.alice.config.write_text("".join(lines[:start]) + source + "".join(lines[end:]))
    ended = run(ROOT, "-m", "gemel", "alice", command, "--config", str(world.alice.config))
    assert ended.returncode == 1
    assert "pymysql is not installed; pip install pymysql" in " ".join((ended.stdout + ended.stderr).split())
    assert world.carole.calls == []


@LONG  # in process: tests/e2e/test_own_check.py
def test_a_whole_installation_is_valid(make_world) -> None:
    world = make_world()
    ended = run(ROOT, "-m", "gemel", "alice", "check", "--config", str(world.alice.config))
    assert ended.returncode == 0, ended.stderr
    assert "valid" in ended.stdout
    assert world.carole.calls == []
