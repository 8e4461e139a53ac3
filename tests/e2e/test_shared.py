"""Mode shared through real services: Carole, her worker and two compute processes; both custodians in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH
from gemel.coordinator.demonstration.people.insured import KEY, trait_variables, with_traits
from tests.e2e.compute_processes import ComputeService
from tests.e2e.deployment import BOBS_NAMES, Deployment, people

pytestmark = pytest.mark.long

N, COMMON = 120, 60

ROLES = {"Age": "key", "SocioEcon": "key", KEY: "other", "RiskAversion": "sensitive"}
VARIABLES = "\n".join(
    f"  - {{name: {v['name']}, holder: {v['holder']}, role: {ROLES[v['name']]},"
    f" categories: [{', '.join(v['categories'])}]}}"
    for v in trait_variables()
    if v["name"] in ROLES
)
ASSESSED = f"""\
padding: powers_of_two
variables:
{VARIABLES}
assessment:
  fractions: {{alice: 0.05, bob: 0.05, combined: 0.025}}
  limits: {{sample_uniques: 1}}
  near_copies: 1
  on_breach: refuse
release: {{assessment: policy, alice: links, bob: links, coordinator: statistics}}
"""


def text(project: str, more: str) -> str:
    """A specification of few bits: what is tested here is not the quality of links."""
    return f"""\
version: 1
project: {project}
mode: shared
custodians: {{alice: {{identifier: record_id}}, bob: {{identifier: patient}}}}
fields:
  - {{name: given_name, kind: name, bits: 128}}
  - {{name: surname, kind: name, columns: {{alice: surname, bob: family_name}}, bits: 128}}
  - {{name: sex, kind: category, bits: 64}}
  - {{name: born, kind: date, columns: {{alice: date_of_birth, bob: date_of_birth}}, date: {{order: ymd}}, bits: 128}}
  - {{name: phone, kind: code, bits: 128}}
blocking:
  - {{name: born, keys: [{{field: born, part: year}}]}}
  - {{name: names, keys: [{{field: surname}}]}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
{more}"""


SPECIFICATION = text("assessed", ASSESSED)


def files() -> dict[Side, pl.DataFrame]:
    """Both custodians' records, with the truth."""
    plain = people(N, COMMON, seed=3)
    traits = with_traits(plain[Side.ALICE], plain[Side.BOB], np.random.default_rng(3))
    return dict(zip(Side, traits, strict=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path_factory.mktemp("shared"), [SPECIFICATION], files())
    try:
        yield deployment
    finally:
        deployment.close()


@pytest.fixture(scope="module")
def linking(made: Deployment) -> Iterator[Deployment]:
    """The deployment with all its services."""
    made.processes("carole")
    computing = [ComputeService(made, party) for party in ("coordinator", "steward")]
    try:
        for service in computing:
            service.start()
        for side in Side:
            made.start(side)
        yield made
    finally:
        for service in computing:
            service.kill()


def quality(made: Deployment, project: str) -> tuple[int, float]:
    """How many links both custodians have, and F1 by the truth."""
    named = {Side.ALICE: IDENTIFIER, Side.BOB: BOBS_NAMES[IDENTIFIER]}
    persons = {}
    for side, table in files().items():
        links = pl.read_parquet(Path(made.shown(side, project).results) / "links.parquet")
        truth = table.select(pl.col(named[side]).alias("identifier"), TRUTH)
        persons[side] = links.join(truth, on="identifier", validate="1:1")
    joined = persons[Side.ALICE].join(persons[Side.BOB], on="link_id", suffix="_bob", validate="1:1")
    assert joined.height == persons[Side.ALICE].height == persons[Side.BOB].height
    right = joined.filter(pl.col(TRUTH) == pl.col(f"{TRUTH}_bob")).height
    return joined.height, 2 * right / (joined.height + COMMON)


def test_links_come_out_of_padded_shares_and_are_assessed(linking: Deployment) -> None:
    project, status = linking.link(SPECIFICATION)
    links, f1 = quality(linking, project)
    assert f1 >= 0.9
    statistics = linking.coordinator.statistics(project, status.run).plain()
    assert statistics["linkage"]["links"] == links
    assert statistics["linkage"]["pairs"] == N * N
    report = json.loads(linking.coordinator.report(project, status.run).text)
    assert report["measures"]["sample_uniques"]["limit"] == 1
