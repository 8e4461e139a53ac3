"""An incomplete installation is found when the service starts or is checked, not in the middle of a project."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

LONG = pytest.mark.long
ROOT = Path(__file__).resolve().parents[3]


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


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An installation of Alice's in which the folder `risk` was left out."""
    package = tmp_path / "installed" / "gemel"
    package.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py", "py.typed", "protos", "common", "alice"):
        (package / name).symlink_to((ROOT / "gemel" / name).resolve())
    return package.parent


@pytest.mark.parametrize(
    "command",
    [("gemel.alice",), pytest.param(("gemel", "alice", "serve"), marks=LONG), ("gemel", "alice", "check")],
    ids=" ".join,
)
def test_a_folder_that_was_left_out_is_named_at_the_start(
    make_world, installed: Path, command: tuple[str, ...]
) -> None:
    world = make_world()
    ended = run(installed, "-m", *command, "--config", str(world.alice.config))
    assert ended.returncode == 1
    printed = ended.stdout + ended.stderr
    assert "gemel.risk" in printed
    assert "deploy/README.md" in printed
    assert "Traceback" not in printed
    assert world.carole.calls == []


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
