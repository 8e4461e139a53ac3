"""``gemel risk identify``: how likely people of a file are recognised, printed without a value of any record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gemel.common.durable import write_text
from gemel.common.errors import parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import JsonFile, write_json
from gemel.risk.commands.option_values import ValuesOption, argument, csv_form, names, option
from gemel.risk.commands.option_values import listed as listed_values


def result_lines(found: Mapping[str, Any]) -> Iterator[str]:
    if "scenarios" not in found:
        yield from _of_one(found)
        return
    for each in found["scenarios"]:
        yield f"== keys {', '.join(key['name'] for key in each['file']['keys'])}"
        yield from _of_one(each)
    yield "== comparison of the key sets"
    yield " ".join(f"{head:>9s}" for head in _COMPARED.values()) + "  keys"
    for row in found["comparison"]:
        figures = ("-" if row[name] is None else format(row[name], ".4g") for name in _COMPARED)
        yield " ".join(f"{figure:>9s}" for figure in figures) + f"  {', '.join(row['keys'])}"


_COMPARED = {
    "uniques": "unique",
    "violate_3_anonymity": "k < 3",
    "dis": "DIS",
    "calibrated_tau2": "tau2 cal.",
    "tau2": "tau2",
    "modelled": "Pr(CM)",
}
"""The figures of the comparison, and their heads."""


def _of_one(found: Mapping[str, Any]) -> Iterator[str]:
    from gemel.common.documents.result_warning import ResultWarning  # loads numbers, which no help text needs

    file = found["file"]
    yield (
        f"{file['records']:,} records, {file['uniques']:,} unique on {len(file['keys'])} keys;"
        f" {found['special_uniques']['minimal_uniques']:,} minimal sample uniques"
    )
    if file["fraction_from"] == "weights":
        yield f"{'sampling fraction':28s} {file['fraction']:.4g}, from the weights: records over their sum"
    if file["labelled"] is not None:
        own = file["labelled"]
        other = "labels" if own["values"] == "codes" else "codes"
        columns = ", ".join(own["columns"])
        yield f"{'values with labels':28s} {columns}: {own['values']} are used (--values {other} for the others)"
    for k, measure in enumerate(found["measures"]):
        if not measure["relied_on"] and (k == 0 or found["measures"][k - 1]["relied_on"]):
            yield "not to be relied on, by a model that the file contradicts or that was not fitted:"
        value = "not finite" if measure["value"] is None else f"{measure['value']:.4g}"
        interval = "" if measure["low"] is None else f" ({measure['low']:.3g} to {measure['high']:.3g})"
        yield f"{measure['name']:28s} {value}{interval}"
    for section, lines in _SECTIONS.items():
        if (part := found.get(section)) is not None:
            yield from lines(part)
    for warning in found["warnings"]:
        yield ResultWarning.model_validate(warning).line
    for left in found["left_out"]:
        yield f"not computed: {left['what']}: {left['why']}"


def _privacy_models(part: Mapping[str, Any]) -> Iterator[str]:
    below = ", ".join(f"{v['records']:,} ({v['share']:.2%}) for k = {v['k']}" for v in part["violations"])
    yield f"{'violate k-anonymity':28s} {below}; smallest class {part['smallest_class']:,}"
    for each in part["sensitive"]:
        ordered = "" if each["t_ordered"] is None else f", in order {each['t_ordered']:.3g}"
        yield (
            f"{each['variable'] + ', worst class':28s} l = {each['l_distinct']:.0f} (entropy {each['l_entropy']:.3g},"
            f" recursive {each['l_recursive']:.0f} with c = {each['recursive_c']:g}); t = {each['t']:.3g}{ordered}"
        )


def _individual(part: Mapping[str, Any]) -> Iterator[str]:
    true = part["true_reidentifications"]
    yield (
        f"{'individual risk':28s} {part['expected_reidentifications']:.4g} expected re-identifications,"
        f" {part['share']:.3g} of the records{'' if true is None else f' (true: {true:.4g})'};"
        f" greatest {part['maximum']:.3g}"
    )


def _units(part: Mapping[str, Any]) -> Iterator[str]:
    for name, section in (("any member", "any_member"), ("its keys", "by_keys"), ("all its members", "by_composition")):
        if (each := part[section]) is not None:
            alone = f"; {each['uniques']:,} unique" if "uniques" in each else ""
            yield (
                f"{'unit, ' + name:28s} {each['expected_units']:.4g} of {part['units']:,} identified,"
                f" expected ({each['share']:.3g}){alone}; greatest {each['maximum']:.3g}"
            )


def _numeric(part: Mapping[str, Any]) -> Iterator[str]:
    for each in [*part["variables"], {"variable": "all of them", "intervals": part["all_variables"]}]:
        shares = ", ".join(f"{i['percent']:g} % {i['by_value']:.3g} ({i['by_rank']:.3g})" for i in each["intervals"])
        yield f"{each['variable'] + ', within':28s} {shares} by value (by rank)"
    yield (
        f"{'linked by distance':28s} {part['linked_nearest']:.3g} as nearest, {part['linked_second']:.3g} as second"
        f" nearest; {part['by_chance']:.2g} by chance"
    )


def _ranking(part: Mapping[str, Any]) -> Iterator[str]:
    scores = ", ".join(f"{each['score']} {each['auc']:.3f}" for each in part["scores"])
    yield f"{'AUC for population uniques':28s} {scores}"


_SECTIONS = {
    "privacy_models": _privacy_models,
    "individual_risk": _individual,
    "unit_risk": _units,
    "numeric_risk": _numeric,
    "score_ranking": _ranking,
}
"""The sections of an assessment that not every file has, in the order of their lines."""


def identify(
    records: Annotated[Path, argument("The records that would be released: CSV, Parquet, Stata, SPSS or SAS.")],
    keys: Annotated[
        list[str], option("Key variables, with commas between: what an intruder may know. Again for another key set.")
    ],
    fraction: Annotated[
        float | None, option("Sampling fraction; with --population or --weights it may be left out.")
    ] = None,
    population: Annotated[Path | None, option("The same columns for the whole population.")] = None,
    out: Annotated[Path | None, option("Where to write the report, one HTML file.")] = None,
    json_file: JsonFile = None,
    missing: Annotated[
        str, option("What a missing value means: `level` (a value of its own) or `any` (agrees with all).")
    ] = "level",
    missing_values: Annotated[str, option("Texts that mean missing, with commas between.")] = ",NA",
    values: ValuesOption = "codes",
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    max_msu: Annotated[
        int | None, option("Most keys of a special unique; by default any up to 10 keys, 4 above that.")
    ] = None,
    weights: Annotated[str | None, option("Column of survey weights: people each record stands for.")] = None,
    unit: Annotated[str | None, option("Column of the unit a record belongs to: a household, an enterprise.")] = None,
    unit_keys: Annotated[
        str | None, option("What an intruder may know of a whole unit, the same for all members.")
    ] = None,
    swapped: Annotated[str | None, option("Keys whose values were swapped, and how many: region=0.2,age=0.1.")] = None,
    theta: Annotated[
        list[str] | None,
        option("Misclassification matrices: a YAML or JSON file, or KEY=FILE.csv, again for each key."),
    ] = None,
    selected: Annotated[
        float | None, option("Expected correct matches, as a share of records, to aim at in recoding.", "--target")
    ] = None,
    sensitive: Annotated[
        str | None, option("Sensitive variables, with commas between, for l-diversity and t-closeness.")
    ] = None,
    ordinal: Annotated[
        str | None, option("Sensitive variables whose values have an order: numbers, or texts that sort.")
    ] = None,
    numeric: Annotated[
        str | None, option("Numeric variables that were perturbed, compared with those of --original.")
    ] = None,
    original: Annotated[
        Path | None, option("The same records before protection, in the same order, for --numeric.")
    ] = None,
    models: Annotated[str, option("Search: default, exact, mc3, annealing or occam.")] = "default",
    listed: Annotated[bool, option("List the records of highest risk.", "--records/--no-records")] = True,
    seed: Annotated[int, option("Of the search for models.")] = 1,
) -> None:
    """Identification risk: file measures, special uniques, log-linear and modelled risk, records of highest risk."""
    from gemel.common.progress import stages_on_terminal
    from gemel.records.typed_table import chosen_values
    from gemel.risk.identification.assessment.record_assessment import assess_records
    from gemel.risk.identification.matching.bayesian_matching import METHODS
    from gemel.risk.identification.misclassification import Perturbation
    from gemel.risk.identification.reader import BesideColumns, read_theta
    from gemel.risk.record_table import FileOfRecords

    if out is not None:  # imported before anything is computed: charts are an extra
        from gemel.risk.report.identification import render

    chosen = next((m for m in METHODS if m == models), None)
    if chosen is None:
        raise parameter("--models", f"must be one of {', '.join(METHODS)}", models)
    if missing not in ("level", "any"):
        raise parameter("--missing", "must be `level` or `any`", missing)
    shares = listed_values(swapped, "--swapped", float, "write region=0.2,age=0.1")
    values_as = chosen_values(values)
    csv = csv_form(encoding, separator, records, population, original)
    before = None if original is None else FileOfRecords(original, csv=csv)
    found = assess_records(
        FileOfRecords(records, values_as, csv),
        [names(each) for each in keys],
        fraction,
        population=None if population is None else FileOfRecords(population, values_as, csv),
        missing="any" if missing == "any" else "level",
        missing_values=[v.strip() for v in missing_values.split(",")],
        weights=weights,
        beside=BesideColumns(names(sensitive), names(ordinal), unit, names(unit_keys), names(numeric), before),
        perturbation=Perturbation(shares, read_theta(theta or [])),
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
