"""How well Tryst links data whose truth is known, through the services: ``python -m benchmarks quality``.

The specification is the draft as it comes; nothing is tuned to the data, and the truth is used to judge only. Needs the
reference data in the folder ``shared`` beside the checkout.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from carole.coordinator.draft import draft
from carole.coordinator.narration import Narrator
from carole.coordinator.outcome import Truth, rehearse_into
from carole.coordinator.screen import console

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PERSON = "person_truth"


@dataclass(frozen=True)
class Case:
    """Two files, the identifier from which the person follows, and whether to block."""

    title: str
    alice: pl.DataFrame
    bob: pl.DataFrame
    identifier: str
    block: bool


def cases() -> list[Case]:
    """FEBRL4 without its social security numbers, blocked and not; the four files of brl_sim."""
    left, right = (_read(DATA / "febrl" / f"dataset4{part}.csv").drop("soc_sec_id") for part in "ab")
    found = [
        Case("FEBRL4 without soc_sec_id, every pair", left, right, "rec_id", block=False),
        Case("FEBRL4 without soc_sec_id, blocked", left, right, "rec_id", block=True),
    ]
    for errors in (1, 2):
        for number in (0, 1):
            both = _read(DATA / "brl_sim" / f"percdups50_nerrors{errors}_dataset{number}.csv")
            original = pl.col("rec-id").str.ends_with("-org")
            title = f"brl_sim, {errors} error{'s' * (errors > 1)}, dataset {number}"
            found.append(Case(title, both.filter(original), both.filter(~original), "rec-id", block=False))
    return found


def main(arguments: list[str]) -> int:
    """Link every case and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks quality", description=__doc__)
    parser.parse_args(arguments)
    if not DATA.is_dir():
        print("The reference data is not beside this checkout.")
        return 1
    rows = []
    for case in cases():
        with tempfile.TemporaryDirectory() as name, console.capture():
            rows.append((case.title, _link(case, Path(name))))
    print("| data | F1 at the decision | precision | recall | best F1 | expected AUC | calibration gap |")
    print("|---|---|---|---|---|---|---|")
    for title, found in rows:
        decision = found["at_decision"]
        print(
            f"| {title} | {decision['f1']:.4f} | {decision['precision']:.4f} | {decision['recall']:.4f} "
            f"| {found['at_best']['f1']:.4f} | {found['auc']:.4f} | {abs(found['calibration_largest_gap']):.2f} pairs |"
        )
    return 0


def _link(case: Case, folder: Path) -> dict[str, dict[str, float]]:
    spec, _ = draft(case.alice, case.bob, "quality", case.block)
    for name, table in (("alice", case.alice), ("bob", case.bob)):
        person = pl.col(case.identifier).str.extract(r"^(rec-\d+)").alias(PERSON)
        table.with_columns(person).write_csv(folder / f"{name}.csv")
    rehearse_into(
        folder,
        spec,
        folder / "alice.csv",
        folder / "bob.csv",
        Truth(PERSON, PERSON),
        Narrator(explain=False),
        "3GiB",
        0,
    )
    evaluation: dict[str, dict[str, float]] = json.loads((folder / "evaluation.json").read_text())
    return evaluation


def _read(path: Path) -> pl.DataFrame:
    table = pl.read_csv(path, infer_schema=False)
    return table.rename({name: name.strip() for name in table.columns}).with_columns(pl.all().str.strip_chars())
