"""Six projects of three processes: what the policy passes is released, what it refuses is not, what it holds waits.

For one steward, or for two; for its links, or for the joint distribution that it gives to Alice. What it may coarsen is
released coarsened.

The steward and Carole's operator type their commands; all else is requested over the wire.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gemel.command import app
from gemel.common.audit.signed_note import notes_in
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.coordinator.client.run_progress import HELD, REFUSED
from gemel.coordinator.demonstration.people.insured import trait_variables
from gemel.coordinator.rehearsal.processes import ServiceProcess
from gemel.risk.models.joint_distribution import JointDistribution
from tests.carole.refusals import refused
from tests.e2e.deployment import STATE, Deployment, entries_in, insured, people, specification, variables_of
from tests.typed import printed

REASON = "used inside the secure room only, see the minutes of May"
ROLES = {"Age": "key", "SocioEcon": "key", "MakeModel": "key", "RiskAversion": "sensitive"}
VARIABLES = variables_of(ROLES)

_MAKES = next(v["categories"] for v in trait_variables() if v["name"] == "MakeModel")
PRICE = f"\n  - {{name: Price, column: MakeModel, holder: bob, role: sensitive, categories: [{', '.join(_MAKES)}]}}"
"""Something sensitive that follows from a key: what a car costs, from its make."""


def judged_by(project: str, limits: str, on_breach: str, joint: str = "", protect: str = "") -> str:
    """A specification with a policy; `joint`: who receives the joint distribution, if the latent step is taken;
    `protect`: what may be coarsened."""
    latent, to, price = ("", "", "") if not joint else ("latent: {}\n", f", joint: {joint}", PRICE)
    more = f"""\
{VARIABLES}{price}
assessment:
  fractions: {{alice: 0.05, bob: 0.05, combined: 0.025}}
  limits: {{{limits}}}
  on_breach: {on_breach}
{protect}{latent}release: {{assessment: policy, alice: links, bob: links, coordinator: statistics{to}}}
"""
    return specification(project, bits=256, more=more)


PROTECT = """\
  protect:
    Age:
      - {name: adults, groups: {young: [Adolescent], grown: [Adult, Senior]}}
      - drop
    MakeModel:
      - {name: kinds, groups: {sports: [SportsCar, SuperLuxury], others: [Economy, FamilySedan, Luxury]}}
"""

TEXTS = {
    "passes": judged_by("passes", "sample_uniques: 1.0", "refuse"),
    "refused": judged_by("refused", "sample_uniques: 0.0", "refuse"),
    "held": judged_by("held", "sample_uniques: 0.0", "hold"),
    "twice": judged_by("twice", "sample_uniques: 0.0", "hold\n  signatures: 2"),
    "coarsened": judged_by("coarsened", "sample_uniques: 0.11", "refuse", "alice", PROTECT),
    "joint": judged_by("joint", "sample_uniques: 1.0, joint_attribution: 0.5", "hold", "alice"),
}


@dataclass
class Judged:
    """The deployment when all runs have been judged."""

    made: Deployment
    runs: dict[str, str]
    steward: Path
    second: Path
    """Another steward's configuration."""
    custodians: list[ServiceProcess]

    def decides(self, project: str, decision: str, config: Path | None = None) -> str:
        """What a steward's command prints; raises what Carole refuses with."""
        return printed("steward", decision, project, "--reason", REASON, "--yes", "--config", config or self.steward)

    def logged(self, project: str, config: Path | None = None) -> list[dict[str, Any]]:
        return entries_in(printed("steward", "log", project, "--config", config or self.steward))

    def fetched(self, side: Side, project: str) -> bool:
        return (self.made.folders[side] / "results" / project).exists()


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """All linked, none decided on."""
    more = {"second": Role.STEWARD}
    with Deployment(tmp_path_factory.mktemp("judged") / "d", TEXTS.values(), insured(people()), more) as made:
        _, *custodians = made.processes("carole", "alice", "bob")
        runs = {}
        for text in TEXTS.values():
            made.create(text)
        for project in TEXTS:
            made.wait_for(project, STATE.PROJECT_STATE_CONTRIBUTED)
            runs[project] = made.coordinator.start(project).run
        steward, second = (made.client_yaml(party) for party in ("steward", "second"))
        ends = {STATE.PROJECT_STATE_RELEASED, STATE.PROJECT_STATE_ASSESSED, STATE.PROJECT_STATE_HELD}
        for project in TEXTS:
            made.eventually(lambda project=project: made.status(project).state in ends, lambda: str(runs))
        yield Judged(made, runs, steward, second, custodians)


def test_what_meets_its_policy_is_released(judged: Judged, tmp_path: Path) -> None:
    made = judged.made
    assert made.status("passes").state == STATE.PROJECT_STATE_RELEASED
    made.received("passes")
    assert all(judged.fetched(side, "passes") for side in Side)
    assert made.coordinator.statistics("passes", judged.runs["passes"]).linkage.links > 40
    shown = printed("steward", "report", "passes", "--out", tmp_path, "--config", judged.steward)
    assert "Verdict: every limit of the policy holds." in " ".join(shown.split())
    assert "The policy is met" in (tmp_path / "risk.html").read_text()
    assert hashlib.sha256((tmp_path / "assessment.json").read_bytes()).hexdigest() in shown.replace("\n", "")


def test_no_party_fetches_anything_of_a_refused_result(judged: Judged, tmp_path: Path) -> None:
    made = judged.made
    assert made.status("refused").state == STATE.PROJECT_STATE_ASSESSED
    refused(ErrorCode.WRONG_STATE, made.coordinator.statistics, "refused", judged.runs["refused"])
    assert not any(judged.fetched(side, "refused") for side in Side)
    assert "refused" in printed("steward", "list", "--config", judged.steward)
    refused(ErrorCode.WRONG_STATE, judged.decides, "refused", "release")
    assert made.status("refused").state == STATE.PROJECT_STATE_ASSESSED
    entries = judged.logged("refused")
    assert [entry["actor"] for entry in entries if entry["action"] == "refuse"] == ["system"]
    assert not [entry for entry in entries if entry["action"] in ("release", "override")]
    # The coordinator, who has to propose something else, reads what the steward reads.
    reports = []
    for command, config in (("steward", judged.steward), ("project", made.coordinator_yaml)):
        printed(command, "report", "refused", "--out", tmp_path / command, "--config", config)
        reports.append([(tmp_path / command / name).read_text() for name in ("assessment.json", "risk.html")])
    assert reports[0] == reports[1]
    assert "The result is refused: no one receives anything." in reports[0][1]


def test_what_is_held_is_released_by_a_steward_whose_reason_stays_in_the_log(judged: Judged, tmp_path: Path) -> None:
    made, run = judged.made, judged.runs["held"]
    assert made.status("held").state == STATE.PROJECT_STATE_HELD
    for name, code, word in (
        ("held", HELD, "HELD: the result of held"),
        ("refused", REFUSED, "REFUSED: the result"),
    ):
        ended = CliRunner().invoke(app, ["project", "watch", name, "--config", str(made.coordinator_yaml)])
        assert (ended.exit_code, word in ended.output) == (code, True)
    assert not any(judged.fetched(side, "held") for side in Side)
    shown = printed("steward", "report", "held", "--out", tmp_path, "--config", judged.steward)
    assert "the policy is breached" in " ".join(shown.split())
    assert "released" in judged.decides("held", "release")
    made.received("held")
    assert all(judged.fetched(side, "held") for side in Side)
    shown = printed("audit", "show", "--project", "held", "--config", made.carole_yaml)
    read = printed("steward", "log", "held", "--config", judged.steward)
    for text in (shown, read):
        entries = entries_in(text)
        order = [entry["action"] for entry in entries]
        assert order.index("assess") < order.index("override") < order.index("release")
        reported = {entry["action"]: entry["details"] for entry in entries}
        assert reported["override"]["reason"] == REASON
        assert reported["override"]["run"] == run
        assert reported["assess"]["report"] == hashlib.sha256((tmp_path / "assessment.json").read_bytes()).hexdigest()


def test_what_two_must_sign_is_released_by_the_second(judged: Judged) -> None:
    made = judged.made
    for _ in range(2):  # the same steward again is the same signature
        shown = " ".join(judged.decides("twice", "release").split())
        assert "twice: steward has signed the release of the held result; it awaits 1 more of second" in shown
        assert made.status("twice").state == STATE.PROJECT_STATE_HELD
    assert not any(judged.fetched(side, "twice") for side in Side)
    for command, config in (("project", made.coordinator_yaml), ("steward", judged.second)):
        listing = "status" if command == "project" else "list"
        assert "awaits 1 more of second" in " ".join(printed(command, listing, "--config", config).split())
    assert "awaits" not in judged.decides("twice", "release", judged.second)
    made.received("twice")
    assert all(judged.fetched(side, "twice") for side in Side)
    entries = judged.logged("twice", judged.second)
    signed = [(entry["actor"], entry["details"]["signatures"]) for entry in entries if entry["action"] == "override"]
    assert signed == [("steward", 1), ("second", 2)]
    (released,) = [entry["details"]["assessment"] for entry in entries if entry["action"] == "release"]
    assert released == "overridden by the stewards steward and second"


def test_a_joint_distribution_that_discloses_too_much_waits_for_a_steward(judged: Judged, tmp_path: Path) -> None:
    made = judged.made
    assert made.status("joint").state == STATE.PROJECT_STATE_HELD
    assert not any(judged.fetched(side, "joint") for side in Side)
    printed("steward", "report", "joint", "--out", tmp_path, "--config", judged.steward)
    document = json.loads((tmp_path / "assessment.json").read_text())
    assert [breach["measure"] for breach in document["breaches"]] == ["joint_attribution"]
    assert {entry["intruder"] for entry in document["released_joint"]} == {"keys", "alice"}
    assert document["measures"]["joint_attribution"]["method"].endswith("worst for Price, given key variables")
    page = (tmp_path / "risk.html").read_text()
    assert "Something sensitive follows from the joint distribution" in page
    assert "Release no joint distribution" in page
    judged.decides("joint", "release")
    made.received("joint")
    received = {side: (made.folders[side] / "results" / "joint").rglob("joint.json") for side in Side}
    assert {side: len(list(found)) for side, found in received.items()} == {Side.ALICE: 1, Side.BOB: 0}


def test_what_may_be_coarsened_is_released_coarsened(judged: Judged, tmp_path: Path) -> None:
    """The log says what was changed, the report what was before, each custodian's result how to use its variables."""
    made = judged.made
    assert made.status("coarsened").state == STATE.PROJECT_STATE_RELEASED
    made.received("coarsened")
    shown = " ".join(printed("steward", "report", "coarsened", "--out", tmp_path, "--config", judged.steward).split())
    document = json.loads((tmp_path / "assessment.json").read_text())
    protection = document["protection"]
    changes = {change["variable"]: change["coarsening"] for change in protection["changes"]}
    assert protection["outcome"] == "coarsened"
    assert protection["before"]["breaches"] == ["sample_uniques"]
    assert protection["before"]["measures"]["sample_uniques"] > 0.11 >= document["measures"]["sample_uniques"]["judged"]
    words = "; ".join(f"{name}: {step}" for name, step in changes.items())
    assert f"Coarsened ({words}): as it was linked, the policy was breached (sample_uniques)." in shown
    page = (tmp_path / "risk.html").read_text()
    assert "The policy is met by a coarser result" in page
    assert "Before and after" in page
    entries = judged.logged("coarsened")
    details = {entry["action"]: entry["details"] for entry in entries}
    assert details["assess"]["coarsened"] == words
    assert (details["assess"]["breaches_before"], details["assess"]["breaches"]) == ("sample_uniques", "")
    assert details["assess"]["report"] == hashlib.sha256((tmp_path / "assessment.json").read_bytes()).hexdigest()
    assert details["release"]["assessment"] == f"within the limits, coarsened ({words})"
    for side in Side:
        (result,) = (made.folders[side] / "results" / "coarsened").iterdir()
        stated = json.loads((result / "statistics.json").read_text())["coarsened"]
        assert {change["variable"]: change["coarsening"] for change in stated} == changes
        lines = (result / "coarsening.csv").read_text().splitlines()
        assert lines[0] == "variable,category,released_as"
        assert {line.split(",")[0] for line in lines[1:]} == set(changes)
    (joint,) = (made.folders[Side.ALICE] / "results" / "coarsened").rglob("joint.json")
    labels = {variable["name"]: variable.get("labels") for variable in json.loads(joint.read_text())["variables"]}
    assert set(labels["MakeModel"]) == {"sports", "others"}
    assert JointDistribution.from_json(joint.read_text()).table(["MakeModel"]).sum() == pytest.approx(1.0)


def test_the_log_is_verified_with_what_the_custodians_kept(judged: Judged, tmp_path: Path) -> None:
    made = judged.made

    def printed_by(side: Side) -> str:
        return printed(str(side), "checkpoints", "--config", made.configs[side])

    running = {side: printed_by(side).splitlines() for side in Side}
    for service in judged.custodians:
        service.kill()
    kept = []
    for side in Side:
        kept.append(tmp_path / f"{side}.checkpoints")
        kept[-1].write_text(printed_by(side))
        # From its state as from the service, which may have seen more before it was killed.
        assert kept[-1].read_text().splitlines()[: len(running[side])] == running[side]
    options = [word for path in kept for word in ("--kept", path)]
    shown = printed("audit", "verify", *options, "--config", made.carole_yaml)
    assert "Intact" in shown
    number = sum(len(list(notes_in(path.read_text()))) for path in kept)
    assert f"Consistent with all {number} kept checkpoints." in shown
    assert number >= 2
