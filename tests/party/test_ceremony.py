"""The guided ceremony by its own commands: what goes right, and each thing that can go wrong, named before it counts.

The whole of it by real processes is `tests/docs/test_live_linkage.py`.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.carole.configuration import load_carole
from gemel.command import app
from gemel.common.configuration import load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role, Side
from gemel.common.pki.authority import Authority
from gemel.common.pki.checks import utc_now
from gemel.common.pki.enrolment import enrol
from gemel.common.pki.enrolment_requests import EnrolmentRequest, load_enrolment_request
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.custodian.configuration import load_custodian
from gemel.party.comparison import TYPES, read_to, readers_of
from gemel.party.convening import carole_address, convene
from gemel.party.membership_file import load_membership
from tests.common.pki.test_members import entries, text_of
from tests.party.machines import ADDRESS, OTHER_DIGITS, ROLES, Machines, all_wrong, digits_of, error_of, in_place


def _members() -> Members:
    """Of every role that several may have, two."""
    further = {"coordinator2": Role.COORDINATOR, "steward2": Role.STEWARD, "analyst": Role.ANALYST}
    names = {"analyst2": Role.ANALYST, **further}
    first = entries()
    more = [{**each, "name": name, "role": role} for each, (name, role) in zip(entries(), names.items(), strict=False)]
    return Members.parse(text_of([*first, *more]))


MEMBERS = _members()
NAMES = [each.name for each in MEMBERS]


def _typed(name: str) -> set[str]:
    return {each.name for each in read_to(MEMBERS, name)}


def _refuse(lists: dict[str, str]) -> set[str]:
    """The honest members who are read digits of another list than their own; `lists` has each one's."""
    return {name for name in lists for other in _typed(name) & lists.keys() if lists[other] != lists[name]}


def test_every_role_has_its_calls() -> None:
    assert set(TYPES) == set(Role)
    assert {each.role for each in MEMBERS} == set(Role)


@pytest.mark.parametrize("invented", NAMES)
def test_no_member_is_vouched_for_by_a_coordinator_alone(invented: str) -> None:
    """All others have a list with keys made for `invented`; the true one has the right list, and is called."""
    for coordinator in MEMBERS.with_role(Role.COORDINATOR):
        liars = {coordinator.name} - {invented}
        lists = {name: "right" if name == invented else "false" for name in NAMES if name not in liars}
        refusing = _refuse(lists) - {invented}
        assert refusing >= {each.name for each in MEMBERS if each.role in CUSTODIANS} - {invented}


@pytest.mark.parametrize("custodian", ["alice", "bob"])
def test_all_who_are_honest_have_one_list_as_long_as_one_custodian_is(custodian: str) -> None:
    """However the others collude, and whichever of two lists each honest member has been sent."""
    other = {"alice": "bob", "bob": "alice"}[custodian]
    rest = [name for name in NAMES if name not in (custodian, other)]
    for liars in _subsets(rest):
        honest = [custodian, *(name for name in rest if name not in liars)]
        for false in _subsets(honest):
            lists = {name: "false" if name in false else "right" for name in honest}
            if len(set(lists.values())) == 2:
                assert custodian in _refuse(lists)


def test_both_custodians_together_can_deceive_the_others() -> None:
    """What the table does not hold against, and the threat model says: no records but theirs are in it."""
    assert _refuse({"carole": "false", "steward": "right"}) == set()
    # With the first alone the other custodian refuses; with the second no one is deceived.
    assert _refuse({"bob": "right", "carole": "false", "steward": "right"}) == {"bob"}
    assert _refuse({"alice": "right", "carole": "false", "steward": "right"}) == {"alice", "carole"}


def test_a_member_reads_out_to_those_who_type_its_digits() -> None:
    for name in NAMES:
        assert name not in _typed(name)
        assert {each.name for each in readers_of(MEMBERS, name)} == {who for who in NAMES if name in _typed(who)}
    assert [each.name for each in read_to(MEMBERS, "bob")][:3] == ["alice", "carole", "coordinator"]


def _subsets(names: list[str]) -> Iterable[tuple[str, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(names, size) for size in range(len(names) + 1))


def test_everything_is_written_once_the_digits_are_typed(machines: Machines) -> None:
    membership = load_membership(machines.membership)
    listed = membership.members
    for party in ROLES:
        heard = [membership.digits_of(other.name) for other in read_to(listed, party)]
        done = machines.join(party, typed="\n".join([str(machines.membership), *heard, ""]).replace(" ", ""))
        assert done.exit_code == 0, done.output
        before, _, after = done.output.partition("Digits that")
        assert membership.digits_of(party) in before
        assert after.count("The same") == (5 if party in ("alice", "bob") else 1)
    assert machines.convene(*digits_of(machines.membership, "alice")).exit_code == 0
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
    again = machines.join("alice", "--received", str(machines.membership))
    assert error_of(again).code is ErrorCode.EXISTS


def test_a_command_that_was_ended_goes_on_with_the_same(machines: Machines) -> None:
    """Other certificates would give other digits than those that members may have been sent."""
    before = machines.membership.read_bytes(), machines.request("alice").read_bytes()
    assert "is there already, of the same requests" in machines.convene().output
    machines.join("alice")
    assert (machines.membership.read_bytes(), machines.request("alice").read_bytes()) == before


def test_digits_that_differ_put_nothing_into_its_place(machines: Machines) -> None:
    alices = load_membership(machines.membership).digits_of("alice")
    rest = digits_of(machines.membership, "carole", "coordinator", "steward", "analyst")
    for typed in (OTHER_DIGITS, f"{alices[:-1]}{(int(alices[-1]) + 1) % 10}"):
        given = ["--received", str(machines.membership), *rest, "--digits", f"alice={typed}"]
        error = error_of(machines.join("bob", *given))
        assert error.code is ErrorCode.SIGNATURE
        assert "alice and this member have not received the same file" in error.what
    assert error.got == "of alice other digits in group 6 of 6"
    done = machines.join("bob", typed=f"{machines.membership}\ny\n{OTHER_DIGITS}\n{OTHER_DIGITS}\n")
    assert "expected all 24 digits" in done.output
    assert alices not in done.output
    assert error_of(done).code is ErrorCode.SIGNATURE
    assert not in_place(machines, "bob")


def test_interrupted_between_two_members_digits_nothing_is_half_done(machines: Machines) -> None:
    """What was typed is typed again; the last is as good as the first."""
    membership = load_membership(machines.membership)
    heard = [membership.digits_of(other.name) for other in read_to(membership.members, "alice")]
    for count in range(len(heard)):
        done = machines.join("alice", typed="\n".join([str(machines.membership), *heard[:count], ""]))
        assert (done.exit_code, done.output.count("The same")) == (1, count)
        assert not in_place(machines, "alice")
    assert machines.join("alice", typed="\n".join([str(machines.membership), *heard, ""])).exit_code == 0
    assert in_place(machines, "alice")


def test_digits_that_are_given_are_of_all_who_are_needed(machines: Machines) -> None:
    received = ["--received", str(machines.membership)]
    error = error_of(machines.join("alice", *received, *digits_of(machines.membership, "bob", "steward")))
    assert (error.code, error.where) == (ErrorCode.PARAMETER, "--digits")
    assert error.what == "the digits of carole, coordinator, analyst are missing"
    assert not in_place(machines, "alice")
    bobs, own = digits_of(machines.membership, "bob"), digits_of(machines.membership, "alice")
    for words, got in [
        ([*bobs, *bobs], "'bob' twice"),
        ([*bobs, *own], "'alice'"),
        (["--digits", f"zoe={OTHER_DIGITS}"], "'zoe'"),
        (["--digits", OTHER_DIGITS], "no name"),
    ]:
        error = error_of(machines.join("alice", *received, *words))
        assert (error.what, error.got) == ("expected NAME=DIGITS, once for each other member", got)
    # More than are needed are compared too.
    more = [*digits_of(machines.membership, "alice"), "--digits", f"bob={OTHER_DIGITS}"]
    assert "the digits differ: bob and this member" in error_of(machines.join("steward", *received, *more)).what


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
    error = error_of(machines.join("alice", "--received", str(path), *all_wrong("alice")))
    assert "was not made from the enrolment request of alice" in error.what
    assert not in_place(machines, "alice")


def test_a_man_in_the_middle_has_other_digits(machines: Machines, tmp_path: Path) -> None:
    """All of Alice's is right, and Bob's keys are another's: she cannot see it, and the digits show it."""
    own = {party: load_enrolment_request(machines.request(party)) for party in ROLES}
    own["coordinator"] = load_enrolment_request(machines.folder("coordinator") / "keys/enrolment-request.yaml")
    forged = [*{**own, "bob": other_ceremony(tmp_path / "other")["bob"]}.values()]
    path = tmp_path / "forged.yaml"
    path.write_text(convene(forged, ADDRESS, Authority.load(machines.folder("coordinator") / "authority")).text)
    others = ("bob", "carole", "coordinator", "steward", "analyst")
    error = error_of(machines.join("alice", "--received", str(path), *digits_of(machines.membership, *others)))
    assert error.code is ErrorCode.SIGNATURE
    assert "the digits differ: bob and carole" in error.what
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
    error = error_of(machines.join("alice", "--received", str(path), *all_wrong("alice")))
    assert error.code in (ErrorCode.CONFIGURATION, ErrorCode.CERTIFICATE)
    assert reported in str(error)
    assert not in_place(machines, "alice")


def test_files_that_were_swapped(machines: Machines) -> None:
    error = error_of(machines.join("alice", "--received", str(machines.request("bob")), *all_wrong("alice")))
    assert "`gemel party convene` has written for all members, got an enrolment request" in str(error)
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
    monkeypatch.setattr("gemel.common.pki.acceptance.utc_now", lambda: utc_now() + timedelta(days=days))
    error = error_of(machines.join("alice", "--received", str(machines.membership), *all_wrong("alice")))
    assert reported in error.what
    assert "by this machine's clock" in error.got
    assert not in_place(machines, "alice")


def test_a_wrong_address(machines: Machines, tmp_path: Path) -> None:
    error = error_of(machines.convene("--address", "karole.example.org:7443"))
    assert "for another host than --address" in error.what
    assert "Digits that" in machines.convene("--address", "carole.example.org:7444").output
    error = error_of(machines.join("carole", "--received", str(machines.membership), *all_wrong("carole")))
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
    from gemel.common.pki.enrolment import certify

    found = convene(list(requests.values()), ADDRESS, coordinators, [certify(own, requests["alice"])], own.pem)
    known = {each.name: each.certificate.authorities for each in found.members}
    assert known["alice"] == (own.fingerprint,)
    assert known["bob"] == (coordinators.fingerprint,)
    stranger = certify(own, other_ceremony(tmp_path / "more")["bob"])
    with pytest.raises(GemelError, match="belongs to no enrolment request"):
        convene(list(requests.values()), ADDRESS, coordinators, [stranger], own.pem)
