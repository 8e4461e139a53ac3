"""``gemel rehearse``: the whole thing on one machine, to try a specification out before going live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.errors import parameter
from gemel.coordinator.commands.dialogues import ReportLanguage
from gemel.coordinator.commands.spec import EncodingOption, SeparatorOption

Memory = Annotated[str, typer.Option(help="Memory Carole may use, such as 3GiB.")]
Threads = Annotated[int, typer.Option(help="Threads Carole may use; 0: one per core.")]


def command(
    specification: Annotated[Path, typer.Argument(help="The specification, usually linkage.yaml.")],
    alice: Annotated[Path, typer.Option(help="Alice's file, of any kind in docs/records.md.")],
    bob: Annotated[Path, typer.Option(help="Bob's file, of any such kind.")],
    out: Annotated[Path, typer.Option(help="Folder for links, model, evaluation and report.")],
    truth_alice: Annotated[
        str | None, typer.Option(help="Column of Alice's file that names the person, to judge the links by.")
    ] = None,
    truth_bob: Annotated[str | None, typer.Option(help="The same for Bob's file.")] = None,
    schemes: Annotated[
        bool, typer.Option("--schemes", help="Link by the other schemes too, and compare them by the truth.")
    ] = False,
    known: Annotated[
        list[Path] | None,
        typer.Option(help="A file that `latent.training` or `latent.joint` names; may be given several times."),
    ] = None,
    memory: Memory = "3GiB",
    threads: Threads = 0,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    language: ReportLanguage = "en",
) -> None:
    """Try a specification out: real services on this machine, throw-away keys, your files.

    It writes links.parquet and links.csv (both custodians' identifiers, link probability), model.json,
    an offline report.html and, when the truth is given, evaluation.json. Two rows are the same person when their truth
    columns are equal. A specification that compares the truth, or blocks by it, is refused.
    """
    from gemel.common.specification import read_specification
    from gemel.coordinator.client.terminal import show_mode
    from gemel.coordinator.rehearsal.narration import Narrator
    from gemel.coordinator.rehearsal.output_folder import check_memory, rehearse_into
    from gemel.coordinator.truth_columns import Truth
    from gemel.records.csv_form import CsvOptions

    truth = Truth.of_options(truth_alice, truth_bob)
    if schemes and truth is None:
        raise parameter("--schemes", "schemes are compared by the truth", remedy="give --truth-alice and --truth-bob")
    spec = read_specification(specification)
    check_memory(memory)
    show_mode(spec)
    forms = CsvOptions.of_files(encoding or [], separator or [])
    narrator = Narrator(explain=False, shared=spec.mode == "shared")
    rehearse_into(
        out,
        spec,
        alice,
        bob,
        truth,
        narrator,
        memory,
        threads,
        schemes=schemes,
        forms=forms,
        known=known or [],
        language=language,
    )
