"""A whole linkage with three processes: right links, right identifiers, files of both custodians, and nothing more."""

from __future__ import annotations

import json
import stat
from typing import Any

import polars as pl
import pytest

from gemel.carole.engine.run.result import FEWEST
from gemel.common.documents.document import read_provenance
from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from tests.e2e.deployment import BOBS_NAMES, STATE
from tests.e2e.linked import COMMON, PROJECT, Linked, N
from tests.e2e.traces import IDENTIFIERS, files

IDENTIFIER_OF = {Side.ALICE: IDENTIFIER, Side.BOB: BOBS_NAMES[IDENTIFIER]}
RECORDS = N + len(IDENTIFIERS["alice"])
MATCHES = COMMON + len(IDENTIFIERS["alice"])


@pytest.fixture(scope="module")
def joined(linked: Linked) -> pl.DataFrame:
    """Both custodians' links side by side, each with the person its own file names."""
    links = {}
    for side in Side:
        persons = linked.files[side].select(pl.col(IDENTIFIER_OF[side]).alias("identifier"), pl.col(TRUTH))
        links[side] = pl.read_parquet(linked.share(side) / "links.parquet").join(
            persons, on="identifier", how="left", validate="1:1"
        )
    return links[Side.ALICE].join(links[Side.BOB], on="link_id", suffix="_bob", how="full", validate="1:1")


def test_the_links_are_right_and_one_to_one(joined: pl.DataFrame) -> None:
    assert joined["identifier"].is_unique().all()
    assert joined["identifier_bob"].is_unique().all()
    assert joined.null_count().sum_horizontal().item() == 0, "both custodians have the same links, of their own rows"
    right = joined.filter(pl.col(TRUTH) == pl.col(f"{TRUTH}_bob")).height
    precision, recall = right / joined.height, right / MATCHES
    assert 2 * precision * recall / (precision + recall) >= 0.97


def test_the_planted_people_are_linked(joined: pl.DataFrame) -> None:
    pairs = set(joined.select("identifier", "identifier_bob").iter_rows())
    assert set(zip(IDENTIFIERS["alice"], IDENTIFIERS["bob"], strict=True)) <= pairs


def test_both_have_the_same_figures_of_a_link(joined: pl.DataFrame) -> None:
    assert joined["link_probability"].equals(joined["link_probability_bob"], check_names=False)
    # The decision is by the probability under one-to-one: a weak pair without a rival may be a link.
    assert joined["link_probability"].is_between(0.5, 1).all()
    # Means of classes, of many links each.
    assert joined["link_probability"].value_counts()["count"].min() >= FEWEST
    assert not {"match_probability", "match_weight"} & set(joined.columns)


def test_each_custodian_has_what_the_specification_grants(linked: Linked) -> None:
    granted = {
        Side.ALICE: {"links.parquet", "links.csv", "draws.parquet", "statistics.json", "timings.json"},
        Side.BOB: {"links.parquet", "links.csv", "pairs.parquet", "statistics.json", "timings.json"},
    }
    for side in Side:
        share = linked.share(side)
        assert {path.name for path in share.iterdir()} == granted[side]
        links = pl.read_parquet(share / "links.parquet")
        assert pl.read_csv(share / "links.csv", infer_schema=False)["identifier"].equals(links["identifier"])
        assert links.height == linked.status.run.links == linked.shown[side].links
        assert linked.shown[side].rows == RECORDS
        assert linked.shown[side].results == str(share)
        assert json.loads((share / "statistics.json").read_text()) == linked.statistics
        where_from = read_provenance(share / "links.parquet")
        assert where_from is not None
        assert (where_from.run, where_from.sides, where_from.exact) == (linked.status.run.run, [str(side)], False)
        assert bytes.fromhex(where_from.specification_digest) == linked.status.specification_digest
    pairs = pl.read_parquet(linked.share(Side.BOB) / "pairs.parquet")
    assert pairs["linked"].sum() == linked.status.run.links
    draws = pl.read_parquet(linked.share(Side.ALICE) / "draws.parquet")
    assert set(draws["draw"]) == set(range(4))
    assert set(draws["pair_id"]) <= set(pairs["pair_id"])
    assert set(draws["identifier"]) <= set(linked.files[Side.ALICE][IDENTIFIER_OF[Side.ALICE]])
    assert set(pairs["identifier"]) <= set(linked.files[Side.BOB][IDENTIFIER_OF[Side.BOB]])


def test_the_coordinator_has_statistics_and_no_record(linked: Linked) -> None:
    statistics = linked.statistics
    assert set(statistics) == {"model", "linkage", "timings", "warnings"}
    assert statistics["linkage"]["links"] == linked.status.run.links
    assert json.loads((linked.outputs / "results" / "model.json").read_text()) == statistics
    assert "<svg" in (linked.outputs / "results" / "report.html").read_text()
    assert {path.name for path in (linked.outputs / "results").iterdir()} == {"model.json", "report.html"}
    # No list is as long as a file has records, or as there are links: whatever it may hold, it is not one of each.
    assert max(map(len, _lists(statistics))) < COMMON
    values = {cell for frame in linked.files.values() for column in frame for cell in column.to_list() if cell}
    texts = {text for text in _texts(statistics) if len(text) > 2}
    assert texts
    assert not texts & values


def test_what_went_wrong_was_reported(linked: Linked) -> None:
    reported = linked.troubles
    assert "check the quotation marks" in reported["quotation"]
    assert "every line must have 10 cells as the first has, got 11" in reported["cell"]
    assert "not in utf-8" in reported["encoding"]
    assert "no column 'family_name'" in reported["column"]
    assert "none of the columns" in reported["header"]
    assert "1 identifiers on 2 rows" in reported["twice"]
    assert "not in utf-8" in linked.printed("alice-in-trouble").replace("\n", " ")
    assert "1 identifiers on 2 rows" in linked.printed("bob-in-trouble").replace("\n", " ")
    failed = linked.failed
    assert "do not fit into the memory of a run" in failed.error
    assert "limits.memory" in failed.error
    assert "raise it in Carole's configuration" in failed.error
    assert "failed" in linked.printed("status-failed")


def test_all_is_well_in_the_end(linked: Linked) -> None:
    status = linked.status
    assert (status.project, status.blocking_error) == (PROJECT, "")
    assert status.state == STATE.PROJECT_STATE_RELEASED
    assert status.run.attempt == 1
    assert status.run.run != linked.failed.run
    for side in Side:
        assert linked.shown[side].blocking_error == ""
        assert "released" in linked.printed(f"{side}-status")
    assert "released" in linked.printed("status")
    assert "By the model" in linked.printed("fetched")


def test_the_audit_log_tells_the_story(linked: Linked) -> None:
    entries = [json.loads(line) for line in linked.printed("audit").splitlines()]
    actions = [entry["action"] for entry in entries]
    # The store and the membership list come before the first project.
    assert next(action for action in actions if action not in ("init", "list-members")) == "create"
    assert actions[-2:] == ["acknowledge-result", "acknowledge-result"]
    for action, count in {
        "approve": 3,
        "report-keys": 2,
        "begin-upload": 2,
        "commit-upload": 2,
        "start-run": 2,
        "take-run": 2,
        "fail-run": 1,
        "finish-run": 1,
        "release": 1,
    }.items():
        assert actions.count(action) == count, action
    released = next(entry for entry in entries if entry["action"] == "release")
    assert released["actor"] == "system"


def test_what_is_kept_is_for_its_owner_only(linked: Linked) -> None:
    folders = [linked.made.folders[name] for name in ("alice", "bob", "carole")]
    kept = [folder / part for folder in folders for part in ("state", "results", "store") if (folder / part).exists()]
    assert len(kept) == 5
    for path in (file for folder in kept for file in files(folder)):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def _lists(document: Any) -> list[list[Any]]:
    if isinstance(document, dict):
        return [found for value in document.values() for found in _lists(value)]
    if isinstance(document, list):
        return [document, *(found for value in document for found in _lists(value))]
    return []


def _texts(document: Any) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {text for value in document.values() for text in _texts(value)}
    if isinstance(document, list):
        return {text for value in document for text in _texts(value)}
    return {document} if isinstance(document, str) else set()
