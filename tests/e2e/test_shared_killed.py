"""Mode shared where a party is killed, whoever it is and wherever a run is: the links are those of a run left alone.

The two compute processes stop at a stage; so each party is killed in the very stage, not near it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gemel.carole.projects.operations import MAX_ATTEMPTS
from gemel.coordinator.client.run_progress import COMPUTED, RESOLVE
from tests.e2e.compute_program import STOP
from tests.e2e.computing_site import Site, right_links

pytestmark = pytest.mark.long

WAITS = "resolving"
ENDS = "ended"
PROJECTS = tuple(f"killed-{stage}" for stage in (*COMPUTED, WAITS, ENDS))
PARTIES = ("coordinator", "steward", "worker", "carole")
"""All who compute: Carole's worker, and her service, whose end is her worker's too."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("killed"), PROJECTS)
    try:
        yield made
    finally:
        made.close()


def test_all_are_killed_while_a_run_waits_to_be_resolved(site: Site) -> None:
    """The computation of this run is left alone."""
    project = f"killed-{WAITS}"
    run = site.begun(project)
    site.made.eventually(lambda: site.made.status(project).run.stage == RESOLVE, lambda: f"{site.made.status(project)}")
    for party in PARTIES:
        site.kill(party)
        site.start_again(party)
    assert site.links(project, run) == right_links()


@pytest.mark.parametrize("stage", COMPUTED)
def test_each_party_is_killed_in_a_stage(site: Site, stage: str) -> None:
    project = f"killed-{stage}"
    site.order(STOP, stage)
    run = site.begun(project)
    for party in PARTIES:
        site.come_to(project, stage)
        site.kill(party)
        # Those that live leave the session, and stop in the next one.
        site.order(STOP, stage if party != "carole" else "")
        site.start_again(party)
    assert site.links(project, run) == right_links()


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
