"""Mode shared through real services: Carole, her worker and two compute processes; both custodians in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.coordinator.demonstration.people.insured import KEY
from gemel.coordinator.rehearsal.processes import COMPUTE, ServiceProcess, Services
from tests.e2e.deployment import Deployment, f1_of, insured, linked_people, people, variables_of

SMALL, LARGE = (16, 10), (120, 60)
"""People of a file, and those in both."""

ROLES = {"Age": "key", "SocioEcon": "key", KEY: "other", "RiskAversion": "sensitive"}
VARIABLES = variables_of(ROLES)
ASSESSED = f"""\
padding: powers_of_two
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


def files(n: int, common: int) -> dict[Side, pl.DataFrame]:
    return insured(people(n, common, seed=3))


@pytest.fixture(scope="module", params=[SMALL, pytest.param(LARGE, marks=pytest.mark.long)], ids=["small", "large"])
def linking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with Deployment(tmp_path_factory.mktemp("shared"), [SPECIFICATION], files(*request.param)) as made:
        made.start_all(worker=True)
        with Services() as services:
            for party in ("coordinator", "steward"):
                services.start(ServiceProcess(party, made.client_yaml(party), made.logs, COMPUTE)).wait_ready()
            yield made


def test_links_come_out_of_padded_shares_and_are_assessed(linking: Deployment) -> None:
    project, status = linking.link(SPECIFICATION)
    joined = linked_people(linking.truth, linking.links(project))
    n = linking.truth[Side.ALICE].height
    # Of so few people the smaller files have two strangers linked now and then.
    assert f1_of(joined, dict((SMALL, LARGE))[n]) >= (0.9 if n == LARGE[0] else 0.6)
    statistics = linking.coordinator.statistics(project, status.run).plain()
    assert statistics["linkage"]["links"] == joined.height
    assert statistics["linkage"]["pairs"] == n * n
    report = json.loads(linking.coordinator.report(project, status.run).text)
    assert report["measures"]["sample_uniques"]["limit"] == 1
