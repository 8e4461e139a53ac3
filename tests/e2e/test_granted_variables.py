"""Columns that the specification grants, from a custodian to the other and to an analyst, with real processes.

The values that arrive are compared with the files, for every link: no column is of another record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from gemel.common.documents.document import read_provenance
from gemel.common.parties import Role, Side
from gemel.coordinator.analysis.linked_file import OwnFile, join
from gemel.coordinator.client.steward_client import connect_steward
from gemel.coordinator.commands.analyst import app
from tests.e2e.deployment import Deployment, digest_of, people, specification

PROJECT = "granted"
GRANTS = (
    "release: {alice: draws, bob: draws, draws: 3, variables: ["
    "{to: bob, alice: [sex, phone]}, {to: institute, alice: [postcode], bob: [postcode]}]}\n"
)
TEXT = specification(PROJECT, more=GRANTS)


def records(side: Side, identifier: str) -> dict[str, dict[str, object]]:
    frame = people()[side].with_columns(pl.all().cast(pl.String))
    return {row[identifier]: row for row in frame.iter_rows(named=True)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    made = Deployment(tmp_path_factory.mktemp("granted") / "deployment", [TEXT], more={"institute": Role.ANALYST})
    made.processes("carole", "alice", "bob")
    made.link(TEXT)
    made.eventually(lambda: all(each.sent for each in made.status(PROJECT).transfers))
    yield made
    made.close()


def results(made: Deployment, side: Side) -> Path:
    (folder,) = (made.folders[side] / "results" / PROJECT).iterdir()
    return folder


def test_a_custodian_receives_the_others_columns_of_its_linked_records(made: Deployment) -> None:
    made.eventually(lambda: made.status(PROJECT).transfers[0].received)
    mine, ours = records(Side.BOB, "patient"), records(Side.ALICE, "record_id")
    linked = pl.read_parquet(results(made, Side.BOB) / "linked.parquet")
    assert linked.columns == ["identifier", "link_id", "link_probability", "sex", "phone"]
    partners = pl.read_parquet(results(made, Side.ALICE) / "links.parquet").select("link_id", alice="identifier")
    both = linked.join(partners, on="link_id")
    assert both.height == linked.height == partners.height > 40
    for row in both.with_columns(pl.col("phone").cast(pl.String)).iter_rows(named=True):
        assert row["identifier"] in mine
        assert (row["sex"], row["phone"]) == (ours[row["alice"]]["sex"], ours[row["alice"]]["phone"])
    provenance = read_provenance(results(made, Side.BOB) / "linked.parquet")
    assert provenance is not None
    assert (provenance.specification_digest, provenance.sides) == (digest_of(TEXT).hex(), ["alice", "bob"])
    assert not (results(made, Side.ALICE) / "linked.parquet").exists()


def test_they_fit_the_drawn_linkages_too(made: Deployment) -> None:
    made.eventually(lambda: made.status(PROJECT).transfers[0].received)
    ours = records(Side.ALICE, "record_id")
    drawn = pl.read_parquet(results(made, Side.BOB) / "linked_draws.parquet")
    partners = pl.read_parquet(results(made, Side.ALICE) / "draws.parquet")
    both = drawn.join(partners.select("draw", "pair_id", alice="identifier"), on=["draw", "pair_id"])
    assert both.height == drawn.height == partners.height
    assert all(row["sex"] == ours[row["alice"]]["sex"] for row in both.iter_rows(named=True))


def test_join_adds_the_own_columns_to_those_received(made: Deployment) -> None:
    made.eventually(lambda: made.status(PROJECT).transfers[0].received)
    own = OwnFile(made.files[Side.BOB], "patient", ["sex", "postcode"])
    frame = join({"bob": results(made, Side.BOB)}, {"bob": own}).frame
    assert {"bob", "sex", "phone", "sex_own", "postcode"} <= set(frame.columns)


def test_an_analyst_receives_links_and_columns_and_no_identifier(made: Deployment, tmp_path: Path) -> None:
    config = made.client_yaml("institute")
    shown = CliRunner().invoke(app, ["list", "--config", str(config)])
    assert "granted: ready to fetch" in shown.output
    plain = json.loads(CliRunner().invoke(app, ["list", "--json", "--config", str(config)]).stdout)
    assert plain[0]["sent"] == ["alice", "bob"]
    fetched = CliRunner().invoke(app, ["fetch", PROJECT, "--config", str(config), "--out", str(tmp_path)])
    assert fetched.exit_code == 0, fetched.output
    linked = pl.read_parquet(tmp_path / "linked.parquet")
    assert linked.columns == ["link_id", "link_probability", "postcode_alice", "postcode_bob"]
    for side, identifier in ((Side.ALICE, "record_id"), (Side.BOB, "patient")):
        known = records(side, identifier)
        share = pl.read_parquet(results(made, side) / "links.parquet").select("link_id", "identifier")
        column = pl.col(f"postcode_{side}").cast(pl.String).alias("postcode")
        both = linked.select("link_id", column).join(share, on="link_id")
        assert both.height == share.height
        assert all(row["postcode"] == known[row["identifier"]]["postcode"] for row in both.iter_rows(named=True))
    assert pl.read_parquet(tmp_path / "linked_draws.parquet")["draw"].n_unique() == 3
    received = [each.received for each in made.status(PROJECT).transfers if each.recipient == "institute"]
    assert received == [True, True]
    again = CliRunner().invoke(app, ["fetch", PROJECT, "--config", str(config), "--out", str(tmp_path)])
    assert again.exit_code != 0


def test_the_audit_log_has_who_sent_how_many_bytes_to_whom(made: Deployment) -> None:
    with connect_steward(made.client_yaml("steward")) as steward:
        sent = [entry for entry in steward.entries(PROJECT) if entry.action == "send-variables"]
    assert sorted((entry.actor, entry.details["recipient"]) for entry in sent) == [
        ("alice", "bob"),
        ("alice", "institute"),
        ("bob", "institute"),
    ]
    assert all(set(entry.details) == {"run", "recipient", "bytes"} for entry in sent)
    assert all(entry.details["bytes"] >= 4096 for entry in sent)
