"""`gemel risk magnitude`: risky cells of tables of sums, what else to withhold, what attackers get back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemel.common.durable import write_text
from gemel.common.errors import parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import JsonFile, write_json
from gemel.risk.commands.option_values import argument, csv_form, names, option

if TYPE_CHECKING:
    from gemel.risk.magnitude.rules import Rule


def magnitude(
    by: Annotated[list[str], option("Variables of a table, with commas between; once more for each linked table.")],
    records: Annotated[
        Path | None, argument("Records in CSV, Parquet, Stata, SPSS or SAS. Without them --published is audited.")
    ] = None,
    value: Annotated[str | None, option("The column that the tables add up.")] = None,
    unit: Annotated[str | None, option("Column that says whose a record is, such as an enterprise.")] = None,
    weights: Annotated[str | None, option("Column of sampling weights.")] = None,
    hierarchy: Annotated[
        list[Path] | None, option("CSV of a variable's levels: columns VARIABLE and `parent`.")
    ] = None,
    min_frequency: Annotated[int | None, option("Fewest contributors of a cell; 3 if no other rule is given.")] = None,
    frequency_margin: Annotated[float, option("Protection of a cell with too few, in per cent.")] = 10.0,
    p_percent: Annotated[
        float | None, option("p: no contribution may be estimated within p per cent; 10 if no other rule is given.")
    ] = None,
    q_percent: Annotated[
        float, option("q: per cent within which contributions are known before (the pq rule).")
    ] = 100.0,
    coalition: Annotated[int, option("Contributors who put together what they have, in the p % rule.")] = 1,
    dominance: Annotated[
        list[str] | None, option("n,k: the n largest have at most k per cent. May be repeated.")
    ] = None,
    objective: Annotated[str, option("Withhold the least `value`, or the fewest `cells`.")] = "value",
    totals: Annotated[bool, option("Totals may be withheld, too.", "--totals/--no-totals")] = True,
    method: Annotated[str, option("`auto`, `exact` (however long it takes) or `heuristic`.")] = "auto",
    seconds: Annotated[float, option("Time for the exact method in `auto`.")] = 60.0,
    insiders: Annotated[
        bool, option("Contributors attack with what they know themselves.", "--insiders/--no-insiders")
    ] = True,
    known_within: Annotated[
        float | None, option("Per cent of its value within which attackers know each withheld cell beforehand.")
    ] = None,
    published: Annotated[
        Path | None, option("CSV of a table suppressed elsewhere, to audit; nothing is chosen then.")
    ] = None,
    rounding: Annotated[float, option("What its values were rounded to a multiple of.")] = 0.0,
    signed: Annotated[bool, option("Without records: values may be negative.", "--signed")] = False,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    table: Annotated[Path | None, option("Where to write the protected table as CSV.")] = None,
    out: Annotated[Path | None, option("Where to write the report, one HTML file.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Magnitude tables: primary rules, secondary suppression, and an audit of what attackers get back.

    Exit status 1 where an attack succeeds against the result.
    """
    from gemel.common.progress import stages_on_terminal
    from gemel.risk.magnitude.assessment import Choice, assess
    from gemel.risk.magnitude.audit import assess_published
    from gemel.risk.magnitude.reader import (
        protected_table,
        read_hierarchies,
        read_published,
        read_published_alone,
        read_tables,
    )
    from gemel.risk.record_table import FileOfRecords

    if out is not None:  # imported before anything is computed: charts are an extra
        from gemel.risk.report.magnitude import render

    if objective not in ("value", "cells"):
        raise parameter("--objective", "must be `value` or `cells`", objective)
    methods = {"auto": None, "exact": True, "heuristic": False}
    if method not in methods:
        raise parameter("--method", f"must be one of {', '.join(methods)}", method)
    named = [names(each) for each in by]
    parents = read_hierarchies(hierarchy or [])
    if rounding < 0:
        raise parameter("--rounding", "must be 0 or above", f"{rounding:g}")
    if records is None:
        found = _without_records(published, table, known_within)
        linked, values = read_published_alone(found, named, parents, rounding=rounding)
        result = assess_published(linked, values, signed=signed, progress=stages_on_terminal())
    else:
        if value is None:
            raise parameter("--value", "the column that the tables add up is needed")
        source = FileOfRecords(records, csv=csv_form(encoding, separator, records))
        read = read_tables(source, named, value, unit=unit, weights=weights, parents=parents)
        within = float("inf") if known_within is None else known_within / 100
        result = assess(
            read.tables,
            read.found,
            _rules(min_frequency, frequency_margin, p_percent, q_percent, coalition, dominance or []),
            Choice("value" if objective == "value" else "cells", totals, methods[method], seconds, insiders, within),
            None if published is None else read_published(published, read.tables, rounding=rounding),
            stages_on_terminal(),
        )
        result |= {"records": read.records, "value": value, "unit": unit, "weights": weights}
    _print_results(result)
    written = [] if json_file is None or not write_json(json_file, result) else [json_file]
    if out is not None:
        write_text(out, render(result))
        written.insert(0, out)
    for path in written:
        typer.echo(f"wrote {path}" + (", as confidential as the records" if records is not None else ""))
    if result.get("breaches") or result.get("published_primary"):
        raise typer.Exit(1)
    if table is not None and records is not None:
        write_text(table, protected_table(read.tables, read.found, result))
        typer.echo(f"wrote {table}, for publication")


def _without_records(published: Path | None, table: Path | None, known_within: float | None) -> Path:
    if published is None:
        raise parameter("RECORDS, --published", "records are needed, or a published table to audit")
    if table is not None:
        raise parameter("--table", "a protected table is made of records")
    if known_within is not None:
        raise parameter(
            "--known-within",
            "what is known beforehand is about the true values",
            remedy="give the records, with --published for a table suppressed elsewhere",
        )
    return published


def _rules(
    min_frequency: int | None, margin: float, p: float | None, q: float, coalition: int, dominance: list[str]
) -> tuple[Rule, ...]:
    from gemel.risk.magnitude.rules import Dominance, MinimumFrequency, PriorPosterior

    if min_frequency is None and p is None and not dominance:
        min_frequency, p = 3, 10.0
    rules: list[Rule] = []
    if min_frequency is not None:
        rules.append(MinimumFrequency(min_frequency, margin))
    for text in dominance:
        n, _, k = text.partition(",")
        try:
            rules.append(Dominance(int(n), float(k)))
        except ValueError as error:
            raise parameter("--dominance", "must be a whole number and a percentage", remedy="write 2,85") from error
    if p is None and (q != 100 or coalition != 1):
        raise parameter("--q-percent, --coalition", "is part of the p % rule", remedy="give --p-percent")
    if p is not None:
        rules.append(PriorPosterior(p, q, coalition))
    return tuple(rules)


def _print_results(result: dict[str, Any]) -> None:
    cells = result["cells"]
    if "rules" in result:
        typer.echo(
            f"{result['records']:,} records in {cells['all']:,} cells, totals among them; {cells['primary']:,} risky"
        )
        for rule, number in zip(result["rules"], result["risky_by_rule"], strict=True):
            typer.echo(f"{number:6,} {rule}")
        chosen = result["suppression"]
        if chosen is not None:
            how = f"{chosen['method']}, " + ("no choice costs less" if chosen["optimal"] else "not proven cheapest")
            typer.echo(f"{cells['secondary']:6,} withheld beside them ({how})")
            if not chosen["optimal"] and chosen["bound"] > 0:
                typer.echo(f"       cost {chosen['cost']:.6g}; none is below {chosen['bound']:.6g}")
            if chosen["not_withstood"]:
                typer.echo(f"{chosen['not_withstood']:,} attacks cannot be withstood, whatever else is withheld")
        if result["known_within"] is not None:
            typer.echo(f"attackers know each withheld cell within {result['known_within']:.2%} of its value beforehand")
        typer.echo(f"withheld of the value of inner cells: {result['withheld_share']:.2%}")
    typer.echo(f"audit: {cells['suppressed']:,} withheld cells, {result['recovered']:,} of them known exactly")
    if "rules" in result:
        attacks = result["attacks"]
        typer.echo(
            f"{len(result['breaches']):,} of {attacks['outsider'] + attacks['contributors']:,} attacks come too close"
            f" ({attacks['contributors']:,} by contributors); {len(result['published_primary']):,} risky cells shown"
        )
    else:
        typer.echo(f"{result['within_ten_per_cent']:,} known within ten per cent")
