"""``gemel risk tables``, ``protect`` and ``microdata``: assess what a release discloses of people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.durable import write_text
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import JsonFile, write_json
from gemel.risk.commands.option_values import ValuesOption, argument, csv_form, option

app = typer.Typer(
    help="What an intruder learns of people from tables, samples and records. Nothing is sent anywhere.",
    no_args_is_help=True,
)

ReleaseFile = Annotated[
    Path, argument("The release: JSON (see docs/attribution.md), or a file of counts that is one exact table.")
]


@app.command()
def tables(
    release: ReleaseFile,
    out: Annotated[Path | None, option("Where to write the report, one HTML file.")] = None,
    json_file: JsonFile = None,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    seconds: Annotated[float, option("Time allowed for the bounds.")] = 60.0,
    draws: Annotated[int, option("Random orders of people where the SAP is not found exactly.")] = 1_000,
    known: Annotated[int | None, option("Draw the SAP up to so many known people.")] = None,
    threshold: Annotated[float, option("Share from which a likely value is reported.")] = 0.9,
    seed: Annotated[int, option("Of the random orders.")] = 1,
) -> None:
    """Bounds, certain and likely statements, unique matches, SAP and the cost of the protection."""
    from gemel.common.progress import stages_on_terminal
    from gemel.risk.attribution.reader import is_table, read_release
    from gemel.risk.attribution.table_assessment import assess

    if out is not None:  # imported before anything is computed: charts are an extra
        from gemel.risk.report.attribution import render

    csv = csv_form(encoding, separator, release if is_table(release) else None)
    found = assess(
        read_release(release, csv),
        seed=seed,
        seconds=seconds,
        draws=draws,
        known=known,
        threshold=threshold,
        progress=stages_on_terminal(),
    )
    written = [] if json_file is None or not write_json(json_file, found) else [json_file]
    if out is not None:
        write_text(out, render(found))
        written.insert(0, out)
    limits, sap = found["bounds"], found["sap"]
    typer.echo(
        f"{found['release']}: {limits['recovered']} of {len(limits['cells'])} cells known exactly, "
        f"{limits['zeros']} of them empty; by {limits['method']}"
        + ("" if limits["tight"] else " (not all proven tight)")
    )
    certain = found["statements"]
    typer.echo(f"certain: {certain['positive_total']} values, {certain['negative_total']} exclusions")
    if sap["computed"]:
        again = sap["retightened"]
        for words, curve, method in (
            ("bounds as released", sap, ""),
            *((("bounds derived again", again, f" ({again['method']})"),) if again else ()),
        ):
            chances = ", ".join(
                f"{float(level):.0%} at {'no number' if k is None else k}" for level, k in curve["known_for"].items()
            )
            typer.echo(f"SAP, {words}: {chances} known people{method}")
    for path in written:
        typer.echo(f"wrote {path}")


@app.command()
def protect(
    release: Annotated[Path, argument("A release with its truth, whose tables name protections.")],
    out: Annotated[Path, option("Where to write the protected release as JSON.")],
    with_truth: Annotated[bool, option("Keep the truth in it. Not for publication.", "--with-truth")] = False,
) -> None:
    """Apply the protections that a release names, and write what would be published."""
    from dataclasses import replace

    from gemel.risk.attribution.reader import document_of, read_release

    made = read_release(release)
    document = document_of(made if with_truth else replace(made, truth=None))
    write_json(out, document)
    typer.echo(f"wrote {out}: {len(made.tables)} tables" + ("" if with_truth else ", without the truth"))


@app.command()
def microdata(
    records: Annotated[Path, argument("Records: CSV, Parquet, Stata, SPSS or SAS.")],
    keys: Annotated[str, option("Key variables, with commas between.")],
    sensitive: Annotated[str, option("The sensitive variable.")],
    threshold: Annotated[float, option("Share from which a likely value is an approximate attribution.")] = 0.9,
    ordered: Annotated[
        bool, option("The sensitive levels, sorted as text, have an order (for t-closeness).", "--ordered")
    ] = False,
    labels: ValuesOption = "codes",
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    json_file: JsonFile = None,
) -> None:
    """k-anonymity, l-diversity, t-closeness, and exact and approximate attributions of a file of records."""
    from gemel.records.typed_table import chosen_values
    from gemel.risk.attribution.microdata import attributions, classes, encode, k_anonymity, l_diversity, t_closeness
    from gemel.risk.attribution.reader import read_columns

    names = [k.strip() for k in keys.split(",")]
    csv = csv_form(encoding, separator, records)
    codes, levels = encode(read_columns(records, [*names, sensitive], chosen_values(labels), csv))
    groups = classes(codes[:, :-1], codes[:, -1], len(levels[-1]))
    found = attributions(groups, threshold)
    figures = {
        "records": len(codes),
        "classes": len(groups.sizes),
        "k_anonymity": k_anonymity(groups),
        "l_diversity": l_diversity(groups),
        "l_diversity_entropy": round(l_diversity(groups, "entropy"), 4),
        "t_closeness": round(t_closeness(groups, ordered=ordered), 4),
        "records_with_certain_value": found.records(found.positive),
        "records_with_excluded_value": found.records(found.negative),
        "records_with_likely_value": found.records(found.approximate),
        "threshold": threshold,
    }
    for name, value in figures.items():
        typer.echo(f"{name.replace('_', ' '):28s} {value}")
    if json_file is not None:
        write_json(json_file, figures)
