"""Members whose certificates come from their organisation's own PKI: who is admitted, and who is not as another."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.parties import PARTIES, Role
from gemel.common.pki import Admission, Authority, Member, Members, PartyFolder, assemble, certify, checked, enrol
from gemel.common.pki.certificates import certificate_pem, new_key, role_urn, spki_fingerprint
from gemel.common.pki.certified_names import CertifiedNames, PinnedKey, certified_names
from gemel.common.pki.enrolment_requests import load_enrolment_request
from gemel.common.rpc.tls import TlsFiles
from tests.carole.refusals import refusal
from tests.common.pki.own_pki import OwnPki

ALICE = "spiffe://hospital.example/gemel/alice"
STEWARD = "spiffe://carole.example/steward"
HOSPITAL, CLINIC, UNIT = OwnPki("hospital"), OwnPki("clinic"), OwnPki("unit")
PINNING = Authority.create("coordinator")
PINNED = PINNING.issue(new_key().public_key(), "coordinator", Role.COORDINATOR)
DNS = {"alice": "alice.hospital.example", "bob": "bob.clinic.example", "carole": "carole.unit.example"}

KNOWN = {
    "alice": CertifiedNames((HOSPITAL.fingerprint,), DNS["alice"], ALICE),
    "bob": CertifiedNames((CLINIC.fingerprint,), DNS["bob"]),
    "carole": CertifiedNames((UNIT.fingerprint,), DNS["carole"]),
    "coordinator": PinnedKey(PINNING.fingerprint, spki_fingerprint(PINNED)),
    "steward": CertifiedNames((UNIT.fingerprint,), spiffe=STEWARD),
}
MEMBERS = Members(
    Member(name, role, KNOWN[name], Identity(IdentityKey.create()).public, SealingKey.create().public)
    for name, role in PARTIES.items()
)
AUTHORITIES = [HOSPITAL.root, CLINIC.root, UNIT.root, PINNING.certificate]
ADMISSION = Admission(MEMBERS, AUTHORITIES)


def reason(peer: bytes, admission: Admission = ADMISSION) -> str:
    with refusal(ErrorCode.NOT_ADMITTED) as caught:
        admission(peer)
    return str(caught.value)


def alices(pki: OwnPki = HOSPITAL, **other: object) -> x509.Certificate:
    """What Alice's organisation issues for her, by `pki`."""
    return pki.issue(**{"dns": [DNS["alice"]], "uris": [ALICE], **other})  # type: ignore[arg-type]


def test_each_is_admitted_by_its_names_with_every_new_key() -> None:
    for _ in range(2):
        assert ADMISSION(HOSPITAL.shown(alices())).name == "alice"
        assert ADMISSION(CLINIC.shown(CLINIC.issue(dns=["other.example", DNS["bob"]]))).name == "bob"
        steward = ADMISSION(UNIT.shown(UNIT.issue(uris=[STEWARD])))
        assert (steward.name, steward.role) == ("steward", Role.STEWARD)
    assert ADMISSION(certificate_pem(PINNED)).name == "coordinator"


def test_one_organisations_authorities_vouch_for_no_other() -> None:
    """Bob's clinic certifies all that Alice's certificates are known by: her names, her role, her common name."""
    for forged in (
        alices(CLINIC),
        alices(CLINIC, common_name="alice"),
        alices(CLINIC, uris=[ALICE, role_urn(Role.CUSTODIAN_A)]),
        CLINIC.issue(dns=[DNS["alice"]], uris=[ALICE], common_name="alice"),
    ):
        stated = reason(CLINIC.shown(forged))
        assert "no chain leads" in stated or "no member has" in stated
    # With the hospital's intermediate authority shown beside, whose key the clinic does not have.
    mixed = CLINIC.shown(alices(CLINIC)) + certificate_pem(HOSPITAL.intermediate) + HOSPITAL.root_pem
    assert "no chain leads" in reason(mixed)
    # Nor for one whose key is pinned, nor as another role's.
    pinned = CLINIC.issue(PINNED.public_key(), uris=[role_urn(Role.COORDINATOR)], common_name="coordinator")
    assert "not issued by the authority pinned" in reason(CLINIC.shown(pinned))
    assert "no member has" in reason(CLINIC.shown(CLINIC.issue(common_name="carole", dns=["linker.gemel.internal"])))


def test_an_authority_of_the_same_name_is_another() -> None:
    namesake = OwnPki("hospital")
    assert "no chain leads" in reason(namesake.shown(alices(namesake)))


def test_two_members_of_one_pki_are_distinguished_by_their_names() -> None:
    assert ADMISSION(UNIT.shown(UNIT.issue(dns=[DNS["carole"]]))).name == "carole"
    both = UNIT.issue(dns=[DNS["carole"]], uris=[STEWARD])
    assert "the names of several members are in one certificate" in reason(UNIT.shown(both))


@pytest.mark.parametrize(
    ("names", "stated"),
    [
        ({"dns": [], "uris": [ALICE]}, "no member has"),
        ({"uris": []}, "no member has"),
        ({"uris": [ALICE, "spiffe://hospital.example/other"]}, "no member has"),
        ({"uris": [ALICE + "/more"]}, "no member has"),
        ({"dns": ["*.hospital.example"]}, "no member has"),
        ({"dns": ["hospital.example"]}, "no member has"),
        ({"uses": [ExtendedKeyUsageOID.SERVER_AUTH]}, "no chain leads"),
        ({"uses": None}, "is not issued for clients"),
        ({"start": datetime.now(UTC) - timedelta(hours=3)}, "has expired"),
        ({"start": datetime.now(UTC) + timedelta(hours=3)}, "is not valid yet"),
    ],
    ids=["no DNS name", "no URI", "two URIs", "a longer URI", "wildcard", "parent", "servers", "no use", "old", "new"],
)
def test_a_certificate_without_what_the_list_states_is_refused(names: dict[str, object], stated: str) -> None:
    assert stated in reason(HOSPITAL.shown(alices(**names)))


def test_a_role_in_the_certificate_must_be_the_members() -> None:
    named = CLINIC.issue(dns=[DNS["bob"]], uris=[role_urn(Role.CUSTODIAN_A)])
    assert "must name the member's role custodian-b" in reason(CLINIC.shown(named))
    assert ADMISSION(CLINIC.shown(CLINIC.issue(dns=[DNS["bob"]], uris=[role_urn(Role.CUSTODIAN_B)]))).name == "bob"


def test_the_chain_must_be_shown_and_be_short() -> None:
    assert "no chain leads" in reason(certificate_pem(alices()))
    assert "at most 4 intermediate" in reason(HOSPITAL.shown(alices()) + 4 * HOSPITAL.root_pem)


def test_a_chain_that_would_take_long_to_verify_is_refused_unread() -> None:
    """Its maker chooses keys and cross signatures: of RSA keys with large exponents each verification is slow."""
    twice = HOSPITAL.shown(alices()) + certificate_pem(HOSPITAL.intermediate)
    assert "each certificate of a chain has a key of its own" in reason(twice)
    assert "each certificate of a chain has a key of its own" in reason(
        HOSPITAL.shown(alices()) + certificate_pem(_slow())
    )


def test_a_members_own_key_is_bounded_as_those_of_its_authorities_are() -> None:
    usual = alices(key=rsa.generate_private_key(65537, 2048).public_key())
    assert ADMISSION(HOSPITAL.shown(usual)).name == "alice"
    other = alices(key=rsa.generate_private_key(3, 2048).public_key())
    assert "each certificate of a chain has a key of its own" in reason(HOSPITAL.shown(other))


def _slow() -> x509.Certificate:
    """An authority whose public exponent is as long as the modulus."""
    numbers = rsa.generate_private_key(65537, 2048).private_numbers()
    p, q = numbers.p, numbers.q
    e = next(e for e in range(2**2000 + 1, 2**2000 + 4001, 2) if math.gcd(e, (p - 1) * (q - 1)) == 1)
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    made = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    key = made.private_key(unsafe_skip_rsa_key_validation=True)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "slow")])
    begin = datetime.now(UTC) - timedelta(hours=1)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(begin).not_valid_after(begin + timedelta(days=1))
    return built.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        key, hashes.SHA256()
    )


def _named(names: bytes) -> x509.Certificate:
    """A certificate whose alternative names are these bytes, in DER, as no library makes them."""
    begin = datetime.now(UTC) - timedelta(hours=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "workload")])
    key = new_key()
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(begin).not_valid_after(begin + timedelta(hours=2))
    extension = x509.UnrecognizedExtension(x509.SubjectAlternativeName.oid, names)
    return built.add_extension(extension, critical=False).sign(key, hashes.SHA256())


def test_what_cannot_be_parsed_is_refused_in_the_words_of_all_refusals() -> None:
    """A name of a kind that the library does not know: its exception's text would go to the caller."""
    assert "the certificate is malformed" in reason(certificate_pem(_named(bytes.fromhex("3004a5023000"))))


def test_a_name_of_another_alphabet_is_not_the_one_that_its_lower_case_is() -> None:
    names = CertifiedNames((), "kate.example")
    for first, same in (("K", True), ("\u212a", False)):
        raw = f"{first}ate.example".encode()
        assert names.are_in(_named(bytes([0x30, len(raw) + 2, 0x82, len(raw)]) + raw)) is same


def test_an_authoritys_own_certificate_is_no_members() -> None:
    assert "no member has" in reason(certificate_pem(HOSPITAL.intermediate))


def test_name_constraints_hold() -> None:
    """An intermediate authority for other names, under the root that is pinned."""
    for constraint, stated in (
        (x509.DNSName("hospital.example"), None),
        (x509.DNSName("clinic.example"), "no chain leads"),
        # What the library does not know, it refuses.
        (x509.UniformResourceIdentifier("hospital.example"), "no chain leads"),
    ):
        pki = OwnPki("hospital", x509.NameConstraints([constraint], None))
        known = {**KNOWN, "alice": CertifiedNames((pki.fingerprint,), DNS["alice"], ALICE)}
        members = Members(Member(m.name, m.role, known[m.name], m.identity, m.sealing) for m in MEMBERS)
        admission = Admission(members, [*AUTHORITIES, pki.root])
        peer = pki.shown(alices(pki))
        if stated is None:
            assert admission(peer).name == "alice"
        else:
            assert stated in reason(peer, admission)


def test_an_intermediate_authority_may_be_the_one_that_is_pinned() -> None:
    pinned = CertifiedNames((spki_fingerprint(HOSPITAL.intermediate),), DNS["alice"], ALICE)
    members = Members(
        Member(m.name, m.role, {**KNOWN, "alice": pinned}[m.name], m.identity, m.sealing) for m in MEMBERS
    )
    admission = Admission(members, [HOSPITAL.intermediate, *AUTHORITIES])
    assert admission(certificate_pem(alices())).name == "alice"


def test_a_list_with_own_pkis_is_read_back() -> None:
    assert list(Members.parse(MEMBERS.dump())) == list(MEMBERS)


@pytest.mark.parametrize(
    ("old", "new", "stated"),
    [
        (ALICE, STEWARD, "every member must have a SPIFFE ID of its own"),
        (DNS["alice"], DNS["bob"], "every member must have a DNS name of its own"),
        (f'      dns: "{DNS["bob"]}"\n', '      spiffe: "spiffe://clinic.example/bob"\n', "needs a DNS name"),
        (f'      dns: "{DNS["bob"]}"\n', "", "the names that its certificate has"),
        (DNS["bob"], "192.0.2.1", "expected a name, not an address"),
        (DNS["bob"], "linker.gemel.internal", "names within gemel.internal"),
        (DNS["bob"], "*.clinic.example", "neither a host name nor an address"),
        (ALICE, "spiffe://hospital.example", "expected a SPIFFE ID"),
        (ALICE, "spiffe://hospital.example/../bob", "expected a SPIFFE ID"),
        (ALICE, "https://hospital.example/alice", "expected a SPIFFE ID"),
        ("    pki:\n", f'    authority: "{"0" * 64}"\n    certificate: "{"0" * 64}"\n    pki:\n', "or pki"),
    ],
)
def test_names_that_could_be_anothers_are_refused(old: str, new: str, stated: str) -> None:
    text = MEMBERS.dump()
    assert old in text
    with pytest.raises(GemelError) as caught:
        Members.parse(text.replace(old, new, 1))
    assert stated in str(caught.value)


def test_a_party_enrols_with_its_names_and_finds_what_its_pki_puts_there(tmp_path: Path) -> None:
    pki = certified_names([HOSPITAL.fingerprint], DNS["alice"].upper(), ALICE)
    for name, role in PARTIES.items():
        enrol(tmp_path / name, name, role, pki=pki if name == "alice" else None)
    alice = PartyFolder(tmp_path / "alice")
    assert not alice.tls_key.exists()
    requests = {name: load_enrolment_request(PartyFolder(tmp_path / name).enrolment_request) for name in PARTIES}
    assert requests["alice"].certificate == KNOWN["alice"]
    with pytest.raises(GemelError, match="own PKI"):
        certify(PINNING, requests["alice"])
    certificates = {name: certify(PINNING, requests[name]) for name in PARTIES if name != "alice"}
    authorities = PINNING.pem + HOSPITAL.root_pem
    listed = assemble(requests.values(), certificates, authorities).dump()
    for name in PARTIES:
        checked(tmp_path / name, name, certificates.get(name), listed, authorities).put()
    with pytest.raises(GemelError, match="put into the folder by the organisation's own PKI"):
        checked(alice.path, "alice", certificates["bob"], listed, authorities).put()
    with pytest.raises(GemelError, match="is missing"):
        checked(tmp_path / "bob", "bob", None, listed, authorities).put()
    HOSPITAL.renew(alice.path, dns=[DNS["alice"]], uris=[ALICE])
    assert TlsFiles.load(alice.path, Role.CUSTODIAN_A).certificate.count(b"BEGIN CERTIFICATE") == 2
    carole = PartyFolder(tmp_path / "carole")
    admission = Admission.from_pem(Members.load(carole.members), carole.callers.read_bytes())
    assert admission(alice.certificate.read_bytes()).name == "alice"
    for wrong, stated in (
        ({"dns": [DNS["bob"]], "uris": [ALICE]}, "not as the membership list has it: it has other names"),
        ({"dns": [DNS["alice"]], "uris": [ALICE], "lasting": timedelta(seconds=30)}, "has expired"),
    ):
        HOSPITAL.renew(alice.path, **wrong)
        with refusal(ErrorCode.CERTIFICATE, stated):
            TlsFiles.load(alice.path, Role.CUSTODIAN_A)


def test_of_two_stewards_each_needs_its_own_authority_alone(tmp_path: Path) -> None:
    """A party has the authorities of its own certificates, and not those of another in its role."""
    stewards = {"steward": STEWARD, "second": "spiffe://hospital.example/steward"}
    pkis = {"steward": UNIT, "second": HOSPITAL}
    known = {name: CertifiedNames((pkis[name].fingerprint,), spiffe=uri) for name, uri in stewards.items()}
    roles = {**PARTIES, "second": Role.STEWARD}
    for name, role in roles.items():
        enrol(tmp_path / name, name, role, pki=known.get(name))
    requests = [load_enrolment_request(PartyFolder(tmp_path / name).enrolment_request) for name in roles]
    certificates = {each.name: certify(PINNING, each) for each in requests if each.name not in known}
    authorities = PINNING.pem + HOSPITAL.root_pem + UNIT.root_pem
    listed = assemble(requests, certificates, authorities).dump()
    for name, uri in stewards.items():
        checked(tmp_path / name, name, None, listed, authorities).put()
        pkis[name].renew(tmp_path / name, uris=[uri])
        assert TlsFiles.load(tmp_path / name, Role.STEWARD)


def test_a_forged_name_in_an_enrolment_request_is_noticed(tmp_path: Path) -> None:
    enrol(tmp_path / "alice", "alice", Role.CUSTODIAN_A, pki=KNOWN["alice"])
    text = PartyFolder(tmp_path / "alice").enrolment_request.read_text()
    for old, new in (
        (DNS["alice"], "alice.other.example"),
        (ALICE, ALICE + "2"),
        (HOSPITAL.fingerprint, CLINIC.fingerprint),
    ):
        path = tmp_path / "changed.yaml"
        path.write_text(text.replace(old, new))
        with refusal(ErrorCode.SIGNATURE):
            load_enrolment_request(path)


def test_names_of_a_command_line_are_checked() -> None:
    for dns, spiffe, stated in (("", "", "a DNS name, a SPIFFE ID, or both"), ("", "x", "expected a SPIFFE ID")):
        with pytest.raises(GemelError, match=stated):
            certified_names([HOSPITAL.fingerprint], dns, spiffe)
