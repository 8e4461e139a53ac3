"""Released projects of the same two custodians are counted for a year, and those of others are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.carole.store.conftest import Clock
from tests.carole.store.test_runs import ready, release, small
from tests.carole.trial import DIGEST, NEW, PROJECT, keyed
from tryst.carole.store import Store
from tryst.carole.store.former_projects import DAYS, FormerProjects
from tryst.common.parties import Role

__all__ = ["ready", "small"]

DAY_MS = 24 * 3600 * 1000
NONE = FormerProjects(0, 0)


@pytest.fixture
def second(ready: Store) -> Store:
    keyed(ready, replace(NEW, name="second"))
    return ready


def test_a_released_project_of_the_same_two_counts_for_a_year(second: Store, clock: Clock) -> None:
    assert second.projects.former()("second") == NONE
    release(second)
    assert second.projects.former()("second") == FormerProjects(1, 7)
    assert second.projects.former()(PROJECT) == NONE, "not itself"
    second.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
    assert second.projects.former()("second") == FormerProjects(1, 7)
    clock.now += (DAYS + 1) * DAY_MS
    assert second.projects.former()("second") == NONE


def test_projects_of_others_do_not(ready: Store) -> None:
    release(ready)
    ready.projects.create(replace(NEW, name="third"), "coordinator")
    assert ready.projects.former()("third") == NONE
    ready.projects.approve("third", Role.CUSTODIAN_A, str(Role.CUSTODIAN_A), DIGEST, b"s" * 64)
    assert ready.projects.former()("third") == NONE
    ready.projects.approve("third", Role.CUSTODIAN_B, "another", DIGEST, b"s" * 64)
    assert ready.projects.former()("third") == NONE
