"""A missing value as a level: P(missing) and P(level | there) together, in every part of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import Resources, link
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import MISSING, SignatureSet

ENOUGH = Resources(memory_bytes=2**28, threads=2)


def run(a, b, plan):
    return link(a, b, plan, ENOUGH, lambda stage, fraction: None)


def with_level(plan, *names):
    return replace(plan, fields=tuple(replace(f, missing_as_level=f.name in names) for f in plan.fields))


def lacking(files, rng):
    """Town is missing of the same people in both files, and else rarely."""
    sets = []
    moved = rng.random(files.n_common) < 0.4
    for part in (files.a, files.b):
        codes = part.fields["town"].codes.copy()
        codes[: files.n_common][moved] = MISSING
        sets.append(replace(part, fields={**part.fields, "town": replace(part.fields["town"], codes=codes)}))
    return sets


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("dependence", ["none", "decomposable"])
def test_its_estimates_agree_with_the_data(files, blocked, dependence):
    a, b = lacking(files, np.random.default_rng(1))
    plan = with_level(files.plan(blocked=blocked, dependence=dependence), "town")
    found = run(a, b, plan)
    assert [field.name for field in found.model.fields][-1] == "town-present"
    there = [np.mean(part.fields["town"].codes != MISSING) for part in (a, b)]
    # By chance alone; the matches' share is removed, and here they often lack it.
    assert found.model.u[-1, 1] == pytest.approx(np.prod(there), abs=0.01)
    common = [part.fields["town"].codes[: files.n_common] != MISSING for part in (a, b)]
    assert found.model.m[-1, 1] == pytest.approx(np.mean(common[0] & common[1]), abs=0.08)
    assert len(found.links) > 0.7 * files.n_common


def test_vectors_hold_it_for_every_pair(files):
    found = run(files.a, files.b, with_level(files.plan(blocked=False), "town", "born"))
    names = [field.name for field in found.model.fields]
    for name in ("town", "born"):
        straight, present = (found.patterns.gamma[:, names.index(n)] for n in (name, f"{name}-present"))
        assert ((straight >= 0) == (present == 1)).all()
    lacks = (files.a.fields["town"].codes == MISSING).sum() * files.b.n_rows
    lacks += (files.b.fields["town"].codes == MISSING).sum() * (files.a.fields["town"].codes != MISSING).sum()
    assert found.patterns.count[found.patterns.gamma[:, names.index("town-present")] == 0].sum() == lacks


def test_at_random_is_the_default(files):
    plain = run(files.a, files.b, files.plan(blocked=False))
    assert len(plain.model.fields) == 4


def test_a_field_that_is_never_missing_gains_nothing_and_is_named(files):
    sets = []
    for part in (files.a, files.b):
        codes = np.maximum(part.fields["town"].codes, 0)
        sets.append(replace(part, fields={**part.fields, "town": replace(part.fields["town"], codes=codes)}))
    found = run(*sets, with_level(files.plan(blocked=False), "town"))
    assert result_warning("field_constant", field="town-present") in found.warnings
    assert abs(found.scheme.weights[-1, 1]) < 0.1


def test_an_unidentified_model_is_still_refused(files):
    """One field and its presence are two: not enough where u is estimated."""
    plan = with_level(files.plan(blocked=False), "town")
    plan = replace(plan, fields=plan.fields[-1:])
    with pytest.raises(GemelError) as caught:
        run(*(SignatureSet("", s.n_rows, {"town": s.fields["town"]}, {}) for s in (files.a, files.b)), plan)
    assert caught.value.code is ErrorCode.NOT_IDENTIFIED


def test_it_goes_with_exchanged_fields(files):
    sets = []
    for part in (files.a, files.b):
        fields = {**part.fields, "given": replace(part.fields["family"]), "family": part.fields["family"]}
        sets.append(replace(part, fields=fields))
    plan = with_level(files.plan(blocked=False), "given")
    fields = tuple(replace(f, bits=192) if f.name == "given" else f for f in plan.fields)
    found = run(*sets, replace(plan, fields=fields, swaps=(("given", "family"),)))
    assert [field.name for field in found.model.fields][-2:] == ["given-family-exchanged", "given-present"]
