"""docs/start.md as it is written: its commands are run one after the other in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/start.md").read_text(encoding="utf-8")
INSTALL, *STEPS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)


def test_the_installation_names_what_is_there() -> None:
    _, install, _ = map(shlex.split, INSTALL.splitlines())
    extra = re.fullmatch(r"\.\[(\w+)\]", install[-1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extra is not None
    assert extra[1] in project["optional-dependencies"]
    assert (ROOT / install[install.index("--constraint") + 1]).is_file()


@pytest.mark.long
def test_the_steps_lead_to_the_files_that_the_page_names(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "gemel").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gemel "$@"\n')
    (programs / "gemel").chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    path = os.pathsep.join((str(programs), os.environ["PATH"]))
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", "".join(STEPS)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    named = set(re.findall(r"`((?:demo|rehearsal)/[\w.]+)`", PAGE))
    assert "rehearsal/links.csv" in named
    assert [name for name in sorted(named) if not (folder / name).is_file()] == []
    links = pl.read_csv(folder / "rehearsal/links.csv")
    # Of 200 invented people a side 100 are in both files.
    assert 90 <= len(links) <= 105
