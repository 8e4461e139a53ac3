"""One file linked with itself where it rests: the persons in it, the model, and the report.

The file is read, cleaned, encoded and compared as a specification says, by the code that a linkage runs, with a key
drawn for this run and forgotten at its end. Whoever runs it holds the records in clear, so that nothing is disclosed;
what a specification has for the eyes of others (dummy rows, randomised response, the assessment) is left out.
"""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from gemel.carole.engine import Linkage, Resources
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.linkage.linking import deduplicate
from gemel.carole.engine.run.specified import plan_of
from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.keys.derivation import Seed
from gemel.common.language import LanguageCode
from gemel.common.parties import Side
from gemel.common.progress import Progress
from gemel.common.specification import Specification
from gemel.coordinator.reports.linkage import ReportContent, RunDescription, write_report
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.source.cleaned_file import read_cleaned
from gemel.records.sources import Source

AT_HOME = ("version", "project", "mode", "custodians", "fields", "blocking", "swaps", "model", "links", "retention")
"""The sections of a specification that count where nothing leaves the machine."""


@dataclass(frozen=True)
class OwnDuplicates:
    persons: pl.DataFrame
    records: int
    statistics: StatisticsDocument


def own_duplicates(
    source: Source, spec: Specification, side: Side, resources: Resources, progress: Progress
) -> OwnDuplicates:
    started = time.perf_counter()
    spec = at_home(spec)
    read = read_cleaned(source, spec, side)
    made = encode_records(read.cleaned.columns, spec, Seed.generate(), 1, threads=resources.threads)
    plan = plan_of(spec)
    seconds = {"read": time.perf_counter() - started}
    linkage, person = deduplicate(made.sets[0], plan, resources, progress)
    statistics = findings(linkage, plan, resources, seconds)
    return OwnDuplicates(_persons(linkage, person, read.identifiers, made.order), person.size, statistics)


def at_home(spec: Specification) -> Specification:
    """What of a specification counts where nothing leaves the machine."""
    data: dict[str, Any] = {name: value for name, value in spec.model_dump().items() if name in AT_HOME}
    data["mode"] = "open" if spec.in_blocks else spec.mode
    data["fields"] = [{**field, "randomised_response": 0.0} for field in data["fields"]]
    return Specification.model_validate(data)


def _persons(
    linkage: Linkage, person: NDArray[np.int64], identifiers: pl.Series, order: NDArray[np.int64]
) -> pl.DataFrame:
    """The records of people who have several, by their identifiers; rows of the encoding are shuffled."""
    pairs, links = linkage.pairs, linkage.links
    best = np.zeros(person.size)
    for rows in (pairs.row_a, pairs.row_b):
        np.maximum.at(best, rows[links], pairs.link_probability[links])
    several = np.flatnonzero(np.bincount(person, minlength=person.size)[person] > 1)
    table = pl.DataFrame(
        {
            "row": order[several],
            "root": person[several],
            "identifier": identifiers.gather(order[several]),
            "probability": best[several],
        }
    ).sort("row")
    return table.select(
        pl.col("row").first().over("root").rank("dense").cast(pl.Int64).alias("person"), "identifier", "probability"
    ).sort("person", maintain_order=True)


def write_duplicates(
    folder: Path, name: str, spec: Specification, found: OwnDuplicates, language: LanguageCode = "en"
) -> None:
    found.persons.write_csv(folder / "persons.csv")
    (folder / "model.json").write_bytes(found.statistics.model.written())
    (folder / "linkage.json").write_bytes(found.statistics.linkage.written())
    file = {"title": name, "records": found.records}
    run = {
        "project": f"{spec.project}: duplicates in {name}",
        "mode": at_home(spec).mode,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": version("gemel"),
        "files": {"alice": file, "bob": file},
        "one_to_one": False,
        "one_file": True,
    }
    statistics = found.statistics
    content = ReportContent(
        RunDescription.of(run, "run"), statistics.model, statistics.linkage, None, statistics.timings
    )
    write_report(folder / "report.html", content, language)
