"""Blocking that finds no pairs, or all pairs: a clear error or a defined result, and a warning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import Resources, RulePlan, link
from gemel.carole.engine.run.plan import Bands, Canopies, Similar
from gemel.common.documents.result_warning import result_warning
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=2**28, threads=2)
FORMED = [Bands("town", 4, 16), Canopies("town", 0.9, 0.6), Similar("town", 0.8)]


def with_town(part, signatures, codes):
    return SignatureSet("", part.n_rows, {**part.fields, "town": FieldSignatures(256, signatures, codes)}, part.blocks)


def constant(files):
    same = np.full((1, 4), 7, np.uint64)
    return (with_town(side, same, np.zeros(side.n_rows, np.int32)) for side in (files.a, files.b))


def plan_of(files, formed, **settings):
    rules = RulePlan("town", ("town",), formed, **settings), RulePlan("by-born", ("born",))
    return replace(files.plan(blocked=False), rules=rules)


@pytest.mark.parametrize("formed", FORMED)
def test_a_field_that_one_side_lacks_proposes_nothing(files, formed):
    b = with_town(files.b, np.empty((0, 4), np.uint64), np.full(files.b.n_rows, -1, np.int32))
    run = link(files.a, b, plan_of(files, formed), ENOUGH, quiet)
    assert run.candidates_per_rule["town"] == 0
    assert result_warning("rule_without_pairs", rule="town") in run.warnings
    assert len(run.links) > 0.7 * files.n_common


@pytest.mark.parametrize("formed", FORMED)
def test_a_constant_field_proposes_everything(files, formed):
    a, b = constant(files)
    run = link(a, b, plan_of(files, formed), ENOUGH, quiet)
    assert run.n_candidates == a.n_rows * b.n_rows
    assert len(run.links) > 0.7 * files.n_common


def test_one_block_of_everything_is_left_to_the_other_rules(files):
    a, b = constant(files)
    run = link(a, b, plan_of(files, FORMED[0], limit=1000), ENOUGH, quiet)
    assert run.candidates_per_rule["town"] == 0
    assert any("(560,000 pairs) were left to the other rules" in warning.text for warning in run.warnings)


@pytest.mark.parametrize("formed", FORMED)
def test_one_record_against_many(files, formed):
    fields = {n: FieldSignatures(f.bits, f.signatures, f.codes[:1]) for n, f in files.a.fields.items()}
    one = SignatureSet("", 1, fields, {name: keys[:1] for name, keys in files.a.blocks.items()})
    assert len(link(one, files.b, plan_of(files, formed), ENOUGH, quiet).links) <= 1
