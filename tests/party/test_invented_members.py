"""A coordinator that invents a member: of its list and the true one every honest member has one; who refuses it.

The commands are those that are typed. What a member types is what the other's screen shows it; the coordinator reads
out what suits it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import ErrorCode
from gemel.common.parties import CUSTODIANS
from gemel.party.comparison import read_to
from gemel.party.membership_file import load_membership
from tests.party.machines import ADDRESS, ROLES, Machines, digits_of, error_of, in_place


@pytest.fixture
def true(machines: Machines, tmp_path: Path) -> Path:
    """The file with everybody's true keys."""
    return Path(shutil.copy(machines.membership, tmp_path / "true.yaml"))


def invent(machines: Machines, member: str, tmp_path: Path) -> Path:
    """The file with keys for `member` that the coordinator has made; of a coordinator, that a stranger has."""
    puppet = Machines(tmp_path / "puppet")
    requests = {party: machines.request(party) for party in ROLES}
    folder = machines.folder("coordinator")
    if member == "coordinator":
        folder = puppet.folder(member)
    else:
        assert "Path of the membership.yaml received" in puppet.join(member).output
        requests[member] = puppet.request(member)
    words = ["party", "convene", str(folder), *map(str, requests.values()), "--address", ADDRESS]
    assert "Digits that alice reads out" in CliRunner().invoke(app, words).output
    return folder / "membership.yaml"


def _pairs(words: list[str]) -> list[list[str]]:
    return [words[place : place + 2] for place in range(0, len(words), 2)]


@pytest.mark.parametrize("invented", [*ROLES, "coordinator"])
def test_custodians_refuse_it_by_name_and_put_nothing_into_place(
    machines: Machines, true: Path, tmp_path: Path, invented: str
) -> None:
    false = invent(machines, invented, tmp_path)
    others = [name for name in (*ROLES, "coordinator") if name != invented]
    read_out = dict(zip(others, _pairs(digits_of(false, *others)), strict=True))
    read_out[invented] = digits_of(true, invented)
    members = load_membership(false).members
    custodians = [party for party in ROLES if ROLES[party] in CUSTODIANS and party != invented]
    for party in custodians:
        # No more than it requests: the coordinator volunteers nothing.
        heard = [word for each in read_to(members, party) for word in read_out[each.name]]
        error = error_of(machines.join(party, "--received", str(false), *heard))
        assert error.code is ErrorCode.SIGNATURE
        assert f"the digits differ: {invented} and this member" in error.what
        assert not in_place(machines, party)
    assert custodians


@pytest.mark.parametrize("invented", ["steward", "carole", "analyst"])
def test_the_true_one_takes_no_list_but_with_its_own_keys(
    machines: Machines, true: Path, tmp_path: Path, invented: str
) -> None:
    """So the only digits that it can read out are those of another list than the custodians'."""
    false = invent(machines, invented, tmp_path)
    error = error_of(machines.join(invented, "--received", str(false), *digits_of(false, "alice")))
    assert f"was not made from the enrolment request of {invented}" in error.what
    # It hears Alice, who has the false list, where it has the true one.
    error = error_of(machines.join(invented, "--received", str(true), *digits_of(false, "alice")))
    assert "the digits differ: alice and this member" in error.what
    assert not in_place(machines, invented)


def test_the_coordinators_word_for_a_member_is_not_requested(machines: Machines) -> None:
    """Whose digits are typed at Carole's, the steward's and the analyst's: not the coordinator's."""
    for party in ("carole", "steward", "analyst"):
        own = digits_of(machines.membership, "coordinator")
        error = error_of(machines.join(party, "--received", str(machines.membership), *own))
        assert (error.code, error.what) == (ErrorCode.PARAMETER, "the digits of alice are missing")
        assert not in_place(machines, party)


def test_digits_of_ones_own_screen_and_of_another_member_pass_for_no_one_elses(machines: Machines) -> None:
    """Who believes that all digits are the same anyway cannot type those of another for the steward's."""
    membership = load_membership(machines.membership)
    bobs = membership.digits_of("bob")
    done = machines.join("alice", typed=f"{machines.membership}\n{bobs}\n{membership.digits_of('alice')}\n{bobs}\n")
    assert "these are the digits of this member itself, not of carole" in done.output
    assert "these are the digits of bob, not of carole" in done.output
    assert not in_place(machines, "alice")


def test_every_screen_shows_its_own_digits_alone(machines: Machines) -> None:
    membership = load_membership(machines.membership)
    for party in ROLES:
        shown = machines.join(party, typed=f"{machines.membership}\n").output
        assert [each for each in (*ROLES, "coordinator") if membership.digits_of(each) in shown] == [party]
