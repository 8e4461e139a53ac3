"""``gemel duplicates``: the people who are in one file more than once, at home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gemel.common.errors import parameter
from gemel.common.terminal.options import EncodingOption, SeparatorOption
from gemel.common.terminal.output import Json, print_json
from gemel.coordinator.commands.dialogues import ReportLanguage

if TYPE_CHECKING:
    from rich.progress import TaskID


def command(
    file: Annotated[Path, typer.Argument(help="The file, of any kind in docs/records.md.")],
    spec: Annotated[Path, typer.Option(help="The specification, usually linkage.yaml: its fields, rules and model.")],
    out: Annotated[Path, typer.Option(help="Folder for persons.csv, the model and the report.")],
    side: Annotated[str, typer.Option(help="Whose columns the file has in the specification: alice or bob.")] = "alice",
    memory: Annotated[str, typer.Option(help="Memory it may use, such as 3GiB.")] = "3GiB",
    threads: Annotated[int, typer.Option(min=1, help="Threads.")] = 2,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    as_json: Json = False,
    language: ReportLanguage = "en",
) -> None:
    """Find the people who are in one file more than once: on this machine, in clear, by a linkage's own methods.

    It writes persons.csv (a number for each person with several records, the file's own identifiers, and the
    probability of each record to be of its person), model.json, linkage.json and an offline report.html. Nothing is
    sent anywhere. No record is removed: who is right about a duplicate is for you to decide.
    """
    from gemel.carole.configuration import LimitsConfiguration
    from gemel.carole.engine import Resources
    from gemel.common.documents.claimed_words import claimed_sentence
    from gemel.common.durable import whole_folder
    from gemel.common.parties import Side
    from gemel.common.specification import read_specification
    from gemel.coordinator.client.run_progress import bars
    from gemel.coordinator.client.terminal import console, show_form
    from gemel.coordinator.rehearsal.narration import show_warnings
    from gemel.coordinator.rehearsal.output_folder import check_memory
    from gemel.coordinator.rehearsal.own_file import own_duplicates, write_duplicates
    from gemel.records.csv_form import CsvOptions
    from gemel.records.registry import file_source

    if side not in set(Side):
        raise parameter("--side", "expected alice or bob", side[:40])
    specification = read_specification(spec)
    check_memory(memory)
    source = file_source(file, CsvOptions(encoding, separator).checked())
    show_form(source)
    resources = Resources(LimitsConfiguration(memory=memory).memory_bytes, threads)
    with bars() as shown:
        tasks: dict[str, TaskID] = {}

        def progress(stage: str, done: float) -> None:
            if stage not in tasks:
                tasks[stage] = shown.add_task(stage, total=1.0)
            shown.update(tasks[stage], completed=done)

        found = own_duplicates(source, specification, Side(side), resources, progress)
    with whole_folder(out) as written:
        write_duplicates(written, file.name, specification, found, language)
    if as_json:
        people, records = found.persons["person"].n_unique(), found.persons.height
        linkage = found.statistics.linkage.plain()
        print_json({"people": people, "records": records, "of": found.records, "linkage": linkage})
    console.print(
        f"{found.persons['person'].n_unique():,} people are in {file.name} more than once: {found.persons.height:,} of"
        f" its {found.records:,} records, in {found.statistics.linkage.links:,} pairs. "
        + claimed_sentence(found.statistics.linkage.claims),
        highlight=False,
    )
    show_warnings(found.statistics.warnings)
    console.print(f"Wrote {out}: persons.csv, model.json, linkage.json, report.html", highlight=False, soft_wrap=True)
