"""A missing value as a level: P(missing) and P(level | there) together, in every part of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import MISSING
from tests.carole.engine.runs import run, with_field
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


def test_at_random_is_the_default(files):
    assert len(files.linked().model.fields) == 4


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
