"""Comparisons beside the fields': of presence, where a missing value is a level, and of exchanged values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan, RulePlan, link
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import MISSING, FieldSignatures, SignatureSet
from tests.carole.engine.conftest import BOUNDS
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, links_of, run, with_field
from tests.carole.refusals import refusal


def with_level(plan, *names):
    return replace(plan, fields=tuple(replace(f, missing_as_level=f.name in names) for f in plan.fields))


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("dependence", ["none", "decomposable"])
def test_its_estimates_agree_with_the_data(files, blocked, dependence):
    """Town is missing of the same people in both files, and else rarely."""
    moved = np.flatnonzero(np.random.default_rng(1).random(files.n_common) < 0.4)
    sets = []
    for part in (files.a, files.b):
        codes = part.fields["town"].codes.copy()
        codes[moved] = MISSING
        sets.append(with_field(part, "town", codes=codes))
    found = run(*sets, with_level(files.plan(blocked=blocked, dependence=dependence), "town"))
    assert [field.name for field in found.model.fields][-1] == "town-present"
    a, b = (part.fields["town"].codes != MISSING for part in sets)
    # By chance alone; the matches' share is removed, and here they often lack it.
    assert found.model.u[-1, 1] == pytest.approx(a.mean() * b.mean(), abs=0.01)
    both = a[: files.n_common] & b[: files.n_common]
    assert found.model.m[-1, 1] == pytest.approx(both.mean(), abs=0.08)
    assert len(found.links) > 0.7 * files.n_common


def test_vectors_hold_it_for_every_pair(files):
    found = run(files.a, files.b, with_level(files.plan(), "town", "born"))
    names = [field.name for field in found.model.fields]
    for name in ("town", "born"):
        straight, present = (found.patterns.gamma[:, names.index(n)] for n in (name, f"{name}-present"))
        assert ((straight >= 0) == (present == 1)).all()
    a, b = (np.count_nonzero(part.fields["town"].codes != MISSING) for part in (files.a, files.b))
    lacks = files.a.n_rows * files.b.n_rows - a * b
    assert found.patterns.count[found.patterns.gamma[:, names.index("town-present")] == 0].sum() == lacks


def test_a_field_that_is_never_missing_gains_nothing_and_is_named(files):
    sets = (with_field(part, "town", codes=np.maximum(part.fields["town"].codes, 0)) for part in (files.a, files.b))
    found = run(*sets, with_level(files.plan(), "town"))
    assert result_warning("field_constant", field="town-present") in found.warnings
    assert abs(found.scheme.weights[-1, 1]) < 0.1


def test_an_unidentified_model_is_still_refused(files):
    """One field and its presence are two: not enough where u is estimated."""
    plan = with_level(files.plan(), "town")
    with refusal(ErrorCode.NOT_IDENTIFIED):
        run(files.a, files.b, replace(plan, fields=plan.fields[-1:]))


def test_it_goes_with_exchanged_fields(files):
    sets = (replace(part, fields={**part.fields, "given": part.fields["family"]}) for part in (files.a, files.b))
    plan = with_level(files.plan(), "given")
    fields = tuple(replace(f, bits=192) if f.name == "given" else f for f in plan.fields)
    found = run(*sets, replace(plan, fields=fields, swaps=(("given", "family"),)))
    assert [field.name for field in found.model.fields][-2:] == ["given-family-exchanged", "given-present"]


N, COMMON = 600, 400


@pytest.fixture(scope="module")
def exchanged():
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


def crosswise_plan(**settings):
    return LinkagePlan(tuple(FieldPlan(name, 256, BOUNDS) for name in ("given", "family", "born")), **settings)


CROSSED = {"swaps": (("given", "family"),)}


def share_found(linkage, people):
    """Of some people in common."""
    return np.mean([(i, i) in links_of(linkage) for i in people.tolist()])


@pytest.mark.parametrize("rules", [(), (RulePlan("born", ("born",)), RulePlan("family", ("family",)))])
def test_exchanged_names_are_found(exchanged, rules):
    a, b, swapped = exchanged
    without, crossed = (run(a, b, crosswise_plan(rules=rules, **more)) for more in ({}, CROSSED))
    assert share_found(without, swapped) < 0.5
    assert share_found(crossed, swapped) > 0.9
    assert sum(i != j for i, j in links_of(crossed)) < 0.03 * COMMON
    q = 3
    assert crossed.model.fields[q].name == "given-family-exchanged"
    assert crossed.model.m[q, 1:].sum() == pytest.approx(len(swapped) / COMMON, abs=0.05)
    # Chance: no name of one field is among the other's, so that nearly only matches are exchanged.
    assert crossed.model.u[q, 1:].sum() < 1e-3
    swap = crossed.patterns.gamma[:, q] > 0
    assert (crossed.patterns.gamma[swap][:, :2] == -1).all()
    assert crossed.n_candidates == without.n_candidates


@pytest.mark.parametrize(
    "setting", [{"scheme": "exact"}, {"scheme": "log_lr_weighted"}, {"dependence": "decomposable"}]
)
def test_schemes_and_dependence(exchanged, setting):
    a, b, swapped = exchanged
    assert share_found(run(a, b, crosswise_plan(**CROSSED, **setting)), swapped) > 0.9


def test_threads_change_nothing_of_exchanges(exchanged):
    one, three = (link(*exchanged[:2], crosswise_plan(**CROSSED), replace(ENOUGH, threads=n), quiet) for n in (1, 3))
    assert np.array_equal(one.links, three.links)


def test_fields_of_several_lengths_are_not_exchanged(exchanged):
    sets = []
    for part in exchanged[:2]:
        born = part.fields["born"]
        short = FieldSignatures(64, born.signatures[:, :1].copy(), born.codes)
        sets.append(replace(part, fields={**part.fields, "born": short}))
    fields = (FieldPlan("given", 256, BOUNDS), FieldPlan("born", 64, BOUNDS))
    with refusal(ErrorCode.ENCODING_MISMATCH, "signatures of equal length"):
        run(*sets, LinkagePlan(fields, swaps=(("given", "born"),)))
