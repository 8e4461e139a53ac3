"""``gemel intrude``: a test attack on a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import JsonFile, write_json

if TYPE_CHECKING:
    from gemel.records.csv_form import CsvOptions

KnownFile = Annotated[Path, typer.Argument(help="People an intruder may know: CSV, Parquet, ..., one row per person.")]
ReleaseFile = Annotated[Path, typer.Argument(help="The file to be released: CSV, Parquet, ..., one row per person.")]


def command(
    known: KnownFile,
    release: ReleaseFile,
    keys: Annotated[
        str | None, typer.Option(help="Variables compared, separated by commas; by default all that both files have.")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--id", help="Column of both files that identifies the person, for evaluation only.")
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="Records of other people whom the intruder knows with all variables: CSV or Parquet."),
    ] = None,
    minimum: Annotated[float, typer.Option(help="Minimum probability for the intruder to make a claim.")] = 0.5,
    dummies: Annotated[
        str | None, typer.Option(help="Try dummy records, as shares of the release, separated by commas: .05,.1,.2")
    ] = None,
    kind: Annotated[str, typer.Option(help="Kind of dummy records: twins, model or independent.")] = "twins",
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.")] = 1,
    json_file: JsonFile = None,
) -> None:
    """Use the linker to attack a release: link it to people an intruder knows.

    Two intruders: one compares values, the other also estimates which values occur together. With --id their claims
    are compared with the truth. With --training the second has also seen other people's records with all variables.
    Nothing is sent anywhere, and the output contains no record.
    """
    from gemel.carole.intruder.attack_assessment import assess
    from gemel.records.csv_form import CsvOptions

    csv = CsvOptions(encoding, separator).checked()
    files = _read(known, release, keys, person, training, csv)
    found = assess(files, minimum=minimum, dummies=_shares(dummies), kind=kind, seed=seed)  # type: ignore[arg-type]
    if json_file is not None:
        write_json(json_file, found)
    _print(found, minimum)


def _read(
    known: Path, release: Path, keys: str | None, person: str | None, training: Path | None, csv: CsvOptions
) -> Any:
    from gemel.carole.intruder.files import AttackedFiles
    from gemel.records.registry import read_table
    from gemel.records.typed_table import read_as

    for path in (known, release, training):
        if path is not None and (line := read_as(path, csv)):
            typer.echo(line, err=True)
    people, records = read_table(known, csv), read_table(release, csv)
    ids = None
    if person is not None:
        for path, table in ((known, people), (release, records)):
            if person not in table.columns:
                raise GemelError(ErrorCode.FIELD_MISSING, f"no column {person}", where=str(path))
        ids = (people[person].to_list(), records[person].to_list())
        people, records = people.drop(person), records.drop(person)
    chosen = None if keys is None else [name.strip() for name in keys.split(",") if name.strip()]
    others = None if training is None else read_table(training, csv).to_dict()
    return AttackedFiles.from_columns(people.to_dict(), records.to_dict(), chosen, ids=ids, training=others)


def _shares(text: str | None) -> list[float]:
    try:
        shares = [float(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        shares = [-1.0]
    if any(not 0 <= share <= 10 for share in shares):
        raise parameter("dummies", "shares from 0 to 10, separated by commas", repr(text))
    return shares


def _print(found: dict[str, Any], minimum: float) -> None:
    from gemel.common.documents.result_warning import ResultWarning

    also = f", beside {', '.join(found['known'])}" if found["known"] else ""
    typer.echo(
        f"{found['people']:,} people known by {', '.join(found['keys'])}{also}; {found['records']:,} records released"
        + (f" that also contain {', '.join(found['learnt'])}" if found["learnt"] else "")
        + (f"; {found['training']:,} training records" if found["training"] else "")
        + "."
    )
    _table(found["intruders"], minimum)
    for name, intruder in found["intruders"].items():
        for warning in intruder["warnings"]:
            typer.echo(f"  {name}: {ResultWarning.model_validate(warning).line}")
    for part in found["dummies"]:
        typer.echo(f"\nWith {part['share']:.0%} dummy records ({part['kind']}):")
        _table(part["intruders"], minimum)
    if not found["truth_known"]:
        typer.echo(
            "\nWithout --id it is not known which claims are right: only the claimed probabilities are available."
        )


def _table(intruders: dict[str, Any], minimum: float) -> None:
    typer.echo(f"\n  {'intruder':<16} {'claimed person':<36} {'claims':>7} {'claimed':>8} {'right':>7}")
    rows = (
        ("most_probable", "the most probable pair of all"),
        ("best_of_each_person", "everyone's most probable record"),
        ("best_of_each_person_if_likely", f"the same where probability >= {minimum:g}"),
    )
    for name, intruder in intruders.items():
        for key, words in rows:
            claims = intruder["claims"][key]
            right = "" if claims["true"] is None else f"{claims['true']:.3f}"
            typer.echo(f"  {name:<16} {words:<36} {claims['number']:>7,} {claims['claimed']:>8.3f} {right:>7}")
            name = ""
