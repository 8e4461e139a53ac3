"""Values of options of `gemel risk`: pairs, lists, shares, and the form of what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gemel.common.errors import parameter

if TYPE_CHECKING:
    from gemel.records.csv_form import CsvOptions

Value = TypeVar("Value")

SEARCH = "search"  # written for a share that is to be searched


def option(words: str, *names: str, panel: str | None = None) -> Any:
    """An option with these words in its help, under other names than its parameter's if any are given."""
    return typer.Option(*names, help=words, rich_help_panel=panel)


def argument(words: str) -> Any:
    """An argument with these words in its help."""
    return typer.Argument(help=words)


ValuesOption = Annotated[
    str, option("Where a file has labels of values: take the `codes` or the `labels`.", "--values")
]


def names(text: str | None) -> list[str]:
    """``age,sex`` as a list."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def model_of(text: str | None) -> tuple[str, tuple[str, ...]] | None:
    """``income ~ age + sex`` as outcome and terms."""
    if text is None:
        return None
    outcome, mark, terms = text.partition("~")
    found = tuple(t.strip() for t in terms.split("+") if t.strip())
    if not mark or not outcome.strip() or not found:
        raise parameter("--model", "is no regression", remedy="write 'income ~ age + sex'")
    return outcome.strip(), found


def whole_numbers(text: str) -> tuple[int, ...]:
    """``5,10,20`` as numbers."""
    return tuple(int(part) for part in text.split(","))


_FORM = "see --help for its form"


def listed(text: str | None, where: str, read: Callable[[str], Value], remedy: str = _FORM) -> dict[str, Value]:
    """``age=0.2,sex=0.1`` as a dictionary."""
    return pairs(names(text), where, read, remedy)


def pairs(given: list[str] | None, where: str, read: Callable[[str], Value], remedy: str = _FORM) -> dict[str, Value]:
    """Each ``NAME=VALUE`` of a list as an entry of a dictionary."""
    found: dict[str, Value] = {}
    for part in given or []:
        name, mark, value = (text.strip() for text in part.partition("="))
        what = "is given twice" if name in found else "a name, an equals sign and a value of its form are needed"
        try:
            if not mark or not name or name in found:
                raise ValueError
            found[name] = read(value)
        except ValueError:
            raise parameter(where, what, repr(part), remedy) from None
    return found


def share_or_search(text: str) -> float | None:
    """``0.2`` as a number, ``search`` as None."""
    return None if text == SEARCH else float(text)


def given(shares: Mapping[str, float | None]) -> dict[str, float]:
    """Those that are numbers."""
    return {name: share for name, share in shares.items() if share is not None}


def searched(shares: Mapping[str, float | None]) -> tuple[str, ...]:
    """Names of those that are to be searched."""
    return tuple(name for name, share in shares.items() if share is None)


def csv_form(encoding: str | None, separator: str | None, *paths: Path | None) -> CsvOptions:
    """How CSV files are read; states it on standard error of those that are not plain UTF-8 with commas."""
    from gemel.records.csv_form import CsvOptions  # imports the numbers, which no help text needs
    from gemel.records.typed_table import read_as

    csv = CsvOptions(encoding, separator).checked()
    for path in paths:
        if path is not None and (line := read_as(path, csv)):
            typer.echo(line, err=True)
    return csv
