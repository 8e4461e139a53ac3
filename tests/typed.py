"""A command of `gemel` as it is typed, in the tests' own process: what it prints and how it ends."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from typer.testing import CliRunner

from gemel.command import app, main
from gemel.common.errors import GemelError


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


def printed(*words: object) -> str:
    """What ``gemel WORDS`` prints, as it stands there, once it has ended well; its error is raised."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def error_of(*words: object) -> GemelError:
    """The error with which ``gemel WORDS`` ends."""
    error = CliRunner().invoke(app, [str(word) for word in words]).exception
    assert isinstance(error, GemelError), error
    return error
