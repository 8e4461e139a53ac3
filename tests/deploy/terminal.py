"""A terminal that stays open: runs ``gemel`` commands given as JSON lines, and answers each with its status and output.

The commands are the real ones; only Python's start is paid for once. Run as a program, in the network of the party
whose operator sits in front of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gemel.command import app
from gemel.common.errors import GemelError


def run(arguments: list[str]) -> tuple[int, str]:
    """Status and output of ``gemel ARGUMENTS``."""
    shown = io.StringIO()
    status = 0
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            app(arguments, standalone_mode=True)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except GemelError as error:
            status = 1
            print(f"Error: {error}")
    return status, shown.getvalue()


class Terminal:
    """A party's terminal, started by `command` in its network; each command that is typed has `options` added."""

    PROGRAM = (sys.executable, "-m", "tests.deploy.terminal")

    def __init__(self, command: Sequence[str], folder: Path, options: Sequence[str] = (), **environment: str) -> None:
        self._options = options
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "PYTHONDONTWRITEBYTECODE": "1",
                "COLUMNS": "200",
                **environment,
            },
        )

    def attempt(self, *arguments: str) -> tuple[int, str]:
        """Type ``gemel ARGUMENTS``; status and output."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([*arguments, *self._options]) + "\n")
        self._process.stdin.flush()
        status, shown = json.loads(self._process.stdout.readline())
        return status, shown

    def type(self, *arguments: str) -> str:
        """As `attempt`, for what must succeed."""
        status, shown = self.attempt(*arguments)
        assert status == 0, f"gemel {' '.join(arguments)}: {shown}"
        return shown

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
