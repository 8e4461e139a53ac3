"""Exchanged values in a whole run: found where the fields are compared crosswise, lost where they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan, RulePlan, link
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.conftest import BOUNDS
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, links_of, run
from tests.carole.refusals import refusal

N, COMMON = 600, 400


@pytest.fixture(scope="module")
def files():
    """Two names over one pool and a date; a tenth of the people in common have their names exchanged in B."""
    rng = np.random.default_rng(8)
    pool = {
        "name": rng.integers(0, 2**64, (150, 4), dtype=np.uint64),
        "born": rng.integers(0, 2**64, (80, 4), np.uint64),
    }
    a = {"given": rng.integers(0, 75, N), "family": rng.integers(75, 150, N), "born": rng.integers(0, 80, N)}
    b = {name: np.where(np.arange(N) < COMMON, values, rng.permutation(values)) for name, values in a.items()}
    swapped = np.flatnonzero(rng.random(COMMON) < 0.1)
    b["given"][swapped], b["family"][swapped] = a["family"][swapped], a["given"][swapped]
    sides = []
    for side in (a, b):
        fields = {
            name: FieldSignatures(256, pool["born" if name == "born" else "name"], values.astype(np.int32))
            for name, values in side.items()
        }
        blocks = {name: values.astype(np.uint64) + 1 for name, values in side.items()}
        sides.append(SignatureSet("", N, fields, blocks))
    return *sides, swapped


def plan(**settings):
    return LinkagePlan(tuple(FieldPlan(name, 256, BOUNDS) for name in ("given", "family", "born")), **settings)


CROSSED = {"swaps": (("given", "family"),)}


def share_found(linkage, people):
    """Of some people in common."""
    return np.mean([(i, i) in links_of(linkage) for i in people.tolist()])


@pytest.mark.parametrize("rules", [(), (RulePlan("born", ("born",)), RulePlan("family", ("family",)))])
def test_exchanged_names_are_found(files, rules):
    a, b, swapped = files
    without, crossed = (run(a, b, plan(rules=rules, **more)) for more in ({}, CROSSED))
    assert share_found(without, swapped) < 0.5
    assert share_found(crossed, swapped) > 0.9
    assert sum(i != j for i, j in links_of(crossed)) < 0.03 * COMMON
    q = 3
    assert crossed.model.fields[q].name == "given-family-exchanged"
    assert crossed.model.m[q, 1:].sum() == pytest.approx(len(swapped) / COMMON, abs=0.05)
    # Chance: no name of one field is among the other's, so that nearly only matches are exchanged.
    assert crossed.model.u[q, 1:].sum() < 1e-3
    exchanged = crossed.patterns.gamma[:, q] > 0
    assert (crossed.patterns.gamma[exchanged][:, :2] == -1).all()
    assert crossed.n_candidates == without.n_candidates


@pytest.mark.parametrize(
    "setting", [{"scheme": "exact"}, {"scheme": "log_lr_weighted"}, {"dependence": "decomposable"}]
)
def test_schemes_and_dependence(files, setting):
    a, b, swapped = files
    assert share_found(run(a, b, plan(**CROSSED, **setting)), swapped) > 0.9


def test_threads_change_nothing(files):
    one, three = (link(*files[:2], plan(**CROSSED), replace(ENOUGH, threads=n), quiet) for n in (1, 3))
    assert np.array_equal(one.links, three.links)


def test_fields_of_several_lengths_are_not_exchanged(files):
    sets = []
    for part in files[:2]:
        born = part.fields["born"]
        short = FieldSignatures(64, born.signatures[:, :1].copy(), born.codes)
        sets.append(replace(part, fields={**part.fields, "born": short}))
    fields = (FieldPlan("given", 256, BOUNDS), FieldPlan("born", 64, BOUNDS))
    with refusal(ErrorCode.ENCODING_MISMATCH, "signatures of equal length"):
        run(*sets, LinkagePlan(fields, swaps=(("given", "born"),)))
