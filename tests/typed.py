"""A command of `gemel` as it is typed, in the tests' own process: what it prints and the status with which it ends."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from gemel.command import main


def typed(*arguments: object, folder: Path, status: int = 0) -> str:
    """What ``gemel ARGUMENTS`` prints in a folder, each run of blanks as one, after it has ended with `status`.

    Errors go through the same `main` as in a process: they are printed without a traceback, to standard error.
    """
    out, errors = io.StringIO(), io.StringIO()
    patched = mock.patch.object(sys, "argv", ["gemel", *map(str, arguments)])
    with chdir(folder), mock.patch.dict(os.environ, {"COLUMNS": "300", "NO_COLOR": "1"}), patched:
        try:
            with redirect_stdout(out), redirect_stderr(errors):
                main()
        except SystemExit as ended:
            code = ended.code
    printed = " ".join((out.getvalue() + errors.getvalue()).split())
    assert code == status, printed
    if status:
        assert errors.getvalue(), "errors go to standard error"
    return printed
