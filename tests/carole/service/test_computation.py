"""Three parties' messages through Carole's service: as they were sent, or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import threading
import time
from dataclasses import replace
from datetime import timedelta

import grpc
import numpy as np
import pytest

from gemel.carole.service.computation_sessions import Absence, Session, Sessions
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import PARTIES, ComputeParty, Role
from gemel.common.pki.certificates import Validity
from gemel.coordinator.provisioning import provision
from gemel.protos.linkage.v1 import computation_pb2, computation_pb2_grpc
from gemel.serving.dispatch import run_in_loop
from gemel.shared.session.computation_calls import ComputationCalls
from gemel.shared.session.message_relay import CAPACITY_BYTES, PART_OVERHEAD_BYTES, Link, MessagePart
from gemel.shared.session.relayed_channel import PART_BYTES
from tests.carole.computing import announced, calls_of, take_part, together
from tests.carole.deployment import Deployment
from tests.carole.refusals import refusal

CAROLE, COORDINATOR, STEWARD = ComputeParty
SIZES = (0, 1, 100_000, PART_BYTES - 16, PART_BYTES, 3 * PART_BYTES + 5)
SECONDS = 300.0


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    """One coordinator and one steward more than compute."""
    return provision(
        tmp_path_factory.mktemp("computing") / "parties",
        linker_names=["127.0.0.1"],
        validity=Validity.lasting(timedelta(hours=6)),
        parties={**PARTIES, "second": Role.COORDINATOR, "susan": Role.STEWARD},
    )


@pytest.fixture(scope="module")
def carole(parties, tmp_path_factory):
    """Carole, without a worker."""
    made = Deployment(parties, tmp_path_factory.mktemp("relay") / "carole")
    made.start()
    yield made
    made.stop()


def content(sender, to, place, size):
    return hashlib.shake_128(f"{sender}{to}{place}".encode()).digest(size)


def exchange(joined):
    """Each sends each other messages of all sizes; whether those that came are those that were sent."""
    channel, own = joined.channel, joined.own
    for place, size in enumerate(SIZES):
        for to in (own.next, own.previous):
            channel.send(to, bytearray(content(own, to, place, size)))
    return [
        channel.receive(sender) == content(sender, own, place, size)
        for place, size in enumerate(SIZES)
        for sender in (own.previous, own.next)
    ]


def test_messages_of_any_size_come_as_they_were_sent(carole):
    found = together(carole, announced(carole), dict.fromkeys(ComputeParty, exchange))
    assert found == dict.fromkeys(ComputeParty, [True] * 2 * len(SIZES))


def test_the_parties_compute(carole):
    def job(joined):
        party = joined.party()
        coin = party.coin(3)
        value = party.opened(party.all_of([(party.public(coin), party.public(coin))])[0], "coin")
        party.check("test")
        assert np.array_equal(value, coin)
        return bytes(value.tobytes())

    coins = set(together(carole, announced(carole), dict.fromkeys(ComputeParty, job)).values())
    assert len(coins) == 1
    assert all(isinstance(each, bytes) for each in coins)


# A relay that does not only deliver.


class Meddling(Link):
    """Keeps what was sent, and gives the receiver something else for the fourth message of the computation."""

    def __init__(self, name, check, meddle):
        super().__init__(name, check)
        self.sent: list[bytes] = []
        self._meddle = meddle

    async def put(self, given, seconds):
        if given.number == len(self.sent):
            self.sent.append(given.data)
        return await super().put(given, seconds)

    async def take(self, number, part, seconds):
        found = await super().take(number, part, seconds)
        if found is None or number != 4:
            return found
        while len(self.sent) < 6:
            await asyncio.sleep(0.01)
        return replace(found, data=self._meddle(self.sent))


def flipped(data):
    return data[:9] + bytes([data[9] ^ 4]) + data[10:]


@pytest.mark.parametrize(
    "meddle",
    [
        lambda sent: flipped(sent[4]),
        lambda sent: sent[4][:-1],
        lambda sent: sent[4] + b"x",
        lambda sent: sent[3],
        lambda sent: sent[5],
        lambda sent: b"",
    ],
    ids=["changed", "cut", "longer", "replayed", "left out or reordered", "empty"],
)
def test_what_a_relay_does_to_a_message_is_named(carole, meddle):
    def prepare(session):
        session.links[STEWARD, CAROLE] = Meddling("link", session.check, meddle)

    def job(joined):
        for place in range(10):
            joined.channel.send(joined.own.next, content(joined.own, joined.own.next, place, 50))
        for _ in range(10):
            joined.channel.receive(joined.own.previous)

    found = together(carole, announced(carole, prepare), dict.fromkeys(ComputeParty, job))
    error = found[CAROLE]
    assert isinstance(error, GemelError)
    assert error.code is ErrorCode.DEVIATION
    assert error.where == "from the steward to Carole"
    assert "message 4" in error.what
    # The others may have had all their messages; who has not reads of it.
    others = [each for own, each in found.items() if own is not CAROLE and each is not None]
    assert all(isinstance(each, GemelError) and each.code is ErrorCode.DEVIATION for each in others)
    assert all("from the steward to Carole: message 4" in str(each) for each in others)


class Crossed(Link):
    """Gives its receiver what was sent on another link."""

    other: Meddling

    async def take(self, number, part, seconds):
        while not self.other.sent:
            await asyncio.sleep(0.01)
        return MessagePart(number, part, 1, self.other.sent[0])


def test_a_message_of_another_link_does_not_open(carole):
    """Carole's service gives her worker what the coordinator has sent, as the steward's."""

    def prepare(session):
        crossed = Crossed("link", session.check)
        crossed.other = Meddling("link", session.check, lambda sent: sent[4])
        session.links[COORDINATOR, CAROLE], session.links[STEWARD, CAROLE] = crossed.other, crossed

    jobs = dict.fromkeys(ComputeParty, lambda joined: joined.channel.receive(joined.own.next))
    error = together(carole, announced(carole, prepare), jobs)[CAROLE]
    assert isinstance(error, GemelError)
    assert (error.code, error.where) == (ErrorCode.DEVIATION, "from the steward to Carole")


# Calls.


def joined_calls(carole, session):
    found = {own: calls_of(carole, own, session) for own in ComputeParty}
    for calls in found.values():
        calls.attend((), 0)
    return found


def test_a_repeated_call_gets_and_sends_the_same_again(carole):
    calls = joined_calls(carole, announced(carole))
    for _ in range(2):
        calls[STEWARD].send(CAROLE, 0, 0, 2, b"first")
    calls[STEWARD].send(CAROLE, 0, 1, 2, b"second")
    calls[STEWARD].send(CAROLE, 0, 0, 2, b"late")
    for _ in range(2):
        assert calls[CAROLE].receive(STEWARD, 0, 0) == (2, b"first")
    for _ in range(2):
        assert calls[CAROLE].receive(STEWARD, 0, 1) == (2, b"second")
    for wrong in (lambda: calls[CAROLE].receive(STEWARD, 0, 0), lambda: calls[STEWARD].send(CAROLE, 2, 0, 1, b"")):
        with refusal(ErrorCode.PARAMETER):
            wrong()


def test_what_waits_is_bounded_and_a_sender_waits_for_room(carole):
    session = announced(carole)
    calls = joined_calls(carole, session)
    part, count = os.urandom(PART_BYTES), 2 * CAPACITY_BYTES // PART_BYTES
    held = []

    def send():
        for number in range(count):
            calls[STEWARD].send(CAROLE, number, 0, 1, part)

    sending = threading.Thread(target=send)
    sending.start()
    deadline = time.monotonic() + SECONDS
    while session.held_bytes + len(part) <= CAPACITY_BYTES and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sending.is_alive()
    for number in range(count):
        held.append(session.held_bytes)
        found = calls[CAROLE].receive(STEWARD, number, 0)
        assert found is not None
        assert found[1] == part
    sending.join(SECONDS)
    assert not sending.is_alive()
    assert CAPACITY_BYTES - len(part) < max(held) <= CAPACITY_BYTES


def test_a_computation_is_for_the_members_it_names(carole):
    session = announced(carole)
    for party in ("second", "susan", "alice"):
        calls = ComputationCalls(carole.connect(party), session.number, b"p" * 16)
        for call in (
            lambda calls=calls: calls.attend(()),
            lambda calls=calls: calls.receive(CAROLE, 0, 0),
            lambda calls=calls: calls.send(CAROLE, 0, 0, 1, b""),
            calls.finish,
        ):
            with refusal(ErrorCode.NOT_ADMITTED):
                call()
        calls.give_up(GemelError(ErrorCode.DEVIATION, "it is none of theirs"))
    assert session.ended is None


def test_one_process_of_a_member_takes_part(carole):
    session = announced(carole)
    calls_of(carole, STEWARD, session).attend((), 0)
    with refusal(ErrorCode.WRONG_STATE, "another process of this member"):
        calls_of(carole, STEWARD, session).attend((), 0)


# Ends.


def failing(error):
    def job(joined):
        raise error

    return job


def waiting(joined):
    joined.channel.receive(STEWARD)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (GemelError(ErrorCode.DEVIATION, "tags differ", where="compare"), ErrorCode.DEVIATION, "compare: tags differ"),
        (GemelError(ErrorCode.UPLOAD_CORRUPT, "set 3 is cut"), ErrorCode.WRONG_STATE, "the steward.*: set 3 is cut"),
        (GemelError(ErrorCode.MEMORY, "at /srv/steward"), ErrorCode.WRONG_STATE, "the steward.*memory does not suffi"),
        (ZeroDivisionError("of 17"), ErrorCode.WRONG_STATE, "the steward cannot go on: something unforeseen"),
        (GemelError(ErrorCode.UNAVAILABLE, "stopped"), ErrorCode.UNAVAILABLE, "the steward has left it"),
    ],
    ids=["deviation", "corrupt", "memory", "unforeseen", "away"],
)
def test_who_gives_up_ends_it_for_all_and_shows_no_more_than_it_may(carole, error, code, words):
    jobs = {CAROLE: waiting, COORDINATOR: waiting, STEWARD: failing(error)}
    found = together(carole, announced(carole), jobs)
    for own in (CAROLE, COORDINATOR):
        ended = found[own]
        assert isinstance(ended, GemelError)
        assert ended.code is code
        assert re.search(words, str(ended))
        assert "/home" not in str(ended)
        assert "17" not in str(ended)


def test_a_session_ends_without_a_party_that_is_away(carole):
    def prepare(session):
        session.absence = Absence(0.5, 0.2)

    session = announced(carole, prepare)
    calls_of(carole, COORDINATOR, session).attend((), 0)
    calls_of(carole, STEWARD, session).attend((), 0)
    with refusal(ErrorCode.UNAVAILABLE):
        take_part(carole, CAROLE, session, waiting)
    assert session.held_bytes == 0


def test_no_party_is_away_while_carole_herself_stands_still():
    """On a machine that is busy or was suspended."""

    async def stand_still():
        sessions = Sessions(Absence(1.0, 0.4))
        names = ("carole", "coordinator", "steward")
        session = Session("project", "run", b"s" * 16, names, {}, sessions.absence)
        sessions.add(session)
        await asyncio.sleep(0)
        time.sleep(1.5)
        for _ in range(10):
            await asyncio.sleep(0)
        assert session.ended is None
        while session.ended is None:
            await session.changed.wait()
        sessions.close()

    asyncio.run(asyncio.wait_for(stand_still(), SECONDS))


def test_empty_parts_take_room_too(carole):
    session = announced(carole)
    link = session.links[STEWARD, CAROLE]

    async def fill():
        number = 0
        while await link.put(MessagePart(number, 0, 1, b""), 0.0):
            number += 1
        return number

    assert run_in_loop(fill()) == CAPACITY_BYTES // PART_OVERHEAD_BYTES


def test_one_call_waits_for_room_and_not_all_that_a_member_may_make(carole):
    """Each that waits holds its part: 64 calls of 2 MiB would be eight times what may wait on a link."""
    link = announced(carole).links[STEWARD, CAROLE]

    async def crowd():
        assert await link.put(MessagePart(0, 0, 1, bytes(CAPACITY_BYTES)), 0.0)
        calls = [asyncio.ensure_future(link.put(MessagePart(1, 0, 1, b"next"), SECONDS)) for _ in range(8)]
        former = await asyncio.gather(*calls[:-1])
        assert not calls[-1].done()
        await link.take(1, 0, 0.0)
        return [*former, await calls[-1]]

    assert run_in_loop(crowd()) == [False] * 7 + [True]


def test_who_waits_has_an_answer_when_carole_stops(parties, tmp_path):
    made = Deployment(parties, tmp_path / "carole")
    application = made.start()
    session, calls = announced(made), made.connect("coordinator")
    stub = calls.stub(computation_pb2_grpc.ComputationStub)
    request = computation_pb2.NextComputationRequest(wait_ms=5000, process=b"p" * 16)
    polls = [stub.NextComputation.future(request, timeout=20), *_receiving(made, session)]
    while len(session.links[STEWARD, CAROLE]._changed) < 1:
        time.sleep(0.01)
    application.computation.close()
    assert polls[0].result(SECONDS).project == ""
    with pytest.raises(grpc.RpcError):
        polls[1].result(SECONDS)
    made.stop()


def _receiving(made, session):
    stub = made.connect("carole").stub(computation_pb2_grpc.ComputationStub)
    sender = computation_pb2.COMPUTE_PARTY_STEWARD
    request = computation_pb2.ReceiveMessageRequest(session=session.number, sender=sender, wait_ms=5000)
    return [stub.ReceiveMessage.future(request, timeout=20)]
