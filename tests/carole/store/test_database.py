"""The database itself: its guarantees on SQLite and on PostgreSQL, its version, its log, its errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import select, text

from gemel.carole.projects.operations.consent import post_message
from gemel.carole.projects.project import Approval, KeyReport, MessageKind, RunState, State
from gemel.carole.store.clock_guard import DAY_MS
from gemel.carole.store.database import Database
from gemel.carole.store.provision import confirm_clock
from gemel.carole.store.tables import payloads
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault
from gemel.common.missing_module import installing
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal
from tests.carole.trial import (
    DIGEST,
    NEW,
    PROJECT,
    UPLOADS,
    approve,
    approved,
    contributed,
    intact,
    keyed,
    report_keys,
    take,
    taken,
    tiny,
)


def test_what_was_written_is_there_after_a_restart(open_store):
    store = open_store()
    store.projects.create(NEW, "coordinator")
    approve(store, Role.CUSTODIAN_A, "alice")
    keyed(store)
    before = store.projects.get(PROJECT)
    log = store.audit.entries()
    assert before.state is State.KEYED
    assert before.approvals[Role.CUSTODIAN_A] == Approval("alice", DIGEST, b"s" * 64, 1_800_000_000_000)
    store = open_store()
    assert store.projects.get(PROJECT) == before
    assert store.projects.all() == [before]
    assert store.audit.entries() == log
    assert store.projects.specification(PROJECT) == "the specification"


def test_the_same_project_again_is_harmless_and_another_of_its_name_is_refused(store):
    first = store.projects.create(NEW, "coordinator")
    assert store.projects.create(NEW, "coordinator") == first
    with refusal(ErrorCode.EXISTS):
        store.projects.create(replace(NEW, specification_digest=b"\3" * 32), "coordinator")
    assert [entry.action for entry in store.audit.entries()] == ["init", "create"]


def test_agreement_messages_and_reports_are_kept_by_the_rules(store):
    store.projects.create(NEW, "coordinator")
    approved(store, PROJECT)
    offer = Side.BOB, "bob", 1, MessageKind.OFFER, b"an offer"
    for _ in range(2):
        store.apply(PROJECT, lambda project, _: post_message(project, *offer))
    report_keys(store, Side.ALICE, KeyReport(b"k" * 8, b"c" * 32))
    report_keys(store, Side.BOB, KeyReport(b"x" * 8, b"c" * 32))
    project = store.projects.get(PROJECT)
    assert project.messages == {(Side.BOB, MessageKind.OFFER): b"an offer"}
    assert project.state is State.APPROVED
    report_keys(store, Side.BOB, KeyReport(b"k" * 8, b"c" * 32))
    assert store.projects.get(PROJECT).state is State.KEYED
    assert all("k" * 8 not in str(entry) and "an offer" not in str(entry) for entry in store.audit.entries())


def test_writers_at_once_lose_nothing(store):
    """Eight threads, each with projects of its own and one that they share: the log has neither gap nor double."""

    def write(mine):
        for number in range(5):
            store.projects.create(replace(NEW, name=f"p{mine}-{number}"), "coordinator")
            store.projects.create(replace(NEW, name=f"shared-{number}"), "coordinator")
            for role in (Role.CUSTODIAN_A, Role.CUSTODIAN_B):
                approve(store, role, str(role), f"shared-{number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    log = store.audit.entries()
    assert [entry.sequence for entry in log] == list(range(1, len(log) + 1))
    assert len(log) == 1 + 8 * 5 + 5 + 2 * 5
    assert store.projects.version() == len(log)


@pytest.mark.parametrize("statement", ["UPDATE audit SET actor = 'unknown'", "DELETE FROM audit"])
def test_the_audit_log_refuses_changes(store, url, statement):
    store.projects.create(NEW, "coordinator")
    database = Database(url)
    database.holder = store.holder
    with refusal(ErrorCode.DATABASE), database.write() as connection:
        connection.execute(text(statement))
    assert len(store.audit.entries()) == 2
    database.close()


def test_a_change_and_its_entry_stand_or_fall_together(store, monkeypatch):
    store.projects.create(NEW, "coordinator")

    def broken(*_):
        raise RuntimeError("the log cannot be written")

    monkeypatch.setattr("gemel.carole.store.audit.append", broken)
    with pytest.raises(RuntimeError):
        approve(store, Role.CUSTODIAN_A, "alice")
    assert not store.projects.get(PROJECT).approvals


def test_a_new_wrapping_key_takes_over_at_the_next_start(site, store, keys):
    contributed(store, tiny())
    store.close()
    rotated = keys.rotated()
    replace(site, vault=Vault(rotated)).serve().close()
    retired = Vault(rotated.retired())
    assert replace(site, vault=retired).serve().uploads.open(PROJECT, Side.ALICE).read(0)
    database = Database(site.url)
    with database.read() as connection:
        assert all(retired.is_current(key) for key in connection.execute(select(payloads.c.wrapped_key)).scalars())
    database.close()


@pytest.mark.parametrize(
    "bad", ["", "nonsense", "sqlite://", "mysql://root:secretword@host/db", "postgresql+nodriver://x:secretword@h/d"]
)
def test_an_invalid_url_is_refused_without_showing_it(bad):
    with refusal(ErrorCode.CONFIGURATION) as caught:
        Database(bad)
    assert "secretword" not in str(caught.value)


def test_a_driver_that_is_missing_is_named_with_what_installs_it():
    with pytest.raises(GemelError) as caught:
        Database("postgresql+nodriver://host/name")
    assert (caught.value.where, caught.value.got) == ("store.database", "postgresql+nodriver")
    assert installing("postgres") in caught.value.remedy


def test_a_database_that_is_not_there_is_an_error_of_ours():
    with refusal(ErrorCode.DATABASE) as caught:
        Database("postgresql+psycopg://absent:secretword@127.0.0.1:1/none")
    assert "secretword" not in str(caught.value)


def test_a_failed_statement_does_not_show_its_values(store, url):
    database = Database(url)
    database.holder = store.holder
    with pytest.raises(GemelError) as caught, database.write() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": "planted-value"})
    assert "planted-value" not in str(caught.value)
    assert caught.value.__cause__ is None
    database.close()


# The clock of Carole's machine jumps: nothing is lost by a jump back, and a run that a jump ahead ends is taken up.

RUN = "c" * 32
YEAR_MS = 365 * 24 * 3600 * 1000
SHARES = {str(Role.COORDINATOR): [b"{}"]}


def erased(store):
    """What retention erases; nothing where the clock is not believed."""
    try:
        store.clock_guard.require()
    except GemelError:
        with pytest.raises(GemelError):
            store.retention.enforce()
        return 0
    return store.retention.enforce()


@pytest.mark.parametrize("jump", [-YEAR_MS, -1, 60 * 60 * 1000])
def test_an_upload_goes_on_over_a_jump(store, small, clock, identity, url, jump):
    keyed(store)
    for side, given in small.items():
        store.uploads.begin(PROJECT, side, str(side), UPLOADS[side], given.layout)
        clock.now += jump
        given.put(store, side, UPLOADS[side])
        assert erased(store) == 0
        given.commit(store, side, UPLOADS[side])
    assert store.projects.get(PROJECT).state is State.CONTRIBUTED
    assert intact(url, identity)


def test_a_run_is_worked_on_once_over_a_jump_back(store, small, clock, identity, url):
    contributed(store, small)
    lease = taken(store, RUN)
    clock.now -= YEAR_MS
    assert store.runs.take("another") is None, "its worker is alive"
    assert store.runs.renew_lease(lease, "count", 0.5)
    clock.now += 120_000
    other = store.runs.take("another")
    assert other is not None, "a renewal counts from the clock as it now is: a silent worker loses the run soon"
    store.runs.finish(other, 7, SHARES)
    assert store.projects.get(PROJECT).state is State.RELEASED
    assert erased(store) == 0
    assert intact(url, identity)


def test_a_dead_workers_run_is_freed_at_a_start_although_the_clock_went_back(open_store, small, clock):
    store = open_store()
    contributed(store, small)
    taken(store, RUN)
    clock.now -= YEAR_MS
    store = open_store()
    assert store.runs.get(PROJECT, RUN).state is RunState.QUEUED
    assert take(store, "another").attempt == 2


@pytest.mark.parametrize("jump", [YEAR_MS, -YEAR_MS])
def test_a_clock_that_has_moved_far_erases_nothing_until_it_is_confirmed(
    open_store, small, clock, url, site, identity, jump
):
    store = open_store()
    contributed(store, small)
    clock.now += jump
    for _ in range(2):
        store.clock_guard.advance()
        for refused in (store.retention.enforce, store.clock_guard.require):
            with refusal(ErrorCode.CONFIGURATION, "365 days"):
                refused()
        store = open_store()  # nor does a restart believe it
    assert store.uploads.open(PROJECT, Side.ALICE).read(0)
    with refusal(ErrorCode.BUSY):  # she serves
        confirm_clock(site.place)
    store.close()
    assert confirm_clock(site.place) == jump // DAY_MS
    store = open_store()
    entry = store.audit.entries("")[-1]
    assert (entry.actor, entry.action, entry.details) == ("system", "confirm-clock", {"days": jump // DAY_MS})
    assert store.retention.enforce() == (2 if jump > 0 else 0)
    assert intact(url, identity)


def test_a_new_store_believes_the_clock_of_its_first_service(open_store, clock):
    clock.now += YEAR_MS
    store = open_store()
    store.clock_guard.require()
    clock.now += YEAR_MS
    with pytest.raises(GemelError):
        store.clock_guard.require()
