"""Mode shared through real processes where a party is killed, does not keep to the protocol, or is not there.

The two compute processes stop at a stage; so each party is killed in the very stage, not near it, and the links are
those of a run left alone. Where the steward's process computes as it should but for one message, a run ends or waits,
and releases nothing. Every stage by itself, in one process: `test_shared_in_process.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gemel.carole.projects.operations.linking import MAX_ATTEMPTS
from gemel.common.errors import GemelError
from gemel.common.parties import ComputeParty, Side
from gemel.common.signatures.custodian_shares import PartySecrets, ShareSecrets
from gemel.coordinator.client.run_progress import COMPUTED, RESOLVE, follow_run
from gemel.coordinator.client.terminal import console
from gemel.protos.linkage.v1 import project_pb2
from tests.e2e.compute_program import CUT, FLIP, REPLAY, STOP
from tests.e2e.computing_site import Site, right_links
from tests.e2e.deployment import STATE, entries_in
from tests.typed import printed

PROJECT, UNFITTING = "deviating", "unfitting"
WAITING = ("first", "second")
WAITS, ENDS = "resolving", "ended"
KILLED = tuple(f"killed-{name}" for name in ("three", *COMPUTED, WAITS, ENDS))
PARTIES = ("coordinator", "steward", "worker", "carole")
"""All who compute: Carole's worker, and her service, whose end is her worker's too."""

LONG = pytest.mark.long
PART_FOR_BOB = 3
"""Which of the steward's messages in the stage name has its part of the row numbers for Bob."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("disturbed"), (PROJECT, UNFITTING, *WAITING, *KILLED))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def project(site: Site) -> str:
    """Contributed; runs of it fail."""
    return site.contributed(PROJECT)


def failed(site: Site, project: str) -> str:
    """A run that fails; its error. Nothing is released, and log and audit have the error too."""
    made = site.made
    run = made.coordinator.start(project).run
    with pytest.raises(GemelError, match="the run failed"):
        follow_run(made.coordinator, project, run)
    status = made.status(project)
    assert (status.state, status.run.state) == (STATE.PROJECT_STATE_CONTRIBUTED, project_pb2.RUN_STATE_FAILED)
    assert all(not made.shown(side, project).results for side in Side)
    error = status.run.error
    logged = entries_in(site.carole.log.read_text())
    (line,) = (each for each in logged if each.get("run") == run and each["event"] == "run failed")
    assert (line["code"], line["error"]) == ("DEVIATION", error)
    entries = [each["details"] for each in made.audited() if each["action"] == "fail-run"]
    assert [each["error"] for each in entries if each["run"] == run] == [error]
    assert not any(each["action"] in ("finish-run", "release") for each in made.audited() if each["project"] == project)
    return error


@pytest.mark.parametrize(
    ("stage", "parties"),
    [("compare", ("coordinator", "worker", "carole")), *(pytest.param(s, PARTIES, marks=LONG) for s in COMPUTED)],
    ids=["three parties", *COMPUTED],
)
def test_parties_are_killed_in_a_stage(site: Site, stage: str, parties: tuple[str, ...]) -> None:
    project = f"killed-{stage}" if parties == PARTIES else "killed-three"
    site.order(STOP, stage)
    run = site.begun(project)
    for party in parties:
        site.come_to(project, stage)
        site.kill(party)
        # Those that live leave the session, and stop in the next one.
        site.order(STOP, stage if party != parties[-1] else "")
        site.start_again(party)
    assert site.links(project, run) == right_links()


@LONG
def test_all_are_killed_while_a_run_waits_to_be_resolved(site: Site) -> None:
    """The computation of this run is left alone."""
    project = f"killed-{WAITS}"
    run = site.begun(project)
    site.made.eventually(lambda: site.made.status(project).run.stage == RESOLVE, lambda: f"{site.made.status(project)}")
    for party in PARTIES:
        site.kill(party)
        site.start_again(party)
    assert site.links(project, run) == right_links()


@LONG
def test_carole_ends_in_order_in_a_session(site: Site) -> None:
    """As often as it may be: no attempt of the run's is used up."""
    project = f"killed-{ENDS}"
    site.order(STOP, "chance")
    run = site.begun(project)
    for place in range(MAX_ATTEMPTS):
        site.come_to(project, "chance")
        site.carole.stop()
        site.order(STOP, "chance" if place < MAX_ATTEMPTS - 1 else "")
        site.start_again("carole")
    assert site.links(project, run) == right_links()


@pytest.mark.parametrize(
    ("stage", "kind", "place"),
    [
        pytest.param("agree", FLIP, 0, marks=LONG),
        ("compare", FLIP, 0),
        pytest.param("compare", REPLAY, 1, marks=LONG),
        pytest.param("compare", CUT, 0, marks=LONG),
        pytest.param("chance", FLIP, 0, marks=LONG),
        pytest.param("permute", FLIP, 0, marks=LONG),
        pytest.param("open", FLIP, 0, marks=LONG),
        pytest.param("name", FLIP, 0, marks=LONG),
        ("name", CUT, PART_FOR_BOB),
    ],
)
def test_a_run_with_a_party_that_deviates_fails_with_stage_and_parties(
    site: Site, project: str, stage: str, kind: str, place: int
) -> None:
    site.computing["steward"].order(kind, stage, place)
    error = failed(site, project)
    assert stage in error
    assert "the steward" in error
    site.made.eventually(lambda: "failed:" in site.computing["steward"].log.read_text())


def test_a_part_that_is_none_of_his_stops_a_custodian_who_names_its_sender(site: Site, project: str) -> None:
    """The steward sends for Bob what it has sealed to Alice. No one but Bob can see it; another run may be started."""
    made = site.made
    site.computing["steward"].order(REPLAY, "name", PART_FOR_BOB)
    run = made.coordinator.start(project).run
    assert "the steward's part of the row numbers" in made.blocking_error(Side.BOB, project)
    status = made.status(project)
    assert (status.run.run, status.run.state) == (run, project_pb2.RUN_STATE_RESOLVING)
    assert all(not made.shown(side, project).results for side in Side)


@LONG
def test_after_all_of_this_a_run_waits_for_who_is_away_and_links(
    site: Site, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "width", 400)
    made, computing = site.made, site.computing
    for service in computing.values():
        service.kill()
        service.order(STOP, "")
    run = made.coordinator.start(project).run
    for absent, title, then in (
        ("await-parties", "Coordinator and steward", "steward"),
        ("await-coordinator", "Coordinator", "coordinator"),
    ):
        made.eventually(lambda absent=absent: made.status(project).run.stage == absent)
        shown = printed("project", "status", project, "--config", made.coordinator_yaml)
        assert f"waits for `gemel compute`: {title}" in shown
        computing[then].start()
    assert site.links(project, run) == right_links()


@LONG
def test_of_two_runs_that_wait_neither_keeps_the_worker(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Carole has one worker. The first gives way to the second, and is computed after it without another attempt."""
    monkeypatch.setattr(console, "width", 400)
    made, computing = site.made, site.computing
    first, second = map(site.contributed, WAITING)
    for service in computing.values():
        service.kill()
    runs = {}
    for name in (first, second):
        runs[name] = made.coordinator.start(name).run
        made.eventually(lambda name=name: made.status(name).run.stage == "await-parties")
    assert made.status(first).run.state == project_pb2.RUN_STATE_QUEUED
    shown = printed("project", "status", first, "--config", made.coordinator_yaml)
    assert "waits for `gemel compute`: Coordinator and steward" in shown
    for service in computing.values():
        service.start()
    for name in (second, first):
        assert site.links(name, runs[name]) == right_links()
        assert made.status(name).run.attempt == 1


def test_secrets_that_do_not_fit_end_a_run_before_anything_is_computed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A custodian gives the coordinator another seed of a share than Carole has."""
    honest, other = ShareSecrets.of, ShareSecrets.fresh()

    def unfitting(given: ShareSecrets, party: ComputeParty) -> PartySecrets:
        seed, _, key = given.by_share
        two_faced = party is ComputeParty.COORDINATOR
        return honest(ShareSecrets((seed, other.by_share[1], key)) if two_faced else given, party)

    with monkeypatch.context() as patch:
        patch.setattr(ShareSecrets, "of", unfitting)
        project = site.contributed(UNFITTING)
    error = failed(site, project)
    assert re.search("agree: specification, blocks and secrets of shares are not the same", error)
    assert "the coordinator" in error
