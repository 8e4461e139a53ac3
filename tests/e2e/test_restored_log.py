"""Carole's store is put back from a backup while four projects are open: who notices, who accepts, what goes on.

After the backup one project was linked and its result fetched; of another, in mode block_keyed, the steward released
the result that the backup has as held; the others were only contributed to. Carole and her worker are processes, both
custodians services in this one; all that a person decides is typed, as the documents have it.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.coordinator.client.client_configuration import template
from gemel.coordinator.client.run_progress import follow_run
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.rehearsal.processes import ServiceProcess
from tests.console.consoles import wide_consoles
from tests.console.custodian.served import served
from tests.custodian.conftest import Folder
from tests.deploy.documents import lines, sections
from tests.deploy.sites import REPOSITORY
from tests.e2e.deployment import BOBS_NAMES, CUSTODIANS, STATE, TWO_RULES, Deployment, pairs_of, specification

COMMON = 30
RELEASED, ENDED, REFUSED = (specification(name, bits=256) for name in ("released", "ended", "refused"))
HELD = specification(
    "held",
    bits=256,
    more=TWO_RULES
    + """\
variables:
  - {name: ward, holder: alice, role: key, categories: [n, s]}
  - {name: work, holder: bob, role: key, categories: [day, night]}
assessment:
  fractions: {alice: 0.05, bob: 0.05, combined: 0.025}
  limits: {correct_matches: 0}
  on_breach: hold
leakage: {limit: 1.0}
release: {assessment: policy, alice: links, bob: links, coordinator: statistics}
""",
    mode="block_keyed",
)
REASON = "the backup is older than what our agreement allows"
AGREED = "agreed by the board"
LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[")
"""How a line of the custodians' logs begins: services in this process log to the output of its commands."""


def clean_people() -> dict[Side, pl.DataFrame]:
    """Two files without an error, so that the links do not depend on drawn keys."""
    ours, theirs = two_files(50, 50, COMMON, 0.0, np.random.default_rng(5))
    ours = ours.with_columns(ward=pl.Series(["n", "s"] * 25))
    theirs = theirs.with_columns(work=pl.Series(["day", "night"] * 25))
    return {Side.ALICE: ours, Side.BOB: theirs.rename(BOBS_NAMES)}


@dataclass
class Site:
    """The deployment once the backup is back; `run` and the held links were released and fetched after it was made."""

    made: Deployment
    files: dict[Side, pl.DataFrame]
    steward: Path
    carole: ServiceProcess
    run: str
    held_links: set[tuple[str, str]]

    def types(self, *words: object, fails: bool = False) -> str:
        party = str(words[0])
        config = {
            "project": self.made.coordinator_yaml,
            "steward": self.steward,
            "audit": self.made.carole_yaml,
            "carole": self.made.carole_yaml,
            **{str(side): self.made.configs[side] for side in Side},
        }[party]
        with wide_consoles():
            result = CliRunner().invoke(app, [*map(str, words), "--config", str(config)])
        if fails:
            assert isinstance(result.exception, GemelError), result.output
            return str(result.exception)
        assert result.exception is None, (result.output, result.exception)
        return "".join(line for line in result.output.splitlines(keepends=True) if not LOGGED.match(line))

    def accept(self, project: str, *parties: str) -> str:
        """What the last of the parties is shown when they accept."""
        return [self.types(party, "accept-restore", project, "--yes") for party in parties][-1]

    def audited(self, project: str) -> list[tuple[str, str]]:
        lines = self.types("audit", "show", "--project", project).splitlines()
        entries = [json.loads(line) for line in lines if line.startswith("{")]
        return [(entry["action"], entry["actor"]) for entry in entries]

    def links(self, project: str) -> set[tuple[str, str]]:
        """The persons of each link, by both custodians' shares."""
        named = {Side.ALICE: IDENTIFIER, Side.BOB: BOBS_NAMES[IDENTIFIER]}
        folders = {side: Path(self.made.shown(side, project).results) for side in Side}
        pairs = pairs_of({side: pl.read_parquet(folder / "links.parquet") for side, folder in folders.items()})
        alice, bob = (dict(self.files[side].select(named[side], TRUTH).iter_rows()) for side in Side)
        return {(alice[one], bob[other]) for one, other in pairs}


def follow_linkage_unit(site: Site) -> None:
    """What docs/linkage-unit.md has Carole's operator type; its places are those of this deployment."""
    places = {
        "/var/lib/gemel/carole": site.made.folders["carole"] / "store",
        "/backup/carole-monday": site.made.root / "backup",
    }
    commands = list(lines(sections(REPOSITORY / "docs/linkage-unit.md")["A restored log"]))
    assert [words[0] for words in commands] == ["systemctl", "mkdir", "mv", "gemel", "systemctl", "gemel"]
    for words in commands[:-1]:  # the last is for a copy put back by hand
        for named, real in places.items():
            words = [word.replace(named, str(real)) for word in words]
        match words:
            case ["systemctl", "stop", "gemel-carole.service"]:
                site.carole.dismiss()
                site.carole.stop()
            case ["systemctl", "start", "gemel-carole.service"]:
                (site.carole,) = site.made.processes("carole")
            case ["gemel", "carole", "restore", backup, "--config", _]:
                assert "by `gemel alice accept-restore`" in site.types("carole", "restore", backup)
            case _:
                subprocess.run(words, check=True)


def documented(guide: str, heading: str) -> list[str]:
    """The first command of a guide's section, without the program's name."""
    text = sections(REPOSITORY / f"docs/{guide}.md")[heading]
    return next(words[1:] for words in lines(text) if "accept-restore" in words)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    files = clean_people()
    made = Deployment(tmp_path_factory.mktemp("restored"), [RELEASED, ENDED, REFUSED, HELD], files)
    steward = made.folders["steward"] / "steward.yaml"
    steward.write_text(template(made.address, role=Role.STEWARD))
    try:
        (carole,) = made.processes("carole")
        made.start_custodians()
        for text in (RELEASED, ENDED, REFUSED, HELD):
            made.create(text)
        for name in ("released", "ended", "refused", "held"):
            made.wait_for(name, STATE.PROJECT_STATE_CONTRIBUTED)
        site = Site(made, files, steward, carole, "", set())
        follow_run(made.coordinator, "held", made.coordinator.start("held").run)
        assert made.status("held").state == STATE.PROJECT_STATE_HELD
        site.types("carole", "backup", made.root / "backup")
        site.run = made.coordinator.start("released").run
        made.wait_for("released", STATE.PROJECT_STATE_RELEASED)
        site.types("steward", "release", "held", "--reason", AGREED, "--yes")
        for name in ("released", "held"):
            made.received(name)
        site.held_links = site.links("held")
        assert "released" in site.types("project", "status")
        assert "released" in site.types("steward", "list")
        follow_linkage_unit(site)
        yield site
    finally:
        made.close()


def test_coordinator_and_steward_notice_the_shrunk_log(site: Site) -> None:
    for party, words in (("project", ("status",)), ("steward", ("list",))):
        error = site.types(party, *words, fails=True)
        assert "Carole's store was restored from a backup" in error
        assert f"gemel {party} accept-restore PROJECT" in error


def test_accepted_by_all_by_signature_it_ends_once(site: Site) -> None:
    made = site.made
    for side in Side:
        made.eventually(lambda side=side: "accept-restore ended" in made.shown(side, "ended").blocking_error)
    assert f"run {site.run} released, and its share" in site.accept("released", "alice")
    assert documented("coordinator", "After Carole's store was restored") == ["project", "accept-restore", "births"]
    shown = site.types("project", "accept-restore", "ended", "--yes")
    assert "Lost is what followed entry" in shown
    assert "waits for alice, bob." in shown
    waiting = "project ended waits for the acceptance of the restored log by alice, bob"
    assert waiting in site.types("project", "status", "ended")
    operator = "Bob's service waits for its operator's decision on the restored log"
    made.eventually(lambda: operator in site.types("project", "status", "ended"))
    assert waiting in site.types("project", "start", "ended", fails=True)
    with pytest.raises(GemelError) as caught:
        made.coordinator.statistics("ended", site.run)
    assert caught.value.code in (ErrorCode.NOT_FOUND, ErrorCode.WRONG_STATE)
    assert documented("custodian", "After Carole's store was restored") == ["alice", "accept-restore", "births"]
    assert "waits for no party any more" in site.accept("ended", "alice", "bob")
    assert "waits for no party any more" in site.accept("ended", "alice")  # again is harmless
    made.coordinator.start("ended")
    made.wait_for("ended", STATE.PROJECT_STATE_RELEASED)
    made.received("ended")
    assert site.links("ended") == {(person, person) for person, _ in site.links("ended")}
    assert len(site.links("ended")) == COMMON
    audited = site.audited("ended")
    assert [actor for action, actor in audited if action == "accept-restore"] == ["coordinator", "alice", "bob"]
    assert [action for action, _ in audited].count("release") == 1
    assert not made.shown(Side.ALICE, "ended").blocking_error


def test_what_was_released_after_the_backup_is_not_released_again(site: Site) -> None:
    site.accept("released", "alice", "bob", "project")
    refused = f"run {site.run} was released before Carole's store was restored"
    assert refused in site.types("project", "start", "released", fails=True)
    assert refused in site.types("project", "status", "released")
    assert "start-run" not in [action for action, _ in site.audited("released")]
    assert len(site.links("released")) == COMMON  # what was fetched stays with those who fetched it


def test_what_a_steward_released_after_the_backup_stays_released_by_the_digests_of_who_fetched_it(site: Site) -> None:
    """In mode block_keyed: the backup has the result as held, and the steward has no second decision to make."""
    made = site.made
    assert made.status("held").state == STATE.PROJECT_STATE_HELD
    site.accept("held", "alice", "bob", "project")
    assert "waits for the acceptance of the restored log by steward" in site.types("project", "status", "held")
    assert made.status("held").state == STATE.PROJECT_STATE_HELD
    assert "waits for no party any more" in site.accept("held", "steward")
    made.wait_for("held", STATE.PROJECT_STATE_RELEASED)
    made.received("held")
    assert len(site.held_links) >= COMMON // 2
    assert site.links("held") == site.held_links
    actions = [action for action, _ in site.audited("held")]
    assert (actions.count("finish-run"), actions.count("release")) == (1, 1)
    again = site.types("steward", "release", "held", "--reason", AGREED, "--yes", fails=True)
    assert "RELEASED" in again


def refused_in_the_console(site: Site) -> None:
    """Bob's operator refuses on a page, which shows what the command shows; another restoration than that is not."""
    bob = Folder(CUSTODIANS[Side.BOB], site.made.configs[Side.BOB])
    with served(bob) as console:
        token, path = console.enter(), "/projects/refused/accept-restore"
        assert "read what Carole&#39;s store has lost" in console.client.get("/projects/refused").text
        page = console.client.get(path).text
        assert "Lost is what followed entry" in page
        found = re.search(r'name="restoration" value="(\d+)"', page)
        assert found is not None
        more = {"csrf": token, "decision": "refuse", "reason": REASON}
        status, page = console.post(path, restoration=f"{int(found[1]) + 1}", **more)
        assert status == 409
        assert "has been restored once more since that was shown" in page
        assert console.post(path, restoration=found[1], **(more | {"reason": ""}))[0] == 400
        assert console.post(path, restoration=found[1], **more)[0] == 303
        page = console.client.get("/projects/refused").text
        assert "Refused. refused does not go on" in page


def test_refused_by_one_custodian_nothing_moves(site: Site) -> None:
    made = site.made
    error = site.types("bob", "accept-restore", "refused", "--refuse", "--yes", fails=True)
    assert "a decision needs a reason" in error
    refused_in_the_console(site)
    site.accept("refused", "alice", "project")
    stands = f"bob has refused the restored log: project refused can only be erased ({REASON})"
    assert stands in site.types("project", "start", "refused", fails=True)
    assert stands in site.types("project", "status", "refused")
    taken_back = site.types("bob", "accept-restore", "refused", "--yes", fails=True)
    assert "no decision on a restored log is awaited" in taken_back
    assert made.status("refused").state == STATE.PROJECT_STATE_CONTRIBUTED
    assert "erased" in site.types("project", "erase", "refused", "--yes")
    audited = [action for action, _ in site.audited("refused")]
    assert audited[-5:] == ["refuse-restore", "accept-restore", "accept-restore", "erase", "destroy-keys"]


def test_the_log_is_intact_and_what_it_lost_is_kept_as_evidence(site: Site, tmp_path: Path) -> None:
    kept = tmp_path / "alice.checkpoints"
    kept.write_text(site.types("alice", "checkpoints"))
    lost = tmp_path / "alice.lost"
    lost.write_text(site.types("alice", "checkpoints", "--lost"))
    assert "Consistent with all" in site.types("audit", "verify", "--kept", kept)
    assert "the log was" in site.types("audit", "verify", "--kept", lost, fails=True)
