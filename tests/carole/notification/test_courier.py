"""From the log by the outbox to a receiver: once, again after a failure or a crash, and not for ever."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import structlog

from gemel.carole.notification import courier
from gemel.carole.notification.courier import MAX_ATTEMPTS, Courier, pause
from gemel.carole.notification.notifier import Notifier
from gemel.carole.notification.section import WebhookWay
from gemel.carole.store import outbox as outboxes
from gemel.common.parties import Role
from gemel.common.pki.ending import EndingCertificate
from tests.carole.notification.receivers import web_server
from tests.carole.store.conftest import (
    clock,
    identity,
    identity_key,
    keys,
    open_store,
    postgres,
    site,
    store,
    url,
    vault,
)
from tests.carole.trial import NEW, PROJECT, approve

__all__ = ["clock", "identity", "identity_key", "keys", "open_store", "postgres", "site", "store", "url", "vault"]

SECRET = "0123456789abcdef" * 2


@pytest.fixture
def server():
    with web_server() as served:
        yield served


@pytest.fixture
def way(tmp_path, server):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    return WebhookWay(way="webhook", url=server.url, secret_file=secret)


def notifier(store, way, parties, clock, endings=dict):
    made = Notifier([way], store, lambda: parties.members, endings, clock)
    made.begin()
    return made


def notified(server):
    return [(one["event"], one["project"], one["waiting_for"]) for one in server.messages]


def test_what_happened_is_notified_once_and_what_was_before_is_not(open_store, server, way, parties, clock):
    store = open_store()
    store.projects.create(replace(NEW, name="former"), "coordinator")
    reading = notifier(store, way, parties, clock)
    store.projects.create(NEW, "coordinator")
    reading.collect()
    store = open_store()  # as after a crash before anything was sent
    reading = notifier(store, way, parties, clock)
    for _ in range(2):
        reading.collect()
        Courier(way, store.outbox).deliver()
    assert notified(server) == [("waiting", PROJECT, ["coordinator", "alice", "bob"])]
    notice = outboxes.Notice(server.messages[0]["id"], way.key, "")
    assert store.outbox.due(way.key) is None
    # A way that is taken out of the configuration and comes back is notified of what happens from then on.
    store.outbox.end()
    store.projects.create(replace(NEW, name="untold"), "coordinator")
    reading = notifier(store, way, parties, clock)
    store.projects.create(replace(NEW, name="later"), "coordinator")
    reading.collect()
    Courier(way, store.outbox).deliver()
    assert [project for _, project, _ in notified(server)] == [PROJECT, "later"]
    assert server.messages[1]["id"] != notice.id


def test_a_receiver_that_is_away_is_tried_again_with_pauses_and_given_up(store, server, way, parties, clock):
    reading = notifier(store, way, parties, clock)
    store.projects.create(NEW, "coordinator")
    reading.collect()
    delivering, began = Courier(way, store.outbox), clock.now
    server.status = 500
    with structlog.testing.capture_logs() as lines:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            delivering.deliver()
            delivering.deliver()  # not due yet
            assert len(server.received) == attempt
            clock.now += round(pause(attempt) * 1000)
        delivering.deliver()
    assert len(server.received) == MAX_ATTEMPTS
    assert 24 < (clock.now - began) / 3_600_000 < 48
    assert [line["event"] for line in lines] == ["notification not sent"] * 15 + ["notification given up"]
    assert lines[0]["error"] == "the receiver answered with status 500"
    assert SECRET not in str(lines)
    assert server.url not in str(lines)


def test_a_crash_between_sending_and_its_record_sends_it_again_with_the_same_id(
    open_store, server, way, parties, clock, monkeypatch
):
    store = open_store()
    reading = notifier(store, way, parties, clock)
    store.projects.create(NEW, "coordinator")
    reading.collect()

    class Killed(BaseException): ...

    def kill(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(outboxes.Outbox, "close", kill)
        with pytest.raises(Killed):
            Courier(way, store.outbox).deliver()
    store = open_store()
    notifier(store, way, parties, clock).collect()
    Courier(way, store.outbox).deliver()
    Courier(way, store.outbox).deliver()
    first, second = server.messages
    assert first == second


def test_a_certificate_is_notified_once_at_each_threshold_over_restarts(open_store, server, way, parties, clock):
    store = open_store()
    ends = datetime.fromtimestamp(clock.now / 1000, UTC) + timedelta(days=20)
    for urgent in (False, False, True, True):
        soon = {"alice": EndingCertificate(ends, timedelta(days=1), urgent)}
        store = open_store()
        reading = notifier(store, way, parties, clock, soon.copy)
        reading.collect()
        reading.collect()
        Courier(way, store.outbox).deliver()
    assert [(one["state"], one["waiting_for"]) for one in server.messages] == [
        ("soon", ["alice"]),
        ("urgent", ["alice"]),
    ]


def test_the_outbox_does_not_grow_without_end_and_drops_what_no_way_is_for(open_store, clock, monkeypatch):
    monkeypatch.setattr(outboxes, "MAX_WAITING", 3)
    outbox = open_store().outbox
    outbox.begin(["one", "two"])
    made = [outboxes.Notice(str(number), way, "{}") for number in range(5) for way in ("one", "two")]
    assert outbox.put(made) == 4
    outbox.begin(["two"])
    assert (outbox.due("one"), outbox.due("two")) == (None, made[1])


def test_events_that_a_way_does_not_name_are_not_sent_by_it(store, way, parties, clock):
    chosen = way.model_copy(update={"events": ("held", "released")})
    reading = notifier(store, chosen, parties, clock)
    store.projects.create(NEW, "coordinator")
    for role in (Role.COORDINATOR, Role.CUSTODIAN_A):
        approve(store, role, str(role))
    reading.collect()
    assert store.outbox.due(chosen.key) is None


def test_a_way_is_the_same_one_as_long_as_it_leads_to_the_same_receiver(way, tmp_path):
    assert way.model_copy(update={"secret_file": tmp_path / "new"}).key == way.key
    assert way.model_copy(update={"url": "https://other.example/"}).key != way.key
    assert courier.pause(1) == 10
