"""Released projects of the same two custodians are counted for a year, and those of others are not."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from sqlalchemy import event, insert, select, text
from sqlalchemy.engine import Engine

from gemel.carole.projects.operations.contribution import decline
from gemel.carole.projects.operations.release import override
from gemel.carole.projects.project import Decline, Policy, PolicyDecision, ReleaseSignature, State
from gemel.carole.store import Store
from gemel.carole.store.database import Database
from gemel.carole.store.registry import DAYS, FormerProjects
from gemel.carole.store.results import REPORT
from gemel.carole.store.tables import approvals, projects, runs
from gemel.common.audit.statements import HandOver, RestorationDecision, TakeOver
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal, remedied
from tests.carole.store.test_migrations import transaction
from tests.carole.store.test_restoring import PARTIES, put_back, queued
from tests.carole.store.test_runs import ready, release
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import (
    DIGEST,
    NEW,
    PROJECT,
    UPLOADS,
    Contribution,
    approve,
    contribute,
    contributed,
    erase,
    keyed,
    take,
    taken,
    tiny,
)

__all__ = ["put_back", "queued", "ready"]

DAY_MS = 24 * 3600 * 1000
NONE = FormerProjects(0, 0)


@pytest.fixture
def second(ready):
    keyed(ready, replace(NEW, name="second"))
    return ready


def test_a_released_project_of_the_same_two_counts_for_a_year(second, clock):
    assert second.projects.former()("second") == NONE
    release(second)
    assert second.projects.former()("second") == FormerProjects(1, 7)
    assert second.projects.former()(PROJECT) == NONE, "not itself"
    erase(second)
    assert second.projects.former()("second") == FormerProjects(1, 7)
    clock.now += (DAYS + 1) * DAY_MS
    assert second.projects.former()("second") == NONE


def test_each_project_is_counted_for_all_others_of_its_custodians(store, clock):
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


def test_projects_of_others_do_not(ready):
    release(ready)
    ready.projects.create(replace(NEW, name="third"), "coordinator")
    assert ready.projects.former()("third") == NONE
    approve(ready, Role.CUSTODIAN_A, str(Role.CUSTODIAN_A), "third")
    assert ready.projects.former()("third") == NONE
    approve(ready, Role.CUSTODIAN_B, "another", "third")
    assert ready.projects.former()("third") == NONE


# Projects kept in memory: what is read is what is stored, whoever wrote it, and reading again costs one query.

RUN = "c" * 32


@contextmanager
def statements():
    """The queries that are sent in the block, by any store."""
    seen: list[str] = []

    def note(*arguments):
        seen.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def test_what_another_process_writes_is_seen_at_once(store, site):
    """A worker writes to the database with a store of its own: chunks and progress make no entry in the log."""
    worker = site.open(store.holder)

    def same():
        store.projects.all()  # what is kept is of before the next write
        read = site.open()
        try:
            assert store.projects.all() == read.projects.all() == worker.projects.all()
            assert store.projects.get(PROJECT) == read.projects.get(PROJECT) == worker.projects.get(PROJECT)
        finally:
            read.close()

    try:
        keyed(worker)
        same()
        for side, given in {s: Contribution(n, rows=40, bits=64) for n, s in enumerate(Side)}.items():
            worker.uploads.begin(PROJECT, side, str(side), UPLOADS[side], given.layout)
            same()
            size = store.audit.checkpoint().size
            given.put(worker, side, UPLOADS[side])
            assert store.audit.checkpoint().size == size
            assert store.projects.get(PROJECT).uploads[side].received_bytes == len(given.payload)
            same()
            given.commit(worker, side, UPLOADS[side])
        lease = taken(worker, RUN)
        same()
        assert worker.runs.renew_lease(lease, "compare", 0.25)
        assert store.projects.get(PROJECT).runs[-1].fraction == 0.25
        same()
    finally:
        worker.close()


def test_reading_again_what_has_not_changed_takes_one_query(store):
    keyed(store)
    store.projects.create(replace(NEW, name="another"), "coordinator")
    before = store.projects.all()
    with statements() as sent:
        assert store.projects.all() == before
        assert [store.projects.get(project.name) for project in before] == before
    queries = [one for one in sent if not one.startswith("BEGIN")]
    assert len(queries) == 3, queries
    assert all("meta" in one for one in queries)
    with refusal(ErrorCode.NOT_FOUND):
        store.projects.get("unknown")


def test_a_write_that_is_undone_changes_nothing_that_is_kept(store, url):
    keyed(store)
    before = store.projects.all()
    database = Database(url)
    database.holder = store.holder
    try:
        with suppress(ZeroDivisionError), database.write() as connection:
            connection.execute(text("UPDATE projects SET epoch = 7"))
            assert store.projects.all() == before, "another transaction sees nothing of it"
            raise ZeroDivisionError
        assert store.projects.all() == before
        with database.write() as connection:
            connection.execute(text("UPDATE projects SET epoch = 7"))
        assert store.projects.get(PROJECT).epoch == 7
    finally:
        database.close()


# A project that goes from one coordinator to another, on SQLite and PostgreSQL: kept, in the log, and not replayed.

Reopen = Callable[[], Store]


def offer(store, former, successor, size=None):
    """An offer; the service has verified its signature."""
    seen = store.audit.at(store.audit.checkpoint().size if size is None else size)
    return HandOver(PROJECT, former, successor, seen, "she leaves for the ministry")


def take_over(store, former, successor, signature):
    seen = store.audit.checkpoint()
    statement = TakeOver(PROJECT, former, successor, seen, signature)
    return store.projects.take_over(statement, b"t" * 64, DIGEST, b"c" * 64, 1)


def test_what_is_handed_over_is_kept_and_taken_over(open_store):
    store = open_store()
    keyed(store)
    statement = offer(store, "coordinator", "rival")
    project = store.projects.hand_over(Role.COORDINATOR, "coordinator", statement, b"h" * 64)
    store = open_store()
    assert store.projects.get(PROJECT) == project
    assert (project.hand_over.statement, project.owner) == (statement, "coordinator")
    with remedied(ErrorCode.NOT_ADMITTED, "belongs to the coordinator coordinator"):
        take_over(store, "coordinator", "third", b"h" * 64)
    taken = take_over(store, "coordinator", "rival", b"h" * 64)
    store = open_store()
    assert store.projects.get(PROJECT) == taken
    assert (taken.owner, taken.hand_over, taken.approvals[Role.COORDINATOR].member) == ("rival", None, "rival")
    shown = [(entry.actor, entry.action, entry.details.get("former")) for entry in store.audit.entries(PROJECT)]
    assert shown[-2:] == [("coordinator", "hand-over", "coordinator"), ("rival", "take-over", "coordinator")]
    with remedied(ErrorCode.EXISTS, "belongs to another coordinator"):
        store.projects.create(NEW, "coordinator")


def test_an_offer_of_a_time_before_the_present_owners_is_not_taken_again(store):
    """The project has come back to its first owner: what that one signed once does not take it away again."""
    keyed(store)
    first = offer(store, "coordinator", "rival")
    store.projects.hand_over(Role.COORDINATOR, "coordinator", first, b"1" * 64)
    take_over(store, "coordinator", "rival", b"1" * 64)
    store.projects.hand_over(Role.COORDINATOR, "rival", offer(store, "rival", "coordinator"), b"2" * 64)
    take_over(store, "rival", "coordinator", b"2" * 64)
    with remedied(ErrorCode.AUDIT, "since the project came to its owner"):
        store.projects.hand_over(Role.COORDINATOR, "coordinator", first, b"1" * 64)
    assert store.projects.get(PROJECT).hand_over is None
    with remedied(ErrorCode.AUDIT, "does not name a checkpoint"):
        offer(store, "coordinator", "rival", store.audit.checkpoint().size + 1)


def test_another_coordinator_reads_on_after_a_restoration_and_decides_nothing(put_back):
    store = put_back()
    found = store.restorations.newest()

    def decide(member, *, accept=True):
        reason = "" if accept else "no one can tell what was lost"
        runs = {"9" * 32: b""}  # released, as it says, and unknown to the restored store
        made = RestorationDecision(PROJECT, found.entry.sequence, found.restored, None, accept, reason, runs)
        store.restorations.decide(Role.COORDINATOR, member, made, b"s" * 64)

    decide("rival")
    with remedied(ErrorCode.NOT_ADMITTED, "belongs to the coordinator coordinator"):
        decide("rival", accept=False)
    (recorded,) = store.projects.get(PROJECT).restore_decisions
    assert (recorded.member, recorded.decides) == ("rival", False)
    (entry,) = [one for one in store.audit.entries(PROJECT) if one.action == "accept-restore"]
    assert (entry.actor, entry.details["owner"]) == ("rival", "coordinator")
    for role, member in PARTIES.items():
        made = RestorationDecision(PROJECT, found.entry.sequence, found.restored, None, True)
        store.restorations.decide(role, member, made, b"s" * 64)
    lease = store.runs.take("worker")
    assert lease is not None, "what another coordinator names as released stops nothing"
    with remedied(ErrorCode.NOT_ADMITTED, "belongs to"):
        store.runs.start(PROJECT, "rival", "another", "2" * 32)


# Signatures on the release of a held result, on SQLite and PostgreSQL: kept until the last, and no longer.

HELD_RUN = "1" * 32
REASON = "used inside the secure room only, see May"
STEWARDS = {"steward": "aa", "second": "bb"}
BREACH = PolicyDecision({"correct_matches": 0.4}, ("correct_matches",), b"r" * 32)


def held(store):
    new = replace(NEW, policy=Policy.HOLD, signatures=2)
    contributed(store, tiny(), new)
    store.runs.finish(taken(store, HELD_RUN), 1, {**SHARES, REPORT: [b"{}"]}, BREACH)
    return store.projects.get(PROJECT)


def sign_release(store, member):
    given = ReleaseSignature(HELD_RUN, member, STEWARDS[member], b"r" * 32, b"s" * 64)
    return store.apply(PROJECT, lambda project, now: override(project, replace(given, at=now), REASON, STEWARDS))


def test_the_first_signature_is_kept_and_the_second_releases(open_store, url):
    store = open_store()
    assert held(store).state is State.HELD
    first = sign_release(store, "steward")
    store = open_store()
    assert store.projects.get(PROJECT) == first
    assert [(one.member, one.at > 0) for one in first.release_signatures] == [("steward", True)]
    entries = len(store.audit.entries(PROJECT))
    assert sign_release(store, "steward") == first
    assert len(store.audit.entries(PROJECT)) == entries
    second = sign_release(store, "second")
    assert (second.state, second.signatures) == (State.RELEASED, 2)
    store = open_store()
    assert store.projects.get(PROJECT) == second
    with transaction(url) as connection:
        assert connection.execute(text("SELECT count(*) FROM release_signatures")).scalar() == 0


def test_an_amendment_changes_how_many_must_sign(store):
    held(store)
    sign_release(store, "steward")
    amended = store.projects.amend(
        replace(NEW, specification_digest=b"\3" * 32, policy=Policy.HOLD, signatures=1), "coordinator"
    )
    assert (amended.signatures, amended.release_signatures, amended.state) == (1, (), State.DRAFT)
    assert store.projects.get(PROJECT) == amended


# A custodian's refusal in the store, on each database: kept until it approves, its keys destroyed, its run lost.

REFUSAL = "the committee of data protection has withdrawn"


def test_a_refusal_survives_a_restart_and_its_upload_does_not(open_store, small):
    store = open_store()
    contributed(store, small)
    store.runs.start("trial", "coordinator", "request", "0" * 32)
    lease = take(store)
    declined = Decline("bob", DIGEST, REFUSAL, b"s" * 64)
    store.apply(PROJECT, lambda project, _: decline(project, Side.BOB, declined))
    assert not store.runs.renew_lease(lease, "compare", 0.5)
    with refusal(ErrorCode.WRONG_STATE):
        store.runs.finish(lease, 3, {str(Role.CUSTODIAN_A): [b"share"]})
    store = open_store()
    project = store.projects.get("trial")
    assert (project.state, set(project.uploads), set(project.declines)) == (State.DRAFT, {Side.ALICE}, {Side.BOB})
    assert (project.declines[Side.BOB].reason, project.declines[Side.BOB].signature) == (REFUSAL, b"s" * 64)
    assert store.sweep().keys == 0  # nothing that a kill would have to leave
    approve(store, Role.CUSTODIAN_B, "bob")
    project = store.projects.get("trial")
    assert (project.state, dict(project.declines)) == (State.KEYED, {})
    contribute(store, Side.BOB, small[Side.BOB], "c" * 32)
    assert store.projects.get("trial").state is State.CONTRIBUTED
