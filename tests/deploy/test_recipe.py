"""deploy/README.md's recipe for systemd, carried out: its own code blocks, on machines of their own, to the links.

Alice, Bob and Carole have a machine each, with a systemd of its own (`tests.deploy.machine`). Every line is run as it
stands on the page, with the party's name in place of Alice's as the page says. What differs from an organisation's
machine, and why:

- the packages of the locks are linked from the environment that runs the tests before `pip` is called, which then finds
  them there: nothing is downloaded, and no other package can be imported;
- the environment that `python3.11 -m venv` makes is made once and copied, since it takes seconds;
- the coordinator and the steward type into the environment that runs the tests, in a process that stays: their folder
  takes the place of /etc/gemel and of /var/lib/gemel;
- all machines share one network, where Carole's address is 127.0.0.1: the page's example address is replaced by it;
- `sudo` is a script of one line.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

from tests.deploy.documents import blocks, lines, sections
from tests.deploy.machine import Failed, Machine, Unavailable, require
from tests.deploy.sites import COMMANDS, CUSTODIANS, DEPLOY, NOBODY, REPOSITORY, SERVICES, until
from tests.deploy.terminal import Terminal
from tests.e2e.deployment import people, specification

PAGE = sections(DEPLOY / "README.md")
SOURCE = "/opt/source"
RECEIVED = "/opt/received"
NO_SOURCE = (".*", "*.egg-info", "__pycache__", "benchmarks", "build", "tests", "docs", "demo")
PEOPLE, COMMON = 60, 40

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

SPECIFICATION = specification(
    "births",
    more="""\
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}
leakage: {limit: 1.0}
release: {assessment: none, alice: links, bob: links, coordinator: statistics}
""",
).replace("mode: open", "mode: block_keyed")


class Estate:
    """The machines of the three services, and the desks of the coordinator and the steward in their network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.desk = folder / "desk"
        self.machines: dict[str, Machine] = {}
        self._terminal: Terminal | None = None

    def __getitem__(self, party: str) -> Machine:
        return self.machines[party]

    def install(self) -> None:
        """The section on installing, on the machine of every service."""
        (block,) = blocks(PAGE["With systemd"])
        environment, *rest = block.splitlines()
        assert environment == "python3.11 -m venv /opt/gemel"
        for party in SERVICES:
            neighbour = next(iter(self.machines.values()), None)
            machine = self.machines[party] = Machine(party, self.folder / party, neighbour)
            machine.start()
            source = machine.disk / SOURCE.lstrip("/")
            shutil.copytree(REPOSITORY, source, symlinks=True, ignore=shutil.ignore_patterns(*NO_SOURCE))
            made = machine.disk / "opt/gemel"
            if neighbour is None:
                machine.run(environment)
                shutil.copytree(made, self.folder / "environment", symlinks=True)
            else:
                shutil.copytree(self.folder / "environment", made, symlinks=True)
            lock = "carole" if party == "carole" else "custodian"
            machine.provide((DEPLOY / f"requirements/{lock}.lock").read_text(), "/opt/gemel")
            machine.run("\n".join(rest).replace("alice", party), cwd=SOURCE)
            (machine.disk / RECEIVED.lstrip("/")).mkdir()

    def sit_down(self) -> None:
        """The coordinator's and the steward's desk: a terminal in the machines' network."""
        for party in COMMANDS:
            (self.desk / party).mkdir(parents=True)
            text = (DEPLOY / party / f"{party}.yaml").read_text()
            for place in ("/etc/gemel", "/var/lib/gemel"):
                text = text.replace(place, str(self.desk))
            (self.desk / party / f"{party}.yaml").write_text(text)
        (self.desk / "requests").mkdir()
        (self.desk / "hosts").write_text("127.0.0.1 localhost carole\n")
        program = f'mount --bind "{self.desk}/hosts" /etc/hosts; exec "$@"'
        command = f"nsenter --net --target {self['carole'].first} unshare --mount sh -euc".split()
        self._terminal = Terminal(
            [*command, program, "sh", *Terminal.PROGRAM],
            self.desk,
            GEMEL_COORDINATOR=str(self.desk / "coordinator/coordinator.yaml"),
        )

    def type(self, block: str) -> str:
        """Lines of the page at this desk; what they print."""
        shown = []
        assert self._terminal is not None
        for words in lines(f"```sh\n{block}\n```\n"):
            if words[:2] == ["mkdir", "-p"]:
                (self.desk / words[2]).mkdir()
                continue
            assert words[0] == "gemel"
            shown.append(self._terminal.type(*(word.replace("/etc/gemel", str(self.desk)) for word in words[1:])))
        return "".join(shown)

    def certify(self) -> None:
        """The section on certificates; what the parties send is copied, what they read out is compared and entered."""
        enrol, certify, assemble, accept = blocks(PAGE["Certificates"])
        for party, line in by_party(enrol).items():
            self._as(party, line)
            keys = self.desk / party if party in COMMANDS else self[party].disk / "etc/gemel" / party
            shutil.copy(keys / "keys/enrolment-request.yaml", self.desk / f"requests/{party}.yaml")
        self.type(certify)
        self.type(assemble)
        digests, identities = set(), {}
        for party, line in by_party(accept).items():
            received = self.desk if party in COMMANDS else self[party].disk / RECEIVED.lstrip("/")
            for name in (f"certificates/{party}.pem", "list/members.yaml", "list/authorities.pem"):
                shutil.copy(self.desk / name, received)
                (received / Path(name).name).chmod(0o644)
            shown = self._as(party, line).splitlines()
            digests.add(shown[-1])
            identities[party] = next(text[25:].strip() for text in shown if text.startswith(f"{party} "))
        assert len(digests) == 1
        for party, other in zip(CUSTODIANS, reversed(CUSTODIANS), strict=True):
            configuration = self[party].disk / f"etc/gemel/{party}/{party}.yaml"
            text = configuration.read_text()
            assert NOBODY in text
            configuration.write_text(text.replace(NOBODY, identities[other]))

    def _as(self, party: str, line: str) -> str:
        """A line as the page says: as the party's user."""
        return self.type(line) if party in COMMANDS else self[party].run(f"sudo -u gemel-{party} {line}", cwd=RECEIVED)

    def start(self) -> None:
        """The section on starting: Carole's block, the custodians', the others'."""
        carole, alice, others = blocks(PAGE["systemd"])
        self["carole"].run(carole)
        for party, frame in zip(CUSTODIANS, people(PEOPLE, COMMON, seed=5).values(), strict=True):
            frame.write_csv(self[party].disk / f"srv/gemel/{party}/{party}.csv")
            self[party].run(f"chown gemel-{party} /srv/gemel/{party}/{party}.csv")
            self[party].run(alice.replace("alice", party).replace("192.0.2.7", "127.0.0.1"))
        self.type(others)

    def stop(self) -> None:
        """Cut the power of all."""
        if self._terminal is not None:
            self._terminal.close()
        for machine in self.machines.values():
            machine.stop()


def by_party(block: str) -> dict[str, str]:
    """Lines of a block by the party that types each."""
    found = {words[words.index("--name") + 1]: shlex.join(words) for words in lines(f"```sh\n{block}```\n")}
    assert set(found) == {*SERVICES, *COMMANDS}
    return found


def properties(machine: Machine, unit: str) -> Mapping[str, str]:
    """What systemd knows of a unit."""
    shown = machine.run(f"systemctl show {unit}")
    return dict(line.partition("=")[::2] for line in shown.splitlines())


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """Everything up to where both custodians wait for a project."""
    made = Estate(tmp_path_factory.mktemp("estate"))
    try:
        require()
        made.install()
        made.sit_down()
        made.certify()
        made.start()
        yield made
    except Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        made.stop()
        shutil.rmtree(made.folder, ignore_errors=True)


def test_a_linkage_under_systemd(estate: Estate) -> None:
    """The section on a first project, in mode block_keyed: nothing is missing in any party's installation."""
    create, sign, run = blocks(PAGE["A first project"])
    setting, create = create.split("\n", 1)
    assert setting == "export GEMEL_COORDINATOR=/etc/gemel/coordinator/coordinator.yaml"
    (estate.desk / "linkage.yaml").write_text(SPECIFICATION)
    digest = estate.type(create).split("Approving specification ")[1].split()[0]
    for party in CUSTODIANS:
        profile, approve = sign.replace("alice", party).splitlines()

        def arrived(party: str = party, profile: str = profile) -> bool:
            with contextlib.suppress(Failed):
                return bool(estate[party].run(profile))
            return False

        until(arrived)
        assert digest in estate[party].run(f"{approve} --yes --digest {digest}")
    until(lambda: "ready for a run" in estate.type("gemel project status births"))
    estate.type(run)
    assert json.loads((estate.desk / "results/model.json").read_text())
    shares = {}
    for party in CUSTODIANS:
        folder = estate[party].disk / f"var/lib/gemel/{party}/results/births"
        until(lambda folder=folder: bool(list(folder.glob("*/links.parquet"))))
        (share,) = folder.glob("*/links.parquet")
        shares[party] = pl.read_parquet(share)
    assert len(shares["alice"].join(shares["bob"], on="link_id")) > COMMON // 2


def test_what_systemd_does_with_the_services(estate: Estate) -> None:
    """Carole is reloaded, Bob killed, Alice's machine switched off; each is there again, and Carole ends in order."""
    before = {party: properties(estate[party], f"gemel-{party}") for party in SERVICES}
    for found in before.values():
        assert (found["ActiveState"], found["Type"], found["NRestarts"]) == ("active", "notify", "0")
        assert (found["WatchdogUSec"], found.get("StatusText")) == ("3min", "ready")
    estate["carole"].run("systemctl reload gemel-carole.service")
    estate["bob"].run("systemctl kill --signal=KILL gemel-bob.service")
    estate["alice"].stop()
    estate["alice"].start()
    until(lambda: properties(estate["bob"], "gemel-bob")["NRestarts"] == "1")
    for party in SERVICES:
        until(lambda party=party: properties(estate[party], f"gemel-{party}").get("StatusText") == "ready")
        assert properties(estate[party], f"gemel-{party}")["ActiveState"] == "active"
    assert properties(estate["carole"], "gemel-carole")["MainPID"] == before["carole"]["MainPID"]
    estate["carole"].run("systemctl stop gemel-carole.service")
    ended = properties(estate["carole"], "gemel-carole")
    assert (ended["ActiveState"], ended["Result"], ended["ExecMainStatus"]) == ("inactive", "success", "0")


def test_a_watchdog_ends_what_is_stuck(estate: Estate) -> None:
    """A service that is stopped in the middle of its work, here by a signal, is started again."""
    machine = estate["bob"]
    drop_in = machine.disk / "etc/systemd/system/gemel-bob.service.d"
    drop_in.mkdir()
    (drop_in / "watchdog.conf").write_text("[Service]\nWatchdogSec=10\nRestartSec=0\n")
    machine.run("systemctl daemon-reload && systemctl restart gemel-bob.service")
    machine.run("systemctl kill --signal=STOP --kill-who=main gemel-bob.service")
    until(lambda: "Watchdog timeout" in machine.run("journalctl --unit gemel-bob.service"))
    until(lambda: properties(machine, "gemel-bob").get("StatusText") == "ready")
