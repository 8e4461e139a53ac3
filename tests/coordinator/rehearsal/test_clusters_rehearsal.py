"""A whole linkage by entities, through the real services: what custodians and coordinator receive, and the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.duplicates import copied
from gemel.coordinator.demonstration.people import TRUTH, two_files
from gemel.coordinator.demonstration.people.population import IDENTIFIER
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.rehearsal.narration import Narrator
from gemel.coordinator.rehearsal.output_folder import rehearse_into
from gemel.coordinator.truth_columns import Truth
from tests.coordinator.rehearsal.before_the_end import look_before_the_end

N, COMMON = 250, 120


@pytest.mark.long
def test_a_rehearsal_by_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    alice, bob = (copied(table, 0.3, 0.3, rng) for table in two_files(N, N, COMMON, 0.2, rng))
    alice.write_csv(tmp_path / "alice.csv")
    bob.write_csv(tmp_path / "bob.csv")
    spec, *_ = draft(alice.drop(TRUTH), bob.drop(TRUTH), "twice-in-both")
    assert spec.links.assignment == "clusters"
    shares: dict[str, dict[str, pl.DataFrame]] = {}

    def look(folder: Path) -> None:
        for path in folder.rglob("entities.parquet"):
            owner = "alice" if "alice" in str(path.relative_to(folder)) else "bob"
            shares[owner] = {name: pl.read_parquet(path.parent / f"{name}.parquet") for name in ("links", "entities")}

    look_before_the_end(monkeypatch, look)
    out = tmp_path / "out"
    files = tmp_path / "alice.csv", tmp_path / "bob.csv"
    rehearse_into(out, spec, *files, Truth(TRUTH, TRUTH), Narrator(explain=False), "1GiB", 1)
    assert json.loads((out / "evaluation.json").read_text())["at_decision"]["f1"] >= 0.97
    document = json.loads((out / "linkage.json").read_text())
    entities = document["entities"]
    assert document["links"] == entities["pairs"] == pl.read_csv(out / "links.csv").height
    assert "pairs of records are the links" in (out / "report.html").read_text()
    # Each custodian's own files, with its own identifiers; the ids of entities join them to all links.
    for owner, table in (("alice", alice), ("bob", bob)):
        links, own = shares[owner]["links"], shares[owner]["entities"]
        assert links["identifier"].is_unique().all()
        assert set(links["identifier"]) <= set(own["identifier"]) <= set(table[IDENTIFIER])
        several = own.group_by("entity_id").len().filter(pl.col("len") > 1).height
        assert several == entities["several"][owner]
    joined = shares["alice"]["links"].join(shares["bob"]["links"], on="link_id", suffix="_bob")
    assert joined.height == entities["pairs"]
