"""What each recipient gets of a real run, and the content of the statistics."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine import Linkage, Resources, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.run.result import FEWEST
from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.linkage_draws import DrawnLinks
from gemel.carole.service.ending import share_files, shares
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.specification.model.content import ReleaseSpec
from tests.carole.deployment import SPEC, files_of, make_upload, people
from tests.carole.refusals import refusal
from tests.coordinator.reports.linkage.documents import content_of

RESOURCES = Resources(1 << 30, 2)
N, COMMON = 600, 400


def linked(plan):
    alice = make_upload(Side.ALICE, people(N), "a" * 32)[0].sets
    bob = make_upload(Side.BOB, people(N, offset=N - COMMON), "b" * 32)[0].sets
    return link(alice, bob, plan, RESOURCES, lambda stage, fraction: None)


@pytest.fixture(scope="module")
def blocked():
    return linked(plan_of(SPEC))


@pytest.fixture(scope="module")
def unblocked():
    return linked(plan_of(SPEC.model_copy(update={"blocking": ()})))


def made(linkage, parties, *grants, exact="none"):
    given = dict(zip(("alice", "bob", "coordinator"), grants, strict=True))
    spec = SPEC.model_copy(update={"release": ReleaseSpec(**given, exact_probabilities=exact)})
    document = findings(linkage, plan_of(SPEC), RESOURCES, {"read": 0.1})
    found = shares(spec, "r" * 32, share_files(spec, linkage), document, parties.members)
    return {recipient: b"".join(content) for recipient, content in found.items()}


def opened(sealed, parties, owner, run="r" * 32):
    return files_of(parties, owner, sealed, run)


OWNERS = (("custodian-a", "alice"), ("custodian-b", "bob"))


def both_tables(found, parties, name):
    """A table in Alice's share, and in Bob's."""
    return [pl.read_parquet(opened(found[role], parties, owner)[f"{name}.parquet"]) for role, owner in OWNERS]


def test_each_grant_gives_its_content_and_no_more(blocked, parties):
    found = made(blocked, parties, "links", "pairs", "statistics")
    assert set(opened(found["custodian-a"], parties, "alice")) == {"links.parquet", "statistics.json"}
    assert set(opened(found["custodian-b"], parties, "bob")) == {"links.parquet", "pairs.parquet", "statistics.json"}
    assert set(json.loads(found["coordinator"])) == {"model", "linkage", "timings", "warnings"}
    found = made(blocked, parties, "statistics", "nothing", "nothing")
    assert set(found) == {"custodian-a"}
    assert set(opened(found["custodian-a"], parties, "alice")) == {"statistics.json"}


def test_a_custodian_is_given_its_own_copies_and_none_of_the_other(blocked, parties):
    first = np.arange(N, dtype=np.int32)
    first[[7, 9, 20]] = 3, 3, 11
    found = made(replace(blocked, copies=(first, None)), parties, "links", "links", "nothing")
    assert "copies.parquet" not in opened(found["custodian-b"], parties, "bob")
    copies = pl.read_parquet(opened(found["custodian-a"], parties, "alice")["copies.parquet"])
    assert dict(copies.schema) == {"row": pl.UInt32(), "copy_id": pl.String()}
    groups = copies.group_by("copy_id").agg(pl.col("row").sort()).get_column("row")
    assert sorted(map(list, groups)) == [[3, 7, 9], [11, 20]]


@pytest.fixture(scope="module")
def clustered():
    """The first 40 of Alice's people and the first 30 of Bob's are in their file twice; 200 are in both files."""
    tables = people(N), people(N, offset=N - COMMON)
    alice, bob = pl.concat([tables[0], tables[0].head(40)]), pl.concat([tables[1], tables[1].head(30)])
    a = make_upload(Side.ALICE, alice, "a" * 32)[0].sets
    b = make_upload(Side.BOB, bob, "b" * 32)[0].sets
    plan = replace(plan_of(SPEC.model_copy(update={"blocking": ()})), assignment="clusters")
    return link(a, b, plan, RESOURCES, lambda stage, fraction: None)


def test_a_share_of_clusters_names_entities_and_hides_how_many_records_the_other_has(clustered, parties):
    """Those whom Bob has twice are linked, and Alice's lines of them are like those of the others."""
    found = made(clustered, parties, "links", "links", "nothing")
    for role, owner in OWNERS:
        assert set(opened(found[role], parties, owner)) == {"links.parquet", "entities.parquet", "statistics.json"}
    alice, bob = both_tables(found, parties, "links")
    ours, theirs = both_tables(found, parties, "entities")
    assert alice["row"].is_unique().all()
    assert bob["row"].is_unique().all()
    assert alice["link_id"].is_unique().all()
    assert (alice.height, bob.height) == (COMMON, COMMON + 30)
    entities = clustered.entities
    both = alice.join(bob, on="link_id", suffix="_bob")
    assert set(both.select("row", "row_bob").iter_rows()) == set(
        zip(*(rows.tolist() for rows in entities.pairs()), strict=True)
    )
    assert dict(ours.schema) == {"row": pl.UInt32(), "entity_id": pl.String()}
    assert ours["entity_id"].str.contains("^[0-9a-f]{16}$").all()
    assert alice.join(ours, on="row").select((pl.col("link_id") == pl.col("entity_id")).all()).item()
    # Alice's own copies, whom Bob does not have: 40 persons of two records each. Records alone are left out.
    unlinked = ours.join(alice, on="row", how="anti").group_by("entity_id").len()["len"]
    assert unlinked.to_list() == [2] * 40
    assert set(theirs["row"]) == set(bob["row"])
    pairs = clustered.pairs
    found = made(clustered, parties, "links", "links", "nothing", exact="bob")
    bob = pl.read_parquet(opened(found["custodian-b"], parties, "bob")["links.parquet"])
    for row, chance in bob.select("row", "link_probability").iter_rows():
        assert chance == pairs.link_probability[clustered.links][pairs.row_b[clustered.links] == row].max()


def test_with_the_grant_pairs_each_pair_of_an_entity_has_a_line(clustered, parties):
    found = made(clustered, parties, "pairs", "pairs", "nothing")
    alice, bob = both_tables(found, parties, "pairs")
    both = alice.join(bob, on="pair_id", suffix="_bob", validate="1:1").filter("linked")
    assert both.height == clustered.links.size == COMMON + 30


def test_a_recipient_of_draws_has_the_links_of_each_and_no_other_has(blocked, parties):
    links = blocked.links
    drawn = DrawnLinks(np.repeat(np.arange(2, dtype=np.int32), [len(links), 1]), np.append(links, links[:1]))
    found = made(replace(blocked, draws=drawn), parties, "draws", "links", "nothing")
    assert set(opened(found["custodian-b"], parties, "bob")) == {"links.parquet", "statistics.json"}
    share = opened(found["custodian-a"], parties, "alice")
    assert set(share) == {"links.parquet", "draws.parquet", "statistics.json"}
    draws, own = (pl.read_parquet(share[f"{name}.parquet"]) for name in ("draws", "links"))
    assert draws.columns == ["row", "pair_id", "draw", "link_probability"]
    assert draws["draw"].value_counts().sort("draw")["count"].to_list() == [len(links), 1]
    assert set(draws["pair_id"]) == set(own["link_id"])


def test_a_share_opens_for_its_owner_in_its_run_only(blocked, parties):
    found = made(blocked, parties, "links", "links", "nothing")
    for owner, run in (("bob", "r" * 32), ("coordinator", "r" * 32), ("alice", "s" * 32)):
        with refusal(ErrorCode.SEALED):
            opened(found["custodian-a"], parties, owner, run)


def test_the_two_shares_name_the_same_links_and_nothing_of_the_others_rows(blocked, parties):
    found = made(blocked, parties, "links", "pairs", "nothing")
    alice = pl.read_parquet(opened(found["custodian-a"], parties, "alice")["links.parquet"])
    share = opened(found["custodian-b"], parties, "bob")
    bob, pairs = pl.read_parquet(share["links.parquet"]), pl.read_parquet(share["pairs.parquet"])
    numbers = {"link_probability": pl.Float64()}
    assert dict(alice.schema) == {"row": pl.UInt32(), "link_id": pl.String(), **numbers}
    assert dict(pairs.schema) == {"row": pl.UInt32(), "pair_id": pl.String(), **numbers, "linked": pl.Boolean()}
    assert set(alice["link_id"]) == set(bob["link_id"])
    assert alice["link_id"].is_unique().all()
    assert alice["link_id"].str.contains("^[0-9a-f]{16}$").all()
    both = alice.join(bob, on="link_id", suffix="_bob")
    found_pairs = set(zip(both["row"], both["row_bob"], strict=True))
    rows_a, rows_b = blocked.pairs.row_a[blocked.links], blocked.pairs.row_b[blocked.links]
    assert found_pairs == set(zip(rows_a.tolist(), rows_b.tolist(), strict=True))
    assert pairs.height == blocked.pairs.weight.size
    assert pairs.filter("linked").drop("linked").rename({"pair_id": "link_id"}).equals(bob)
    # The same run sealed again has other ids: they disclose nothing about the rows.
    again = pl.read_parquet(
        opened(made(blocked, parties, "links", "links", "nothing")["custodian-a"], parties, "alice")["links.parquet"]
    )
    assert not set(again["link_id"]) & set(alice["link_id"])


def test_a_probability_is_of_many_pairs_unless_exact_ones_are_granted(blocked, parties):
    """Only Bob, who has the grant, receives a number that is a pair's own."""
    found = made(blocked, parties, "pairs", "pairs", "nothing", exact="bob")
    alice, bob = both_tables(found, parties, "pairs")
    both = alice.join(bob, on="pair_id", suffix="_exact", validate="1:1")
    own = np.sort(blocked.pairs.link_probability)
    assert np.array_equal(np.sort(both["link_probability_exact"].to_numpy()), own)
    assert both["link_probability_exact"].n_unique() > both["link_probability"].n_unique()
    classes = both.group_by("linked").agg(pl.len(), pl.col("link_probability").n_unique())
    assert classes["link_probability"].to_list() == [1, 1]


@pytest.mark.parametrize("which", ["blocked", "unblocked"])
def test_a_report_is_made_from_the_statistics(which, request):
    linkage: Linkage = request.getfixturevalue(which)
    plan = plan_of(SPEC if which == "blocked" else SPEC.model_copy(update={"blocking": ()}))
    document = json.loads(findings(linkage, plan, RESOURCES, {"read": 0.1}).written())
    run = {
        "project": "trial",
        "mode": "open",
        "created": "2026-01-01T00:00:00+00:00",
        "version": "0",
        "files": {"alice": {"title": "a", "records": N}, "bob": {"title": "b", "records": N}},
        "one_to_one": True,
    }
    content = content_of({"run": run, "evaluation": None, **document})
    counts = content.linkage.plain()
    assert counts["pairs"] == N * N
    assert counts["links"] == linkage.links.size == sum(counts["histogram"]["links"])
    assert counts["kept"] == sum(counts["histogram"]["counts"])
    assert counts["unlinked"] == {"alice": N - counts["links"], "bob": N - counts["links"]}
    assert (counts["blocking"] is None) == (which == "unblocked")
    precision = counts["claims"]["precision"]
    assert 0.9 < precision["lower"] <= precision["value"] <= precision["upper"] <= 1
    assert 0 < counts["floor"] < 1
    assert content.timings.stages[0].name == "read"


def test_expected_pattern_counts_add_up_to_the_pairs(unblocked):
    """Summed over every vector that can occur the model's expectation is the number of pairs; here over all seen."""
    plan = plan_of(SPEC.model_copy(update={"blocking": ()}))
    document = findings(unblocked, plan, RESOURCES, {}).plain()
    patterns = document["linkage"]["patterns"]
    # Those of few pairs are left out.
    assert min(pattern["observed"] for pattern in patterns) >= FEWEST
    assert sum(pattern["observed"] for pattern in patterns) == pytest.approx(N * N, rel=0.02)
    total = sum(pattern["expected"] for pattern in patterns)
    assert total == pytest.approx(N * N, rel=0.05)


def test_numbers_of_the_statistics_differ_by_many_pairs(blocked):
    """No bin of the histogram, and no difference between two thresholds, is of few pairs or of few links."""
    counted = findings(blocked, plan_of(SPEC), RESOURCES, {}).linkage
    histogram = counted.histogram
    assert all(number == 0 or number >= FEWEST for number in histogram.counts)
    assert all(number == 0 or number >= FEWEST for number in histogram.links)
    numbers = sorted({0, counted.links, *(row.links for row in counted.thresholds)})
    assert len(numbers) > 1
    assert min(np.diff(numbers)) >= FEWEST
    assert all(example.pairs >= FEWEST for example in counted.examples)


def test_an_empty_result_is_a_result(blocked, parties):
    none = np.zeros(0, dtype=np.int32)
    empty = replace(
        blocked,
        links=np.zeros(0, dtype=np.int64),
        pairs=replace(
            blocked.pairs,
            row_a=none,
            row_b=none,
            pattern=none,
            weight=np.zeros(0),
            match_probability=np.zeros(0),
            link_probability=np.zeros(0),
        ),
    )
    found = made(empty, parties, "pairs", "links", "statistics")
    share = opened(found["custodian-a"], parties, "alice")
    assert pl.read_parquet(share["links.parquet"]).height == 0
    assert json.loads(share["statistics.json"])["linkage"]["links"] == 0
