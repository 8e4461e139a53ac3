"""A terminal that stays open: runs ``gemel`` commands given as JSON lines, and answers each with its status and output.

The commands are the real ones; only Python's start is paid for once. Run as a program, in the network of the party
whose operator sits in front of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

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


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
