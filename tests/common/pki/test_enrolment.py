"""How an organisation becomes a member, with all parties at once or alone, and renews its sealing key."""

from __future__ import annotations

import secrets
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing import SealContext, open_sealed, seal
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.suite import Suite
from gemel.common.keys.vault import WrappingKeys
from gemel.common.parties import PARTIES, Role
from gemel.common.pki.acceptance import checked
from gemel.common.pki.admission import Admission
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import (
    Validity,
    certificate_pem,
    host_names,
    load_certificate,
    read_certificates,
    spki_fingerprint,
)
from gemel.common.pki.enrolment import assemble, certify, enrol
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.pki.sealing_suites import sealing_keys_of_another_suite
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.party.own_keys import renew_sealing_key
from tests.carole.refusals import refusal, refused

HOSTS = {"carole": ["carole.example.org"]}


class Deployment:
    """Every party on a machine of its own; only what is in `sent` went between them."""

    def __init__(self, root: Path) -> None:
        self.folders = {name: root / f"machine of {name}" / name for name in PARTIES}
        self.enrolment_requests: dict[str, EnrolmentRequest] = {}
        self.sent: list[bytes] = []
        for name, role in PARTIES.items():
            enrol(self.folders[name], name, role, HOSTS.get(name, ()))
            enrolment_request = PartyFolder(self.folders[name]).enrolment_request
            self.sent.append(enrolment_request.read_bytes())
            self.enrolment_requests[name] = load_enrolment_request(enrolment_request)
        # Alice brings an authority of her own; the coordinator's certifies the others.
        self.coordinators = Authority.create("Coordinator")
        self.alices = Authority.create("Alice")
        self.certificates = {
            name: certify(self.alices if name == "alice" else self.coordinators, enrolment_request)
            for name, enrolment_request in self.enrolment_requests.items()
        }
        self.authorities = self.coordinators.pem + self.alices.pem
        self.members = assemble(self.enrolment_requests.values(), self.certificates, self.authorities)
        self.sent += [*self.certificates.values(), self.authorities, self.members.dump().encode()]

    def accept(self, name: str) -> None:
        checked(self.folders[name], name, self.certificates[name], self.members.dump(), self.authorities).put()


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


def test_everybody_enrols_and_is_admitted(deployment: Deployment) -> None:
    for name in PARTIES:
        deployment.accept(name)
    carole = PartyFolder(deployment.folders["carole"])
    admission = Admission.from_pem(deployment.members, carole.callers.read_bytes())
    for name, role in PARTIES.items():
        certificate = PartyFolder(deployment.folders[name]).certificate.read_bytes()
        assert admission(certificate).role is role
    # Alice knows Carole by the coordinator's authority, and no other party calls her.
    alice = PartyFolder(deployment.folders["alice"])
    assert alice.linker.read_bytes() == deployment.coordinators.pem
    assert alice.callers.read_bytes() == deployment.alices.pem
    assert len(read_certificates(carole.callers.read_bytes(), "here")) == 2


def test_no_private_key_is_sent(deployment: Deployment) -> None:
    everything = b"".join(deployment.sent)
    assert b"PRIVATE" not in everything
    secrets_found = 0
    for folder in deployment.folders.values():
        for path in folder.glob("*.key"):
            for line in path.read_bytes().splitlines():
                if b"-----" not in line and len(line) > 20:
                    secrets_found += 1
                    assert line not in everything
    assert secrets_found >= 4 * len(PARTIES)


def test_a_folder_has_its_modes_and_working_keys(deployment: Deployment) -> None:
    folder = PartyFolder(deployment.folders["alice"])
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    for path in (folder.tls_key, folder.identity, folder.sealing, folder.wrapping):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert open_identity(None, folder.identity).public == deployment.members.named("alice").identity
    WrappingKeys.load(folder.wrapping)


def test_accepting_again_changes_nothing_and_a_renewal_replaces(deployment: Deployment) -> None:
    deployment.accept("bob")
    folder = PartyFolder(deployment.folders["bob"])
    former = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    deployment.accept("bob")
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == former
    deployment.certificates["bob"] = certify(deployment.coordinators, deployment.enrolment_requests["bob"])
    deployment.accept("bob")
    assert folder.certificate.read_bytes() != former["certificate.pem"]
    listed = deployment.members.named("bob").certificate.key
    assert spki_fingerprint(load_certificate(folder.certificate)) == listed


def test_enrolling_twice_keeps_the_first_keys(tmp_path: Path) -> None:
    enrolment_request = enrol(tmp_path / "alice", "alice", Role.CUSTODIAN_A)
    with refusal(ErrorCode.EXISTS, "keys are never overwritten"):
        enrol(tmp_path / "alice", "alice", Role.CUSTODIAN_A)
    assert load_enrolment_request(tmp_path / "alice" / "enrolment-request.yaml") == enrolment_request
    assert [path.name for path in tmp_path.iterdir()] == ["alice"]


def test_a_changed_enrolment_request_is_refused(deployment: Deployment) -> None:
    text = deployment.sent[list(PARTIES).index("bob")].decode()
    assert EnrolmentRequest.parse(text) == deployment.enrolment_requests["bob"]
    bobs, mallorys = deployment.enrolment_requests["bob"].identity.hex, Identity(IdentityKey.create()).public.hex
    for old, new in (('"bob"', '"eve"'), ("custodian-b", "custodian-a"), (bobs, mallorys)):
        refused(ErrorCode.SIGNATURE, EnrolmentRequest.parse, text.replace(old, new))
    unsigned = "".join(line for line in text.splitlines(True) if "signature" not in line)
    with refusal(ErrorCode.CONFIGURATION, "signature: is missing"):
        EnrolmentRequest.parse(unsigned)


def test_an_enrolment_request_with_a_certificate_request_for_another_role_is_refused(deployment: Deployment) -> None:
    bob = PartyFolder(deployment.folders["bob"])
    identity = open_identity(None, bob.identity)
    enrolment_request = deployment.enrolment_requests["bob"]
    forged = EnrolmentRequest(
        "bob", Role.COORDINATOR, enrolment_request.identity, enrolment_request.sealing, enrolment_request.certificate
    ).signed(identity)
    with refusal(ErrorCode.CERTIFICATE, "must be for the role of the enrolment request"):
        EnrolmentRequest.parse(forged)


def test_assembling_finds_what_does_not_belong_together(deployment: Deployment) -> None:
    requests, certificates = deployment.enrolment_requests, deployment.certificates

    def reported(changed: dict[str, bytes], authorities: bytes = deployment.authorities) -> str:
        return str(refused(ErrorCode.CERTIFICATE, assemble, requests.values(), certificates | changed, authorities))

    assert "for another key than the enrolment request" in reported({"bob": certificates["alice"]})
    past = Validity.lasting(timedelta(hours=1), start=Validity.lasting(timedelta(0)).not_before - timedelta(days=1))
    assert "has expired" in reported({"bob": certify(deployment.coordinators, requests["bob"], past)})
    assert "was not issued by" in reported({}, deployment.coordinators.pem)
    wrong_role = deployment.coordinators.issue(key_of(certificates["bob"]), "bob", Role.COORDINATOR)
    assert "must be for custodian-b" in reported({"bob": certificate_pem(wrong_role)})
    del certificates["bob"]
    assert "the certificate of bob: is missing" in reported({})


def key_of(pem: bytes):
    return read_certificates(pem, "here")[0].public_key()


def test_accepting_finds_what_is_not_ones_own(deployment: Deployment, tmp_path: Path) -> None:
    folder = deployment.folders["bob"]
    before = sorted(path.name for path in folder.iterdir())
    members = deployment.members.dump()
    certificates, authorities = deployment.certificates, deployment.authorities

    def reported(code: ErrorCode, name: str = "bob", **changed) -> str:
        given = {"certificate": certificates["bob"], "members": members, "authorities": authorities, **changed}
        return str(refused(code, checked, folder, name, **given))

    assert "not for the key in tls.key" in reported(ErrorCode.CERTIFICATE, certificate=certificates["alice"])
    assert "no member has this name" in reported(ErrorCode.NOT_FOUND, name="mallory")
    own = deployment.members.named("bob")
    for key, value, other in (
        ("certificate", own.certificate.key, secrets.token_hex(32)),
        ("identity", own.identity.hex, Identity(IdentityKey.create()).public.hex),
        ("sealing", own.sealing.hex, SealingKey.create().public.hex),
    ):
        assert f"another {key} key for bob" in reported(ErrorCode.CONFIGURATION, members=members.replace(value, other))
    assert "authorities in the membership list are missing" in reported(
        ErrorCode.CONFIGURATION, authorities=deployment.alices.pem
    )
    minted = certify(deployment.alices, deployment.enrolment_requests["bob"])
    assert "was not issued by" in reported(ErrorCode.CERTIFICATE, certificate=minted)
    wrong_role = deployment.coordinators.issue(key_of(certificates["bob"]), "bob", Role.LINKER)
    assert "must be for custodian-b" in reported(ErrorCode.CERTIFICATE, certificate=certificate_pem(wrong_role))
    assert sorted(path.name for path in folder.iterdir()) == before


CONTEXT = SealContext("trial", "r" * 32, "alice")


@pytest.fixture
def made(tmp_path: Path) -> Provisioned:
    return provision(tmp_path / "parties")


def listed(made: Provisioned) -> Members:
    return Members.load(made.parties["carole"].members)


def opens(made: Provisioned) -> bool:
    """Whether Alice opens what is sealed by Carole's list."""
    sealed = b"".join(seal(listed(made).in_role(Role.CUSTODIAN_A).sealing, CONTEXT, [b"share"]))
    return b"".join(open_sealed(SealingKey.load(made.parties["alice"].sealing), CONTEXT, [sealed])) == b"share"


def accepted(made: Provisioned) -> None:
    """A new list from everyone's request, and accepted by all."""
    folders = made.parties
    requests = [load_enrolment_request(party.enrolment_request) for party in folders.values()]
    certificates = {name: party.certificate.read_bytes() for name, party in folders.items()}
    authorities = (made.authority / "authority.pem").read_bytes()
    members = assemble(requests, certificates, authorities)
    for name, party in folders.items():
        checked(party.path, name, certificates[name], members.dump(), authorities).put()


def test_a_key_is_renewed_and_nothing_is_lost_on_the_way(made: Provisioned) -> None:
    alice = made.parties["alice"]
    before = SealingKey.load(alice.sealing)
    earlier = b"".join(seal(before.public, CONTEXT, [b"earlier"]))
    assert opens(made)
    renewed = renew_sealing_key(alice.path)
    assert renewed.sealing != before.public
    assert opens(made)  # still by the key before, which the list has
    # Again, as after a crash, before the list has the new key: no further one, which would drop the listed one.
    assert renew_sealing_key(alice.path).sealing == renewed.sealing
    assert load_enrolment_request(alice.enrolment_request).sealing == renewed.sealing
    accepted(made)
    assert listed(made).named("alice").sealing == renewed.sealing
    assert opens(made)
    assert b"".join(open_sealed(SealingKey.load(alice.sealing), CONTEXT, [earlier])) == b"earlier"
    # The next renewal is of the new key, and drops the first one.
    assert renew_sealing_key(alice.path).sealing != renewed.sealing
    assert opens(made)
    assert before.public not in SealingKey.load(alice.sealing).publics


def test_a_key_of_the_approved_suite_is_made_beside_the_listed_one(made: Provisioned) -> None:
    alice = made.parties["alice"]
    listed_key = SealingKey.load(alice.sealing).public
    first = renew_sealing_key(alice.path).sealing
    assert first.suite is Suite.DEFAULT
    # Another suite is wanted now: the key that no list has gives way, and the listed one stays.
    approved = renew_sealing_key(alice.path, suite=Suite.APPROVED).sealing
    assert approved.suite is Suite.APPROVED
    assert SealingKey.load(alice.sealing).publics == (approved, listed_key)
    assert renew_sealing_key(alice.path).sealing == approved
    assert sealing_keys_of_another_suite(Suite.APPROVED, [listed(made).named("alice")]) == ["alice"]
    accepted(made)
    assert sealing_keys_of_another_suite(Suite.APPROVED, [listed(made).named("alice")]) == []
    # The next is of the same suite, unless another is named.
    assert renew_sealing_key(alice.path).sealing.suite is Suite.APPROVED


def test_a_party_without_a_list_renews_once(made: Provisioned) -> None:
    alice = made.parties["alice"]
    alice.members.unlink()
    first = renew_sealing_key(alice.path).sealing
    assert first != made.members.named("alice").sealing
    assert renew_sealing_key(alice.path).sealing == first


def test_a_folder_whose_keys_are_not_listed_is_left_as_it_is(made: Provisioned) -> None:
    alice = PartyFolder(made.parties["alice"].path)
    alice.sealing.unlink()
    SealingKey.create().save(alice.sealing)
    before = alice.sealing.read_bytes()
    with refusal(ErrorCode.CONFIGURATION, "another sealing key for alice"):
        renew_sealing_key(alice.path)
    assert alice.sealing.read_bytes() == before


def snapshot(root: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def test_a_folder_per_party_with_private_keys(tmp_path: Path) -> None:
    made = provision(tmp_path / "new" / "parties")
    root = tmp_path / "new" / "parties"
    assert sorted(path.name for path in root.iterdir()) == sorted(["authority", *PARTIES])
    for path in [root, *root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o700
        elif path.suffix == ".key":
            assert mode == 0o600
    keys = [path.read_bytes() for path in root.rglob("*.key")]
    assert len(keys) == 4 * len(PARTIES) + 1
    assert len(set(keys)) == len(keys)
    assert made.parties["bob"].path == root / "bob"
    assert list(Members.load(root / "carole" / "members.yaml")) == list(made.members)
    # The authority's key is in its own folder and nowhere else.
    key = (made.authority / "authority.key").read_bytes()
    assert [path for path in root.rglob("*") if path.is_file() and key in path.read_bytes()] == [
        made.authority / "authority.key"
    ]
    assert Authority.load(made.authority).fingerprint == made.members.named("alice").certificate.authority


def test_relative_paths_and_existing_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linkage.yaml").write_text("version: 1\n")
    made = provision(Path())
    assert (tmp_path / "alice" / "tls.key").exists()
    assert made.root == tmp_path
    assert (tmp_path / "linkage.yaml").read_text() == "version: 1\n"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_that_is_there_is_overwritten(tmp_path: Path, kind: str) -> None:
    match kind:
        case "folder":
            (tmp_path / "bob").mkdir()
        case "file":
            (tmp_path / "bob").write_text("mine")
        case "link":
            (tmp_path / "bob").symlink_to(tmp_path / "nowhere")
    before = snapshot(tmp_path)
    with refusal(ErrorCode.EXISTS, "the folder already has bob"):
        provision(tmp_path)
    assert snapshot(tmp_path) == before


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    provision(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(GemelError, match="the folder already has authority and alice and bob"):
        provision(tmp_path)
    assert snapshot(tmp_path) == before


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def broken(folder: PartyFolder, members: Members) -> dict[str, str]:
        assert folder.certificate.exists()
        raise KeyError("on the way")

    with pytest.raises(KeyError):
        provision(tmp_path / "deep" / "parties", configure={"steward": broken})
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_renaming_takes_the_first_ones_back(tmp_path: Path) -> None:
    def squatter(folder: PartyFolder, members: Members) -> dict[str, str]:
        # Another process takes the last name meanwhile; a folder with content cannot be renamed over.
        (tmp_path / "steward").mkdir()
        (tmp_path / "steward" / "mine").write_text("mine")
        return {}

    with pytest.raises(GemelError, match="cannot make the folders here"):
        provision(tmp_path, configure={"alice": squatter})
    assert snapshot(tmp_path) == {"steward": None, "steward/mine": b"mine"}


def test_a_file_in_the_place_of_the_root_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with refusal(ErrorCode.CONFIGURATION, "cannot make the folders here"):
        provision(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_configurations_come_from_the_caller(tmp_path: Path) -> None:
    def configure(folder: PartyFolder, members: Members) -> dict[str, str]:
        peer = members.named("bob").identity.hex
        return {"alice.yaml": f"peer: {peer}\nkeys: {folder.identity.name}\n"}

    made = provision(tmp_path, configure={"alice": configure})
    text = (tmp_path / "alice" / "alice.yaml").read_text()
    assert made.members.named("bob").identity.hex in text


@pytest.mark.parametrize("file", ["tls.key", "members.yaml", "../carole.yaml", "sub/alice.yaml", "", ".."])
def test_a_configuration_takes_no_keys_place(tmp_path: Path, file: str) -> None:
    with pytest.raises(GemelError, match="a configuration file must have a plain name"):
        provision(tmp_path, configure={"alice": lambda folder, members: {file: "text"}})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["authority", "../alice", "Alice", ""])
def test_a_party_has_a_members_name(tmp_path: Path, name: str) -> None:
    with refusal(ErrorCode.CONFIGURATION):
        provision(tmp_path, parties={**PARTIES, name: PARTIES["steward"]})
    assert list(tmp_path.iterdir()) == []


def test_throw_away_parties_end_soon_and_the_linker_has_its_hosts(tmp_path: Path) -> None:
    provision(tmp_path, validity=Validity.lasting(timedelta(hours=24)), linker_names=["127.0.0.7", "carole.test"])
    for name in PARTIES:
        certificate = load_certificate(tmp_path / name / "certificate.pem")
        assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(hours=24)
    names = host_names(load_certificate(tmp_path / "carole" / "certificate.pem"))
    assert names == ["linker.gemel.internal", "carole.test", "127.0.0.7"]
