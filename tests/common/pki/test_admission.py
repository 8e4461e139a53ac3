"""Admission: real certificates, and every way in which one may fail to be a member's."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import PARTIES, Role
from gemel.common.pki.admission import Admission
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Validity, certificate_pem, new_key, role_urn, spki_fingerprint
from gemel.common.pki.certified_names import PinnedKey
from gemel.common.pki.members import Member, Members
from tests.carole.refusals import refusal


def now() -> datetime:
    """This moment: a suite may run for longer than a certificate is valid ahead of time."""
    return datetime.now(UTC)


@dataclass
class Organisations:
    """Three organisations with an authority each; the coordinator and the steward are with Carole."""

    authorities: dict[str, Authority] = field(default_factory=dict)
    keys: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    certificates: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = {name: Authority.create(f"Authority of {name}") for name in ("alice", "bob", "carole")}
        members = []
        for name, role in PARTIES.items():
            authority = own.get(name, own["carole"])
            key = new_key()
            certificate = authority.issue(key.public_key(), name, role)
            self.authorities[name], self.keys[name] = authority, key
            self.certificates[name] = certificate_pem(certificate)
            members.append(
                Member(
                    name,
                    role,
                    PinnedKey(authority.fingerprint, spki_fingerprint(certificate)),
                    Identity(IdentityKey.create()).public,
                    SealingKey.create().public,
                )
            )
        self.members = Members(members)
        self.roots = [authority.certificate for authority in own.values()]
        self.admission = Admission(self.members, self.roots)

    def reissued(
        self, name: str, *, by: str | None = None, role: Role | None = None, validity: Validity | None = None
    ) -> bytes:
        """Another certificate for the very key of `name`."""
        issuer = self.authorities[by or name]
        key = self.keys[name].public_key()
        return certificate_pem(issuer.issue(key, name, role or PARTIES[name], validity=validity))


ALL = Organisations()


def reason(peer: bytes, admission: Callable[[bytes], Member] = ALL.admission) -> str:
    with refusal(ErrorCode.NOT_ADMITTED) as caught:
        admission(peer)
    return str(caught.value)


@pytest.mark.parametrize(("name", "role"), PARTIES.items())
def test_every_member_is_admitted_as_itself(name: str, role: Role) -> None:
    member = ALL.admission(ALL.certificates[name])
    assert (member.name, member.role) == (name, role)


def test_a_renewal_with_the_same_key_is_admitted() -> None:
    assert ALL.admission(ALL.reissued("alice")).name == "alice"


def test_bobs_authority_cannot_mint_an_alice() -> None:
    # With a key of Bob's own choice, under Alice's name and role: an unknown key.
    key = new_key().public_key()
    minted = ALL.authorities["bob"].issue(key, "alice", Role.CUSTODIAN_A)
    assert "no member has this public key" in reason(certificate_pem(minted))
    # With Alice's public key, which is no secret (Bob could not use it in TLS; it is refused all the same).
    reported = reason(ALL.reissued("alice", by="bob"))
    assert "the certificate of alice" in reported
    assert "was not issued by the authority pinned for this member" in reported


def test_bobs_authority_cannot_make_bob_a_linker_or_coordinator() -> None:
    for role in (Role.LINKER, Role.COORDINATOR, Role.CUSTODIAN_A):
        reported = reason(ALL.reissued("bob", role=role))
        assert f"must name the member's role custodian-b, got {role}" in reported


def test_an_authority_under_anothers_name_is_no_other() -> None:
    namesake = Authority.create("Authority of alice")
    forged = namesake.issue(ALL.keys["alice"].public_key(), "alice", Role.CUSTODIAN_A)
    assert "was not issued by the authority pinned" in reason(certificate_pem(forged))


def test_an_expired_and_a_future_certificate_are_refused_with_their_dates() -> None:
    past = ALL.reissued("alice", validity=Validity.lasting(timedelta(hours=1), start=now() - timedelta(days=3)))
    assert "has expired: it is valid from" in reason(past)
    future = ALL.reissued("alice", validity=Validity.lasting(timedelta(hours=1), start=now() + timedelta(days=3)))
    assert "is not valid yet" in reason(future)


def test_a_certificate_expires_while_the_service_runs() -> None:
    certificate = x509.load_pem_x509_certificate(ALL.certificates["alice"])
    end = certificate.not_valid_after_utc
    assert ALL.admission(ALL.certificates["alice"], end).name == "alice"
    with pytest.raises(GemelError, match="has expired"):
        ALL.admission(ALL.certificates["alice"], end + timedelta(seconds=1))


def test_the_authority_itself_is_no_member() -> None:
    assert "no member has this public key" in reason(ALL.authorities["alice"].pem)


def forged_by_alices_own_authority(extensions: list[x509.ExtensionType], *, version_of: str = "alice") -> bytes:
    """A certificate that Alice's real authority signs, for Alice's real key, with extensions of any kind."""
    authority = ALL.authorities["alice"]
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, version_of)]))
        .issuer_name(authority.certificate.subject)
        .public_key(ALL.keys["alice"].public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(hours=1))
        .not_valid_after(now() + timedelta(hours=1))
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return certificate_pem(builder.sign(authority._key, hashes.SHA256()))


ROLE = x509.UniformResourceIdentifier(role_urn(Role.CUSTODIAN_A))
CLIENT = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])


@pytest.mark.parametrize(
    ("extensions", "reported"),
    [
        ([CLIENT], "exactly one role"),
        ([CLIENT, x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])], "exactly one"),
        (
            [CLIENT, x509.SubjectAlternativeName([ROLE, x509.UniformResourceIdentifier(role_urn(Role.COORDINATOR))])],
            "exactly one role",
        ),
        ([CLIENT, x509.SubjectAlternativeName([ROLE, ROLE])], "exactly one role"),
        ([CLIENT, x509.SubjectAlternativeName([x509.UniformResourceIdentifier("urn:gemel:role:")])], "does not exist"),
        ([x509.SubjectAlternativeName([ROLE])], "not issued for clients"),
        (
            [x509.SubjectAlternativeName([ROLE]), x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])],
            "not issued for clients",
        ),
    ],
    ids=["no names", "no role", "two roles", "a role twice", "no such role", "no use", "for servers"],
)
def test_a_certificate_of_another_form_is_refused(extensions: list[x509.ExtensionType], reported: str) -> None:
    assert reported in reason(forged_by_alices_own_authority(extensions))


def test_the_same_form_with_all_it_needs_is_admitted() -> None:
    """So that the refusals above have the reasons they state."""
    good = forged_by_alices_own_authority([CLIENT, x509.SubjectAlternativeName([ROLE])])
    assert ALL.admission(good).name == "alice"


@pytest.mark.parametrize(
    "peer", [b"", b"nonsense", ALL.certificates["alice"][:-60]], ids=["nothing", "nonsense", "cut off"]
)
def test_what_is_no_certificate_is_refused(peer: bytes) -> None:
    assert "the caller's certificate" in reason(peer)


def test_what_is_shown_behind_the_callers_own_certificate_makes_it_no_other() -> None:
    assert ALL.admission(ALL.certificates["alice"] + ALL.certificates["bob"]).name == "alice"


def test_a_custodians_own_service_admits_itself_only() -> None:
    own = Admission(ALL.members, [ALL.authorities["alice"].certificate], only=["alice"])
    assert own(ALL.certificates["alice"]).name == "alice"
    assert "is not admitted here" in reason(ALL.certificates["bob"], own)
    assert "is not admitted here" in reason(ALL.certificates["coordinator"], own)


def test_members_whose_authority_is_missing_are_reported_at_the_start() -> None:
    with refusal(ErrorCode.CONFIGURATION) as caught:
        Admission(ALL.members, [ALL.authorities["carole"].certificate])
    assert "member alice" in str(caught.value)
    assert "member bob" in str(caught.value)
    assert "member carole" not in str(caught.value)
