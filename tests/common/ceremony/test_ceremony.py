"""The guided ceremony by its own commands: what goes right, and each thing that can go wrong, named before it counts.

The whole of it by real processes is `tests/docs/test_live_linkage.py`.
"""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.e2e.deployment import people
from tryst.carole.configuration import load_carole
from tryst.common.command import app
from tryst.common.configuration import load_configuration
from tryst.common.custodian.configuration import load_custodian
from tryst.common.errors import ErrorCode, TrystError
from tryst.common.parties import Role, Side
from tryst.common.pki.authority import Authority
from tryst.common.pki.checks import utc_now
from tryst.common.pki.convening import carole_address, convene
from tryst.common.pki.enrolment import enrol
from tryst.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from tryst.common.pki.folders import PartyFolder
from tryst.common.pki.membership_file import load_membership
from tryst.coordinator.client.client_configuration import CoordinatorConfiguration

ADDRESS = "carole.example.org:7443"
ROLES = {"alice": Role.CUSTODIAN_A, "bob": Role.CUSTODIAN_B, "carole": Role.LINKER, "steward": Role.STEWARD}
OTHER_DIGITS = "0123 4567 8901 2345 6789 0123"


class Machines:
    """A folder for each member, and the command of each as it is typed every time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for party in (*ROLES, "coordinator"):
            (root / party).mkdir(parents=True, exist_ok=True)
        for side, frame in people(20, 10).items():
            frame.write_csv(root / f"{side}/people.csv")

    def folder(self, party: str) -> Path:
        return self.root / party / "linkage"

    @property
    def membership(self) -> Path:
        return self.folder("coordinator") / "membership.yaml"

    def request(self, party: str) -> Path:
        return self.folder(party) / f"{party}-request.yaml"

    def join(self, party: str, *more: str, typed: str = "") -> Result:
        words = ["party", "join", str(self.folder(party)), "--role", ROLES[party]]
        if party in ("alice", "bob"):
            words += ["--records", str(self.root / party / "people.csv")]
        if party == "carole":
            words += ["--address", ADDRESS]
        return CliRunner().invoke(app, [*words, *more], input=typed)

    def convene(self, *more: str, typed: str = "") -> Result:
        requests = [str(self.request(party)) for party in ROLES]
        words = ["party", "convene", str(self.folder("coordinator")), *requests, *more]
        return CliRunner().invoke(app, words, input=typed)


@pytest.fixture(scope="module")
def convened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Up to where the coordinator has sent the file, and no one has compared anything."""
    made = Machines(tmp_path_factory.mktemp("convened"))
    for party in ROLES:
        assert "Path of the membership.yaml received" in made.join(party).output
    shown = made.convene().output
    assert "Digits that alice reads out" in shown
    return made.root


@pytest.fixture
def machines(convened: Path, tmp_path: Path) -> Machines:
    shutil.copytree(convened, tmp_path / "machines")
    return Machines(tmp_path / "machines")


def error_of(result: Result) -> TrystError:
    assert isinstance(result.exception, TrystError), result.output
    return result.exception


def in_place(machines: Machines, party: str) -> bool:
    """Whether anything of the received file counts at a member's."""
    folder = machines.folder(party)
    return (folder / "keys/members.yaml").exists() or any(folder.glob(f"{party}.yaml"))


def test_everything_is_written_once_the_digits_are_typed(machines: Machines) -> None:
    digits = load_membership(machines.membership).authentication_string
    for party in ROLES:
        # A steward's and Bob's are shown after they have typed those that they were read.
        done = machines.join(party, typed=f"{machines.membership}\n{digits.replace(' ', '')}\n")
        assert done.exit_code == 0, done.output
        before, _, after = done.output.partition("The same")
        assert (digits in before) == (party == "alice")
        assert (digits in after) == (party != "alice")
    assert machines.convene("--digits", digits).exit_code == 0
    listed = load_membership(machines.membership).members
    for side in Side:
        settings = load_custodian(machines.folder(str(side)) / f"{side}.yaml")
        assert settings.carole.address == ADDRESS
        assert settings.members_digest == listed.digest.hex()
        assert settings.peer.fingerprint == re.sub(r"\s", "", listed.named(str(side.other)).identity.fingerprint)
        assert settings.source.csv is not None
        assert settings.source.csv.path == machines.root / f"{side}/people.csv"
    carole = load_carole(machines.folder("carole") / "carole.yaml")
    assert (carole.listen, carole.members_digest) == ("0.0.0.0:7443", listed.digest.hex())
    assert (machines.folder("carole") / "store/carole.db").is_file()
    for party in ("coordinator", "steward"):
        found = load_configuration(machines.folder(party) / f"{party}.yaml", CoordinatorConfiguration)
        assert (found.carole.address, found.members_digest) == (ADDRESS, listed.digest.hex())
    again = machines.join("alice", "--received", str(machines.membership), "--digits", digits)
    assert error_of(again).code is ErrorCode.EXISTS


def test_a_command_that_was_ended_goes_on_with_the_same(machines: Machines) -> None:
    """Other certificates would give other digits than those that members may have been sent."""
    before = machines.membership.read_bytes(), machines.request("alice").read_bytes()
    assert "is there already, of the same requests" in machines.convene().output
    machines.join("alice")
    assert (machines.membership.read_bytes(), machines.request("alice").read_bytes()) == before


def test_digits_that_differ_put_nothing_into_its_place(machines: Machines) -> None:
    own = load_membership(machines.membership).authentication_string
    for typed in (OTHER_DIGITS, f"{own[:-1]}{(int(own[-1]) + 1) % 10}"):
        error = error_of(machines.join("bob", "--received", str(machines.membership), "--digits", typed))
        assert error.code is ErrorCode.SIGNATURE
        assert "alice and this member have not received the same file" in error.what
    assert error.got == "other digits in group 6 of 6"
    done = machines.join("bob", typed=f"{machines.membership}\ny\n{OTHER_DIGITS}\n{OTHER_DIGITS}\n")
    assert "expected all 24 digits" in done.output
    assert own not in done.output
    assert error_of(done).code is ErrorCode.SIGNATURE
    assert not in_place(machines, "bob")


def other_ceremony(root: Path) -> dict[str, EnrolmentRequest]:
    """Members of the same names, and another coordinator."""
    made = {}
    for name, role in {**ROLES, "coordinator": Role.COORDINATOR}.items():
        made[name] = enrol(root / name, name, role, ["carole.example.org"] if role is Role.LINKER else ())
        made[name] = load_enrolment_request(PartyFolder(root / name).enrolment_request)
    return made


def test_a_file_of_another_ceremony(machines: Machines, tmp_path: Path) -> None:
    others = list(other_ceremony(tmp_path / "other").values())
    path = tmp_path / "other.yaml"
    path.write_text(convene(others, carole_address(others), Authority.create("Other")).text)
    error = error_of(machines.join("alice", "--received", str(path), "--digits", OTHER_DIGITS))
    assert "was not made from the enrolment request of alice" in error.what
    assert not in_place(machines, "alice")


def test_a_man_in_the_middle_has_other_digits(machines: Machines, tmp_path: Path) -> None:
    """All of Alice's is right, and Bob's keys are another's: she cannot see it, and the digits show it."""
    own = {party: load_enrolment_request(machines.request(party)) for party in ROLES}
    own["coordinator"] = load_enrolment_request(machines.folder("coordinator") / "keys/enrolment-request.yaml")
    forged = [*{**own, "bob": other_ceremony(tmp_path / "other")["bob"]}.values()]
    path = tmp_path / "forged.yaml"
    path.write_text(convene(forged, ADDRESS, Authority.load(machines.folder("coordinator") / "authority")).text)
    true = load_membership(machines.membership).authentication_string
    error = error_of(machines.join("alice", "--received", str(path), "--digits", true))
    assert error.code is ErrorCode.SIGNATURE
    assert not in_place(machines, "alice")


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (lambda text: text.replace("-----BEGIN CERTIFICATE-----\n    M", "-----BEGIN CERTIFICATE-----\n    N", 1), ""),
        (lambda text: text.replace("role: custodian-b", "role: custodian-a", 1), "exactly one custodian"),
        (lambda text: text.replace("carole: ", "karole: ", 1), "karole"),
        (lambda text: text[: len(text) // 2], ""),
    ],
    ids=["a byte of a certificate", "a role", "a key", "cut off"],
)
def test_a_file_that_was_changed_is_refused(machines: Machines, change, reported: str) -> None:  # type: ignore[no-untyped-def]
    path = machines.root / "changed.yaml"
    text = machines.membership.read_text()
    assert change(text) != text
    path.write_text(change(text))
    error = error_of(machines.join("alice", "--received", str(path), "--digits", OTHER_DIGITS))
    assert error.code in (ErrorCode.CONFIGURATION, ErrorCode.CERTIFICATE)
    assert reported in str(error)
    assert not in_place(machines, "alice")


def test_files_that_were_swapped(machines: Machines) -> None:
    error = error_of(machines.join("alice", "--received", str(machines.request("bob")), "--digits", OTHER_DIGITS))
    assert "`tryst party convene` has written for all members, got an enrolment request" in str(error)
    shutil.copy(machines.request("alice"), machines.request("bob"))
    assert "every member must have a name of its own" in str(error_of(machines.convene()))
    shutil.copy(machines.membership, machines.request("bob"))
    assert error_of(machines.convene()).code is ErrorCode.CONFIGURATION


def test_a_request_that_was_changed(machines: Machines) -> None:
    text = machines.request("bob").read_text()
    machines.request("bob").write_text(text.replace("role: custodian-b", "role: steward"))
    assert error_of(machines.convene()).code is ErrorCode.SIGNATURE


@pytest.mark.parametrize(
    ("days", "reported"), [(-1, "is not valid yet"), (400, "has expired")], ids=["a day behind", "a year later"]
)
def test_a_clock_that_is_off_and_a_certificate_that_has_expired(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, days: int, reported: str
) -> None:
    monkeypatch.setattr("tryst.common.pki.acceptance.utc_now", lambda: utc_now() + timedelta(days=days))
    error = error_of(machines.join("alice", "--received", str(machines.membership), "--digits", OTHER_DIGITS))
    assert reported in error.what
    assert "by this machine's clock" in error.got
    assert not in_place(machines, "alice")


def test_a_wrong_address(machines: Machines, tmp_path: Path) -> None:
    error = error_of(machines.convene("--address", "karole.example.org:7443"))
    assert "for another host than --address" in error.what
    assert "Digits that" in machines.convene("--address", "carole.example.org:7444").output
    error = error_of(machines.join("carole", "--received", str(machines.membership), "--digits", OTHER_DIGITS))
    assert (error.got, error.what) == (
        "carole.example.org:7444",
        "the coordinator's file has another address for Carole than --address",
    )
    assert not in_place(machines, "carole")


@pytest.mark.parametrize(
    ("content", "encoding", "reported"),
    [
        ("record_id,name\n1,Müller\n".encode(), "latin-1", "UTF-8"),
        ("record_id,name\n1,Müller\n".encode("cp1252"), "utf-8", "cp1252"),
        ("record_id,name\n1,Müller\n".encode("utf-16"), "cp1252", "utf-16"),
    ],
    ids=["utf-8 as latin-1", "cp1252 as utf-8", "utf-16 as cp1252"],
)
def test_a_wrong_encoding_is_named_before_anything_is_made(
    tmp_path: Path, content: bytes, encoding: str, reported: str
) -> None:
    machines = Machines(tmp_path)
    (tmp_path / "alice/people.csv").write_bytes(content)
    error = error_of(machines.join("alice", "--encoding", encoding))
    assert error.code is ErrorCode.TEXT_ENCODING
    assert reported in str(error)
    assert "Müller" not in str(error)
    assert not machines.folder("alice").exists()


@pytest.mark.parametrize(
    ("role", "more", "where"),
    [
        ("custodian-a", (), "--records"),
        ("steward", ("--records", "x.csv"), "--records"),
        ("linker", (), "--address"),
        ("steward", ("--address", ADDRESS), "--address"),
    ],
)
def test_what_a_role_has_to_name(tmp_path: Path, role: str, more: tuple[str, ...], where: str) -> None:
    done = CliRunner().invoke(app, ["party", "join", str(tmp_path / "linkage"), "--role", role, *more])
    assert error_of(done).where == where
    assert not (tmp_path / "linkage").exists()


def test_an_authority_of_a_members_own(tmp_path: Path) -> None:
    requests = other_ceremony(tmp_path)
    own, coordinators = Authority.create("Alice's"), Authority.create("Coordinator's")
    from tryst.common.pki.enrolment import certify

    found = convene(list(requests.values()), ADDRESS, coordinators, [certify(own, requests["alice"])], own.pem)
    known = {each.name: each.certificate.authorities for each in found.members}
    assert known["alice"] == (own.fingerprint,)
    assert known["bob"] == (coordinators.fingerprint,)
    stranger = certify(own, other_ceremony(tmp_path / "more")["bob"])
    with pytest.raises(TrystError, match="belongs to no enrolment request"):
        convene(list(requests.values()), ADDRESS, coordinators, [stranger], own.pem)
