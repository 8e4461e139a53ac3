"""The certificate procedure of deploy/README.md, carried out: its own commands, in its own order."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from tests.deploy.documents import lines, sections
from tests.deploy.sites import CALLERS, DEPLOY, PARTIES
from tests.deploy.terminal import run

HEADING = "Certificates"
OWN_AUTHORITY = "Each organisation with an authority of its own"


class Procedure:
    """Three organisations and a coordinator, of whom only what is sent reaches the others.

    Parameters
    ----------
    root
        Replaces ``/`` on each organisation's machine.
    context
        Where the commands are typed: enrolment requests, certificates and lists arrive here.
    """

    def __init__(self, root: Path, context: Path) -> None:
        self.root = root
        self.context = context
        self.shown: dict[str, str] = {}
        """What `accept` shows, by party."""
        text = sections(DEPLOY / "README.md")[HEADING]
        commands = [words for words in lines(text) if words[0] == "gemel"]
        self._steps = {
            step: [words[1:] for words in commands if words[2] == step]
            for step in ("enrol", "authority", "certify", "assemble", "accept")
        }

    def keys(self, party: str) -> Path:
        """The party's key folder."""
        return self.root / "etc/gemel" / party / "keys"

    def enrol(self) -> None:
        """Step 1, and the enrolment requests sent to the coordinator."""
        (self.context / "requests").mkdir(parents=True, exist_ok=True)
        self.all("enrol")
        for party in PARTIES:
            shutil.copy(self.keys(party) / "enrolment-request.yaml", self.context / "requests" / f"{party}.yaml")

    def certify(self) -> None:
        """Step 2."""
        (self.context / "certificates").mkdir(exist_ok=True)
        self.all("authority")
        self.all("certify")

    def assemble(self, *more: str) -> None:
        """Step 3, and everything sent to everyone."""
        (words,) = self._steps["assemble"]
        self.gemel([*words, *more])
        self.send()

    def send(self) -> None:
        """Certificates, list and authorities arrive."""
        for party in PARTIES:
            shutil.copy(self.context / "certificates" / f"{party}.pem", self.context / f"{party}.pem")
        for name in ("members.yaml", "authorities.pem"):
            shutil.copy(self.context / "list" / name, self.context / name)

    def accept(self, *parties: str) -> None:
        """Step 4, of all parties unless some are named."""
        for words in self._steps["accept"]:
            party = words[words.index("--name") + 1]
            if party in (parties or PARTIES):
                self.shown[party] = self.gemel(words)

    def all(self, step: str) -> None:
        """Every command of a step."""
        for words in self._steps[step]:
            self.gemel(words)

    def gemel(self, words: list[str]) -> str:
        """Run a command in `context`; its absolute paths are under `root`."""
        with contextlib.chdir(self.context):
            status, shown = run([f"{self.root}{word}" if word.startswith("/") else word for word in words])
        assert status == 0, f"gemel {' '.join(words)}: {shown}"
        return shown

    def fingerprint(self, party: str) -> str:
        """What this party reads out on the phone: its identity, as `accept` shows it."""
        return next(line[25:].strip() for line in self.shown[party].splitlines() if line.startswith(f"{party} "))

    def digest(self, party: str) -> str:
        """The digest of the list that this party has accepted."""
        return next(line[25:].strip() for line in self.shown[party].splitlines() if line.startswith("the list"))


def carry_out(root: Path, context: Path) -> Procedure:
    """Steps 1 to 4."""
    procedure = Procedure(root, context)
    procedure.enrol()
    procedure.certify()
    procedure.assemble()
    procedure.accept()
    assert {procedure.digest(party) for party in (*CALLERS, "carole")} == {procedure.digest("carole")}
    return procedure
