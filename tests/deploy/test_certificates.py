"""The certificate procedure of deploy/README.md, with what comes after it: own authorities, renewal, rotation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gemel.common.keys.sealing_key import SealingKey
from gemel.common.keys.vault import WrappingKeys
from gemel.common.pki.admission import Admission
from gemel.common.pki.certificates import load_certificate
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.rpc.tls import TlsFiles
from tests.deploy.documents import lines, sections
from tests.deploy.procedure import OWN_AUTHORITY, Procedure, carry_out
from tests.deploy.sites import DEPLOY, PARTIES, ROLES


@pytest.fixture
def procedure(tmp_path: Path) -> Procedure:
    return carry_out(tmp_path / "machines", tmp_path / "coordinator")


def admitted(procedure: Procedure, party: str) -> bool:
    """Whether Carole admits the party, as identified by its certificate."""
    carole = PartyFolder(procedure.keys("carole"))
    admission = Admission.from_pem(Members.load(carole.members), carole.callers.read_bytes())
    member = admission(PartyFolder(procedure.keys(party)).certificate.read_bytes())
    return (member.name, member.role) == (party, ROLES[party])


def commands(heading: str) -> list[list[str]]:
    """The ``gemel`` commands of a section of deploy/README.md."""
    return [words[1:] for words in lines(sections(DEPLOY / "README.md")[heading]) if words[0] == "gemel"]


def test_everyone_is_a_member_and_all_hold_the_same_list(procedure: Procedure) -> None:
    for party, role in ROLES.items():
        TlsFiles.load(procedure.keys(party), role)
        assert admitted(procedure, party)
        # What is read out on the phone is the same, whoever reads it.
        assert {procedure.shown[other].count(procedure.fingerprint(party)) for other in PARTIES} == {1}
    assert len({procedure.digest(party) for party in PARTIES}) == 1


def test_another_list_has_another_digest(procedure: Procedure) -> None:
    """Bob's entry changed on the way to Alice: she accepts it, since her own is right, the phone call detects it."""
    before = procedure.digest("alice")
    text = (procedure.context / "members.yaml").read_text()
    forged = Members.parse(text).named("bob").certificate.key
    (procedure.context / "members.yaml").write_text(text.replace(forged, "0" * 64))
    procedure.accept("alice")
    assert procedure.digest("alice") != before
    with pytest.raises(AssertionError, match="has another certificate key for bob"):
        procedure.accept("bob")


def test_an_organisation_may_bring_its_own_authority(tmp_path: Path) -> None:
    procedure = Procedure(tmp_path / "machines", tmp_path / "coordinator")
    procedure.enrol()
    procedure.certify()
    made, certified = commands(OWN_AUTHORITY)
    assert made[:2] == ["party", "authority"]
    procedure.gemel(made)
    procedure.gemel(certified)
    # What Alice sends to the coordinator, who adds it to step 3.
    (procedure.context / "alice.pem").rename(procedure.context / "certificates/alice.pem")
    (procedure.context / "alices-authority/authority.pem").rename(procedure.context / "alices-authority.pem")
    procedure.assemble("--authority", "alices-authority.pem")
    procedure.accept()
    assert all(admitted(procedure, party) for party in PARTIES)
    members = Members.load(PartyFolder(procedure.keys("carole")).members)
    assert members.named("alice").certificate.authorities != members.named("bob").certificate.authorities


def test_a_renewed_certificate_needs_no_new_list(procedure: Procedure) -> None:
    folder = PartyFolder(procedure.keys("alice"))
    before, members = load_certificate(folder.certificate), folder.members.read_bytes()
    certify, accept = commands("Renewal")
    procedure.gemel(certify)
    procedure.send()
    procedure.gemel(accept)
    after = load_certificate(folder.certificate)
    assert after.serial_number != before.serial_number
    assert folder.members.read_bytes() == members
    assert admitted(procedure, "alice")


def test_a_sealing_key_is_renewed(procedure: Procedure) -> None:
    """Alice's new request goes to the coordinator, and the new list to all."""
    path = PartyFolder(procedure.keys("alice")).sealing
    before = SealingKey.load(path).public
    (renew,) = commands("A new sealing key")
    shown = procedure.gemel(renew)
    shutil.copy(path.with_name("enrolment-request.yaml"), procedure.context / "requests" / "alice.yaml")
    procedure.assemble()
    procedure.accept()
    listed = Members.load(PartyFolder(procedure.keys("carole")).members).named("alice").sealing
    assert SealingKey.load(path).publics == (listed, before)
    assert listed.fingerprint in shown


def test_wrapping_keys_rotate(procedure: Procedure) -> None:
    path = PartyFolder(procedure.keys("carole")).wrapping
    old = WrappingKeys.load(path)
    rotate, retire = commands("Rotation")
    procedure.gemel(rotate)
    both = WrappingKeys.load(path)
    assert both.knows(old.current_id)
    assert both.current_id != old.current_id
    assert both.current_id.hex() in procedure.gemel(retire)
    kept = WrappingKeys.load(path)
    assert kept.current_id == both.current_id
    assert not kept.knows(old.current_id)
