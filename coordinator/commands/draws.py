"""``gemel draws``: what a researcher estimates from drawn linkages, combined by Rubin's rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.terminal.output import JsonFile, write_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gemel.coordinator.analysis.drawn_estimates import Combined

app = typer.Typer(
    help="Estimates from drawn linkages (the grant draws), combined into one with an interval.", no_args_is_help=True
)

Level = Annotated[float, typer.Option(min=0.5, max=0.999, help="Coverage of the interval.")]


@app.command()
def combine(
    estimates: Annotated[Path, typer.Argument(help="CSV or Parquet, a row per draw: columns estimate and variance.")],
    degrees: Annotated[
        float | None, typer.Option(min=1, help="Degrees of freedom of the analysis, were the linkage known.")
    ] = None,
    level: Level = 0.95,
    json_file: JsonFile = None,
) -> None:
    """Combine one estimate of each drawn linkage by Rubin's rules."""
    import math

    from gemel.coordinator.analysis.drawn_estimates import combined

    columns = _columns(estimates, ("estimate", "variance"))
    found = combined(list(columns["estimate"]), list(columns["variance"]), math.inf if degrees is None else degrees)
    _print("estimate", found, level, json_file)


@app.command()
def slope(
    pairs: Annotated[
        Path, typer.Argument(help="CSV or Parquet, a row per drawn link: columns draw, link_probability, x and y.")
    ],
    x: Annotated[str, typer.Option("--x", help="Column of the explaining variable, from one file.")],
    y: Annotated[str, typer.Option("--y", help="Column of the explained variable, from the other file.")],
    level: Level = 0.95,
    json_file: JsonFile = None,
) -> None:
    """Estimate the slope of y on x, where one is of Alice's file and the other of Bob's.

    False links make a slope too small in every draw; their probabilities correct that.
    """
    from gemel.coordinator.analysis.drawn_estimates import combined_slope

    columns = _columns(pairs, ("draw", "link_probability", x, y))
    found = combined_slope(columns["draw"], columns[x], columns[y], columns["link_probability"])
    _print(f"slope of {y} on {x}", found, level, json_file)


def _columns(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    """Columns of numbers; FIELD_MISSING or PARAMETER otherwise."""
    import polars as pl

    from gemel.records.registry import read_table

    table = read_table(path)
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise GemelError(ErrorCode.FIELD_MISSING, f"no column {', '.join(missing)}", where=str(path))
    found = {}
    for name in names:
        numbers = table[name].cast(pl.Float64, strict=False)
        if numbers.null_count():
            got = f"{numbers.null_count()} rows without"
            raise parameter(f"{path}, column {name}", "expected a number in every row", got, "leave these rows out")
        found[name] = numbers.to_numpy()
    return found


def _print(what: str, found: Combined, level: float, json_file: Path | None) -> None:
    low, high = found.interval(level)
    result: dict[str, Any] = {
        "estimate": found.estimate,
        "standard_error": found.standard_error,
        "interval": [low, high],
        "level": level,
        "degrees": found.degrees,
        "within": found.within,
        "between": found.between,
        "share_of_linkage": found.share_of_linkage,
        "draws": found.draws,
    }
    if json_file is not None:
        write_json(json_file, result)
    typer.echo(f"{what}: {found.estimate:.4g}, standard error {found.standard_error:.3g}")
    typer.echo(f"{100 * level:g}% interval {low:.4g} to {high:.4g}, from {found.draws} draws")
    typer.echo(f"due to the linkage: {100 * found.share_of_linkage:.0f} % of the variance")
