"""Certificates that are wrong: their owner sees an error before anything is sent; a caller with one is refused.

What the gate does with every kind of certificate is in ``tests/carole/service/test_access.py``; here whole services are
started with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from gemel.carole.service.application import Application
from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import PARTIES, Role, Side
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Validity, certificate_pem, key_pem, load_key, new_key, spki_fingerprint
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.custodian.configuration import load_custodian
from gemel.custodian.service import CustodianService
from tests.carole.refusals import refusal
from tests.e2e.deployment import CUSTODIANS, STATE, Deployment, NoWorker, specification

Deploy = Callable[..., Deployment]
EXPIRED = (timedelta(days=-30), timedelta(days=-1))
NOT_YET = (timedelta(minutes=10), timedelta(minutes=50))


def reissue(made: Deployment, party: str, role: Role, validity: Validity | None = None) -> Callable[[], None]:
    """Put another certificate of the deployment's authority into a party's folder; what puts the old one back."""
    folder = PartyFolder(made.folders[party])
    before = folder.certificate.read_bytes()
    authority = Authority.load(made.made.authority)
    issued = authority.issue(load_key(folder.tls_key).public_key(), party, role, validity=validity)
    folder.certificate.write_bytes(certificate_pem(issued))
    return lambda: folder.certificate.write_bytes(before) and None


def start_party(made: Deployment, party: str) -> None:
    """What every program of a party does first, up to the moment at which it would send something."""
    if party == "carole":
        Application(made.carole_yaml, NoWorker)
    elif party == "coordinator":
        assert made.coordinator
    else:
        side = Side(party)
        CustodianService(CUSTODIANS[side], load_custodian(made.configs[side]))


WRONG_ROLE = Role.STEWARD, None, "expected a certificate for the role {role}, got steward", "this party's own folder"
LAPSED = None, EXPIRED, "certificate has expired", "have it renewed"
EARLY = None, NOT_YET, "certificate is not valid yet", "clock"


@pytest.mark.parametrize(
    ("party", "role", "span", "reported", "remedy"),
    [("alice", *WRONG_ROLE), ("carole", *WRONG_ROLE), ("bob", *LAPSED), ("coordinator", *LAPSED), ("carole", *EARLY)],
    ids=["alice-wrong-role", "carole-wrong-role", "bob-expired", "coordinator-expired", "carole-not-yet-valid"],
)
def test_a_program_with_a_wrong_certificate_says_so_and_does_not_start(
    deploy: Deploy, party: str, role: Role | None, span: tuple[timedelta, timedelta] | None, reported: str, remedy: str
) -> None:
    made = deploy()
    now = datetime.now(UTC)
    validity = None if span is None else Validity(now + span[0], now + span[1])
    restore = reissue(made, party, role or PARTIES[party], validity)
    with refusal(ErrorCode.CERTIFICATE) as caught:
        start_party(made, party)
    assert caught.value.where == str(PartyFolder(made.folders[party]).certificate)
    assert reported.format(role=PARTIES[party]) in str(caught.value)
    assert remedy in caught.value.remedy
    restore()
    if party == "carole":
        made.start_carole()
    elif party != "coordinator":
        made.start(Side(party))


def test_alice_with_bobs_folder_does_not_start(deploy: Deploy) -> None:
    made = deploy()
    made.configure(Side.ALICE, "keys: .", f"keys: {made.folders['bob']}")
    with pytest.raises(GemelError, match="expected a certificate for the role custodian-a, got custodian-b"):
        start_party(made, "alice")


def test_bobs_certificate_never_passes_for_alices(deploy: Deploy, capfd: pytest.CaptureFixture[str]) -> None:
    """Bob has an authority of his own, which Carole trusts for his sake; it makes an Alice, who is not let in."""
    text = specification("impostor")
    made = deploy(text)
    bobs = Authority.create("Bob's own authority")
    callers = PartyFolder(made.folders["carole"]).callers
    callers.write_bytes(callers.read_bytes() + bobs.pem)
    made.start_carole()
    made.start(Side.BOB)
    alice = PartyFolder(made.folders["alice"])
    true = {path: path.read_bytes() for path in (alice.tls_key, alice.certificate)}
    key = new_key()
    alice.tls_key.write_bytes(key_pem(key))
    alice.certificate.write_bytes(certificate_pem(bobs.issue(key.public_key(), "alice", Role.CUSTODIAN_A)))
    project = made.create(text)
    impostor = made.start(Side.ALICE)
    logged = ""

    def refused() -> bool:
        nonlocal logged
        logged += "".join(capfd.readouterr())
        # The impostor logs what it is shown a little after Carole has logged why.
        return "this certificate may not call this method" in logged and "denied" in logged

    made.eventually(refused, lambda: logged)
    made.eventually(lambda: made.status(project).sides[1].approved)
    assert not made.status(project).sides[0].approved
    assert "reason=" in logged  # what Carole's operator is shown besides
    impostor.close()
    for path, content in true.items():
        path.write_bytes(content)
    made.start(Side.ALICE)
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)


def test_a_custodian_renews_its_certificate_while_its_service_runs(deploy: Deploy) -> None:
    """A new key, in Carole's list first; nothing is restarted."""
    text = specification("renewed")
    made = deploy(text)
    made.start_carole()
    made.start(Side.ALICE)
    alice, carole = PartyFolder(made.folders["alice"]), PartyFolder(made.folders["carole"])
    key = new_key()
    issued = Authority.load(made.made.authority).issue(key.public_key(), "alice", Role.CUSTODIAN_A)
    listed = Members.load(carole.members)
    carole.members.write_text(
        Members(
            replace(member, certificate=replace(member.certificate, key=spki_fingerprint(issued)))
            if member.name == "alice"
            else member
            for member in listed
        ).dump()
    )
    alice.tls_key.write_bytes(key_pem(key))
    alice.certificate.write_bytes(certificate_pem(issued))
    # The project comes once Carole has taken note, so that nothing in it is done by the old certificate.
    steward = made.steward()

    def changes() -> list[object]:
        return [entry.details["changed"] for entry in steward.entries() if entry.action == "list-members"]

    made.eventually(lambda: changes() == [{}, {"alice": ["certificate"]}])
    made.start(Side.BOB)
    made.contributed(text)


def test_everyone_sees_whose_certificate_ends_soon(deploy: Deploy) -> None:
    """Bob's has half an hour left of ten; the coordinator, the steward and Alice's operator see it at Carole's."""
    text = specification("ending")
    made = deploy(text)
    begun = datetime.now(UTC) - timedelta(hours=10)
    reissue(made, "bob", Role.CUSTODIAN_B, Validity.lasting(timedelta(hours=10, minutes=30), start=begun))
    made.start_carole()
    project = made.create(text)
    assert made.coordinator.get(project)
    assert list(made.coordinator.certificates) == [], "what has not been shown is not known"
    for side in Side:
        made.start(side)
    made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
    assert made.coordinator.projects()
    (found,) = made.coordinator.certificates
    assert (found.member, found.urgent) == ("bob", True)
    steward = made.steward()
    steward.assessed()
    assert steward.certificates == [found]
    ran = CliRunner().invoke(app, ["project", "status", "--config", str(made.coordinator_yaml)])
    sentence = "the certificate of bob ends today"
    assert sentence in " ".join(ran.output.split())
    for side, named in ((Side.ALICE, 1), (Side.BOB, 0)):
        shown = CliRunner().invoke(app, [str(side), "status", "--json", "--config", str(made.configs[side])])
        # Without the log of the services in this process.
        (document,) = re.findall(r"^\{$.*?^\}$", shown.stdout, re.MULTILINE | re.DOTALL)
        status = json.loads(document)
        assert [line.startswith(sentence) for line in status["certificates"]] == [True] * named, shown.output
    assert "ends today" in status["certificate"], "one's own is named by itself"
    # Renewed, and shown with the next call.
    reissue(made, "bob", Role.CUSTODIAN_B, Validity.lasting(timedelta(hours=1)))

    def clear() -> bool:
        made.coordinator.projects()
        return not made.coordinator.certificates

    made.eventually(clear)


def test_a_command_outlives_its_certificate(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator's ends while it is connected; its PKI has put another into the folder before."""
    monkeypatch.setattr("gemel.coordinator.client.connection.LOOK_SECONDS", 0.05)
    made = deploy(specification("long"))
    made.start_carole()
    end = datetime.now(UTC) + timedelta(seconds=10)
    begun = end - timedelta(hours=1)
    reissue(made, "coordinator", Role.COORDINATOR, Validity.lasting(timedelta(hours=1), start=begun))
    assert made.coordinator.projects() == []
    reissue(made, "coordinator", Role.COORDINATOR, Validity.lasting(timedelta(hours=1)))
    made.eventually(lambda: datetime.now(UTC) > end + timedelta(seconds=1))
    assert made.coordinator.projects() == []
