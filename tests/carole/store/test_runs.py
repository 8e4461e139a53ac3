"""Runs as leased jobs, and their results: shares, a release, an erasure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.projects.operations import consent
from gemel.carole.projects.operations.contribution import expire_upload
from gemel.carole.projects.operations.linking import (
    MAX_ATTEMPTS,
    Interruption,
    fail_run,
    finish_run,
    requeue_run,
    start_run,
    take_run,
)
from gemel.carole.projects.operations.release import erase as erase_project
from gemel.carole.projects.project import Approval, Policy, RunState, State
from gemel.carole.projects.transitions import Action
from gemel.carole.store.runs import LEASE_MS, PAUSE_MS
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.common.rpc.transfer import Content
from tests.carole.refusals import refused
from tests.carole.store.conftest import pass_days
from tests.carole.trial import NEW, PROJECT, UPLOADS, approve, contributed, erase

RUN = "c" * 32
SHARE = bytes(range(256)) * 10_000
SHARES = {str(Role.CUSTODIAN_A): [SHARE], str(Role.COORDINATOR): [b'{"model":', b" 1}"]}
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def ready(store, small):
    contributed(store, small)
    return store


def start(store, request="r", run=RUN):
    return store.runs.start(PROJECT, "coordinator", request, run)


def take(store, owner="worker"):
    lease = store.runs.take(owner)
    assert lease is not None
    return lease


def release(store):
    start(store)
    store.runs.finish(take(store), 7, SHARES)


def test_a_run_is_taken_once_and_its_progress_is_seen(ready):
    assert start(ready).state is RunState.QUEUED
    assert start(ready, run="d" * 32).run == RUN, "the same request is the same run"
    refused(ErrorCode.RUN_ACTIVE, lambda: start(ready, "other", "d" * 32))
    lease = take(ready)
    assert (lease.run, lease.project, lease.attempt) == (RUN, PROJECT, 1)
    assert ready.runs.take("another worker") is None
    assert ready.runs.renew_lease(lease, "compare", 0.25)
    run = ready.runs.get(PROJECT, RUN)
    assert (run.state, run.stage, run.fraction, run.attempt) == (RunState.RUNNING, "compare", 0.25, 1)
    refused(ErrorCode.RUN_ACTIVE, lambda: start(ready, "other", "d" * 32))


def test_a_silent_worker_loses_its_run_to_another(ready, clock):
    start(ready)
    former = take(ready, "former")
    clock.now += LEASE_MS - 1
    assert ready.runs.take("second") is None
    assert ready.runs.renew_lease(former, "count", 0.5)
    clock.now += LEASE_MS - 1
    assert ready.runs.take("second") is None, "the renewal has extended the lease"
    clock.now += 2
    second = take(ready, "second")
    assert second.attempt == 2
    requeued, took = ready.audit.entries(PROJECT)[-2:]
    assert (requeued.action, requeued.details["cause"]) == (Action.REQUEUE_RUN, "lease lost")
    assert (requeued.details["attempt"], took.action, took.details["attempt"]) == (1, Action.TAKE_RUN, 2)
    assert not ready.runs.renew_lease(former, "count", 0.6)
    refused(ErrorCode.WRONG_STATE, lambda: ready.runs.finish(former, 7, SHARES))
    refused(ErrorCode.WRONG_STATE, lambda: ready.runs.fail(former, "late"))
    assert ready.runs.get(PROJECT, RUN).state is RunState.RUNNING
    ready.runs.finish(second, 7, SHARES)
    assert ready.projects.get(PROJECT).state is State.RELEASED


def test_a_refused_finish_leaves_nothing_on_the_disk(ready, clock, tmp_path):
    start(ready)
    former = take(ready, "former")
    clock.now += LEASE_MS + 1
    second = take(ready, "second")
    before = {path.name for path in (tmp_path / "blobs").iterdir()}
    refused(ErrorCode.WRONG_STATE, lambda: ready.runs.finish(former, 7, SHARES))

    def broken():
        yield b"x" * 3_000_000
        raise RuntimeError("the sealing failed")

    with pytest.raises(RuntimeError):
        ready.runs.finish(second, 7, {str(Role.CUSTODIAN_A): broken()})
    assert {path.name for path in (tmp_path / "blobs").iterdir()} == before


def test_a_run_whose_worker_dies_again_and_again_is_given_up(ready):
    start(ready)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert take(ready, f"worker-{attempt}").attempt == attempt
        assert ready.runs.abandon(f"worker-{attempt}", Interruption.DIED) == 1
    assert ready.runs.take("one more") is None
    run = ready.runs.get(PROJECT, RUN)
    assert run.state is RunState.FAILED
    assert "died 3 times" in run.error
    took, requeued, failed = Action.TAKE_RUN, Action.REQUEUE_RUN, Action.FAIL_RUN
    actions = [entry.action for entry in ready.audit.entries(PROJECT)]
    assert actions[-6:] == [took, requeued, took, requeued, took, failed]
    cause = [entry.details["cause"] for entry in ready.audit.entries(PROJECT) if entry.action == requeued]
    assert cause == ["worker died"] * 2
    assert ready.projects.get(PROJECT).state is State.CONTRIBUTED
    assert start(ready, "again", "d" * 32).state is RunState.QUEUED


@pytest.mark.parametrize("cause", [Interruption.STOPPED, Interruption.STORAGE_FAILED, Interruption.GAVE_WAY])
def test_what_is_no_failure_of_the_run_costs_no_attempt(ready, cause):
    start(ready)
    for number in range(2 * MAX_ATTEMPTS):
        assert take(ready, f"worker-{number}").attempt == 1
        ready.runs.abandon(f"worker-{number}", cause)
    assert ready.runs.get(PROJECT, RUN).state is RunState.QUEUED


def test_a_run_that_waits_for_a_party_gives_way_to_others_only(ready, small, clock):
    start(ready)
    lease = take(ready)
    assert ready.runs.renew_lease(lease, "await-steward", 1 / 3)
    assert not ready.runs.give_way(lease), "no other run waits"
    assert ready.runs.get(PROJECT, RUN).state is RunState.RUNNING

    contributed(ready, small, replace(NEW, name="another"))
    ready.runs.start("another", "coordinator", "r", "d" * 32)
    assert ready.runs.give_way(lease)
    run = ready.runs.get(PROJECT, RUN)
    assert (run.state, run.stage) == (RunState.QUEUED, "await-steward")
    assert not ready.runs.renew_lease(lease, "compare", 0.5)
    refused(ErrorCode.WRONG_STATE, lambda: ready.runs.give_way(lease))
    assert ready.audit.entries(PROJECT)[-1].details["cause"] == "gave way"

    other = take(ready)
    assert other.project == "another", "though it was requested later"
    assert not ready.runs.give_way(other), "to a run that gave way itself"
    again = take(ready, "a second worker")
    assert (again.run, again.attempt) == (RUN, 1), "where nothing else is to be done it is looked after at once"
    assert ready.runs.renew_lease(again, "await-steward", 1 / 3)
    ready.runs.abandon("worker", Interruption.STOPPED)
    assert ready.runs.give_way(again)
    clock.now += PAUSE_MS + 1
    assert take(ready).run == RUN, "after a while it is in its place again"


def test_the_end_and_the_release_are_one_step_with_two_entries(ready):
    release(ready)
    project = ready.projects.get(PROJECT)
    assert project.state is State.RELEASED
    assert project.runs[0].links == 7
    ended, released = ready.audit.entries(PROJECT)[-2:]
    assert (ended.action, released.action) == (Action.FINISH_RUN, Action.RELEASE)
    assert released.actor == "system"
    assert released.details["assessment"] == "none"
    assert released.details["custodian-a"] == "links"


def test_each_recipient_fetches_its_own_share_only(ready):
    release(ready)
    got = b""
    index, count = 0, 1
    while index < count:
        chunk = ready.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, index)
        chunk.check(len(SHARE), "here")
        got += chunk.data
        index, count = index + 1, chunk.count
        assert chunk.root == Content.of(SHARE).root
    assert got == SHARE
    assert ready.results.fetch(PROJECT, Role.COORDINATOR, RUN, 0).data == b'{"model": 1}'
    refused(ErrorCode.NOT_FOUND, lambda: ready.results.fetch(PROJECT, Role.CUSTODIAN_B, RUN, 0))
    refused(ErrorCode.NOT_FOUND, lambda: ready.results.fetch(PROJECT, Role.CUSTODIAN_A, "d" * 32, 0))
    refused(ErrorCode.PARAMETER, lambda: ready.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, count))


def test_an_acknowledgement_names_the_share(ready):
    release(ready)

    def acknowledge(digest):
        ready.results.acknowledge(PROJECT, Side.ALICE, "alice", RUN, digest)

    refused(ErrorCode.UPLOAD_CORRUPT, lambda: acknowledge(bytes(32)))
    assert not ready.projects.get(PROJECT).acknowledged
    for _ in range(2):
        acknowledge(Content.of(SHARE).root)
    assert ready.projects.get(PROJECT).acknowledged == {Side.ALICE}
    assert [entry.action for entry in ready.audit.entries(PROJECT)].count(Action.ACKNOWLEDGE) == 1
    refused(ErrorCode.NOT_FOUND, lambda: ready.results.acknowledge(PROJECT, Side.BOB, "bob", RUN, bytes(32)))


def test_erasing_destroys_every_key_and_ends_the_run(ready, tmp_path):
    start(ready)
    lease = take(ready)
    project = erase(ready)
    assert project.state is State.ERASED
    assert project == ready.projects.get(PROJECT)
    assert not [path for path in (tmp_path / "blobs").iterdir() if path.is_dir()]
    assert not ready.runs.renew_lease(lease, "compare", 0.5)
    refused(ErrorCode.WRONG_STATE, lambda: ready.runs.finish(lease, 7, SHARES))
    refused(ErrorCode.WRONG_STATE, lambda: ready.uploads.open(PROJECT, Side.ALICE).read(0))
    assert ready.runs.get(PROJECT, RUN).error == "the project was erased"
    assert erase(ready).state is State.ERASED
    assert [entry.action for entry in ready.audit.entries(PROJECT)].count(Action.ERASE) == 1


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_the_erased_key_is_not_in_the_database_file(open_store, url, small, tmp_path):
    store = open_store()
    contributed(store, small)
    from sqlalchemy import select

    from gemel.carole.store.database import Database
    from gemel.carole.store.tables import payloads

    database = Database(url)
    with database.read() as connection:
        keys = list(connection.execute(select(payloads.c.wrapped_key)).scalars())
    database.close()
    content = b"".join(path.read_bytes() for path in tmp_path.glob("carole.db*"))
    assert keys
    assert all(key in content for key in keys)
    erase(store)
    content = b"".join(path.read_bytes() for path in tmp_path.glob("carole.db*"))
    assert not any(key in content for key in keys)


def test_uploads_expire_after_their_days_and_are_requested_again(ready, clock):
    clock.now += 7 * DAY_MS - 1
    assert ready.retention.enforce() == 0
    clock.now += 1
    assert ready.retention.enforce() == 2
    assert ready.retention.enforce() == 0
    project = ready.projects.get(PROJECT)
    assert project.state is State.KEYED
    assert all(upload.expired for upload in project.uploads.values())
    actions = [(entry.actor, entry.action) for entry in ready.audit.entries(PROJECT)]
    assert actions[-4:] == [("system", Action.EXPIRE_UPLOAD), ("system", Action.DESTROY_KEYS)] * 2
    refused(ErrorCode.WRONG_STATE, lambda: ready.uploads.open(PROJECT, Side.BOB).read(0))


def test_an_upload_does_not_end_under_a_run(ready, clock):
    start(ready)
    pass_days(ready, clock, 8)
    assert ready.retention.enforce() == 0
    lease = take(ready)
    assert ready.uploads.open(PROJECT, Side.BOB).read(0)
    ready.runs.finish(lease, 7, SHARES)
    assert ready.retention.enforce() == 2
    assert ready.projects.get(PROJECT).state is State.RELEASED
    assert ready.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0)


def test_results_end_after_their_days_and_the_project_with_them(ready, clock, tmp_path):
    release(ready)
    pass_days(ready, clock, 30)
    assert ready.retention.enforce() == 3
    assert ready.projects.get(PROJECT).state is State.ERASED
    assert not [path for path in (tmp_path / "blobs").iterdir() if path.is_dir()]
    refused(ErrorCode.WRONG_STATE, lambda: ready.results.fetch(PROJECT, Role.CUSTODIAN_A, RUN, 0))
    expired, destroyed = ready.audit.entries(PROJECT)[-2:]
    assert (expired.action, destroyed.action) == (Action.EXPIRE_RESULT, Action.DESTROY_KEYS)
    assert destroyed.details["keys"] == 2


def test_of_two_results_of_a_project_the_later_ones_days_count(ready, clock):
    """Linked again on the twentieth day of thirty: the new result is not erased with the first one's."""
    release(ready)
    pass_days(ready, clock, 20)
    ready.projects.amend(replace(NEW, specification_digest=b"\3" * 32), "coordinator")
    for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B):
        approve(ready, role, str(role), digest=b"\3" * 32)
    again = "d" * 32
    start(ready, "again", again)
    ready.runs.finish(take(ready), 7, SHARES)
    pass_days(ready, clock, 29)
    ready.retention.enforce()
    assert ready.projects.get(PROJECT).state is State.RELEASED
    assert ready.results.fetch(PROJECT, Role.CUSTODIAN_A, again, 0)
    pass_days(ready, clock, 1)
    ready.retention.enforce()
    assert ready.projects.get(PROJECT).state is State.ERASED


def test_an_expired_upload_starts_again_from_nothing(ready, small, clock):
    clock.now += 7 * DAY_MS
    ready.retention.enforce()
    given = small[Side.BOB]
    for upload in (UPLOADS[Side.BOB], "e" * 32):
        begun = ready.uploads.begin(PROJECT, Side.BOB, "bob", upload, given.layout)
        assert begun.missing == ((0, 0),)
        given.put(ready, Side.BOB, upload)
        given.commit(ready, Side.BOB, upload)
        project = ready.projects.get(PROJECT)
        assert project.uploads[Side.BOB].upload == upload
        assert project.contributed(Side.BOB)
        assert project.state is State.KEYED


def test_the_store_reads_back_what_an_operation_changes(ready):
    """The project that an operation returned, and the one that the tables hold, along the whole way."""
    project = start(ready)
    before = ready.projects.get(PROJECT)
    project = ready.runs._changes.apply(PROJECT, lambda known, _: take_run(known, RUN))
    assert project != before
    assert project == ready.projects.get(PROJECT)
    for operation in (
        lambda known, _: requeue_run(known, RUN, Interruption.DIED),
        lambda known, _: take_run(known, RUN),
        lambda known, _: fail_run(known, RUN, "because"),
        lambda known, _: start_run(known, "coordinator", "again", "d" * 32),
        lambda known, _: take_run(known, "d" * 32),
        lambda known, _: finish_run(known, "d" * 32, 7),
        lambda known, _: consent.amend(
            known, "coordinator", replace(NEW, specification_digest=b"\3" * 32, policy=Policy.HOLD)
        ),
        lambda known, now: consent.approve(
            known, Role.COORDINATOR, Approval("coordinator", b"\3" * 32, b"s" * 64, now)
        ),
        lambda known, _: expire_upload(known, Side.BOB, UPLOADS[Side.BOB]),
        lambda known, _: erase_project(known, Role.COORDINATOR, "coordinator"),
    ):
        entries = len(ready.audit.entries(PROJECT))
        project = ready.runs._changes.apply(PROJECT, operation)
        assert project == ready.projects.get(PROJECT)
        assert len(ready.audit.entries(PROJECT)) > entries
