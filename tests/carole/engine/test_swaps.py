"""Exchanged values in a whole run: found where the fields are compared crosswise, lost where they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan, Resources, RulePlan, link
from gemel.common.errors import GemelError
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=2**28, threads=2)
BOUNDS = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0)
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


def found(run, selected):
    linked = set(zip(run.pairs.row_a[run.links].tolist(), run.pairs.row_b[run.links].tolist(), strict=True))
    return sum((i, i) in linked for i in selected.tolist()) / len(selected), sum(i != j for i, j in linked)


@pytest.mark.parametrize("rules", [(), (RulePlan("born", ("born",)), RulePlan("family", ("family",)))])
def test_exchanged_names_are_found(files, rules):
    a, b, swapped = files
    without = link(a, b, plan(rules=rules), ENOUGH, quiet)
    crossed = link(a, b, plan(rules=rules, swaps=(("given", "family"),)), ENOUGH, quiet)
    assert found(without, swapped)[0] < 0.5
    share, false = found(crossed, swapped)
    assert share > 0.9
    assert false < 0.03 * COMMON
    q = 3
    assert crossed.model.fields[q].name == "given-family-exchanged"
    assert crossed.model.m[q, 1:].sum() == pytest.approx(len(swapped) / COMMON, abs=0.05)
    # Chance: no name of one field is among the other's, so that nearly only matches are exchanged.
    assert crossed.model.u[q, 1:].sum() < 1e-3
    exchanged = crossed.patterns.gamma[:, q] > 0
    assert (crossed.patterns.gamma[exchanged][:, :2] == -1).all()
    assert crossed.n_candidates == without.n_candidates


def test_schemes_dependence_and_threads(files):
    a, b, swapped = files
    for settings in ({"scheme": "exact"}, {"scheme": "log_lr_weighted"}, {"dependence": "decomposable"}):
        run = link(a, b, plan(swaps=(("given", "family"),), **settings), ENOUGH, quiet)
        assert found(run, swapped)[0] > 0.9, settings
    one = link(a, b, plan(swaps=(("given", "family"),)), replace(ENOUGH, threads=1), quiet)
    three = link(a, b, plan(swaps=(("given", "family"),)), replace(ENOUGH, threads=3), quiet)
    assert np.array_equal(one.links, three.links)


def test_swaps_that_make_no_sense_are_refused(files):
    for swaps in ((("given", "absent"),), (("given", "family"), ("born", "given")), (("given", "given"),)):
        with pytest.raises(GemelError, match="swaps"):
            plan(swaps=swaps)
    a, b, _ = files
    short = SignatureSet(
        "",
        N,
        {**a.fields, "born": FieldSignatures(64, a.fields["born"].signatures[:, :1].copy(), a.fields["born"].codes)},
        {},
    )
    fields = (FieldPlan("given", 256, BOUNDS), FieldPlan("born", 64, BOUNDS))
    with pytest.raises(GemelError, match="signatures of equal length"):
        link(
            short,
            SignatureSet("", N, {**b.fields, "born": short.fields["born"]}, {}),
            LinkagePlan(fields, swaps=(("given", "born"),)),
            ENOUGH,
            quiet,
        )
