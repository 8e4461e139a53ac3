"""``gemel spec``: draft, check and explain a specification."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.terminal.output import Json, print_json
from gemel.coordinator.commands.dialogues import refuse_existing

if TYPE_CHECKING:
    from gemel.common.specification import Specification

EncodingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding", help="Text encoding of the CSV files, such as cp1252; twice: Alice's, Bob's. Else found."
    ),
]
SeparatorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--separator", help="Separator of the CSV files, such as ';' or tab; twice: Alice's, Bob's. Else found."
    ),
]

MemoryOption = Annotated[str, typer.Option("--memory", help="The estimate's limits.memory of Carole's.")]
MaxUploadOption = Annotated[str, typer.Option("--max-upload", help="The estimate's limits.max_upload of Carole's.")]
MaxRowsOption = Annotated[int, typer.Option("--max-rows", help="The estimate's limits.max_rows of Carole's.")]
MEMORY, MAX_UPLOAD, MAX_ROWS = "3GiB", "2GiB", 5_000_000
"""The defaults of Carole's configuration."""
ProjectName = Annotated[str, typer.Option(help="The project's name: lower-case letters, digits, hyphens.")]
Block = Annotated[
    bool | None,
    typer.Option(
        "--block/--no-block", help="Propose blocking rules or none; by default, when there are too many pairs."
    ),
]
DraftedMode = Annotated[
    str | None,
    typer.Option(
        help="open; block_keyed: Carole compares in blocks only, the default where there are rules; or shared."
    ),
]
Bits = Annotated[
    int | None,
    typer.Option(min=64, max=8192, help="Length of the signatures of names and texts; levels are noise tolerant."),
]
RandomisedResponse = Annotated[
    float,
    typer.Option(
        min=0, max=0.4, help="Probability that a bit of names and texts is inverted; levels are noise tolerant."
    ),
]
Ignored = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given several times.")]
TruthAlice = Annotated[
    str | None, typer.Option(help="Column of Alice's file that names the person: kept out of the specification.")
]
TruthBob = Annotated[str | None, typer.Option(help="The same for Bob's file.")]
MeasuredByGate = Annotated[
    bool,
    typer.Option(
        "--gate/--no-gate",
        help="In modes block_keyed and shared: measure by the custodians' gate, and change what they would refuse.",
    ),
]
GrownRows = Annotated[
    int, typer.Option(min=0, help="Records that either file may grow to; the gate measures files of this size.")
]
PartialRegister = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="Share that who has 10 or 40 % of these people may recognise; by default as measured."
    ),
]
FullRegister = Annotated[float | None, typer.Option(min=0, max=1, help="The same for who has all of these people.")]
GateSeed = Annotated[
    int, typer.Option(min=0, help="Draws the gate's throw-away keys; the same files, options and seed: the same draft.")
]

app = typer.Typer(
    help="Draft, check and explain a specification (linkage.yaml). Nothing is sent anywhere.", no_args_is_help=True
)


@app.command()
def check(
    specification: Annotated[Path, typer.Argument(help="The specification, usually linkage.yaml.")],
    members: Annotated[
        Path | None, typer.Option(help="The membership list: warns if it lacks a member that the specification needs.")
    ] = None,
    rows: Annotated[
        int, typer.Option(min=0, help="Records of each file: estimates what they cost, and refuses what is too much.")
    ] = 0,
    alice: Annotated[
        Path | None, typer.Option(help="Alice's file, or a sample, of any such kind: the estimate counts in it.")
    ] = None,
    bob: Annotated[Path | None, typer.Option(help="Bob's file, or a sample.")] = None,
    memory: MemoryOption = MEMORY,
    max_upload: MaxUploadOption = MAX_UPLOAD,
    max_rows: MaxRowsOption = MAX_ROWS,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    as_json: Json = False,
) -> None:
    """Report every issue at once, by path and with its remedy; then explain what the specification means.

    A specification that is in order but could not be estimated, since it compares too little, is refused too.

    With --rows, or --alice and --bob, it estimates bytes, seconds and memory of both custodians and of Carole, and ends
    with status 1 if one of Carole's limits is exceeded.
    """
    from gemel.carole.engine.run.specified import refuse_unidentified
    from gemel.common.pki.members import Members
    from gemel.common.specification import (
        encoding_digest,
        read_specification,
        specification_digest,
        specification_notes,
    )
    from gemel.coordinator.client.terminal import console, show_mode, show_notes
    from gemel.coordinator.estimate.estimate import (
        both_files,
        carole_limits,
        cleaned_columns,
        estimate_of_files,
        estimate_of_size,
        lacking_members,
        show_estimate,
    )

    limits = carole_limits(memory, max_upload, max_rows)
    spec = read_specification(specification)
    refuse_unidentified(spec)
    console.print(
        f"[bold]{spec.project}[/bold]: {len(spec.fields)} fields, {len(spec.blocking)} blocking rules. No issues."
    )
    show_mode(spec)
    notes = list(specification_notes(spec))
    if members is not None:
        notes += lacking_members(spec, Members.load(members))
    show_notes(notes)
    console.print(f"specification digest  {specification_digest(spec).hex()}", highlight=False, soft_wrap=True)
    console.print(f"encoding digest       {encoding_digest(spec).hex()}", highlight=False, soft_wrap=True)
    estimate = None
    if alice is not None or bob is not None:
        columns = cleaned_columns(spec, both_files(alice, bob, encoding, separator))
        estimate = estimate_of_files(spec, columns, limits, rows)
    elif rows:
        estimate = estimate_of_size(spec, rows, limits)
    if as_json:
        print_json(
            {
                "project": spec.project,
                "mode": spec.mode,
                "fields": len(spec.fields),
                "blocking_rules": len(spec.blocking),
                "specification_digest": specification_digest(spec).hex(),
                "encoding_digest": encoding_digest(spec).hex(),
                "notes": notes,
                "estimate": None if estimate is None else estimate.document(),
            }
        )
    if estimate is not None:
        show_estimate(estimate)


@app.command()
def draft(
    alice: Annotated[Path, typer.Option(help="Alice's file, of any kind in docs/records.md.")],
    bob: Annotated[Path, typer.Option(help="Bob's file, of any such kind.")],
    out: Annotated[Path, typer.Option(help="Where to write the specification.")] = Path("linkage.yaml"),
    project: ProjectName = "linkage",
    block: Block = None,
    mode: DraftedMode = None,
    bits: Bits = None,
    randomised_response: RandomisedResponse = 0.0,
    ignore: Ignored = None,
    truth_alice: TruthAlice = None,
    truth_bob: TruthBob = None,
    gate: MeasuredByGate = True,
    rows: GrownRows = 0,
    partial_register: PartialRegister = None,
    full_register: FullRegister = None,
    seed: GateSeed = 1,
    memory: MemoryOption = MEMORY,
    max_upload: MaxUploadOption = MAX_UPLOAD,
    max_rows: MaxRowsOption = MAX_ROWS,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an existing file.")] = False,
) -> None:
    """Propose a specification from the columns both files share, with a comment on each choice.

    It reads both files, so use it where both may be read: on test data, or on samples with the same columns. No value
    of the data gets into the specification.

    Beneath it stands what it costs for these files, or for files of --rows records: bytes, seconds, memory.

    Status 1 if the custodians' own leakage gates would refuse every draft that was tried, or one of Carole's limits is
    exceeded; the last words say why.
    """
    from gemel.common.specification.model.leakage import LeakageSpec
    from gemel.coordinator.client.terminal import console
    from gemel.coordinator.draft.specification_draft import draft as propose
    from gemel.coordinator.draft.specification_draft import drafted_mode
    from gemel.coordinator.draft.specification_text import dump_specification
    from gemel.coordinator.estimate.estimate import (
        both_files,
        carole_limits,
        cleaned_columns,
        estimate_of_files,
        show_estimate,
    )
    from gemel.coordinator.truth_columns import Truth
    from gemel.custodian.leakage.leakage_assessment import assess

    truth = Truth.of_options(truth_alice, truth_bob)
    refuse_existing(out, force)
    limits = carole_limits(memory, max_upload, max_rows)
    chosen = drafted_mode(mode, "--mode")
    frames = both_files(alice, bob, encoding, separator)
    left, right = (frame.drop(ignore or [], strict=False) for frame in frames)
    spec, comments, accepted = propose(
        left,
        right,
        project,
        block,
        chosen,
        bits=bits,
        randomised_response=randomised_response,
        truth=truth,
        gate=assess if gate else None,
        rows=rows,
        leakage=LeakageSpec(partial_register=partial_register, full_register=full_register),
        seed=seed,
    )
    out.write_text(dump_specification(spec, comments), encoding="utf-8")
    _show_draft(out, spec, comments)
    estimate = estimate_of_files(spec, cleaned_columns(spec, frames), limits, rows, seed)
    show_estimate(estimate, refuse=accepted)
    if not accepted:
        raise typer.Exit(1)
    judged = "" if truth is None else f" --truth-alice {truth.alice} --truth-bob {truth.bob}"
    console.print(f"Read it, then try it out: gemel rehearse {out} --alice {alice} --bob {bob} --out rehearsal{judged}")


def _show_draft(out: Path, spec: Specification, comments: Mapping[str, str]) -> None:
    from gemel.coordinator.client.terminal import console, show_mode
    from gemel.coordinator.draft.specification_draft import SAME_RECORDS

    console.print(f"Wrote [bold]{out}[/bold]: {len(spec.fields)} fields, {len(spec.blocking)} blocking rules.")
    show_mode(spec)
    measured = comments["blocking"].splitlines()[1:]
    measured += comments.get("leakage", "").splitlines()
    for line in [SAME_RECORDS] * comments["fields"].startswith(SAME_RECORDS) + measured:
        console.print(line, highlight=False, markup=False)


@app.command()
def similar(
    counts: Annotated[Path, typer.Argument(help="Public counts of a field's values, CSV or Parquet.")],
    value: Annotated[str, typer.Option(help="Their column of values.")] = "name",
    count: Annotated[str, typer.Option(help="Their column of how common each value is.")] = "count",
    drop_commonest: Annotated[int, typer.Option(min=0, help="So many of the commonest values are left out.")] = 100,
    minimum: Annotated[float, typer.Option(help="Values with a smaller count are left out.")] = 0.0,
    maximum: Annotated[int, typer.Option(help="Most values listed.")] = 10_000,
) -> None:
    """Make a field's list `only_similar` from public counts, to be pasted into the specification under the field.

    Give public counts, such as a census's: a list made from your own file would disclose what is in it.
    """
    from gemel.common.specification.text.option_lines import entry_lines
    from gemel.coordinator.draft.similar_value_list import similar_list
    from gemel.records.registry import read_table

    table = read_table(counts)
    listed = similar_list(table, value, count, drop_commonest=drop_commonest, minimum=minimum, maximum=maximum)
    for line in entry_lines("only_similar", tuple(listed)):
        typer.echo(f"    {line}")


@app.command()
def known(
    specification: Annotated[Path, typer.Argument(help="The specification, without the file or with it.")],
    file: Annotated[
        Path, typer.Argument(help="Training records, or a joint distribution with a column count or share.")
    ],
    by: Annotated[str, typer.Option(help="The custodian that will have the file: alice or bob.")],
) -> None:
    """Check a file of known values by the public categories, and print what names it, to be put under `latent`.

    Errors have the column and the rows, never a value.
    """
    from gemel.common.specification import read_specification
    from gemel.custodian.source.known_file import named_file

    typer.echo(named_file(read_specification(specification), file, by))


@app.command()
def schema(
    document: Annotated[
        str | None, typer.Argument(help="model, linkage, evaluation, assessment or statistics; else specifications.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write it; on the screen if not given.")] = None,
) -> None:
    """Export the JSON Schema of specifications, for editors that complete and check YAML, or of a run's document."""
    from gemel.coordinator.draft.specification_text import json_schema
    from gemel.coordinator.reports.document_schemas import document_schema

    text = json.dumps(json_schema() if document is None else document_schema(document), indent=2) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
