"""An authority's certificates: what is issued and refused, and what is said before they end."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import Role
from gemel.common.pki import Member
from gemel.common.pki.authority import LEAF_LIFETIME, Authority, new_request, read_request
from gemel.common.pki.certificates import (
    Names,
    Validity,
    certificate_pem,
    host_names,
    key_pem,
    load_certificate,
    load_key,
    new_key,
    read_certificate,
    role_of,
    role_urn,
    server_name,
    spki_fingerprint,
)
from gemel.common.pki.certified_names import CertifiedNames
from gemel.common.pki.checks import check_dates, check_issued, is_authority
from gemel.common.pki.ending import ShownCertificates, Urgency, ending, endings, urgency
from gemel.common.rpc.certificate_endings import MAX_ENDINGS, ending_lines, endings_to_wire
from gemel.protos.linkage.v1 import project_pb2
from tests.carole.refusals import refusal
from tests.common.pki.own_pki import OwnPki


def now() -> datetime:
    """This moment: a suite may run for longer than a certificate is valid ahead of time."""
    return datetime.now(UTC)


AUTHORITY = Authority.create("Example")


def leaf(role: Role = Role.CUSTODIAN_A, **more) -> x509.Certificate:
    return AUTHORITY.issue(new_key().public_key(), "someone", role, **more)


def message(attempt) -> str:
    with refusal(ErrorCode.CERTIFICATE) as caught:
        attempt()
    return str(caught.value)


@pytest.mark.parametrize("role", Role)
def test_a_leaf_names_its_role_and_may_do_what_the_role_does(role: Role) -> None:
    certificate = leaf(role)
    assert role_of(certificate, "here") is role
    assert not is_authority(certificate)
    uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    serves = role in (Role.LINKER, Role.CUSTODIAN_A, Role.CUSTODIAN_B)
    assert (x509.oid.ExtendedKeyUsageOID.SERVER_AUTH in uses) == serves
    assert x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH in uses
    assert host_names(certificate) == ([server_name(role)] if serves else [])
    check_issued(certificate, AUTHORITY.certificate, now(), "here")


def test_the_linker_has_hosts_and_addresses() -> None:
    names = Names.of(["Carole.Example.org", "127.0.0.1", "::1", "carole.example.org", "127.0.0.1"])
    certificate = leaf(Role.LINKER, names=names)
    assert host_names(certificate) == ["linker.gemel.internal", "carole.example.org", "127.0.0.1", "::1"]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.LINKER])
def test_no_other_role_names_hosts(role: Role) -> None:
    assert "only the linker's" in message(lambda: leaf(role, names=Names.of(["localhost"])))


@pytest.mark.parametrize(
    "name", ["", "-a.example", "a b", "a..b", "*.example.org", "1.2.3", "a" * 64, "exämple.org", "a\n"]
)
def test_what_is_no_host_is_refused(name: str) -> None:
    assert "neither a host name nor an address" in message(lambda: Names.of([name]))


def test_the_names_of_roles_cannot_be_requested() -> None:
    for name in ("linker.gemel.internal", "Linker.GEMEL.internal", "gemel.internal"):
        assert "cannot be requested" in message(lambda name=name: Names.of([name]))


def test_lifetimes() -> None:
    usual = leaf()
    assert usual.not_valid_after_utc - usual.not_valid_before_utc == LEAF_LIFETIME
    assert usual.not_valid_before_utc < now() < usual.not_valid_after_utc
    short = leaf(validity=Validity.lasting(timedelta(hours=24)))
    assert short.not_valid_after_utc - short.not_valid_before_utc == timedelta(hours=24)


def test_a_leaf_does_not_outlive_its_authority() -> None:
    rehearsal = Authority.create("Rehearsal", Validity.lasting(timedelta(hours=24)))
    usual = rehearsal.issue(new_key().public_key(), "someone", Role.STEWARD)
    assert usual.not_valid_after_utc == rehearsal.certificate.not_valid_after_utc
    longer = Validity.lasting(timedelta(days=2))
    assert "cannot outlive" in message(
        lambda: rehearsal.issue(new_key().public_key(), "someone", Role.STEWARD, validity=longer)
    )


def test_wrong_dates_are_reported() -> None:
    past = leaf(validity=Validity.lasting(timedelta(hours=1), start=datetime(2020, 2, 29, 12, tzinfo=UTC)))
    reported = message(lambda: check_dates(past, now(), "alice/certificate.pem"))
    assert reported.startswith("alice/certificate.pem: the certificate has expired")
    assert "from 2020-02-29 12:00 to 2020-02-29 13:00 UTC" in reported
    future = leaf(validity=Validity.lasting(timedelta(hours=1), start=now() + timedelta(days=1)))
    assert "is not valid yet" in message(lambda: check_dates(future, now(), "here"))
    start = past.not_valid_before_utc
    check_dates(past, start, "here")
    check_dates(past, start + timedelta(hours=1), "here")
    assert "not valid yet" in message(lambda: check_dates(past, start - timedelta(seconds=1), "here"))
    assert "has expired" in message(lambda: check_dates(past, start + timedelta(seconds=3601), "here"))


def test_another_authority_of_the_same_name_is_not_the_issuer() -> None:
    other = Authority.create("Example")
    assert "was not issued by" in message(lambda: check_issued(leaf(), other.certificate, now(), "here"))


def test_an_expired_authority_vouches_for_no_party() -> None:
    start = now() - timedelta(days=2)
    expired = Authority.create("Example", Validity.lasting(timedelta(days=1), start=start))
    certificate = expired.issue(
        new_key().public_key(), "someone", Role.STEWARD, validity=Validity.lasting(timedelta(days=1), start=start)
    )
    assert "the authority's certificate has expired" in message(
        lambda: check_issued(certificate, expired.certificate, now(), "here")
    )


def test_an_authority_is_no_party_and_a_party_no_authority() -> None:
    certificate = leaf()
    assert "an authority's" in message(
        lambda: check_issued(AUTHORITY.certificate, AUTHORITY.certificate, now(), "here")
    )
    assert "may not sign" in message(lambda: check_issued(certificate, certificate, now(), "here"))


def handshake(tmp_path: Path, role: Role, hostname: str, authority: Authority = AUTHORITY) -> None:
    """Both sides of a mutual TLS handshake in memory, by OpenSSL and as strict as it can be."""
    key = new_key()
    (tmp_path / "key").write_bytes(key_pem(key))
    names = Names.of(["carole.example.org"]) if role is Role.LINKER else None
    (tmp_path / "pem").write_bytes(certificate_pem(AUTHORITY.issue(key.public_key(), "x", role, names)))
    contexts = {True: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), False: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
    ends = {}
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    for server, context in contexts.items():
        context.load_cert_chain(tmp_path / "pem", tmp_path / "key")
        context.load_verify_locations(cadata=authority.pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        incoming, outgoing = (to_server, to_client) if server else (to_client, to_server)
        ends[server] = context.wrap_bio(
            incoming, outgoing, server_side=server, server_hostname=None if server else hostname
        )
    waiting = {True, False}
    for _ in range(10):
        for server in (False, True):
            try:
                ends[server].do_handshake()
                waiting.discard(server)
            except ssl.SSLWantReadError:
                pass
    assert not waiting


@pytest.mark.parametrize(
    ("role", "hostname"),
    [
        (Role.LINKER, "linker.gemel.internal"),
        (Role.LINKER, "carole.example.org"),
        (Role.CUSTODIAN_A, "custodian-a.gemel.internal"),
    ],
)
def test_openssl_at_its_strictest_accepts_them(tmp_path: Path, role: Role, hostname: str) -> None:
    handshake(tmp_path, role, hostname)


def test_openssl_refuses_a_custodian_for_the_linker_and_another_authority(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(tmp_path, Role.CUSTODIAN_B, server_name(Role.LINKER))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(tmp_path, Role.LINKER, server_name(Role.LINKER), Authority.create("Example"))
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        handshake(tmp_path, Role.STEWARD, server_name(Role.STEWARD))


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    AUTHORITY.save(tmp_path)
    assert (tmp_path / "authority.key").stat().st_mode & 0o777 == 0o600
    again = Authority.load(tmp_path)
    assert again.fingerprint == AUTHORITY.fingerprint
    check_issued(again.issue(new_key().public_key(), "x", Role.STEWARD), AUTHORITY.certificate, now(), "here")
    with refusal(ErrorCode.EXISTS):
        Authority.create("Other").save(tmp_path)
    assert Authority.load(tmp_path).fingerprint == AUTHORITY.fingerprint


def test_files_of_two_authorities_do_not_load(tmp_path: Path) -> None:
    AUTHORITY.save(tmp_path)
    (tmp_path / "authority.pem").write_bytes(Authority.create("Other").pem)
    assert "is not the key of the authority" in message(lambda: Authority.load(tmp_path))


def test_a_request_is_certified_for_the_expected_party_only() -> None:
    key = new_key()
    request = new_request(key, "alice", Role.CUSTODIAN_A)
    certificate = AUTHORITY.certify(request, "alice", Role.CUSTODIAN_A)
    assert spki_fingerprint(certificate) == spki_fingerprint(read_request(request, "here"))
    assert "as custodian-a" in message(lambda: AUTHORITY.certify(request, "alice", Role.LINKER))
    assert "another name" in message(lambda: AUTHORITY.certify(request, "bob", Role.CUSTODIAN_A))


def test_a_request_for_the_linker_brings_its_hosts() -> None:
    request = new_request(new_key(), "carole", Role.LINKER, Names.of(["carole.example.org", "192.0.2.7"]))
    certificate = AUTHORITY.certify(request, "carole", Role.LINKER)
    assert host_names(certificate) == ["linker.gemel.internal", "carole.example.org", "192.0.2.7"]


def request_with(names: list[x509.GeneralName], key=None) -> bytes:
    builder = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bob")]))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    hash_of = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key or new_key(), hash_of).public_bytes(serialization.Encoding.PEM)


BOBS = x509.UniformResourceIdentifier(role_urn(Role.CUSTODIAN_B))


@pytest.mark.parametrize(
    ("request_pem", "reason"),
    [
        (request_with([BOBS, x509.DNSName("linker.gemel.internal")]), "cannot be requested"),
        (request_with([BOBS, x509.DNSName("carole.example.org")]), "only the linker's"),
        (request_with([BOBS, x509.UniformResourceIdentifier(role_urn(Role.LINKER))]), "exactly one role"),
        (request_with([x509.UniformResourceIdentifier("urn:gemel:role:king")]), "does not exist"),
        (request_with([x509.DNSName("bob.example.org")]), "exactly one role"),
        (request_with([BOBS], ec.generate_private_key(ec.SECP384R1())), "P-256"),
        (request_with([BOBS], ed25519.Ed25519PrivateKey.generate()), "P-256"),
        (b"nonsense", "expected a certificate request"),
    ],
    ids=["linker's name", "a host", "two roles", "no such role", "no role", "P-384", "Ed25519", "nonsense"],
)
def test_a_custodians_request_for_more_is_refused(request_pem: bytes, reason: str) -> None:
    assert reason in message(lambda: AUTHORITY.certify(request_pem, "bob", Role.CUSTODIAN_B))


def test_a_request_not_signed_by_its_own_key_is_refused() -> None:
    request = read_request(new_request(new_key(), "bob", Role.CUSTODIAN_B), "here")
    der = bytearray(request.public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    changed = x509.load_der_x509_csr(bytes(der)).public_bytes(serialization.Encoding.PEM)
    assert "signed by the key in it" in message(lambda: read_request(changed, "here"))


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_fits_a_certificate(name: str) -> None:
    assert "1 to 64 characters" in message(lambda: Authority.create(name))


def test_reading_certificates_is_strict(tmp_path: Path) -> None:
    pem = certificate_pem(leaf())
    assert "got 2 certificates" in message(lambda: read_certificate(pem + AUTHORITY.pem, "here"))
    assert "as PEM" in message(lambda: read_certificate(b"", "here"))
    assert "as PEM" in message(lambda: read_certificate(pem[:-60], "here"))
    with pytest.raises(GemelError, match=r"missing\.pem: cannot read the certificate"):
        load_certificate(tmp_path / "missing.pem")


def test_reading_a_key_is_strict(tmp_path: Path) -> None:
    path = tmp_path / "tls.key"
    AUTHORITY.save(tmp_path)
    path.write_bytes((tmp_path / "authority.pem").read_bytes())
    path.chmod(0o600)
    assert "expected a private key" in message(lambda: load_key(path))


def test_no_secret_in_a_repr() -> None:
    assert "_key" not in repr(AUTHORITY)


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
