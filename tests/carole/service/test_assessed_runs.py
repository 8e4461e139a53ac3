"""Runs with an assessment: by the policy, with earlier releases, and report and result both or neither at a crash."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.carole.projects.project import Grant, Policy, RunState, State
from gemel.common.documents.disclosure_measures import MEASURES
from gemel.common.errors import ErrorCode
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import Role, Side
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import encode_records
from tests.carole import trial
from tests.carole.deployment import SEED, people
from tests.carole.refusals import refusal
from tests.carole.trial import take
from tests.specifications import heading

N, COMMON = 300, 200
TEXT = (
    heading("trial")
    + """
fields:
  - {name: surname, kind: name, bits: 1024}
  - {name: given, kind: name, bits: 1024}
  - {name: born, kind: date, bits: 1024, date: {order: ymd}}
blocking:
  - {name: born, keys: [{field: born, part: year}]}
variables:
  - {name: sex, holder: both, categories: [f, m], role: key}
  - {name: age, holder: alice, categories: [a, b, c, d], role: key}
  - {name: work, holder: bob, categories: [a, b, c, d, e], role: key}
  - {name: illness, holder: bob, categories: [none, some, grave], role: sensitive}
assessment:
  fractions: {alice: 0.3, bob: 0.3, combined: 0.2}
  tables: [{variables: [age, illness], protection: conventional, base: 5}]
  limits: {correct_matches: LIMIT, subtraction: 1}
  on_breach: hold
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)
HOLDERS = {Side.ALICE: ("sex", "age"), Side.BOB: ("sex", "work", "illness")}
LEVELS = {"sex": 2, "age": 4, "work": 5, "illness": 3}


def drawn(who, name):
    """A person's value of a variable, the same on both sides."""
    return int(np.random.default_rng([who, list(LEVELS).index(name)]).integers(LEVELS[name]))


class Contribution(trial.Contribution):
    """A custodian's records and their variables, signed and cut into chunks."""

    def __init__(self, side, text, value=drawn):
        first = 0 if side is Side.ALICE else N - COMMON
        frame = people(N, offset=first)
        values = {
            name: pl.Series([value(who, name) for who in range(first, first + N)], dtype=pl.Int32)
            for name in LEVELS
            if name in HOLDERS[side]
        }
        columns = {column: frame[column] for column in frame.columns}
        spec = load_specification(text)
        if spec.decoys:
            columns = with_decoys(columns, spec, NoiseKey.generate())
        self.encoded = encode_records(columns, spec, SEED, 1, variables=values, decoys=spec.decoys)
        self.cut(self.encoded.sets, layout=self.encoded.layout)


def project(text):
    """As the coordinator makes it of a specification."""
    spec = load_specification(text)
    return replace(
        trial.NEW,
        specification=text,
        specification_digest=specification_digest(spec),
        encoding_digest=encoding_digest(spec),
        grants={Role.CUSTODIAN_A: Grant.LINKS, Role.CUSTODIAN_B: Grant.LINKS, Role.COORDINATOR: Grant.STATISTICS},
        policy=Policy.HOLD,
    )


def limited(limit, text=TEXT):
    """The specification with a limit on correct matches."""
    return text.replace("LIMIT", limit)


def contributed(carole, text, value=drawn):
    """The specification of a project with both contributions."""
    trial.contributed(carole.store, {side: Contribution(side, text, value) for side in Side}, project(text))
    return load_specification(text)


def amended(carole, text):
    """The project's specification once all parties have approved another one."""
    new = project(text)
    carole.store.projects.amend(new, "coordinator")
    trial.approved(carole.store, "trial", new.specification_digest)
    return load_specification(text)


def lease(carole, request):
    carole.store.runs.start("trial", "coordinator", request, request * 32)
    return take(carole.store)


def report(carole, run):
    found: dict[str, Any] = json.loads(carole.store.results.report("trial", run, 0).data)
    return found


def actions(carole):
    _, entries = carole.store.audit.proven("trial", 0, 200)
    return [entry.action for entry, _ in entries]


def test_decoys_are_no_records_of_the_assessment_and_a_limit_is_judged_by_them(carole):
    text = TEXT.replace("subtraction: 1", "subtraction: 1, false_links: 0.5").replace(
        "retention:", "quality: {decoys: 200}\nretention:"
    )
    spec = contributed(carole, limited("0.9", text))
    run = lease(carole, "a")
    assert carole.carry_out(run, spec) == COMMON
    document = report(carole, run.run)
    assert (document["verdict"], document["records"]) == ("within", COMMON)
    assert [document["custodians"][str(side)]["records"] for side in Side] == [N, N]
    assert "custodians_differ" not in {warning["code"] for warning in document["warnings"]}
    assert carole.store.projects.get("trial").state is State.RELEASED
    entry = document["measures"]["false_links"]
    assert entry["method"] == "decoys, with a 95 % interval"
    assert 0 <= entry["lower"] <= entry["value"] <= entry["upper"] == entry["judged"] < entry["limit"] == 0.5


def test_a_result_within_the_limits_is_released_and_the_next_is_assessed_with_it(carole):
    text = limited("0.9")
    spec = contributed(carole, text)
    stages: list[str] = []
    first = lease(carole, "a")
    links = carole.carry_out(first, spec, lambda stage, _: stages.append(stage))
    assert links == COMMON
    assert list(dict.fromkeys(stages))[-2:] == ["assess", "seal"]
    assert carole.store.projects.get("trial").state is State.RELEASED
    document = report(carole, first.run)
    assert (document["verdict"], document["records"], document["earlier_releases"]) == ("within", COMMON, 0)
    # Both hold a person's sex, and the right rows stand side by side: no linked record has two.
    assert "custodians_differ" not in {warning["code"] for warning in document["warnings"]}
    assert document["custodians"]["alice"]["linked"] == document["custodians"]["bob"]["linked"] == COMMON
    assert document["measures"]["members_disclosed"]["value"] == pytest.approx(COMMON / N, rel=2e-3)
    chunk = carole.store.results.report("trial", first.run, 0)
    assert hashlib.sha256(chunk.data).digest() == chunk.sha256
    # The same links again, to publish another table instead.
    spec = amended(carole, text.replace("[age, illness], protection: conventional, base: 5", "[sex, work]"))
    second = lease(carole, "b")
    carole.carry_out(second, spec)
    again = report(carole, second.run)
    assert again["earlier_releases"] == 1
    assert [(table["variables"], table["earlier"]) for table in again["tables"]] == [
        (["sex", "work"], False),
        (["age", "illness"], True),
    ]
    # No variable of the first table is in the second.
    assert [unseen["run"] for unseen in again["differences"]["unseen"]] == [first.run]
    for name, entry in again["measures"].items():
        earlier = document["measures"][name]["judged"] if MEASURES[name].accumulates else None
        assert entry["earlier"] == earlier
        # A limit on the record at highest risk is on its value, whatever its interval.
        of_value = entry["upper"] is None or name == "largest_record_risk"
        assert entry["judged"] == max(earlier or 0.0, entry["value"] if of_value else entry["upper"])


def released_beside(carole):
    """Another worker releases a result of another project of the same custodians; its run."""
    new = replace(project(limited("0.9")), name="beside", policy=Policy.NONE)
    trial.contributed(carole.store, trial.tiny(), new)
    carole.store.runs.start(new.name, "coordinator", "r", "f" * 32)
    taken = take(carole.store, "another worker")
    assert taken.project == new.name
    carole.store.runs.finish(taken, 1, {str(Role.COORDINATOR): [b"{}"]})
    return taken.run


def test_what_another_worker_releases_during_the_assessment_is_in_the_report(carole):
    spec = contributed(carole, limited("0.9"))
    run = lease(carole, "a")
    stages: list[str] = []
    beside: list[str] = []

    def progress(stage, fraction):
        stages.append(stage)
        if stage == "seal" and not beside:
            beside.append(released_beside(carole))

    assert carole.carry_out(run, spec, progress) == COMMON
    assert stages.count("seal") == 2, "assessed and sealed again"
    document = report(carole, run.run)
    assert [unseen["run"] for unseen in document["differences"]["unseen"]] == beside
    assert carole.store.projects.get("trial").state is State.RELEASED


def test_a_breach_is_held_and_no_share_is_given(carole):
    spec = contributed(carole, limited("0.01"))
    held = lease(carole, "a")
    carole.carry_out(held, spec)
    assert carole.store.projects.get("trial").state is State.HELD
    document = report(carole, held.run)
    assert [breach["measure"] for breach in document["breaches"]] == ["correct_matches"]
    with refusal(ErrorCode.WRONG_STATE):
        carole.store.results.fetch("trial", Role.CUSTODIAN_A, held.run, 0)


def by_age(who, name):
    """The same values, but for an illness that follows from the age: Alice holds one, Bob the other."""
    return drawn(who, "age") % LEVELS["illness"] if name == "illness" else drawn(who, name)


@pytest.mark.parametrize(
    ("joint", "value", "state"),
    [("alice", by_age, State.HELD), ("alice", drawn, State.RELEASED), ("none", by_age, State.RELEASED)],
)
def test_a_release_is_held_for_what_its_joint_distribution_tells(carole, joint, value, state):
    limit = "" if joint == "none" else "joint_attribution: 0.3, "
    text = TEXT.replace("limits: {", f"limits: {{{limit}") + f"latent: {{}}\nrelease: {{joint: {joint}}}\n"
    spec = contributed(carole, limited("0.9", text), value)
    run = lease(carole, "a")
    assert carole.carry_out(run, spec) >= COMMON - 5
    assert carole.store.projects.get("trial").state is state
    document = report(carole, run.run)
    assert ("joint_attribution" in document["measures"]) == ("released_joint" in document) == (joint != "none")
    if state is not State.HELD:
        return
    assert [breach["measure"] for breach in document["breaches"]] == ["joint_attribution"]
    assert document["measures"]["joint_attribution"]["value"] > 0.95
    # Alice knows her own people's age as well as whoever knows the keys.
    assert {found["intruder"] for found in document["released_joint"]} == {"keys", "alice"}
    assert {"action": "release no joint distribution", "effect": {"joint_attribution": 0.0}} in document["options"]
    assert {"assess", "hold"} <= set(actions(carole))
    assert "release" not in actions(carole)
    with refusal(ErrorCode.WRONG_STATE):
        carole.store.results.fetch("trial", Role.CUSTODIAN_A, run.run, 0)


DYING_WORKER = """\
# A worker that kills itself at a given point of a run's end.
import os, signal, sys
from gemel.carole.configuration import load_carole
from gemel.carole.service import ending, worker
from gemel.carole.service.health import OwnAddress, OwnService
from gemel.carole.store import changes, runs
from pathlib import Path

where = sys.argv[1]

def dies_after(owner, name):
    real = getattr(owner, name)
    def then_die(*arguments, **named):
        found = real(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, then_die)

if where == "assessed":
    dies_after(ending, "assess")
elif where == "committed":
    dies_after(runs.Runs, "finish")
configuration = load_carole(Path(sys.argv[2]))
made = worker.Worker(configuration, "dying", sys.argv[3], OwnService(configuration, OwnAddress()))
lease = made._store.runs.take("dying")
if where == "inside the transaction":
    dies_after(changes.Change, "apply")  # which taking the run has called too
made._carry_out(lease)
"""


POINTS = "assessed", "inside the transaction", "committed"


def killed_at_each_point(carole, folder, points=POINTS):
    """Begin the end of the run that waits, and die: at each point in turn."""
    script = folder / "dying.py"
    script.write_text(DYING_WORKER)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    for point in points:
        died = subprocess.run(
            [sys.executable, str(script), point, str(carole.configuration), carole.store.holder],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert died.returncode == -signal.SIGKILL, died.stderr
        carole.store.runs.abandon("dying")
        yield point


def has_both_or_neither(carole, run, point):
    """A run that was killed at a point has its report and its decision, or neither."""
    states = carole.store.runs.get("trial", run).state, carole.store.projects.get("trial").state
    if point == "committed":
        assert states == (RunState.DONE, State.HELD)
        assert report(carole, run)["verdict"] == "breach"
        assert [action for action in actions(carole) if action in ("assess", "hold")] == ["assess", "hold"]
    else:
        assert states == (RunState.QUEUED, State.CONTRIBUTED)
        with refusal(ErrorCode.NOT_FOUND):
            report(carole, run)
        assert not {"assess", "hold", "release"} & set(actions(carole))


@pytest.mark.parametrize("points", [POINTS[2:], pytest.param(POINTS, marks=pytest.mark.long)], ids=["one", "all"])
def test_killed_anywhere_between_assessment_and_release_leaves_both_or_neither(carole, tmp_path, points):
    """The first two points: `test_coded_runs` and the next test."""
    contributed(carole, limited("0.01"))
    run = carole.store.runs.start("trial", "coordinator", "a", "a" * 32).run
    for point in killed_at_each_point(carole, tmp_path, points):
        has_both_or_neither(carole, run, point)
    assert carole.store.runs.get("trial", run).attempt == len(points)


COARSENED = """\
  protect:
    age: [{name: halves, groups: {low: [a, b], high: [c, d]}}, drop]
    work: [{name: kinds, groups: {one: [a, b, c], other: [d, e]}}, drop]
  on_breach: hold
"""


@pytest.mark.parametrize("killed", [pytest.param(True, marks=pytest.mark.long), False], ids=["killed", "at once"])
def test_killed_while_it_is_coarsened_a_run_leaves_nothing_and_is_coarsened_again(carole, tmp_path, killed):
    text = limited("0.03", TEXT.replace("  on_breach: hold\n", COARSENED))
    spec = contributed(carole, text)
    run = carole.store.runs.start("trial", "coordinator", "a", "a" * 32).run
    if killed:
        assert list(killed_at_each_point(carole, tmp_path, ("inside the transaction",)))
    assert carole.store.runs.get("trial", run).state is RunState.QUEUED
    assert not {"assess", "hold", "release"} & set(actions(carole))
    taken = take(carole.store)
    assert carole.carry_out(taken, spec) == COMMON
    assert carole.store.projects.get("trial").state is State.RELEASED
    document = report(carole, run)
    changes = {change["variable"]: change["coarsening"] for change in document["protection"]["changes"]}
    assert changes
    assert document["protection"]["before"]["breaches"] == ["correct_matches"]
    _, entries = carole.store.audit.proven("trial", 0, 200)
    (details,) = [entry.details for entry, _ in entries if entry.action == "assess"]
    assert details["coarsened"] == "; ".join(f"{name}: {step}" for name, step in changes.items())
    # The next run of the same links is coarsened likewise, and compared with the first at the detail of both.
    spec = amended(carole, text.replace("subtraction: 1", "subtraction: 0.99"))
    second = lease(carole, "b")
    carole.carry_out(second, spec)
    again = report(carole, second.run)
    assert {change["variable"]: change["coarsening"] for change in again["protection"]["changes"]} == changes
    assert (again["earlier_releases"], again["verdict"]) == (1, "within")
    assert again["differences"]["compared"] == (1 if again["tables"] else 0)
