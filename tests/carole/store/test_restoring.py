"""A store put back from its backup, on SQLite and PostgreSQL: what waits, what the log has, what is not run again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from gemel.carole.projects.project import Policy, PolicyDecision, RunState, State
from gemel.carole.store import Store
from gemel.carole.store.backup import back_up, restore
from gemel.carole.store.releases import COUNTS, Kept
from gemel.carole.store.restoring import declare_restored
from gemel.carole.store.results import REPORT
from gemel.common.audit import merkle, verify_consistency, verify_inclusion
from gemel.common.audit.signed_note import NoteLine
from gemel.common.audit.statements import RestorationDecision
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.refusals import remedied
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import NEW, PROJECT, contributed, intact, take, taken, tiny

RUN = "1" * 32
PARTIES = {Role.CUSTODIAN_A: "alice", Role.CUSTODIAN_B: "bob", Role.COORDINATOR: "coordinator"}


def decide(store, role, project=PROJECT, *, accept=True, runs=None):
    """A party's decision, of which the service has verified the signature."""
    found = store.restorations.newest()
    reason = "" if accept else "no one can tell what was lost"
    made = RestorationDecision(project, found.entry.sequence, found.restored, None, accept, reason, runs or {})
    store.restorations.decide(role, PARTIES[role], made, b"s" * 64)


def accept(store, project=PROJECT, runs=None):
    for role in PARTIES:
        decide(store, role, project, runs=runs)


Reopen = Callable[[], Store]


def restored(site, folder):
    """What the backup in a folder is put back to."""
    elsewhere = site.elsewhere(folder / "restored")
    restore(folder / "backup", elsewhere.place)
    return elsewhere.serve()


@pytest.fixture
def queued(open_store):
    """A store with a run that no worker has taken."""
    store = open_store()
    contributed(store, tiny())
    store.runs.start(PROJECT, "coordinator", "r", RUN)
    return store


@pytest.fixture
def put_back(queued, site, tmp_path):
    """Backs the store up, then a function that closes it and opens what is restored."""
    back_up(site.url, site.blobs, tmp_path / "backup", site.clock)

    def open_restored():
        queued.close()
        return restored(site, tmp_path)

    return open_restored


def test_the_restoration_is_proven_by_the_log(put_back, queued):
    was = queued.audit.checkpoint()
    queued.projects.create(replace(NEW, name="lost"), "coordinator")
    store = put_back()
    found = store.restorations.newest()
    assert (found.restored, found.entry.action, found.entry.sequence) == (was, "restore", was.size + 1)
    assert found.entry.details["root"] == was.root.hex()
    assert verify_inclusion(found.entry.leaf, was.size, found.newest.size, found.included, found.newest.root)
    assert verify_consistency(was.size, found.newest.size, was.root, found.newest.root, found.continues)


def test_nothing_moves_until_all_have_accepted(put_back):
    store = put_back()
    assert store.runs.take("worker") is None
    with remedied(ErrorCode.WRONG_STATE, "waits for the acceptance of the restored log by alice, bob, coordinator"):
        store.runs.start(PROJECT, "coordinator", "another", "2" * 32)
    store.projects.create(replace(NEW, name="later"), "coordinator")
    assert not store.projects.get("later").restoration  # it knows nothing that was lost
    accept(store)
    accept(store)  # again changes nothing
    store.runs.finish(take(store), 1, SHARES)
    assert store.projects.get(PROJECT).state is State.RELEASED
    actions = [(entry.action, entry.actor) for entry in store.audit.entries(PROJECT)]
    assert [actor for action, actor in actions if action == "accept-restore"] == list(PARTIES.values())
    assert store.restorations.newest() is not None


def test_a_run_released_after_the_backup_is_not_run_again(put_back, queued):
    queued.runs.finish(take(queued), 1, SHARES)
    root = queued.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0).root
    store = put_back()
    decide(store, Role.CUSTODIAN_A, runs={RUN: root})
    decide(store, Role.CUSTODIAN_B)
    assert store.projects.get(PROJECT).active_run is not None
    decide(store, Role.COORDINATOR)
    assert store.runs.get(PROJECT, RUN).state is RunState.FAILED
    assert store.runs.take("worker") is None
    with remedied(ErrorCode.WRONG_STATE, f"run {RUN} was released before Carole's store was restored"):
        store.runs.start(PROJECT, "coordinator", "another", "2" * 32)


@pytest.mark.parametrize("named", [True, False])
def test_a_release_lost_with_the_backup_is_lost_to_other_projects_and_named_to_them(put_back, queued, named):
    queued.runs.finish(take(queued), 1, {**SHARES, COUNTS: [b"counts"]})
    root = queued.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0).root
    assert [trace.kept for trace in queued.releases.earlier(PROJECT)] == [Kept.COUNTS]
    store = put_back()
    # A project that the backup does not have: who names it is believed, so that it is reported.
    decide(store, Role.CUSTODIAN_B, "lost", runs={"3" * 32: bytes(32)})
    decide(store, Role.CUSTODIAN_A, runs={RUN: root} if named else {}, accept=named)
    store.projects.create(replace(NEW, name="later"), "coordinator")
    found = [(trace.run, trace.project, trace.kept) for trace in store.releases.earlier("later")]
    assert found == [("3" * 32, "lost", Kept.LOST), *([(RUN, PROJECT, Kept.LOST)] if named else [])]
    assert all(store.releases.counts(trace) is None for trace in store.releases.earlier("later"))


def test_the_counts_of_a_run_held_in_the_backup_are_those_of_its_release(store, site, tmp_path):
    held = replace(NEW, policy=Policy.HOLD)
    contributed(store, tiny(), held)
    lease = taken(store, RUN)
    breach = PolicyDecision({"subtraction": 1.0}, ("subtraction",), b"r" * 32)
    store.runs.finish(lease, 1, {**SHARES, REPORT: [b"{}"], COUNTS: [b"counts"]}, breach)
    back_up(site.url, site.blobs, tmp_path / "backup", site.clock)
    store.close()
    store = restored(site, tmp_path)
    assert store.releases.earlier(PROJECT) == []
    decide(store, Role.CUSTODIAN_A, runs={RUN: bytes(32)})  # it saw a steward's release that the backup does not have
    (trace,) = store.releases.earlier(PROJECT)
    assert (trace.run, trace.kept, store.releases.counts(trace)) == (RUN, Kept.COUNTS, b"counts")


def test_what_is_there_is_served_once_all_have_accepted(queued, put_back, site, tmp_path):
    queued.runs.finish(take(queued), 1, SHARES)
    shutil.rmtree(tmp_path / "backup")
    back_up(site.url, site.blobs, tmp_path / "backup", site.clock)
    root = queued.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0).root
    store = put_back()
    with remedied(ErrorCode.WRONG_STATE, "waits for the acceptance"):
        store.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0)
    with remedied(ErrorCode.WRONG_STATE, "waits for the acceptance"):
        store.results.acknowledge(PROJECT, Side.ALICE, "alice", RUN, root)
    accept(store, runs={RUN: root})
    assert store.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0).data == b"a" * 100
    assert [decision.fetched for decision in store.projects.get(PROJECT).restore_decisions] == [
        frozenset({RUN}),  # the digest is that of Alice's share, and of no other's
        frozenset(),
        frozenset(),
    ]


def test_a_copy_put_back_by_hand_is_declared(open_store, url, site, identity):
    store = open_store()
    store.projects.create(NEW, "coordinator")
    with remedied(ErrorCode.BUSY, "another"):
        declare_restored(site.place)
    was = store.audit.checkpoint()
    store.close()
    assert declare_restored(site.place) == was.size
    store = open_store()
    found = store.restorations.newest()
    assert found.restored == was
    assert store.projects.get(PROJECT).restoration == was.size + 1
    decide(store, Role.CUSTODIAN_B, accept=False)
    assert store.projects.get(PROJECT).restore_decisions[0].reason == "no one can tell what was lost"
    assert intact(url, identity)


def test_a_checkpoint_of_a_lost_log_is_not_shown_to_others(store, identity):
    """Else one custodian's memory of what was lost would look to the other as if the log were forked."""
    for name in ("one", "two"):
        store.projects.create(replace(NEW, name=name), "coordinator")
    newest = store.audit.checkpoint()
    line = NoteLine("alice", b"c" * 72)
    foreign = type(newest).sign(identity, newest.log, newest.size, merkle.leaf_hash(b"lost"), 1)
    store.audit.note("alice", foreign, b"c" * 64, line)
    assert store.audit.noted("alice") is None
    store.audit.note("alice", newest, b"c" * 64, line)
    assert store.audit.noted("alice") == (newest, b"c" * 64)
