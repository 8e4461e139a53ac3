"""Messages from entries of the log and from certificates."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gemel.carole.notification.message import Event, Message
from gemel.carole.notification.notifier import certificate_messages, messages
from gemel.carole.projects.project import Approval, Project, State
from gemel.carole.projects.transitions import Action
from gemel.common.audit import AuditEntry
from gemel.common.parties import Role
from gemel.common.pki.ending import EndingCertificate

RUN = "b" * 32
NAMES = {Role.STEWARD: ("ann", "eve"), Role.CUSTODIAN_A: ("clinic",), Role.CUSTODIAN_B: ("registry",)}
PROJECT = Project("births", b"d", b"e", {}, owner="kim")


def entry(sequence, action, **details):
    return AuditEntry(sequence, 1000 * sequence, "births", "someone", str(action), json.dumps(details), b"s" * 16)


def found(*entries, project=PROJECT):
    return list(messages(entries, lambda name: project, lambda role: NAMES[role]))


@pytest.mark.parametrize(
    ("action", "event", "state", "whom"),
    [
        (Action.HOLD, Event.HELD, "HELD", ("ann", "eve")),
        (Action.FAIL_RUN, Event.FAILED, "CONTRIBUTED", ("kim",)),
        (Action.REFUSE, Event.REFUSED, "ASSESSED", ("kim",)),
        (Action.RELEASE, Event.RELEASED, "RELEASED", ()),
    ],
)
def test_the_end_of_a_run_is_a_message_without_what_the_log_has_of_it(action, event, state, whom):
    details = {"reason": "sw0rdfish", "error": "sw0rdfish", "links": 40414, "correct_matches": 0.40414}
    one = entry(7, action, run=RUN, **details)
    [message] = found(one)
    assert message == Message(one.leaf.hex()[:32], event, 7000, "births", RUN, state, whom)
    for text in (message.dump(), message.to_text(), message.sentence):
        assert "sw0rdfish" not in text
        assert "40414" not in text
    assert Message.of(message.to_text()) == message


def test_other_entries_are_no_messages():
    reported = {Action.HOLD, Action.FAIL_RUN, Action.REFUSE, Action.RELEASE}
    reported |= {Action.CREATE, Action.AMEND, Action.NEW_EPOCH, Action.DECLINE}
    assert found(*(entry(1, action, run=RUN) for action in Action if action not in reported)) == []


def test_of_a_project_that_waits_for_approvals_one_message_names_whose():
    asked = [entry(1, Action.CREATE), entry(2, Action.APPROVE), entry(3, Action.AMEND)]
    [message] = found(*asked)
    assert (message.at, message.event, message.waiting_for) == (3000, Event.WAITING, ("kim", "clinic", "registry"))
    approved = replace(PROJECT, approvals={role: Approval("x", b"d", b"s") for role in (Role.COORDINATOR,)})
    assert found(*asked, project=approved)[0].waiting_for == ("clinic", "registry")
    assert found(*asked, project=replace(PROJECT, state=State.KEYED)) == []


def test_a_certificate_is_one_message_at_each_threshold():
    ends = datetime(2027, 3, 1, tzinfo=UTC)

    def at(days, *, urgent):
        soon = EndingCertificate(ends, timedelta(days=days), urgent)
        now = round((ends - timedelta(days=days)).timestamp() * 1000)
        [message] = certificate_messages({"clinic": soon}, now)
        return message

    soon = at(20, urgent=False)
    assert (soon.state, soon.waiting_for) == ("soon", ("clinic",))
    assert soon.sentence == "The certificate of clinic ends on 2027-03-01T00:00:00Z: have it renewed."
    states = [at(19, urgent=False), at(6, urgent=True), at(5, urgent=True), at(-1, urgent=True)]
    assert [one.state for one in states] == ["soon", "urgent", "urgent", "ended"]
    assert states[0].id == soon.id
    assert len({one.id for one in states}) == 3
