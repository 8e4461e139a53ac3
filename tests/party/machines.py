"""Each member's machine, a folder, and its command of the ceremony as it is typed every time."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from gemel.command import app
from gemel.common.errors import GemelError
from gemel.common.parties import CUSTODIANS, Role
from gemel.party.membership_file import load_membership
from tests.e2e.deployment import people

ADDRESS = "carole.example.org:7443"
ROLES = {
    "alice": Role.CUSTODIAN_A,
    "bob": Role.CUSTODIAN_B,
    "carole": Role.LINKER,
    "steward": Role.STEWARD,
    "analyst": Role.ANALYST,
}
"""Those who join; the coordinator convenes."""
OTHER_DIGITS = "0123 4567 8901 2345 6789 0123"


class Machines:
    """A folder for each member, and the command of each."""

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
        if ROLES[party] in CUSTODIANS:
            words += ["--records", str(self.root / party / "people.csv")]
        if party == "carole":
            words += ["--address", ADDRESS]
        return CliRunner().invoke(app, [*words, *more], input=typed)

    def convene(self, *more: str, typed: str = "") -> Result:
        requests = [str(self.request(party)) for party in ROLES]
        words = ["party", "convene", str(self.folder("coordinator")), *requests, *more]
        return CliRunner().invoke(app, words, input=typed)


def digits_of(path: Path, *names: str) -> list[str]:
    """The options by which digits are given that members with this file have read out."""
    membership = load_membership(path)
    return [word for name in names for word in ("--digits", f"{name}={membership.digits_of(name)}")]


def all_wrong(party: str) -> list[str]:
    """The options of a member who was read digits of another file by everyone."""
    read = [each for each in (*ROLES, "coordinator") if each != party] if ROLES[party] in CUSTODIANS else ["alice"]
    return [word for name in read for word in ("--digits", f"{name}={OTHER_DIGITS}")]


def error_of(result: Result) -> GemelError:
    assert isinstance(result.exception, GemelError), result.output
    return result.exception


def in_place(machines: Machines, party: str) -> bool:
    """Whether anything of the received file counts at a member's."""
    folder = machines.folder(party)
    return (folder / "keys/members.yaml").exists() or any(folder.glob(f"{party}.yaml"))
