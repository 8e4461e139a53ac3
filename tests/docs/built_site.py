"""The site of mkdocs.yml, built for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = """
import socket, sys
def refused(*_):
    raise AssertionError("the build opens a connection")
socket.socket.connect = socket.socket.connect_ex = refused
from mkdocs.__main__ import cli
cli(["build", "--site-dir", sys.argv[1]])
"""


def build(folder: Path) -> None:
    """Build it strictly, in a process that can open no connection; a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Where mkdocs is quiet, it counts no warnings.
    assert "Documentation built" in done.stderr
