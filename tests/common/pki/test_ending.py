"""When a certificate ends soon: by its whole time, and whose it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.pki import Member
from gemel.common.pki.certificates import certificate_pem
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.ending import ShownCertificates, Urgency, ending, endings, urgency
from gemel.common.rpc.certificate_endings import MAX_ENDINGS, ending_lines, endings_to_wire
from gemel.protos.linkage.v1 import project_pb2
from tests.common.pki.own_pki import OwnPki

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
PKI = OwnPki("unit")
BEGUN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lasting", "soon", "urgent"),
    [
        (397 * DAY, 30 * DAY, 7 * DAY),
        (60 * DAY, 20 * DAY, 6 * DAY),
        (DAY, 8 * HOUR, 144 * MINUTE),
        (HOUR, 20 * MINUTE, 6 * MINUTE),
    ],
)
def test_soon_is_30_days_or_a_third_and_urgent_7_days_or_a_tenth(
    lasting: timedelta, soon: timedelta, urgent: timedelta
) -> None:
    certificate = PKI.issue(dns=["x"], start=BEGUN, lasting=lasting)
    ends, moment = BEGUN + lasting, timedelta(seconds=1)
    assert urgency(certificate, BEGUN) is Urgency.NONE
    assert urgency(certificate, ends - soon) is Urgency.NONE
    assert ending(certificate, ends - soon) is None
    assert urgency(certificate, ends - soon + moment) is Urgency.SOON
    assert urgency(certificate, ends - urgent) is Urgency.SOON
    assert urgency(certificate, ends - urgent + moment) is Urgency.URGENT
    assert urgency(certificate, ends + DAY) is Urgency.URGENT


def member(name: str, role: Role) -> Member:
    names = CertifiedNames((PKI.fingerprint,), dns=name)
    return Member(name, role, names, Identity(IdentityKey.create()).public, SealingKey.create().public)


ALICE, STEWARD = member("alice", Role.CUSTODIAN_A), member("steward", Role.STEWARD)


def test_what_a_member_has_shown_last_is_what_counts() -> None:
    shown = ShownCertificates()
    old, new = (PKI.issue(dns=["alice"], start=BEGUN, lasting=days * DAY) for days in (90, 180))
    now = BEGUN + 85 * DAY
    assert endings(shown.of([ALICE, STEWARD]), now) == {}
    shown.note(ALICE, PKI.shown(old))
    (found,) = endings(shown.of([ALICE, STEWARD]), now).items()
    assert (found[0], found[1].left, found[1].is_urgent) == ("alice", 5 * DAY, True)
    shown.note(ALICE, PKI.shown(new))
    assert endings(shown.of([ALICE, STEWARD]), now) == {}
    shown.note(ALICE, certificate_pem(old))
    assert endings(shown.of([STEWARD]), now) == {}, "one who is no longer in the list is not named"


def test_what_is_reported_is_read_as_sentences_the_first_to_end_first() -> None:
    now = BEGUN + 85 * DAY
    shown = ShownCertificates()
    shown.note(STEWARD, PKI.shown(PKI.issue(dns=["steward"], start=BEGUN, lasting=100 * DAY)))
    shown.note(ALICE, PKI.shown(PKI.issue(dns=["alice"], start=BEGUN, lasting=90 * DAY)))
    wire = endings_to_wire(endings(shown.of([ALICE, STEWARD]), now))
    assert list(ending_lines(wire, now=now)) == [
        "the certificate of alice ends in 5 days, on 2026-05-30 12:00 UTC: have it renewed now",
        "the certificate of steward ends in 15 days, on 2026-06-09 12:00 UTC: have it renewed",
    ]
    assert len(list(ending_lines(wire, without="alice", now=now))) == 1
    assert next(ending_lines(wire, now=now + 6 * DAY)).startswith("the certificate of alice ended on")


def test_what_another_program_reports_is_bounded() -> None:
    """A console shows what Carole sends: no text of hers, no more lines than there can be members, no odd time."""
    many = [project_pb2.EndingCertificate(member="alice", ends_unix_ms=1) for _ in range(10 * MAX_ENDINGS)]
    assert len(list(ending_lines(many))) == MAX_ENDINGS
    odd = [
        project_pb2.EndingCertificate(member="[red]call 555[/red]", ends_unix_ms=1),
        project_pb2.EndingCertificate(member="alice", ends_unix_ms=2**62),
    ]
    assert list(ending_lines(odd)) == []
