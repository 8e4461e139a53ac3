"""What a rehearsal leaves behind: links with both identifiers, the model, the evaluation, and the report."""

from __future__ import annotations

import datetime
import filecmp
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from gemel.carole.configuration import LimitsConfiguration
from gemel.carole.engine.run.specified import refuse_unidentified
from gemel.common.documents.linkage_document import EvaluationDocument, SchemeResult
from gemel.common.documents.model_document import Stage, StatisticsDocument, Timings
from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.language import LanguageCode
from gemel.common.parties import Side
from gemel.common.processes import processors
from gemel.common.specification import Specification, encoding_digest, specification_digest
from gemel.common.specification.model.schemes import SCHEMES
from gemel.coordinator.client.terminal import console, show_form
from gemel.coordinator.draft.specification_draft import SAME_RECORDS
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.coordinator.rehearsal.link_truth import evaluate, links_and_pairs, persons_of, summary
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.rehearse import Rehearsed, Resources, rehearse
from gemel.coordinator.reports.disclosure import write_risk_report
from gemel.coordinator.reports.linkage import ReportContent, RunDescription, write_report
from gemel.coordinator.truth_columns import Truth
from gemel.records.csv_form import CsvOptions
from gemel.records.registry import FOUND, file_source

# The same files linked by other schemes, and by agreement alone, to compare with what the specification selects.

AGREEMENT_ALONE = "agreement alone"
"""What the comparison calls the linkage without its extended latent step."""


def compared(scheme: str, evaluation: EvaluationDocument) -> SchemeResult:
    return SchemeResult(
        scheme=scheme,
        **evaluation.at_decision.plain(),
        auc=evaluation.auc,
        calibration_largest_gap=evaluation.calibration_largest_gap,
        curve=evaluation.curve,
    )


def other_schemes(spec: Specification, schemes: Sequence[str]) -> Iterator[tuple[str, Specification]]:
    """The same linkage by other schemes, and without the values where they are judged by; what to call each."""
    if spec.latent is not None:
        data = spec.model_dump()
        alone = {**data, "latent": None, "release": {**data["release"], "joint": "none"}}
        yield AGREEMENT_ALONE, Specification.model_validate(alone)
    for scheme in schemes:
        if scheme != spec.model.scheme:
            yield scheme, _with_scheme(spec, scheme)


def _with_scheme(spec: Specification, scheme: str) -> Specification:
    """The same linkage by another scheme; shaded weights know no frequencies of values."""
    data = spec.model_dump()
    data["model"]["scheme"] = scheme
    if not SCHEMES[scheme].calibrated:
        for field in data["fields"]:
            field["value_frequencies"] = False
    return Specification.model_validate(data)


def rehearse_into(
    out: Path,
    spec: Specification,
    alice: Path,
    bob: Path,
    truth: Truth | None,
    narrator: Narrator,
    memory: str,
    threads: int,
    *,
    invented: bool = False,
    schemes: bool = False,
    alone: bool = False,
    forms: tuple[CsvOptions, CsvOptions] = (FOUND, FOUND),
    max_upload: str = "2GiB",
    known: Sequence[Path] = (),
    language: LanguageCode = "en",
) -> None:
    """Rehearse a linkage and write its results into the folder `out`.

    `truth` is where the files name the person, to judge the links by; without it there is no evaluation. With `schemes`
    the same files are linked by the other schemes too, each in a rehearsal of its own, and by agreement alone where the
    specification has a latent step; with `alone` by this only. `forms` are of Alice's and of Bob's file, as far as they
    are given; `known` are files that the specification names by their digest. `threads` of 0: one for each core.

    Errors as `rehearse`; FIELD_MISSING if a truth column is not there; SPECIFICATION if it is linked by; NOT_IDENTIFIED
    if the specification compares too little.
    """
    refuse_unidentified(spec)
    if truth is not None:
        truth.require_unused(spec)
    sources = {}
    for side, path, form in zip(Side, (alice, bob), forms, strict=True):
        _require_file(path, f"--{side}")
        sources[side] = file_source(path.absolute(), form)
    for path in known:
        _require_file(path, "--known")
    beside = [path.absolute() for path in known]
    show_form(*sources.values())
    if filecmp.cmp(alice, bob, shallow=False):
        narrator.show(SAME_RECORDS)
    persons = {side: persons_of(source, spec, side, truth) for side, source in sources.items()} if truth else None
    # The file's own digest, and not that of what is signed here, which differs in what this one person may see.
    narrator.show(f"specification digest  {specification_digest(spec).hex()}")
    # Both custodians are played by one person here, who wants to see all pairs that came near to a link.
    shown = _shown(spec)
    others: list[SchemeResult] = []

    def collect(rehearsed: Rehearsed) -> None:
        with _whole(out) as folder:
            links, pairs = links_and_pairs(rehearsed.shares)
            _write_result(folder, rehearsed, links, language, invented=invented)
            for recipient, path in rehearsed.linked.items():
                shutil.copyfile(path, folder / f"linked-{recipient}.parquet")
            evaluation = None
            if persons is not None:
                narrator.step("evaluate")
                evaluation = evaluate(links, pairs, persons[Side.ALICE], persons[Side.BOB])
                if others:
                    own = compared(spec.model.scheme, evaluation)
                    evaluation = evaluation.model_copy(update={"schemes": [own, *others]})
                (folder / "evaluation.json").write_bytes(evaluation.written())
                narrator.show(summary(evaluation))
                narrator.end()
            timings = _timings(rehearsed, narrator)
            _write_timings(folder, rehearsed, timings)
            content = report_content(spec, rehearsed.statistics, evaluation, timings, invented=invented)
            write_report(folder / "report.html", content, language)

    granted = Resources(memory, threads or processors(), max_upload)
    with _made(out):
        if (schemes or alone) and persons is not None:
            for what, other in other_schemes(shown, tuple(SCHEMES) if schemes else (spec.model.scheme,)):
                console.rule(f"[bold]{what.capitalize()}, to compare", style="dim")

                def evaluated(rehearsed: Rehearsed, what: str = what) -> None:
                    links, pairs = links_and_pairs(rehearsed.shares)
                    others.append(compared(what, evaluate(links, pairs, persons[Side.ALICE], persons[Side.BOB])))

                text = dump_specification(other)
                rehearse(other, text, sources, Narrator(explain=False), granted, evaluated, beside)
        rehearse(shown, dump_specification(shown), sources, narrator, granted, collect, beside)
    _show_written(out, spec)


def _write_result(
    folder: Path, rehearsed: Rehearsed, links: pl.DataFrame, language: LanguageCode, *, invented: bool
) -> None:
    links.write_parquet(folder / "links.parquet")
    links.write_csv(folder / "links.csv")
    for share in rehearsed.shares.values():
        if (share / "joint.json").exists():
            (folder / "joint.json").write_bytes((share / "joint.json").read_bytes())
    (folder / "model.json").write_bytes(rehearsed.statistics.model.written())
    (folder / "linkage.json").write_bytes(rehearsed.statistics.linkage.written())
    _write_json(folder / "profiles.json", rehearsed.profiles)
    if rehearsed.assessment is not None:
        _write_json(folder / "assessment.json", rehearsed.assessment)
        written = hashlib.sha256((folder / "assessment.json").read_bytes()).digest()
        write_risk_report(
            folder / "risk.html", rehearsed.assessment, invented=invented, sha256=written, language=language
        )


def _write_timings(folder: Path, rehearsed: Rehearsed, timings: Timings) -> None:
    custodians = {str(side): own for side, own in rehearsed.timings.items()}
    within = {"carole": rehearsed.statistics.timings.plain(), "custodians": custodians}
    used = {"peak_memory": rehearsed.peak_memory, "processor_seconds": rehearsed.processor_seconds}
    _write_json(folder / "timings.json", {**timings.plain(), **within, **used})


def _show_written(out: Path, spec: Specification) -> None:
    console.rule(style="dim")
    written = ", ".join(name for name in (*WRITTEN, *_linked_files(out)) if (out / name).exists())
    console.print(f"Wrote {out}: {written}", highlight=False, soft_wrap=True)
    reports = f"[bold]{out / 'report.html'}[/bold]"
    if spec.assessment is not None:
        reports += f" (the links) and [bold]{out / 'risk.html'}[/bold] (what they could disclose of people)"
    console.print(f"Open {reports} in a browser.", highlight=False, soft_wrap=True)


WRITTEN = (
    *("links.csv", "links.parquet", "joint.json", "model.json", "linkage.json", "profiles.json", "evaluation.json"),
    *("timings.json", "report.html", "assessment.json", "risk.html"),
)
"""What a rehearsal leaves behind; the evaluation only when the truth is known, the last two only where the
specification has a section `assessment`."""


def report_content(
    spec: Specification,
    statistics: StatisticsDocument,
    evaluation: EvaluationDocument | None,
    timings: Timings | None = None,
    *,
    invented: bool = False,
) -> ReportContent:
    """What a report states, from the specification and what Carole reported to the coordinator."""
    linkage = statistics.linkage
    records = linkage.records
    run = {
        "project": spec.project,
        "mode": spec.mode,
        "joined": spec.resolution.joined,
        "variables": len(spec.variables),
        "assessed": spec.assessment is not None,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("gemel"),
        "specification_digest": specification_digest(spec).hex(),
        "encoding_digest": encoding_digest(spec).hex(),
        "files": {
            "alice": {"title": "Alice", "records": records.alice},
            "bob": {"title": "Bob", "records": records.bob},
        },
        "one_to_one": spec.links.assignment == "one_to_one",
        "invented": invented,
    }
    described = RunDescription.of(run, "run")
    return ReportContent(described, statistics.model, linkage, evaluation, timings or statistics.timings)


def check_memory(text: str) -> None:
    """Refuse a number that is no size, before anything is started."""
    try:
        LimitsConfiguration(memory=text)
    except ValidationError:
        raise parameter("--memory", "expected a size", repr(text), "write 512MiB or 3GiB") from None


def _require_file(path: Path, option: str) -> None:
    if not path.is_file():
        what = "there is a folder of this name, and no file" if path.is_dir() else "there is no such file"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), remedy=f"check {option}")


@contextmanager
def _made(out: Path) -> Iterator[None]:
    """The folder, made if it was not there; after an error it is gone again, unless something is in it."""
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if made:
            with suppress(OSError):
                out.rmdir()
        raise


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A folder whose files take the place of an earlier rehearsal's in `out`, all of them or none."""
    with tempfile.TemporaryDirectory(dir=out, prefix=".new-") as made:
        folder = Path(made)
        yield folder
        for name in (*WRITTEN, *_linked_files(folder, out)):
            if (folder / name).exists():
                (folder / name).replace(out / name)
            else:
                (out / name).unlink(missing_ok=True)


def _linked_files(*folders: Path) -> list[str]:
    return sorted({path.name for folder in folders for path in folder.glob("linked-*.parquet")})


def _shown(spec: Specification) -> Specification:
    """The specification as it is rehearsed: its player sees all pairs, and decides alone on what is held."""
    # An analyst is granted no exact probability, and would receive one from a custodian that has it.
    exact = "none" if any(transfer.to_analyst for transfer in spec.release.transfers) else "both"
    seen = {"alice": "pairs", "bob": "pairs", "coordinator": "statistics", "exact_probabilities": exact}
    update: dict[str, Any] = {"release": spec.release.model_copy(update=seen)}
    if spec.assessment is not None:
        update["assessment"] = spec.assessment.model_copy(update={"on_breach": "hold", "signatures": 1})
    return spec.model_copy(update=update)


def _timings(rehearsed: Rehearsed, narrator: Narrator) -> Timings:
    """Where the time went: each step as the user waited for it."""
    stages = [Stage(name=name, seconds=seconds) for name, seconds in narrator.seconds.items()]
    return Timings(stages=stages, peak_memory_bytes=max(rehearsed.peak_memory.values(), default=0) or None)


def _write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
