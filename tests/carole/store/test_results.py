"""Artifacts of a waiting run: written with its request, received in chunks, read by the second half, then erased."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.projects.operations.linking import resolve_run, submit_row_handles
from gemel.carole.projects.operations.outcome import Outcome
from gemel.carole.projects.project import Grant, JoinedBy, Project, RunState, State
from gemel.carole.store.results import RESOLUTION_REQUEST, RESOLUTION_RESULT, handles_of, rows_of
from gemel.carole.store.uploads import Quota
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.common.rpc.transfer import Content
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import CHUNK_BYTES
from tests.carole.refusals import refused
from tests.carole.store.conftest import pass_days
from tests.carole.trial import NEW, PROJECT, contributed, erase, take, taken

RUN = "c" * 32
LONG = bytes(range(256)) * (CHUNK_BYTES // 128) + b"the end"
ARTIFACTS = {rows_of(Side.ALICE): [b"rows of alice"], rows_of(Side.BOB): [b"rows of bob"], RESOLUTION_REQUEST: [LONG]}


@pytest.fixture
def waiting(store, small):
    contributed(store, small)
    store.runs.request_row_handles(taken(store, RUN), 9, ARTIFACTS, JoinedBy.RESOLVER)
    return store


def nothing(project, total_bytes):
    return Outcome(project)


def bring(store, artifact, content, *, which=None, root=None, done=nothing):
    whole = Content.of(content)
    for index in range(len(whole.digests)) if which is None else which:
        chunk = whole.chunk(index)
        chunk = chunk if root is None else replace(chunk, root=root)
        store.artifacts.put(PROJECT, RUN, artifact, chunk, 1 << 24, done)


def hand(store, side, content):
    bring(
        store,
        handles_of(side),
        content,
        done=lambda project, total_bytes: submit_row_handles(project, side, str(side), RUN),
    )


def resolve(store, content):
    bring(
        store,
        RESOLUTION_RESULT,
        content,
        done=lambda project, total_bytes: resolve_run(project, "coordinator", RUN, "ab", "cd"),
    )


def test_a_run_continues_after_both_custodians_handles_and_the_resolvers_result(waiting):
    assert waiting.runs.take("worker") is None, "no worker takes a run that waits"
    assert waiting.runs.abandon() == 0
    for side in Side:
        (name,) = ARTIFACTS[rows_of(side)]
        assert waiting.artifacts.fetch(PROJECT, RUN, rows_of(side), 0).data == name
        hand(waiting, side, LONG + str(side).encode())
        hand(waiting, side, LONG + str(side).encode())
        run = waiting.projects.get(PROJECT).run(RUN)
        assert side in run.handles_received_from
    assert waiting.runs.get(PROJECT, RUN).stage == "resolve"
    whole = b"".join(waiting.artifacts.fetch(PROJECT, RUN, RESOLUTION_REQUEST, index).data for index in range(3))
    assert whole == LONG
    refused(ErrorCode.PARAMETER, lambda: waiting.artifacts.fetch(PROJECT, RUN, RESOLUTION_REQUEST, 3))
    resolve(waiting, b"links")
    assert waiting.runs.get(PROJECT, RUN).state is RunState.QUEUED
    lease = take(waiting, "another")
    assert lease.attempt == 1
    content = waiting.artifacts.read(RUN, RESOLUTION_RESULT)
    assert content is not None
    assert bytes(content) == b"links"
    waiting.runs.finish(lease, 2, {})
    assert waiting.projects.get(PROJECT).state is State.RELEASED
    assert waiting.artifacts.read(RUN, RESOLUTION_RESULT) is None
    refused(ErrorCode.WRONG_STATE, lambda: waiting.artifacts.fetch(PROJECT, RUN, RESOLUTION_REQUEST, 0))


def test_the_resolver_comes_last(waiting):
    refused(ErrorCode.WRONG_STATE, lambda: resolve(waiting, b"links"))
    hand(waiting, Side.ALICE, b"handles")
    refused(ErrorCode.WRONG_STATE, lambda: resolve(waiting, b"links"))
    assert waiting.artifacts.read(RUN, RESOLUTION_RESULT) is None, "what was refused is not there"


def test_chunks_come_in_any_order_and_match_their_digests(waiting):
    artifact = handles_of(Side.ALICE)
    completed: list[Project] = []

    def done(project, total_bytes):
        completed.append(project)
        return Outcome(project)

    bring(waiting, artifact, LONG, which=[2, 0, 2, 0], done=done)
    refused(ErrorCode.NOT_FOUND, lambda: waiting.artifacts.fetch(PROJECT, RUN, artifact, 0))
    assert waiting.artifacts.read(RUN, artifact) is None
    root = Content.of(LONG).root
    refused(ErrorCode.CHUNK_CONFLICT, lambda: bring(waiting, artifact, LONG[::-1], which=[0], root=root))
    refused(ErrorCode.CHUNK_CONFLICT, lambda: bring(waiting, artifact, LONG[::-1], which=[1]))
    refused(ErrorCode.UPLOAD_CORRUPT, lambda: bring(waiting, artifact, LONG[::-1], which=[1], root=root))
    assert not completed
    bring(waiting, artifact, LONG, which=[1, 1], done=done)
    assert len(completed) == 1
    content = waiting.artifacts.read(RUN, artifact)
    assert content is not None
    assert bytes(content) == LONG
    refused(ErrorCode.CHUNK_CONFLICT, lambda: bring(waiting, artifact, b"other"))


def test_the_first_chunk_of_another_whole_begins_an_unfinished_artifact_again(waiting, tmp_path):
    artifact = handles_of(Side.ALICE)
    before = len(list((tmp_path / "blobs").rglob("*")))
    bring(waiting, artifact, LONG, which=[0, 1])
    refused(ErrorCode.CHUNK_CONFLICT, lambda: bring(waiting, artifact, LONG[::-1], which=[2]))
    bring(waiting, artifact, b"short")
    assert waiting.artifacts.fetch(PROJECT, RUN, artifact, 0).data == b"short"
    assert len(list((tmp_path / "blobs").rglob("*"))) == before + 2, "a folder and its only chunk"
    refused(ErrorCode.CHUNK_CONFLICT, lambda: bring(waiting, artifact, LONG, which=[2]))


def test_an_invalid_artifact_is_refused_before_anything_is_stored(waiting, tmp_path):
    artifact, whole = handles_of(Side.BOB), Content.of(LONG)
    before = sorted((tmp_path / "blobs").rglob("*"))
    for code, changes in (
        (ErrorCode.UPLOAD_LIMIT, {"count": 17}),
        (ErrorCode.PARAMETER, {"index": 3}),
        (ErrorCode.PARAMETER, {"root": b"short"}),
        (ErrorCode.PARAMETER, {"data": b""}),
        (ErrorCode.PARAMETER, {"data": whole.read(0) + b"x"}),
        (ErrorCode.PARAMETER, {"data": whole.read(0)[1:]}),
        (ErrorCode.UPLOAD_CORRUPT, {"data": bytes(CHUNK_BYTES)}),
    ):
        chunk = replace(whole.chunk(0), **changes)
        refused(code, lambda chunk=chunk: waiting.artifacts.put(PROJECT, RUN, artifact, chunk, 1 << 24, nothing))
    assert sorted((tmp_path / "blobs").rglob("*")) == before


def test_an_upload_whose_time_is_over_ends_a_run_that_waits(waiting, clock):
    pass_days(waiting, clock, 8)
    assert waiting.retention.enforce() > 0
    run = waiting.runs.get(PROJECT, RUN)
    assert run.state is RunState.FAILED
    assert "while the run waited" in run.error
    assert waiting.artifacts.read(RUN, RESOLUTION_REQUEST) is None


def test_another_run_takes_the_place_of_one_that_waits(waiting):
    assert waiting.runs.start(PROJECT, "coordinator", "r", "d" * 32).run == RUN, "the same request is the same run"
    assert waiting.runs.start(PROJECT, "coordinator", "s", "d" * 32).state is RunState.QUEUED
    run = waiting.runs.get(PROJECT, RUN)
    assert run.state is RunState.FAILED
    assert "another run was requested" in run.error
    assert waiting.artifacts.read(RUN, RESOLUTION_REQUEST) is None
    lease = take(waiting)
    assert lease.run == "d" * 32


def test_a_run_that_waits_can_be_erased(waiting):
    erase(waiting)
    assert waiting.artifacts.read(RUN, RESOLUTION_REQUEST) is None


# Columns on their way at Carole: taken after the release, within the quota, given to their recipient, then erased.

TO_BOB, TO_INSTITUTE = Transfer(Side.ALICE, "bob"), Transfer(Side.ALICE, "institute")
LARGE = Quota(1 << 40, 100)
GRANTED = replace(NEW, transfers=(TO_BOB, TO_INSTITUTE), grants={**NEW.grants, Role.CUSTODIAN_B: Grant.LINKS})


@pytest.fixture
def released(store, small):
    contributed(store, small, GRANTED)
    store.runs.finish(taken(store, RUN), 2, {str(side.role): [b"share"] for side in Side})
    assert project(store).state is State.RELEASED
    return store


def project(store):
    return store.projects.get(PROJECT)


def acknowledge(store, side):
    store.results.acknowledge(PROJECT, side, str(side), RUN, Content.of(b"share").root)


def send(store, content, transfer=TO_BOB, quota=LARGE, run=RUN):
    whole = Content.of(content)
    for index in range(len(whole.digests)):
        store.variables.put(PROJECT, str(transfer.sender), run, transfer, whole.chunk(index), 1 << 24, quota)


def fetch(store, transfer=TO_BOB, role=Role.CUSTODIAN_B):
    first = store.variables.fetch(PROJECT, role, RUN, transfer, 0)
    rest = (store.variables.fetch(PROJECT, role, RUN, transfer, index).data for index in range(1, first.count))
    return first.data + b"".join(rest)


def test_they_are_sent_received_and_logged(released):
    refused(ErrorCode.WRONG_STATE, lambda: send(released, LONG))  # its share is not confirmed yet
    acknowledge(released, Side.ALICE)
    refused(ErrorCode.NOT_FOUND, lambda: fetch(released))
    send(released, LONG)
    send(released, LONG)
    send(released, b"other", TO_INSTITUTE)
    assert project(released).sent == {TO_BOB, TO_INSTITUTE}
    assert fetch(released) == LONG
    assert fetch(released, TO_INSTITUTE, Role.ANALYST) == b"other"
    refused(ErrorCode.PARAMETER, lambda: released.variables.fetch(PROJECT, Role.CUSTODIAN_B, RUN, TO_BOB, 3))
    bob = Role.CUSTODIAN_B, "bob", RUN, TO_BOB
    refused(ErrorCode.UPLOAD_CORRUPT, lambda: released.variables.acknowledge(PROJECT, *bob, bytes(32)))
    assert not project(released).received
    for _ in range(2):
        released.variables.acknowledge(PROJECT, *bob, Content.of(LONG).root)
    assert project(released).received == {TO_BOB}
    logged = [(e.actor, e.action, e.details) for e in released.audit.entries(PROJECT) if "variables" in e.action]
    assert logged == [
        ("alice", "send-variables", {"run": RUN, "recipient": "bob", "bytes": len(LONG)}),
        ("alice", "send-variables", {"run": RUN, "recipient": "institute", "bytes": 5}),
        ("bob", "receive-variables", {"run": RUN, "sender": "alice"}),
    ]
    assert released.sweep() is not None
    assert fetch(released) == LONG, "the sweep leaves them"


def test_an_interrupted_transfer_begins_again_and_a_whole_one_is_not_replaced(released):
    acknowledge(released, Side.ALICE)
    whole = Content.of(LONG)
    released.variables.put(PROJECT, "alice", RUN, TO_BOB, whole.chunk(0), 1 << 24, LARGE)
    assert not project(released).sent
    send(released, LONG[::-1])
    assert fetch(released) == LONG[::-1]
    refused(ErrorCode.CHUNK_CONFLICT, lambda: send(released, LONG))


def test_they_count_in_the_quota(released, small):
    acknowledge(released, Side.ALICE)
    uploaded = len(small[Side.ALICE].payload)
    send(released, LONG, quota=Quota(uploaded + 3 * CHUNK_BYTES, 100))
    room = Quota(uploaded + len(LONG) + CHUNK_BYTES, 100)
    refused(ErrorCode.UPLOAD_LIMIT, lambda: send(released, LONG, TO_INSTITUTE, room))
    send(released, b"short", TO_INSTITUTE, room)
    refused(
        ErrorCode.UPLOAD_LIMIT,
        lambda: released.variables.put(PROJECT, "alice", RUN, TO_BOB, Content.of(LONG).chunk(0), CHUNK_BYTES, LARGE),
    )


def test_an_amendment_erases_what_was_sent_under_the_former_grants(released):
    acknowledge(released, Side.ALICE)
    send(released, LONG)
    released.projects.amend(replace(GRANTED, specification_digest=b"n" * 32, transfers=(TO_INSTITUTE,)), "coordinator")
    found = project(released)
    assert (found.state, found.transfers, found.sent) == (State.DRAFT, (TO_INSTITUTE,), frozenset())
    refused(ErrorCode.NOT_FOUND, lambda: fetch(released))
    refused(ErrorCode.WRONG_STATE, lambda: send(released, LONG, TO_INSTITUTE))
    assert released.artifacts.read(RUN, "alice-to-0") is None
    last = [entry for entry in released.audit.entries(PROJECT) if entry.action == "destroy-keys"]
    assert last, "its key is destroyed, and the log proves it"


def test_they_expire_with_the_result(released, clock):
    acknowledge(released, Side.ALICE)
    send(released, LONG)
    pass_days(released, clock, 31)
    released.retention.enforce()
    assert project(released).state is State.ERASED
    refused(ErrorCode.WRONG_STATE, lambda: fetch(released))
    refused(ErrorCode.WRONG_STATE, lambda: released.artifacts.read(RUN, "alice-to-0"))
