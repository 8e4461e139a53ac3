"""Runs under rules that are formed from signatures: candidates, estimates, limits, and fields with salts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gemel.carole.engine import Resources, RulePlan, link
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode
from gemel.common.parties import Side
from gemel.common.specification import load_specification
from gemel.common.specification.model.blocking import Bands, Canopies, SimilarValues
from gemel.coordinator.demonstration.people import two_files
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.records import encode_records
from tests.carole.blocking.definition import banded_pairs, candidate_pairs, canopy_rows, similar_rows
from tests.carole.engine.conftest import TwoFiles
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, SEED, codes_of, links_of, n_right, run
from tests.carole.refusals import refusal
from tests.specifications import heading

RULES = (
    RulePlan("bands", ("family",), Bands(field="family", bands=6, bits=24)),
    RulePlan("alike", ("given",), SimilarValues(field="given", minimum=0.7)),
    RulePlan("canopies", ("town",), Canopies(field="town", tight=0.9, loose=0.8)),
    RulePlan("by-born", ("born",)),
)


def test_candidates_are_those_of_the_definitions():
    files = TwoFiles(1, 200, 180, 110)
    plan = replace(files.plan(), rules=RULES)
    a, b = files.a, files.b
    found = run(a, b, plan)
    order = np.random.default_rng(plan.seed).permutation(a.fields["town"].n_distinct + b.fields["town"].n_distinct)
    plain = {
        "bands": banded_pairs(a.fields["family"], b.fields["family"], 6, 24),
        "alike": similar_rows(a.fields["given"], b.fields["given"], 0.7),
        "canopies": canopy_rows(a.fields["town"], b.fields["town"], 0.9, 0.8, order.tolist()),
        "by-born": set(candidate_pairs([a.blocks["by-born"]], [b.blocks["by-born"]])),
    }
    assert found.candidates_per_rule == {name: len(pairs) for name, pairs in plain.items()}
    assert found.n_candidates == len(set().union(*plain.values()))
    assert n_right(found) > 0.85 * files.n_common
    assert found.blocking.method == "kinds of pairs"
    assert 0.9 < found.blocking.recall <= 1


@pytest.mark.parametrize("dependence", ["none", "pairwise"])
def test_threads_change_nothing(files, dependence):
    plan = replace(files.plan(dependence=dependence), rules=RULES)
    one, three = (link(files.a, files.b, plan, replace(ENOUGH, threads=threads), quiet) for threads in (1, 3))
    assert np.array_equal(one.patterns.count, three.patterns.count)
    assert np.array_equal(one.pairs.row_a, three.pairs.row_a)
    assert np.array_equal(one.links, three.links)


def test_large_blocks_are_reported_by_their_sizes(files):
    plan = files.plan(blocked=True)
    family, born = plan.rules
    free, limited, split, bands = (
        run(files.a, files.b, replace(plan, rules=(rule, born)))
        for rule in (
            family,
            replace(family, limit=60),
            replace(family, limit=60, split="town", fields=("family", "town")),
            replace(RULES[0], limit=60),
        )
    )
    assert limited.n_candidates < split.n_candidates < free.n_candidates
    assert any("blocks of more than 60 pairs" in w.text for w in limited.warnings if w.code == "blocks_left_out")
    assert any("were split by town; the largest was" in warning.text for warning in split.warnings)
    assert "blocks_left_out" in codes_of(bands)


def test_bands_and_pairs_that_do_not_fit_are_refused(files):
    plan = replace(files.plan(), rules=(RulePlan("b", ("born",), Bands(field="born", bands=5, bits=16)),))
    with refusal(ErrorCode.PARAMETER, "fit into the signature"):
        run(files.a, files.b, plan)
    everything = replace(plan, rules=(RulePlan("s", ("born",), SimilarValues(field="born", minimum=1e-9)),))
    with refusal(ErrorCode.MEMORY):
        link(files.a, files.b, everything, Resources(3 * 2**22 // 100, 1), quiet)


TEXT = (
    heading("salted", alice="record_id", bob="record_id")
    + """
fields:
  - {name: surname, kind: name, salt: {field: date_of_birth, part: year}}
  - {name: given_name, kind: name}
  - {name: date_of_birth, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
blocking:
  - {name: alike, RULE}
links: {assignment: none, threshold: 0.5}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)


@pytest.mark.parametrize("rule", ["lsh: {field: surname}", "similar: {field: surname}", "canopies: {field: surname}"])
def test_a_rule_of_signatures_works_within_a_salt(rule: str) -> None:
    spec = load_specification(TEXT.replace("RULE", rule))
    files = two_files(400, 400, 200, 0.2, np.random.default_rng(3))
    columns = [clean(frame, spec, side).columns for side, frame in zip(Side, files, strict=True)]
    a, b = (encode_records(each, spec, SEED, 1, shuffle=file_order).sets[0] for each in columns)
    linked = links_of(run(a, b, plan_of(spec)))
    surname, year = (
        [pl.Series(each[name]).str.head(4 if name == "date_of_birth" else 64).to_list() for each in columns]
        for name in ("surname", "date_of_birth")
    )
    assert linked
    assert all(year[0][i] == year[1][j] for i, j in linked), "nothing is found across salts"
    persons = [frame["person_id"].to_list() for frame in files]
    found = {(i, j) for i in range(400) for j in range(400) if persons[0][i] == persons[1][j]}
    same = {(i, j) for i, j in found if surname[0][i] and surname[0][i] == surname[1][j] and year[0][i] == year[1][j]}
    assert len(same) > 100
    assert len(linked & same) > 0.95 * len(same)
