"""Three organisations become members, and no private key leaves the machine it was made on."""

from __future__ import annotations

import secrets
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.vault import WrappingKeys
from gemel.common.parties import Role
from gemel.common.pki.acceptance import accept
from gemel.common.pki.admission import Admission
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import (
    Validity,
    certificate_pem,
    load_certificate,
    read_certificates,
    spki_fingerprint,
)
from gemel.common.pki.enrolment import assemble, certify, enrol
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.provisioning import PARTIES

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
        accept(self.folders[name], name, self.certificates[name], self.members.dump(), self.authorities)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


def refusal(attempt, code: ErrorCode) -> str:
    with pytest.raises(GemelError) as caught:
        attempt()
    assert caught.value.code is code
    return str(caught.value)


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
    reported = refusal(lambda: enrol(tmp_path / "alice", "alice", Role.CUSTODIAN_A), ErrorCode.EXISTS)
    assert "keys are never overwritten" in reported
    assert load_enrolment_request(tmp_path / "alice" / "enrolment-request.yaml") == enrolment_request
    assert [path.name for path in tmp_path.iterdir()] == ["alice"]


def test_a_changed_enrolment_request_is_refused(deployment: Deployment) -> None:
    text = deployment.sent[list(PARTIES).index("bob")].decode()
    assert EnrolmentRequest.parse(text) == deployment.enrolment_requests["bob"]
    refusal(lambda: EnrolmentRequest.parse(text.replace('"bob"', '"eve"')), ErrorCode.SIGNATURE)
    refusal(lambda: EnrolmentRequest.parse(text.replace("custodian-b", "custodian-a")), ErrorCode.SIGNATURE)
    mallory = Identity(IdentityKey.create())
    other = text.replace(deployment.enrolment_requests["bob"].identity.hex, mallory.public.hex)
    refusal(lambda: EnrolmentRequest.parse(other), ErrorCode.SIGNATURE)
    unsigned = "".join(line for line in text.splitlines(True) if "signature" not in line)
    assert "signature: is missing" in refusal(lambda: EnrolmentRequest.parse(unsigned), ErrorCode.CONFIGURATION)


def test_an_enrolment_request_with_a_certificate_request_for_another_role_is_refused(deployment: Deployment) -> None:
    bob = PartyFolder(deployment.folders["bob"])
    identity = open_identity(None, bob.identity)
    enrolment_request = deployment.enrolment_requests["bob"]
    forged = EnrolmentRequest(
        "bob", Role.COORDINATOR, enrolment_request.identity, enrolment_request.sealing, enrolment_request.certificate
    ).signed(identity)
    assert "must be for the role of the enrolment request" in refusal(
        lambda: EnrolmentRequest.parse(forged), ErrorCode.CERTIFICATE
    )


def test_assembling_finds_what_does_not_belong_together(deployment: Deployment) -> None:
    enrolment_requests, certificates = deployment.enrolment_requests, deployment.certificates

    def assembled(changed: dict[str, bytes], authorities: bytes = deployment.authorities) -> object:
        return assemble(enrolment_requests.values(), {**certificates, **changed}, authorities)

    def reported(*args: object) -> str:
        return refusal(lambda: assembled(*args), ErrorCode.CERTIFICATE)  # type: ignore[arg-type]

    assert "for another key than the enrolment request" in reported({"bob": certificates["alice"]})
    past = Validity.lasting(timedelta(hours=1), start=Validity.lasting(timedelta(0)).not_before - timedelta(days=1))
    assert "has expired" in reported({"bob": certify(deployment.coordinators, enrolment_requests["bob"], past)})
    assert "was not issued by" in reported({}, deployment.coordinators.pem)
    wrong_role = deployment.coordinators.issue(load_certificate_key(certificates["bob"]), "bob", Role.COORDINATOR)
    assert "must be for custodian-b" in reported({"bob": pem_of(wrong_role)})
    missing = {name: pem for name, pem in certificates.items() if name != "bob"}
    assert "the certificate of bob: is missing" in refusal(
        lambda: assemble(enrolment_requests.values(), missing, deployment.authorities), ErrorCode.CERTIFICATE
    )


def load_certificate_key(pem: bytes):
    return read_certificates(pem, "here")[0].public_key()


def pem_of(certificate) -> bytes:
    return certificate_pem(certificate)


def test_accepting_finds_what_is_not_ones_own(deployment: Deployment, tmp_path: Path) -> None:
    folder = deployment.folders["bob"]
    before = sorted(path.name for path in folder.iterdir())
    members = deployment.members.dump()
    certificates, authorities = deployment.certificates, deployment.authorities

    def reported(code: ErrorCode, name: str = "bob", **changed) -> str:
        given = {"certificate": certificates["bob"], "members": members, "authorities": authorities, **changed}
        return refusal(lambda: accept(folder, name, **given), code)

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
    wrong_role = deployment.coordinators.issue(load_certificate_key(certificates["bob"]), "bob", Role.LINKER)
    assert "must be for custodian-b" in reported(ErrorCode.CERTIFICATE, certificate=pem_of(wrong_role))
    assert sorted(path.name for path in folder.iterdir()) == before
