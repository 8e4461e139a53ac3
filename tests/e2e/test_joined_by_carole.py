"""The fall-back of mode block_keyed through real services: Carole joins rows herself, capped and audited.

Carole and her worker are processes; both custodians are services in this process. One project, linked by the
coordinator's resolution, by Carole's join, and under caps that are too small. Uploads are the same each time, so the
first two must link the same records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gemel.common.documents.model_document import StatisticsDocument
from gemel.common.errors import GemelError
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.coordinator.client.connection import connection_of
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.client.terminal import condition_lines
from gemel.coordinator.rehearsal.output_folder import report_content
from gemel.coordinator.reports.linkage import render_report
from gemel.custodian.operator.control import Control
from gemel.protos.linkage.v1 import project_pb2
from tests.e2e.deployment import CUSTODIANS, STATE, Deployment, digest_of, pairs_of, people, specification
from tests.e2e.test_block_keyed import BLOCKING
from tests.typed import printed

N, COMMON, CAP = 200, 100, 150
RESOLVED = specification("joined", bits=256, more=BLOCKING, mode="block_keyed")
LINKS = "link_id", "identifier"


def capped(maximum: int) -> str:
    return f"{RESOLVED}resolution: {{by: carole, max_records: {maximum}}}\n"


@dataclass
class Joined:
    """The deployment when the project was linked twice."""

    made: Deployment
    links: list[set[tuple[str, str]]]
    """By run, who is linked with whom."""
    statistics: StatisticsDocument

    def approved(self, project: str, side: Side) -> bool:
        """Whether Carole has the custodian's approval of the newest specification."""
        return bool(self.made.status(project).sides[list(Side).index(side)].approved)

    def amend(self, text: str) -> str:
        """Another specification, which all approve; the project is ready for a run again."""
        project = self.made.coordinator.amend(text).project
        self.made.coordinator.approve(project, digest_of(text))
        for side, party in CUSTODIANS.items():
            with Control.open(self.made.configs[side], party) as operator:
                # Of a specification that its policy names the service needs no operator, and may be the first of both.
                self.made.eventually(
                    lambda operator=operator, side=side: (
                        self.approved(project, side) or approves(operator, project, digest_of(text))
                    )
                )
        self.made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
        return project


def approves(operator: Control, project: str, digest: bytes) -> bool:
    """Whether the operator could: its service may not have read the source, or the specification, yet."""
    try:
        if operator.specification(project).digest == digest:
            operator.approve(project, digest)
            return True
    except GemelError:
        pass
    return False


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    root = tmp_path_factory.mktemp("joined") / "d"
    root.mkdir()
    with Deployment(root, [RESOLVED], people(N, COMMON, seed=5)) as made:
        made.start_all(worker=True)
        project = made.contributed(RESOLVED)
        follow_run(made.coordinator, project, made.coordinator.start(project).run)
        found = Joined(made, [pairs_of(made.links(project))], {})
        found.amend(capped(CAP))
        # No resolver: this coordinator has no key to open anything with.
        folder = made.made.parties["coordinator"]
        with connection_of(made.address, folder.path) as connection:
            coordinator = Coordinator(connection, open_identity(None, folder.identity))
            run = follow_run(coordinator, project, coordinator.start(project).run).run
        found.links.append(pairs_of(made.links(project)))
        found.statistics = made.coordinator.statistics(project, run)
        yield found


def test_it_links_the_same_records_as_the_coordinators_resolution(joined: Joined) -> None:
    by_coordinator, by_carole = joined.links
    assert len(by_carole) > 0.9 * COMMON
    assert by_carole == by_coordinator


def test_the_join_is_in_the_audit_log_with_how_many_records_and_by_whom(joined: Joined) -> None:
    entries = joined.made.audited()
    assert [entry["details"]["joined_by"] for entry in entries if entry["action"] == "ask-handles"] == [
        "resolver",
        "carole",
    ]
    (entry,) = [entry for entry in entries if entry["action"] == "join"]
    assert entry["actor"] == "system"
    assert (entry["details"]["by"], entry["details"]["max_records"]) == ("carole", CAP)
    for side in Side:
        assert 0.9 * COMMON < entry["details"][f"records_{side}"] <= CAP
    actions = [entry["action"] for entry in entries]
    second = actions[actions.index("amend") :]
    assert "resolve-run" not in second
    assert second.index("join") < second.index("finish-run")
    assert "Intact" in printed("audit", "verify", "--config", joined.made.carole_yaml)


def test_the_report_names_the_fall_back(joined: Joined) -> None:
    (entry,) = [entry for entry in joined.made.audited() if entry["action"] == "join"]
    records = [entry["details"][f"records_{side}"] for side in Side]
    page = render_report(report_content(load_specification(capped(CAP)), joined.statistics, None))
    said = f"Carole joined the rows of {records[0]} of Alice's and {records[1]} of Bob's records, of at most {CAP} each"
    assert any(warning.text.startswith(said) for warning in joined.statistics.linkage.warnings)
    assert "block_keyed mode, joined by Carole" in page
    assert "Carole herself received which rows of different rules are one record" in page
    plain = render_report(report_content(load_specification(RESOLVED), joined.statistics, None))
    assert "joined by Carole" not in plain


def test_above_the_cap_each_refuses(joined: Joined) -> None:
    """Carole where one rule's rows alone are too many; else the custodian, who knows which rows are one record."""
    made = joined.made
    project = joined.amend(capped(10))
    with pytest.raises(GemelError, match=r"at most 10 records of Alice"):
        follow_run(made.coordinator, project, made.coordinator.start(project).run)
    (entry,) = [entry for entry in joined.made.audited() if entry["action"] == "join"]
    records = {side: int(entry["details"][f"records_{side}"]) for side in Side}
    project = joined.amend(capped(min(records.values()) - 1))
    run = made.coordinator.start(project).run
    side = min(Side, key=records.__getitem__)
    blocking_error = made.blocking_error(side, project)
    assert f"at most {records[side] - 1} records of {side.title()}, in all runs together" in blocking_error
    assert f"got {records[side]}" in blocking_error
    status = made.status(project)
    assert (status.run.run, status.run.stage) == (run, "handles-for-carole")
    assert status.run.state == project_pb2.RUN_STATE_RESOLVING
    # A waiting run does not stand in the way of what would help.
    assert joined.amend(RESOLVED) == project
    assert made.coordinator.get(project)[0].run.state == project_pb2.RUN_STATE_FAILED
    assert len([entry for entry in joined.made.audited() if entry["action"] == "join"]) == 1


@pytest.mark.long  # without services: tests/custodian/test_requested_rows.py
def test_a_custodian_refuses_handles_of_more_rows_than_the_specification_allows(joined: Joined) -> None:
    """The run waits, the coordinator is shown why; a higher cap, approved by all, lets it go on."""
    made = joined.made
    project = joined.amend(f"{RESOLVED}resolution: {{max_requested: 0.1}}\n")
    run = made.coordinator.start(project).run
    for side in Side:
        blocking_error = made.blocking_error(side, project)
        expected = f"handles may be requested of at most {N // 10} records of {side.title()}, in all runs together"
        assert expected in blocking_error
    leakage = project_pb2.CUSTODIAN_CONDITION_LEAKAGE
    made.eventually(lambda: [side.condition for side in made.status(project).sides] == [leakage, leakage])
    lines = list(condition_lines(made.status(project)))
    assert len(lines) == 2
    assert all("than the specification allows" in line for line in lines)
    status = made.status(project).run
    assert (status.run, status.stage, status.state) == (run, "handles", project_pb2.RUN_STATE_RESOLVING)
    joined.amend(f"{RESOLVED}resolution: {{max_requested: 1}}\n")
    follow_run(made.coordinator, project, made.coordinator.start(project).run)
    assert pairs_of(made.links(project)) == joined.links[0]
