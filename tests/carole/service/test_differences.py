"""Two releases that differ by one record, in one project after the other: found and held; the same data is not."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sqlalchemy import text as statement

from gemel.carole.configuration import load_carole
from gemel.carole.projects.project import Policy, State
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import encode_records
from tests.carole import trial
from tests.carole.deployment import SEED, people, steward
from tests.carole.refusals import refusal
from tests.carole.service.test_assessed_runs import HOLDERS, LEVELS, TEXT
from tests.carole.service.test_assessed_runs import project as specified
from tests.carole.store.test_migrations import transaction
from tests.carole.trial import take

N, COMMON = 120, 90
PLAIN = TEXT.replace("LIMIT", "1").replace(", protection: conventional, base: 5", "")
NONE = PLAIN[: PLAIN.index("assessment:")] + "release: {assessment: none}\n" + PLAIN[PLAIN.index("retention:") :]
CHANGED = 60  # one whom both have


class Contribution(trial.Contribution):
    """A custodian's records, signed for a project; of `changed`, if anybody, the illness is another one."""

    def __init__(self, side, text, changed):
        first = 0 if side is Side.ALICE else N - COMMON
        frame = people(N, offset=first)
        values = {}
        for i, name in enumerate(LEVELS):
            if name in HOLDERS[side]:
                drawn = [
                    int(np.random.default_rng([who, i]).integers(LEVELS[name])) + (name == "illness" and who == changed)
                    for who in range(first, first + N)
                ]
                values[name] = pl.Series([code % LEVELS[name] for code in drawn], dtype=pl.Int32)
        columns = {column: frame[column] for column in frame.columns}
        self.encoded = encode_records(columns, load_specification(text), SEED, 1, variables=values)
        self.cut(self.encoded.sets, layout=self.encoded.layout)


def run(carole, name, text=PLAIN, changed=None):
    """A project from its creation to the end of its run; the run."""
    text = text.replace("project: trial", f"project: {name}")
    new = replace(specified(text), name=name)
    if load_specification(text).assessment is None:
        new = replace(new, policy=Policy.NONE)
    trial.contributed(carole.store, {side: Contribution(side, text, changed) for side in Side}, new)
    request = hashlib.sha256(name.encode()).hexdigest()[:32]
    carole.store.runs.start(name, "coordinator", request, request)
    taken = take(carole.store)
    assert taken.project == name
    carole.carry_out(taken, load_specification(text))
    return taken.run


def report(carole, name, of):
    found: dict[str, Any] = json.loads(carole.store.results.whole_report(name, of))
    return found


def entries(carole, name, actions):
    _, found = carole.store.audit.proven(name, 0, 200)
    return {entry.action: entry.details for entry, _ in found if entry.action in actions}


def test_one_changed_record_in_another_project_is_found_and_held(deployment):
    held_for_a_changed_record(deployment)


def held_for_a_changed_record(deployment):
    """The run of a second project, held beside the first one's release."""
    first = run(deployment, "first")
    assert deployment.store.projects.get("first").state is State.RELEASED

    second = run(deployment, "second", changed=CHANGED)
    assert deployment.store.projects.get("second").state is State.HELD
    document = report(deployment, "second", second)
    assert [breach["measure"] for breach in document["breaches"]] == ["differences"]
    (table,) = document["differences"]["tables"]
    # One has gone from a cell and come into another; other keys, so that the codes had to be put in order.
    assert {name: table[name] for name in ("runs", "projects", "reordered", "people", "small_cells", "share")} == {
        "runs": [first],
        "projects": ["first"],
        "reordered": True,
        "people": 2,
        "small_cells": 2,
        "share": 1.0,
    }
    found = entries(deployment, "second", ("assess", "hold"))
    assert (found["assess"]["releases_compared"], found["assess"]["differences"]) == (1, 1.0)
    assert f"run {first} of project first" in found["hold"]["reason"]
    assert "2 cells differ by one or two people" in found["hold"]["reason"]
    return second


@pytest.mark.long
def test_the_same_data_in_a_third_project_are_not_held_and_then_stop_the_second_ones_release(deployment):
    second = held_for_a_changed_record(deployment)
    # The erasure of the first changes nothing; that what is not released is no release.
    trial.erase(deployment.store, "first")
    again = run(deployment, "third")
    assert deployment.store.projects.get("third").state is State.RELEASED
    document = report(deployment, "third", again)
    assert document["differences"]["compared"] == document["differences"]["releases"] == 1
    assert [table["people"] for table in document["differences"]["tables"]] == [0]

    # The second one's report does not have the third.
    decider = steward(deployment)
    digest = decider.report("second", second).sha256
    with refusal(ErrorCode.WRONG_STATE, f"run {again} of project third"):
        decider.decide("second", second, digest, release=True, reason="for the secure room only")
    assert deployment.store.projects.get("second").state is State.HELD


def test_a_release_without_an_assessment_leaves_its_trace(deployment):
    first = run(deployment, "first", NONE)
    assert deployment.store.projects.get("first").state is State.RELEASED
    second = run(deployment, "second")
    document = report(deployment, "second", second)
    assert document["differences"]["unseen"] == [
        {"run": first, "project": "first", "links": COMMON, "reason": "no counts were kept"}
    ]
    assert "releases_not_compared" in {warning["code"] for warning in document["warnings"]}
    found = entries(deployment, "second", ("assess",))
    assert (found["assess"]["releases_compared"], found["assess"]["releases_unseen"]) == (0, 1)

    # Of another coordinator's project this one's reads the run, and neither name nor size.
    with transaction(load_carole(deployment.configuration).store.database) as connection:
        connection.execute(statement("UPDATE projects SET owner = 'another'"))
    third = run(deployment, "third", changed=CHANGED)
    document = report(deployment, "third", third)
    (unseen,) = document["differences"]["unseen"]
    assert (unseen["run"], unseen["project"], unseen["links"]) == (first, "", None)
    assert [table["projects"] for table in document["differences"]["tables"]] == [[""]]
    held = entries(deployment, "third", ("hold",))["hold"]["reason"]
    assert f"against run {second}, over" in held
    assert not any(name in json.dumps(document) + held for name in ("first", "second"))
