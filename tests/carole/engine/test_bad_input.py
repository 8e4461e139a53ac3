"""Files without usable information: a clear error, or a defined result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import FieldPlan, LinkagePlan, Resources, link
from gemel.carole.fellegi_sunter.schemes import SCHEMES
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet

ENOUGH = Resources(memory_bytes=2**28, threads=1)


def run(a, b, plan):
    return link(a, b, plan, ENOUGH, lambda stage, fraction: None)


def changed(part, name, **values):
    return replace(part, fields={**part.fields, name: replace(part.fields[name], **values)})


def constant(part, name):
    """Every row has the field's first value."""
    field = part.fields[name]
    return changed(part, name, signatures=np.full_like(field.signatures[:1], 7), codes=np.zeros_like(field.codes))


def emptied(part, name):
    """No row has a value of the field."""
    field = part.fields[name]
    return changed(part, name, signatures=field.signatures[:0], codes=np.full_like(field.codes, -1))


def rows(part, n):
    """The first rows only."""
    fields = {}
    for name, field in part.fields.items():
        used, codes = np.unique(field.codes[:n], return_inverse=True)
        absent = int(used[0] == -1)
        fields[name] = FieldSignatures(field.bits, field.signatures[used[absent:]], (codes - absent).astype(np.int32))
    return SignatureSet("", n, fields, {rule: keys[:n] for rule, keys in part.blocks.items()})


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_constant_field_adds_nothing_and_is_named(files, scheme):
    plan = files.plan(blocked=False, scheme=scheme)
    found = run(constant(files.a, "town"), constant(files.b, "town"), plan)
    assert result_warning("field_constant", field="town") in found.warnings
    q = [field.name for field in plan.fields].index("town")
    spread = found.scheme.weights[q]
    others = np.delete(found.scheme.weights, q, axis=0)
    assert np.abs(spread[-1]) < 0.1 < np.abs(others[:, -1]).min()
    assert len(found.links) > (0.4 if scheme == "lr_weighted" else 0.7) * files.n_common


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_field_that_one_side_lacks_adds_nothing_and_is_named(files, scheme):
    found = run(emptied(files.a, "given"), files.b, files.plan(blocked=False, scheme=scheme))
    assert result_warning("field_always_missing", field="given") in found.warnings
    assert result_warning("field_mostly_missing", side="Alice", field="given", share=1.0) in found.warnings
    assert (found.patterns.gamma[:, 0] == -1).all()
    assert len(found.links) > (0.4 if scheme == "lr_weighted" else 0.7) * files.n_common


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_values_equal_cannot_be_linked(files, scheme):
    plan = files.plan(blocked=False, scheme=scheme)
    a, b = files.a, files.b
    for field in plan.fields:
        a, b = constant(a, field.name), constant(b, field.name)
    with pytest.raises(GemelError, match="no field takes two levels") as caught:
        run(a, b, plan)
    assert caught.value.code is ErrorCode.NOT_IDENTIFIED


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_file_linked_with_itself_finds_everyone(files, scheme):
    found = run(files.a, files.a, files.plan(blocked=False, scheme=scheme))
    same = found.pairs.row_a[found.links] == found.pairs.row_b[found.links]
    assert same.mean() > 0.95
    assert np.count_nonzero(same) > 0.9 * files.a.n_rows


@pytest.mark.parametrize("scheme", SCHEMES)
def test_files_without_anyone_in_common_give_few_links(files, scheme):
    """The first rows are the common ones; the others are non-matches, of which a few are similar by chance."""
    a, b = files.a, files.b
    strangers_a = SignatureSet(
        "", 200, {n: replace(f, codes=f.codes[files.n_common :]) for n, f in a.fields.items()}, {}
    )
    strangers_b = SignatureSet(
        "", 150, {n: replace(f, codes=f.codes[files.n_common :]) for n, f in b.fields.items()}, {}
    )
    found = run(strangers_a, strangers_b, files.plan(blocked=False, scheme=scheme))
    assert np.isfinite(found.pairs.link_probability).all()
    assert 0 <= len(found.links) <= 150


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_record_a_file_is_refused_and_one_against_many_is_not(files, scheme):
    plan = files.plan(blocked=False, scheme=scheme)
    with pytest.raises(GemelError) as caught:
        run(rows(files.a, 1), rows(files.b, 1), plan)
    assert caught.value.code is ErrorCode.NOT_IDENTIFIED
    found = run(rows(files.a, 1), files.b, plan)
    assert len(found.links) <= 1


@pytest.mark.parametrize(
    ("bounds", "what"),
    [
        ((0.5, 0.2, 1.0), "ascend"),
        ((0.5, 0.5, 1.0), "ascend"),
        ((0.5, 0.9), "to 1"),
        ((), "ascend"),
        ((-0.1, 1.0), "0"),
    ],
)
def test_levels_out_of_order_are_refused(bounds, what):
    with pytest.raises(GemelError, match=what) as caught:
        LinkagePlan((FieldPlan("surname", 64, bounds),))
    assert caught.value.code is ErrorCode.PARAMETER


@pytest.mark.parametrize(("assignment", "possible"), [("one_to_one", "20"), ("many_to_one", "30"), ("none", "600")])
def test_more_expected_matches_than_the_records_can_have_are_refused(files, assignment, possible):
    plan = files.plan(blocked=False, assignment=assignment)
    with pytest.raises(GemelError, match=possible) as caught:
        run(rows(files.a, 30), rows(files.b, 20), replace(plan, expected_matches=601.0))
    assert caught.value.code is ErrorCode.PARAMETER
    assert caught.value.where == "model.expected_matches"


def test_a_belief_about_m_holds_as_far_as_its_weight_goes(files):
    plan = files.plan(blocked=False)
    free, held = (
        run(files.a, files.b, replace(plan, m_prior=(("given", MPrior(0.3, weight)),))).model for weight in (1.0, 1e5)
    )
    top = free.fields[0].n_levels - 1
    assert held.m[0, top] == pytest.approx(0.3, abs=0.02)
    assert free.m[0, top] > 0.5


@pytest.mark.parametrize("changes", [{"max_kin": 5}, {"max_kin": -1}, {"m_prior": (("unknown", MPrior()),)}])
def test_beliefs_that_cannot_be_are_refused(files, changes):
    with pytest.raises(GemelError) as caught:
        replace(files.plan(blocked=False), **changes)
    assert caught.value.code is ErrorCode.PARAMETER


@pytest.mark.parametrize(("agreement", "weight"), [(0.0, 20.0), (1.0, 20.0), (0.9, 0.0), (0.9, float("inf"))])
def test_beliefs_out_of_range_are_refused(agreement, weight):
    with pytest.raises(GemelError, match="m_prior"):
        MPrior(agreement, weight)
