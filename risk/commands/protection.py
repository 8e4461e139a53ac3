"""``gemel risk protect``: protect a file of records, look again, and check a protected file against its log."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemel.common.errors import ErrorCode, GemelErrors, parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import STANDARD_OUTPUT, JsonFile, write_json
from gemel.risk.commands.option_values import (
    argument,
    csv_form,
    given,
    listed,
    model_of,
    names,
    option,
    pairs,
    searched,
    share_or_search,
    whole_numbers,
)

if TYPE_CHECKING:
    from gemel.risk.protection.policy import Policy
    from gemel.risk.record_table import FileOfRecords


_JUDGES = {"larger": "the larger of two (* the bound 1/f)", "counts": "the counts, since the policy has k"}


def result_lines(report: Mapping[str, Any]) -> Iterator[str]:
    from gemel.risk.protection.policy import decision_words  # imports the numbers, which no help text needs

    before, after, log = report["before"], report["after"], report["log"]
    yield (f"{'':34s} {'before':>12s} {'after':>12s}")
    for name, words in (
        ("combinations", "combinations of key values"),
        ("k", "fewest records that agree (k)"),
        ("below_2", "unique records"),
        ("below_3", "records that fewer than 3 agree with"),
        ("correct_matches", "expected correct matches, share"),
        ("record_risk", "largest chance of a match"),
        ("minimal_uniques", "minimal sample uniques"),
    ):
        yield _row(words, before[name], after[name])
    for words, own in (("calibrated tau2", "tau2"), ("calibrated correct matches, share", "correct_matches")):
        yield _row(words, *(_calibrated(report, when, own) for when in ("before", "after")))
    if before["exact"] is not None:
        yield "by the population, exactly; the policy is judged by this:"
        for name, words in (
            ("correct_matches", "correct matches, share"),
            ("record_risk", "largest chance of a match"),
            ("population_uniques", "records that fit one person only"),
        ):
            yield _row(words, before["exact"][name], after["exact"][name])
    decision = report["policy_decision"]
    for row in decision["limits"]:
        yield f"{row['limit']} {row['value']:g}, judged by {_JUDGES[decision['by']]}:"
        yield _row("  by the counts alone", row["before"]["counts"], row["after"]["counts"])
        yield _row("  upper end", _end(row["before"]), _end(row["after"]))
    for words in decision_words(decision):
        yield f"warning: {words}"
    lost, whole = (sum(row[n] for row in report["lost"]) for n in ("bits", "of"))
    yield (f"lost {lost:.3g} of {whole:.3g} bits a record; {log['reached']['suppressed']:.3%} of key values suppressed")
    for change in log["changes"]:
        words = ", ".join(f"{n} {v}" for n, v in change["parameter"].items() if not isinstance(v, list))
        yield (
            f"  {change['variable']}: {change['method']}{f' ({words})' if words else ''}, {change['values']:,} values"
        )
    if report["as_they_are"]:
        yield (f"published as they are: {', '.join(report['as_they_are'])}")
    if report["identifying"]:
        yield (
            f"warning: nearly every record has a value of its own in {', '.join(report['identifying'])}; "
            "leave identifiers out with --drop"
        )


def _row(words: str, *figures: float | str) -> str:
    before, after = (figure if isinstance(figure, str) else format(figure, ".4g") for figure in figures)
    return f"{words:36s} {before:>10s} {after:>12s}"


def _end(own: Mapping[str, Any]) -> str:
    return "-" if own["upper"] is None else f"{own['upper']:.4g}{'*' if own['upper_by'] == 'bound' else ''}"


def _calibrated(report: Mapping[str, Any], when: str, name: str) -> str:
    own = report["calibrated"][when]
    if "why" in own:
        return "-"
    value = own[name]
    return format(value["value"] if isinstance(value, dict) else value, ".4g")


_LEVELS, _METHODS, _POLICY, _FILES = "Levels of the keys", "Changed values", "Policy", "Files"


def protect(
    records: Annotated[Path, argument("In CSV, Parquet, Stata, SPSS or SAS; with --verify the protected ones.")],
    keys: Annotated[str, option("Key variables, with commas between: what an intruder may know.")] = "",
    fraction: Annotated[
        float | None, option("Sampling fraction; 1 if an intruder may know who is in the file. Not with --population.")
    ] = None,
    population: Annotated[
        Path | None, option("The keys of the whole population: risk is then exact, and the policy by that.")
    ] = None,
    out: Annotated[Path | None, option("Where to write the protected records.", panel=_FILES)] = None,
    log: Annotated[
        Path | None, option("Where to write the log: by default beside --out, .log.json.", panel=_FILES)
    ] = None,
    report: Annotated[Path | None, option("Where to write the report.", panel=_FILES)] = None,
    json_file: JsonFile = None,
    verify: Annotated[
        Path | None, option("Check a protected file against this log, and do nothing else.", panel=_FILES)
    ] = None,
    policy: Annotated[Path | None, option("YAML with limits: k, max_correct_matches, ...", panel=_POLICY)] = None,
    k: Annotated[int | None, option("Fewest records that agree on the keys.", "--k", panel=_POLICY)] = None,
    max_correct_matches: Annotated[
        float | None, option("Expected correct matches, as a share of the records.", panel=_POLICY)
    ] = None,
    max_record_risk: Annotated[
        float | None, option("Largest chance of a correct match of a record.", panel=_POLICY)
    ] = None,
    max_suppressed: Annotated[
        float | None, option("Share of the key values that may be suppressed.", panel=_POLICY)
    ] = None,
    hierarchies: Annotated[
        list[str] | None,
        option("KEY=FILE, CSV value,level1,level2,...; may be repeated.", "--hierarchy", panel=_LEVELS),
    ] = None,
    intervals: Annotated[
        list[str] | None, option("KEY=5,10,20: widths of intervals; may be repeated.", panel=_LEVELS)
    ] = None,
    quantiles: Annotated[
        list[str] | None, option("KEY=8,4: intervals that hold as many records; may be repeated.", panel=_LEVELS)
    ] = None,
    bottom: Annotated[str | None, option("KEY=VALUE,...: values at most this are one group.", panel=_LEVELS)] = None,
    top: Annotated[str | None, option("KEY=VALUE,...: values of at least this are one group.", panel=_LEVELS)] = None,
    recoding: Annotated[
        float | None,
        option(
            "Search groups for the other keys, for this share of expected correct matches by models.",
            "--find-recoding",
            panel=_LEVELS,
        ),
    ] = None,
    levels: Annotated[str | None, option("KEY=LEVEL,...: publish these so; 0 is as it is.", panel=_LEVELS)] = None,
    importance: Annotated[
        str | None, option("KEY=NUMBER,...: what a key is worth, 1 if not named.", panel=_LEVELS)
    ] = None,
    pram: Annotated[
        str | None,
        option("KEY=SHARE,...: redraw values (invariant); `search` for a share tries several.", panel=_METHODS),
    ] = None,
    swap: Annotated[
        str | None, option("KEY=SHARE,...: swap values between records, or KEY=search.", panel=_METHODS)
    ] = None,
    within: Annotated[str | None, option("Columns whose values swapping records share.", panel=_METHODS)] = None,
    microaggregate: Annotated[str | None, option("Numeric columns averaged together.", panel=_METHODS)] = None,
    group: Annotated[int, option("Smallest group of --microaggregate.", panel=_METHODS)] = 3,
    noise: Annotated[str | None, option("COLUMN=SHARE,...: noise of this variance.", panel=_METHODS)] = None,
    rounding: Annotated[str | None, option("COLUMN=BASE,...: multiples of it.", "--round", panel=_METHODS)] = None,
    dropped: Annotated[str | None, option("Columns that are not published: names, identifiers.", "--drop")] = None,
    missing: Annotated[
        str, option("What a missing or suppressed value agrees with: `any` value, or a `level` of its own.")
    ] = "level",
    missing_values: Annotated[str, option("Texts that mean missing, with commas between.")] = ",NA",
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    weights: Annotated[str | None, option("Column of survey weights.")] = None,
    numbers: Annotated[str | None, option("Numeric columns to compare before and after.")] = None,
    model: Annotated[str | None, option("Regression to compare: 'income ~ age + sex', by least squares.")] = None,
    frontier: Annotated[bool, option("Try other limits too, for the frontier.")] = True,
    seed: Annotated[int | None, option("Of random methods, for trials: whoever knows it can undo them.")] = None,
) -> None:
    """Protect a file of records and look again: the smallest change that meets a policy, with risk and utility."""
    from gemel.risk.protection.request import read_hierarchy
    from gemel.risk.record_table import FileOfRecords

    csv = csv_form(encoding, separator)
    if verify is not None:
        _verify(FileOfRecords(records, csv=csv), verify)
        if json_file is not None:
            write_json(json_file, {"records": str(records), "log": str(verify), "verified": True})
        return
    known = fraction if population is None else 1.0
    if out is None or not keys or known is None:
        needed = (("--keys", keys), ("--fraction or --population", known), ("--out", out))
        absent = [name for name, value in needed if value in (None, "")]
        raise parameter(", ".join(absent), "is needed to protect a file")
    if report is not None:  # imported before anything is computed: charts are an extra
        from gemel.risk.report.protection import render

    import numpy as np

    from gemel.common.progress import stages_on_terminal
    from gemel.risk.protection.changes import Levels, Methods
    from gemel.risk.protection.protected_file import protect as protected
    from gemel.risk.protection.request import Request, sampling_fraction, write_records, written_as

    if missing not in ("any", "level"):
        raise parameter("--missing", "must be `level` or `any`", missing)
    endings = written_as(records)
    if out.suffix.lower() not in endings:
        raise parameter(
            "--out",
            "the protected file has the format of the records if that is CSV or Parquet, and is one of these otherwise",
            out.suffix or "no ending",
            f"end its name with {' or '.join(endings)}",
        )
    log = out.with_suffix(".log.json") if log is None else log
    _refuse_overwriting(records, [p for p in (out, log, report, json_file) if p is not None and p != STANDARD_OUTPUT])
    files = {name: Path(path) for name, path in pairs(hierarchies, "--hierarchy", str).items()}
    redrawn, swapped = listed(pram, "--pram", share_or_search), listed(swap, "--swap", share_or_search)
    csv_form(encoding, separator, records, population)
    frame = FileOfRecords(records, csv=csv).columns()
    whole = None if population is None else FileOfRecords(population, csv=csv).columns(names(keys))
    request = Request(
        tuple(names(keys)),
        sampling_fraction(fraction, frame.height, None if whole is None else whole.height),
        _policy(policy, k, max_correct_matches, max_record_risk, max_suppressed),
        Levels(
            rows={name: (read_hierarchy(path), str(path)) for name, path in files.items()},
            widths=pairs(intervals, "--intervals", whole_numbers),
            quantiles=pairs(quantiles, "--quantiles", whole_numbers),
            bottom=listed(bottom, "--bottom", int),
            top=listed(top, "--top", int),
            fixed=listed(levels, "--levels", int),
            found=recoding,
        ),
        Methods(
            pram=given(redrawn),
            swap=given(swapped),
            pram_searched=searched(redrawn),
            swap_searched=searched(swapped),
            within=tuple(names(within)),
            microaggregate=tuple(names(microaggregate)),
            group=group,
            noise=listed(noise, "--noise", float),
            rounding=listed(rounding, "--round", float),
        ),
        missing="any" if missing == "any" else "level",
        missing_values=tuple(v.strip() for v in missing_values.split(",")),
        importance=listed(importance, "--importance", float),
        weights=weights,
        numbers=tuple(names(numbers)),
        model=model_of(model),
        dropped=tuple(names(dropped)),
    )
    # Without a seed the generator starts from the system's secret numbers, which are kept nowhere.
    generator = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    made = protected(frame, request, generator, population=whole, frontier=frontier, progress=stages_on_terminal())
    write_records(out, made.frame)
    write_json(log, made.log)
    described = [] if json_file is None or not write_json(json_file, made.report) else [json_file]
    if report is not None:
        from gemel.risk.report import write_page

        write_page(report, render(made.report))
        described.insert(0, report)
    for line in result_lines(made.report):
        typer.echo(line)
    typer.echo(f"wrote {out}")
    typer.echo(f"wrote {log}, which may go with it")
    for path in described:
        typer.echo(f"wrote {path}, which describes the original too: not for publication")
    if seed is not None and any(c["method"] in ("PRAM", "swapping", "correlated noise") for c in made.log["changes"]):
        typer.echo("warning: with --seed, whoever guesses the seed can undo the random changes; publish without it")


def _verify(records: FileOfRecords, log: Path) -> None:
    from gemel.risk.protection.log import verify
    from gemel.risk.protection.request import read_log

    found = verify(records.columns(), read_log(log), str(records))
    if found:
        raise GemelErrors(ErrorCode.SOURCE, found, where=f"{records} is not what {log} describes")
    typer.echo(f"{records} is the file that {log} describes")


def _policy(path: Path | None, *limits: float | None) -> Policy:
    from gemel.risk.protection.policy import Policy
    from gemel.risk.protection.request import read_policy

    names = ("k", "max_correct_matches", "max_record_risk", "max_suppressed")
    given = {name: value for name, value in zip(names, limits, strict=True) if value is not None}
    return replace(Policy() if path is None else read_policy(path), **given)  # type: ignore[arg-type]


def _refuse_overwriting(records: Path, written: list[Path]) -> None:
    places = [p.resolve() for p in (records, *written)]
    if len(set(places)) < len(places):
        raise parameter(
            "--out, --log, --report, --json",
            "two files would have one name, or the records be overwritten",
            remedy="give each a name of its own",
        )
