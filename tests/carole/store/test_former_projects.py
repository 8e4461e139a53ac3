"""Released projects of the same two custodians are counted for a year, and those of others are not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from gemel.carole.store import Store
from gemel.carole.store.registry import DAYS, FormerProjects
from gemel.carole.store.tables import approvals, projects, runs
from gemel.common.parties import Role
from tests.carole.store.conftest import Clock
from tests.carole.store.test_runs import ready, release
from tests.carole.trial import DIGEST, NEW, PROJECT, keyed

__all__ = ["ready"]

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


def test_each_project_is_counted_for_all_others_of_its_custodians(store: Store, clock: Clock) -> None:
    """The sums of many projects are those of the plain definition."""
    rng = random.Random(7)
    made = {}
    with store._database.write() as connection:
        for number in range(40):
            name, parties, links = f"p-{number}", rng.choices("ab", k=rng.choice((1, 2, 2))), rng.choice((None, number))
            store.projects._insert(connection, replace(NEW, name=name), "coordinator")
            row = connection.scalar(select(projects.c.id).where(projects.c.name == name))
            consent = {"project": row, "digest": DIGEST, "signature": b"s" * 64, "at": 1}
            roles = zip((Role.CUSTODIAN_A, Role.CUSTODIAN_B), parties, strict=False)
            connection.execute(insert(approvals), [{**consent, "role": str(r), "member": m} for r, m in roles])
            if links is not None:
                run = {
                    "run": name,
                    "request": name,
                    "state": 3,
                    "stage": "",
                    "fraction": 1.0,
                    "error": "",
                    "attempt": 1,
                    "call": "",
                }
                times = {"created_at": 1, "ended_at": clock.now, "sequence": 0}
                connection.execute(insert(runs).values(project=row, links=links, released=1, **run, **times))
            made[name] = (tuple(parties), links)
    former = store.projects.former()
    for name, (parties, _) in made.items():
        plain = [
            links
            for other, (others, links) in made.items()
            if other != name and others == parties and len(parties) == 2 and links is not None
        ]
        assert former(name) == FormerProjects(len(plain), sum(plain))
    assert former("unknown") == NONE


def test_projects_of_others_do_not(ready: Store) -> None:
    release(ready)
    ready.projects.create(replace(NEW, name="third"), "coordinator")
    assert ready.projects.former()("third") == NONE
    ready.projects.approve("third", Role.CUSTODIAN_A, str(Role.CUSTODIAN_A), DIGEST, b"s" * 64)
    assert ready.projects.former()("third") == NONE
    ready.projects.approve("third", Role.CUSTODIAN_B, "another", DIGEST, b"s" * 64)
    assert ready.projects.former()("third") == NONE
