"""Files without usable information, and blocking that finds no pair or all: a clear error, or a defined result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import RulePlan
from gemel.carole.fellegi_sunter.schemes import SCHEMES
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification.model.blocking import Bands, Canopies, SimilarValues
from tests.carole.engine.runs import constant, emptied, of_rows, run
from tests.carole.refusals import refusal

EVERY_SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
FORMED = [
    Bands(field="town", bands=4, bits=16),
    Canopies(field="town", tight=0.9, loose=0.6),
    SimilarValues(field="town", minimum=0.8),
]
EVERY_RULE = pytest.mark.parametrize("formed", FORMED, ids=lambda rule: type(rule).__name__)


def rows(part, n):
    """The first rows, with their own signatures only."""
    fields = {}
    for name, field in part.fields.items():
        used, codes = np.unique(field.codes[:n], return_inverse=True)
        absent = int(used[0] == -1)
        fields[name] = FieldSignatures(field.bits, field.signatures[used[absent:]], (codes - absent).astype(np.int32))
    return replace(of_rows(part, slice(n)), fields=fields)


@EVERY_SCHEME
def test_a_constant_field_adds_nothing_and_is_named(files, scheme):
    found = run(constant(files.a, "town"), constant(files.b, "town"), files.plan(scheme=scheme))
    assert result_warning("field_constant", field="town") in found.warnings
    top = np.abs(found.scheme.weights[:, -1])
    assert top[3] < 0.1 < top[:3].min()
    assert len(found.links) > (0.4 if scheme == "lr_weighted" else 0.7) * files.n_common


@pytest.mark.parametrize(("scheme", "blocked"), [*((scheme, False) for scheme in SCHEMES), ("multinomial", True)])
def test_a_field_that_one_side_lacks_adds_nothing_and_is_named(files, scheme, blocked):
    found = run(emptied(files.a, "given"), files.b, files.plan(blocked=blocked, scheme=scheme))
    assert result_warning("field_always_missing", field="given") in found.warnings
    assert result_warning("field_mostly_missing", side="Alice", field="given", share=1.0) in found.warnings
    assert found.missing["given"][0] == 1
    assert (found.patterns.gamma[:, 0] == -1).all()
    assert len(found.links) > (0.4 if scheme == "lr_weighted" else 0.7) * files.n_common


@EVERY_SCHEME
def test_all_values_equal_cannot_be_linked(files, scheme):
    a, b = files.a, files.b
    for name in a.fields:
        a, b = constant(a, name), constant(b, name)
    with refusal(ErrorCode.NOT_IDENTIFIED, "no field takes two levels"):
        run(a, b, files.plan(scheme=scheme))


@EVERY_SCHEME
def test_a_file_linked_with_itself_finds_everyone(files, scheme):
    found = run(files.a, files.a, files.plan(scheme=scheme))
    same = found.pairs.row_a[found.links] == found.pairs.row_b[found.links]
    assert same.mean() > 0.95
    assert np.count_nonzero(same) > 0.9 * files.a.n_rows


@EVERY_SCHEME
def test_files_without_anyone_in_common_give_few_links(files, scheme):
    """The first rows are the common ones; the others are non-matches, of which a few are similar by chance."""
    strangers = (of_rows(part, slice(files.n_common, None)) for part in (files.a, files.b))
    found = run(*strangers, files.plan(scheme=scheme))
    assert np.isfinite(found.pairs.link_probability).all()
    assert 0 <= len(found.links) <= 150


@EVERY_SCHEME
def test_one_record_a_file_is_refused_and_one_against_many_is_not(files, scheme):
    plan = files.plan(scheme=scheme)
    with refusal(ErrorCode.NOT_IDENTIFIED):
        run(rows(files.a, 1), rows(files.b, 1), plan)
    assert len(run(rows(files.a, 1), files.b, plan).links) <= 1


def test_a_belief_about_m_holds_as_far_as_its_weight_goes(files):
    free, held = (files.linked(m_prior=(("given", MPrior(0.3, weight)),)).model for weight in (1.0, 1e5))
    top = free.fields[0].n_levels - 1
    assert held.m[0, top] == pytest.approx(0.3, abs=0.02)
    assert free.m[0, top] > 0.5


def by_town(files, formed, **settings):
    rules = RulePlan("town", ("town",), formed, **settings), RulePlan("by-born", ("born",))
    return replace(files.plan(), rules=rules)


@EVERY_RULE
def test_a_rule_of_a_field_that_one_side_lacks_proposes_nothing(files, formed):
    found = run(files.a, emptied(files.b, "town"), by_town(files, formed))
    assert found.candidates_per_rule["town"] == 0
    assert result_warning("rule_without_pairs", rule="town") in found.warnings
    assert len(found.links) > 0.7 * files.n_common


@EVERY_RULE
def test_a_rule_of_a_constant_field_proposes_everything(files, formed):
    found = run(constant(files.a, "town"), constant(files.b, "town"), by_town(files, formed))
    assert found.n_candidates == files.a.n_rows * files.b.n_rows
    assert len(found.links) > 0.7 * files.n_common


def test_one_block_of_everything_is_left_to_the_other_rules(files):
    plan = by_town(files, FORMED[0], limit=1000)
    found = run(constant(files.a, "town"), constant(files.b, "town"), plan)
    assert found.candidates_per_rule["town"] == 0
    assert any("(560,000 pairs) were left to the other rules" in warning.text for warning in found.warnings)


@EVERY_RULE
def test_one_record_against_many_under_a_formed_rule(files, formed):
    assert len(run(of_rows(files.a, slice(1)), files.b, by_town(files, formed)).links) <= 1
