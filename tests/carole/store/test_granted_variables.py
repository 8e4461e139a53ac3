"""Columns on their way at Carole: taken after the release, within the quota, given to their recipient, then erased."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gemel.carole.projects.project import Grant, Project, State
from gemel.carole.store import Store
from gemel.carole.store.uploads import Quota
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.common.rpc.transfer import Content
from gemel.common.specification.model.granted_variables import Transfer
from gemel.common.wire.chunks import CHUNK_BYTES
from tests.carole.refusals import refused
from tests.carole.store.conftest import Clock, pass_days
from tests.carole.trial import NEW, PROJECT, Contribution, contributed, taken

RUN = "c" * 32
TO_BOB, TO_INSTITUTE = Transfer(Side.ALICE, "bob"), Transfer(Side.ALICE, "institute")
LARGE = Quota(1 << 40, 100)
LONG = bytes(range(256)) * (CHUNK_BYTES // 128) + b"the end"
GRANTED = replace(NEW, transfers=(TO_BOB, TO_INSTITUTE), grants={**NEW.grants, Role.CUSTODIAN_B: Grant.LINKS})


@pytest.fixture
def released(store: Store, small: dict[Side, Contribution]) -> Store:
    contributed(store, small, GRANTED)
    lease = taken(store, RUN)
    store.runs.finish(lease, 2, {str(side.role): [b"share"] for side in Side})
    assert project(store).state is State.RELEASED
    return store


def project(store: Store) -> Project:
    return store.projects.get(PROJECT)


def acknowledge(store: Store, side: Side) -> None:
    store.results.acknowledge(PROJECT, side, str(side), RUN, Content.of(b"share").root)


def send(store: Store, content: bytes, transfer: Transfer = TO_BOB, quota: Quota = LARGE, run: str = RUN) -> None:
    whole = Content.of(content)
    for index in range(len(whole.digests)):
        store.variables.put(PROJECT, str(transfer.sender), run, transfer, whole.chunk(index), 1 << 24, quota)


def fetch(store: Store, transfer: Transfer = TO_BOB, role: Role = Role.CUSTODIAN_B) -> bytes:
    first = store.variables.fetch(PROJECT, role, RUN, transfer, 0)
    rest = (store.variables.fetch(PROJECT, role, RUN, transfer, index).data for index in range(1, first.count))
    return first.data + b"".join(rest)


def test_they_are_sent_received_and_logged(released: Store) -> None:
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


def test_what_is_not_granted_or_of_another_run_is_refused(released: Store) -> None:
    acknowledge(released, Side.ALICE)
    acknowledge(released, Side.BOB)
    refused(ErrorCode.NOT_FOUND, lambda: send(released, b"x", Transfer(Side.BOB, "alice")))
    refused(ErrorCode.NOT_FOUND, lambda: send(released, b"x", Transfer(Side.ALICE, "rival")))
    refused(ErrorCode.WRONG_STATE, lambda: send(released, b"x", run="d" * 32))
    assert not project(released).sent


def test_an_interrupted_transfer_begins_again_and_a_whole_one_is_not_replaced(released: Store) -> None:
    acknowledge(released, Side.ALICE)
    whole = Content.of(LONG)
    released.variables.put(PROJECT, "alice", RUN, TO_BOB, whole.chunk(0), 1 << 24, LARGE)
    assert not project(released).sent
    send(released, LONG[::-1])
    assert fetch(released) == LONG[::-1]
    refused(ErrorCode.CHUNK_CONFLICT, lambda: send(released, LONG))


def test_they_count_in_the_quota(released: Store, small: dict[Side, Contribution]) -> None:
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


def test_an_amendment_erases_what_was_sent_under_the_former_grants(released: Store) -> None:
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


def test_they_expire_with_the_result(released: Store, clock: Clock) -> None:
    acknowledge(released, Side.ALICE)
    send(released, LONG)
    pass_days(released, clock, 31)
    released.retention.enforce()
    assert project(released).state is State.ERASED
    refused(ErrorCode.WRONG_STATE, lambda: fetch(released))
    refused(ErrorCode.WRONG_STATE, lambda: released.artifacts.read(RUN, "alice-to-0"))
