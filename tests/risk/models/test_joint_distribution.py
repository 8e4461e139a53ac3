"""A joint distribution that was written is read back exactly, and nothing else is read."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gemel.common.errors import GemelError
from gemel.risk.models.counts import SparseCounts
from gemel.risk.models.fitted import fit
from gemel.risk.models.graphs import Graph
from gemel.risk.models.joint_distribution import JointDistribution, JointVariable

NAMES = ("car", "home", "age")
LEVELS = (2, 3, 2)


def distribution() -> JointDistribution:
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, n, 200) for n in LEVELS], axis=1).astype(np.int32)
    codes[:, 1] = np.where(rng.random(200) < 0.7, codes[:, 0], codes[:, 1])
    counts = SparseCounts.from_records(codes, LEVELS, NAMES)
    model = fit(counts, Graph.from_edges(NAMES, [("car", "home"), ("home", "age")]), precision=1.0)
    variables = (
        JointVariable("car", "alice", 2),
        JointVariable("home", "bob", 3),
        JointVariable("age", "both", 2, coded=False),
    )
    return JointDistribution(variables, model, 200.0)


JOINT = distribution()


def test_round_trip_and_questions():
    back = JointDistribution.from_json(JOINT.to_json())
    assert back.variables == JOINT.variables
    assert (back.records, back.model.graph, back.model.estimate) == (200.0, JOINT.model.graph, JOINT.model.estimate)
    full = JOINT.table(NAMES)
    assert full.sum() == pytest.approx(1)
    np.testing.assert_array_equal(back.table(NAMES), full)
    given = back.table(["home"], {"car": 1})
    np.testing.assert_allclose(given, full[1].sum(axis=1) / full[1].sum())
    assert JOINT.held_by("bob") == ("home",)


def changed(change) -> str:
    document = json.loads(JOINT.to_json())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        changed(lambda d: d.update(format=2)),
        changed(lambda d: d.update(records=-1)),
        changed(lambda d: d["variables"].pop()),
        changed(lambda d: d["variables"][0].update(name="home")),
        changed(lambda d: d["variables"][0].update(levels=1)),
        changed(lambda d: d["variables"][0].update(holder="carole")),
        changed(lambda d: d["variables"][0].update(labels=["x"])),
        changed(lambda d: d["edges"].pop()),
        changed(lambda d: d["edges"].append([0, 2])),
        changed(lambda d: d["cliques"].append(d["cliques"][0])),
        changed(lambda d: d["cliques"][0]["cells"][0].__setitem__(0, 9)),
        changed(lambda d: d["cliques"][0]["cells"].__setitem__(0, d["cliques"][0]["cells"][1])),
        changed(lambda d: d["cliques"][0]["probabilities"].__setitem__(0, 2.0)),
        changed(lambda d: d["cliques"][0]["probabilities"].__setitem__(0, -0.1)),
        changed(lambda d: d["cliques"][0]["probabilities"].reverse()),
    ],
)
def test_anything_else_is_refused(text: str):
    with pytest.raises(GemelError, match=r"joint distribution|decomposable"):
        JointDistribution.from_json(text)
