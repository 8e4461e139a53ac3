"""A list of checks of one party's installation: each a line, with what was found and, if it is not well, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

import typer

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.missing_module import missing_module
from gemel.common.terminal.output import print_json


class Finding(StrEnum):
    """How a check has ended."""

    WELL = "ok"
    NOTE = "note"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class CheckLine:
    """One check."""

    check: str
    finding: Finding
    what: str
    where: str = ""
    got: str = ""
    remedy: str = ""


class Note(Exception):
    """Raised by a check that has found what its operator should know, and that keeps nothing from working."""


class Checks:
    """Runs checks one after the other, a later one where an earlier one it needs is well; `lines` are what was found so
    far."""

    def __init__(self) -> None:
        self.lines: list[CheckLine] = []

    def run(self, check: str, look: Callable[[], str], needs: Iterable[str] = ()) -> bool:
        """Make a check; whether it was well. Without those that it `needs` it says nothing. `look` returns what was
        found; it raises `GemelError` for what is wrong, and `Note` for what is to be known."""
        stands = {line.check for line in self.lines if line.finding in (Finding.WELL, Finding.NOTE)}
        if missing := [name for name in needs if name not in stands]:
            self.lines.append(CheckLine(check, Finding.SKIPPED, f"needs {missing[0]}"))
            return False
        try:
            line = CheckLine(check, Finding.WELL, look())
        except Note as note:
            line = CheckLine(check, Finding.NOTE, str(note))
        except GemelError as error:
            line = _failed(check, error)
        except ModuleNotFoundError as error:
            line = _failed(check, missing_module(error))
        self.lines.append(line)
        return line.finding in (Finding.WELL, Finding.NOTE)

    @property
    def failed(self) -> str:
        return ", ".join(line.check for line in self.lines if line.finding is Finding.FAILED)

    def text(self) -> str:
        width = max(len(line.check) for line in self.lines)
        shown = []
        for line in self.lines:
            error = GemelError(ErrorCode.INTERNAL, line.what, where=line.where, got=line.got, remedy=line.remedy)
            detail = error if line.finding is Finding.FAILED else line.what
            shown.append(f"{line.finding:<8} {line.check:<{width}}  {detail}")
        return "\n".join(shown)


def report(checks: Checks, *, as_json: bool) -> None:
    """Print all lines; end with status 1 if one has failed."""
    if as_json:
        print_json([asdict(line) for line in checks.lines])
    else:
        typer.echo(checks.text())
    if checks.failed:
        typer.echo(f"Error: not well: {checks.failed}", err=True)
        raise typer.Exit(1)


def _failed(check: str, error: GemelError) -> CheckLine:
    several = getattr(error, "errors", None)
    what = "; ".join(map(str, several)) if several else error.what
    return CheckLine(check, Finding.FAILED, what, error.where, error.got, error.remedy)
