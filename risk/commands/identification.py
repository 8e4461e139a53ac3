"""``tryst risk identify``: how likely it is that the people of a file are recognised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tryst.common.errors import ErrorCode, TrystError

if TYPE_CHECKING:
    from tryst.risk.identification import KeyFile


def identify(
    records: Annotated[Path, typer.Argument(help="The records that would be released, CSV or Parquet.")],
    keys: Annotated[str, typer.Option(help="Key variables, with commas between: what an intruder may know.")],
    fraction: Annotated[
        float | None, typer.Option(help="Sampling fraction; with --population it may be left out.")
    ] = None,
    population: Annotated[Path | None, typer.Option(help="The same columns for the whole population.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the report, one HTML file.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Where to write everything as JSON.")] = None,
    missing: Annotated[
        str, typer.Option(help="What a missing value means: `level` (a value of its own) or `any` (agrees with all).")
    ] = "level",
    missing_values: Annotated[str, typer.Option(help="Texts that mean missing, with commas between.")] = ",NA",
    max_msu: Annotated[
        int | None, typer.Option(help="Most keys of a special unique; by default any up to 10 keys, 4 above that.")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="Column of survey weights, for unequal sampling.")] = None,
    swapped: Annotated[
        str | None, typer.Option(help="Keys whose values were swapped, and how many: region=0.2,age=0.1.")
    ] = None,
    selected: Annotated[
        float | None,
        typer.Option("--target", help="Expected correct matches, as a share of records, to aim at in recoding."),
    ] = None,
    models: Annotated[str, typer.Option(help="Search: default, exact, mc3, annealing or occam.")] = "default",
    listed: Annotated[bool, typer.Option("--records/--no-records", help="List the records of highest risk.")] = True,
    seed: Annotated[int, typer.Option(help="Of the search for models.")] = 1,
) -> None:
    """Identification risk: file measures, special uniques, log-linear and modelled risk, records of highest risk."""
    from tryst.common.progress import stages_on_terminal
    from tryst.risk.identification.bayesian_matching import METHODS
    from tryst.risk.identification.file_assessment import assess
    from tryst.risk.identification.reader import read_key_file, read_weights

    if out is not None:  # imported before anything is computed: charts are an extra
        from tryst.risk.identification.report import render

    chosen = next((m for m in METHODS if m == models), None)
    if chosen is None:
        raise TrystError(ErrorCode.PARAMETER, f"must be one of {', '.join(METHODS)}", where="--models", got=models)
    if missing not in ("level", "any"):
        raise TrystError(ErrorCode.PARAMETER, "must be `level` or `any`", where="--missing", got=missing)
    rates = _rates(swapped)
    file = read_key_file(
        records,
        [k.strip() for k in keys.split(",") if k.strip()],
        fraction,
        population=population,
        missing="any" if missing == "any" else "level",
        missing_values=[v.strip() for v in missing_values.split(",")],
        perturbed=bool(rates),
    )

    found = assess(
        file,
        max_msu=max_msu,
        models=chosen,
        seed=seed,
        weights=None if weights is None else read_weights(records, weights),
        swapped=rates,
        selected=selected,
        records=listed,
        progress=stages_on_terminal(),
    )
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if out is not None:
        out.write_text(render(found), encoding="utf-8")
    _print_results(file, found)
    for path in (out, json_file):
        if path is not None:
            typer.echo(f"wrote {path}" + (", as confidential as the records" if listed else ""))


def _print_results(file: KeyFile, found: dict[str, Any]) -> None:
    from tryst.common.documents.result_warning import ResultWarning

    typer.echo(
        f"{file.n_records:,} records, {len(file.uniques):,} unique on {file.n_keys} keys;"
        f" {found['suda']['minimal_uniques']:,} minimal sample uniques"
    )
    for k, measure in enumerate(found["measures"]):
        if not measure["relied_on"] and (k == 0 or found["measures"][k - 1]["relied_on"]):
            typer.echo("not to be relied on, by a model that the file contradicts or that was not fitted:")
        value = "not finite" if measure["value"] is None else f"{measure['value']:.4g}"
        interval = "" if measure["low"] is None else f" ({measure['low']:.3g} to {measure['high']:.3g})"
        typer.echo(f"{measure['name']:28s} {value}{interval}")
    for warning in found["warnings"]:
        typer.echo(ResultWarning.model_validate(warning).line)
    for left in found["left_out"]:
        typer.echo(f"not computed: {left['what']}: {left['why']}")


def _rates(text: str | None) -> dict[str, float]:
    """``region=0.2,age=0.1`` as a dictionary."""
    rates = {}
    for part in (text or "").split(","):
        name, mark, rate = part.partition("=")
        if not part.strip():
            continue
        try:
            rates[name.strip()] = float(rate)
        except ValueError:
            mark = ""
        if not mark:
            raise TrystError(
                ErrorCode.PARAMETER, "must be names and shares", where="--swapped", remedy="write region=0.2,age=0.1"
            )
    return rates
