"""``gemel demo``: a whole linkage on invented people, explained as it happens, its result assessed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gemel.common.errors import parameter
from gemel.coordinator.commands.dialogues import ReportLanguage

SHARE_IN_COMMON = 0.5
UNMEASURED = 10_000
"""Up to so many people the draft is not measured by the custodians' leakage gate, which would take a fifth of the
demonstration's time: in four draws their gate never refused it. Of 20,000 people it did twice."""

_NOT_MEASURED = (
    "What Carole could learn under it was not measured, as `gemel spec draft` would: each custodian measures it before"
    " it sends anything, and refuses above its limit."
)
_ACCEPTED = "What Carole could learn under it was measured, and is within the custodians' limits."
_REFUSED = "What Carole could learn under it was measured: the custodians will refuse, as its comments explain."


def command(
    out: Annotated[
        Path, typer.Option(help="Folder for the files, the specification, the links and the report.")
    ] = Path("demo", mode=None),
    people: Annotated[int, typer.Option(help="Records in each file.", min=20, max=200_000)] = 5000,
    corrupted: Annotated[float, typer.Option(help="Share of records with errors.", min=0, max=1)] = 0.2,
    seed: Annotated[int, typer.Option(help="The same seed invents the same people.", min=0)] = 1,
    variables: Annotated[
        bool,
        typer.Option(
            "--variables",
            help="Two insurers who also know drivers' traits, linked by first name, month of birth and sex only.",
        ),
    ] = False,
    mode: Annotated[
        str, typer.Option(help="open, block_keyed, or shared: on shares, of which no party can read anything.")
    ] = "block_keyed",
    language: ReportLanguage = "en",
) -> None:
    """See a whole linkage on invented people: real services, every step explained, two reports at the end.

    Half of the people are in both files. All of them are invented. What the result could disclose of them is assessed,
    and judged by a policy. With --variables the extended latent step shows what values add where names are poor, beside
    the same linkage by agreement alone.
    """
    import numpy as np

    from gemel.coordinator.client.terminal import console, show_mode
    from gemel.coordinator.demonstration.people import TRUTH, two_files
    from gemel.coordinator.demonstration.people.insured import insured_specification, with_policy, with_traits
    from gemel.coordinator.draft.specification_draft import draft, drafted_mode
    from gemel.coordinator.draft.specification_text import dump_specification
    from gemel.coordinator.rehearsal.narration import Narrator
    from gemel.coordinator.rehearsal.output_folder import rehearse_into
    from gemel.coordinator.truth_columns import Truth
    from gemel.custodian.leakage.leakage_assessment import assess

    chosen = drafted_mode(mode, "--mode")
    if variables and chosen != "block_keyed":
        raise parameter("--mode", "--variables has a specification of its own", remedy="drop one of the two")
    out.mkdir(parents=True, exist_ok=True)
    common = round(people * SHARE_IN_COMMON)
    console.print(f"Inventing two files of {people:,} people, {common:,} of them in both (seed {seed}).")
    rng = np.random.default_rng(seed)
    alice, bob = two_files(people, people, common, corrupted, rng)
    measured = people > UNMEASURED and not variables
    if measured:
        console.print("Drafting a specification that the custodians' own leakage gates accept; it takes a minute.")
    gate = assess if measured else None
    drafted = None if variables else draft(alice.drop(TRUTH), bob.drop(TRUTH), "demo", mode=chosen, gate=gate)
    alice, bob = with_traits(alice, bob, rng)
    alice.write_csv(out / "alice.csv")
    bob.write_csv(out / "bob.csv")
    if drafted is None:
        spec = insured_specification("demo")
        (out / "linkage.yaml").write_text(dump_specification(spec), encoding="utf-8")
        console.print(f"Wrote {out / 'linkage.yaml'}: little to compare, and variables on both sides.")
    else:
        spec, comments = with_policy(drafted.specification, drafted.comments, (people, people, common))
        (out / "linkage.yaml").write_text(dump_specification(spec, comments), encoding="utf-8")
        console.print(f"Drafted {out / 'linkage.yaml'} from the columns both files share: read it, it explains itself.")
        accepted = _ACCEPTED if drafted.accepted else _REFUSED
        console.print(accepted if measured else _NOT_MEASURED)
        console.print(
            "It also has what each insurer knows of drivers, as codes, and a policy for what the result may disclose."
        )
    show_mode(spec)
    truth = Truth(TRUTH, TRUTH)
    narrator = Narrator(explain=True, shared=spec.mode == "shared")
    files = out / "alice.csv", out / "bob.csv"
    rehearse_into(out, spec, *files, truth, narrator, "3GiB", 0, invented=True, alone=variables, language=language)
