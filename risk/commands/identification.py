"""``gemel risk identify``: how likely it is that the people of a file are recognised."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.durable import write_text
from gemel.common.errors import parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import JsonFile, write_json


def identify(
    records: Annotated[
        Path, typer.Argument(help="The records that would be released: CSV, Parquet, Stata, SPSS or SAS.")
    ],
    keys: Annotated[
        list[str],
        typer.Option(help="Key variables, with commas between: what an intruder may know. Again for another key set."),
    ],
    fraction: Annotated[
        float | None, typer.Option(help="Sampling fraction; with --population or --weights it may be left out.")
    ] = None,
    population: Annotated[Path | None, typer.Option(help="The same columns for the whole population.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the report, one HTML file.")] = None,
    json_file: JsonFile = None,
    missing: Annotated[
        str, typer.Option(help="What a missing value means: `level` (a value of its own) or `any` (agrees with all).")
    ] = "level",
    missing_values: Annotated[str, typer.Option(help="Texts that mean missing, with commas between.")] = ",NA",
    values: Annotated[
        str, typer.Option(help="Where a file has labels of values: take the `codes` or the `labels`.")
    ] = "codes",
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    max_msu: Annotated[
        int | None, typer.Option(help="Most keys of a special unique; by default any up to 10 keys, 4 above that.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Column of survey weights: people each record stands for.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column of the unit a record belongs to: a household, an enterprise.")
    ] = None,
    unit_keys: Annotated[
        str | None, typer.Option(help="What an intruder may know of a whole unit, the same for all members.")
    ] = None,
    swapped: Annotated[
        str | None, typer.Option(help="Keys whose values were swapped, and how many: region=0.2,age=0.1.")
    ] = None,
    theta: Annotated[
        list[str] | None,
        typer.Option(help="Misclassification matrices: a YAML or JSON file, or KEY=FILE.csv, again for each key."),
    ] = None,
    selected: Annotated[
        float | None,
        typer.Option("--target", help="Expected correct matches, as a share of records, to aim at in recoding."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Sensitive variables, with commas between, for l-diversity and t-closeness.")
    ] = None,
    ordinal: Annotated[
        str | None, typer.Option(help="Sensitive variables whose values have an order: numbers, or texts that sort.")
    ] = None,
    numeric: Annotated[
        str | None, typer.Option(help="Numeric variables that were perturbed, compared with those of --original.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(help="The same records before protection, in the same order, for --numeric.")
    ] = None,
    models: Annotated[str, typer.Option(help="Search: default, exact, mc3, annealing or occam.")] = "default",
    listed: Annotated[bool, typer.Option("--records/--no-records", help="List the records of highest risk.")] = True,
    seed: Annotated[int, typer.Option(help="Of the search for models.")] = 1,
) -> None:
    """Identification risk: file measures, special uniques, log-linear and modelled risk, records of highest risk."""
    from gemel.common.progress import stages_on_terminal
    from gemel.common.records.csv_form import CsvOptions
    from gemel.common.records.typed_table import chosen_values
    from gemel.risk.commands.identification_lines import result_lines
    from gemel.risk.commands.shown_form import show_form
    from gemel.risk.identification.assessment.record_assessment import BesideColumns, assess_records
    from gemel.risk.identification.matching.bayesian_matching import METHODS
    from gemel.risk.identification.misclassification.matrices import Perturbation
    from gemel.risk.identification.misclassification.theta_reader import read_theta
    from gemel.risk.record_table import FileOfRecords

    if out is not None:  # imported before anything is computed: charts are an extra
        from gemel.risk.identification.report import render

    chosen = next((m for m in METHODS if m == models), None)
    if chosen is None:
        raise parameter("--models", f"must be one of {', '.join(METHODS)}", models)
    if missing not in ("level", "any"):
        raise parameter("--missing", "must be `level` or `any`", missing)
    values_as = chosen_values(values)
    csv = CsvOptions(encoding, separator).checked()
    show_form(records, population, original, csv=csv)
    before = None if original is None else FileOfRecords(original, csv=csv)
    found = assess_records(
        FileOfRecords(records, values_as, csv),
        [_names(each) for each in keys],
        fraction,
        population=None if population is None else FileOfRecords(population, values_as, csv),
        missing="any" if missing == "any" else "level",
        missing_values=[v.strip() for v in missing_values.split(",")],
        weights=weights,
        beside=BesideColumns(_names(sensitive), _names(ordinal), unit, _names(unit_keys), _names(numeric), before),
        perturbation=Perturbation(_rates(swapped), read_theta(theta or [])),
        max_msu=max_msu,
        models=chosen,
        target=selected,
        listed=listed,
        seed=seed,
        progress=stages_on_terminal(),
    )
    written = [] if json_file is None or not write_json(json_file, found) else [json_file]
    if out is not None:
        write_text(out, render(found))
        written.insert(0, out)
    for line in result_lines(found):
        typer.echo(line)
    for path in written:
        typer.echo(f"wrote {path}" + (", as confidential as the records" if listed else ""))


def _names(text: str | None) -> list[str]:
    """``region,age`` as a list."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


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
            raise parameter("--swapped", "must be names and shares", remedy="write region=0.2,age=0.1")
    return rates
