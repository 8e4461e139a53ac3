"""Decisions of a whole run: each way of deciding, and what it reports about duplicate records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import LinkagePlan, Resources, link
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.pairs.linkage_input import number_warnings
from gemel.carole.engine.pairs.selection import copies
from gemel.carole.engine.run.plan import FieldPlan
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.documents.result_warning import result_warning
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.progress import quiet

ENOUGH = Resources(memory_bytes=2**28, threads=2)


def run_of(files, **settings):
    return link(files.a, files.b, files.plan(blocked=False, **settings), ENOUGH, quiet)


@pytest.mark.parametrize("assignment", ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"])
def test_how_often_a_record_may_be_linked(files, assignment):
    run = run_of(files, assignment=assignment)
    row_a, row_b = run.pairs.row_a[run.links], run.pairs.row_b[run.links]
    if assignment not in ("one_to_many", "none"):
        assert len(np.unique(row_a)) == len(row_a)
    if assignment not in ("many_to_one", "none"):
        assert len(np.unique(row_b)) == len(row_b)
    assert (run.pairs.link_probability[run.links] >= 0.5).all()
    assert run.threshold == 0.5
    assert (row_a == row_b).mean() > 0.85
    if assignment == "many_to_one":
        assert np.bincount(run.pairs.row_a, run.pairs.link_probability).max() <= 1 + 1e-9
    if assignment == "one_to_many":
        assert np.bincount(run.pairs.row_b, run.pairs.link_probability).max() <= 1 + 1e-9


def test_a_requested_rate_of_false_links_holds_in_expectation(files):
    strict, loose = (run_of(files, false_link_rate=rate) for rate in (0.001, 0.05))
    for run, rate in ((strict, 0.001), (loose, 0.05)):
        chosen = run.pairs.link_probability[run.links]
        assert (1 - chosen).mean() <= rate
        assert chosen.min() == run.threshold
    assert len(strict.links) < len(loose.links)
    assert set(strict.links) < set(loose.links)


def doubled(part, rows):
    """A set with some of its rows again at its end."""
    fields = {
        name: FieldSignatures(field.bits, field.signatures, np.concatenate([field.codes, field.codes[rows]]))
        for name, field in part.fields.items()
    }
    return SignatureSet("", part.n_rows + len(rows), fields, {})


def test_records_that_come_twice_are_counted(files):
    whole = np.flatnonzero(np.all([field.codes >= 0 for field in files.a.fields.values()], axis=0))
    again = whole[whole < files.n_common][:7]
    before = run_of(files)
    run = link(doubled(files.a, again), files.b, files.plan(blocked=False), ENOUGH, quiet)
    assert run.duplicates[0].equal == before.duplicates[0].equal + 14
    assert run.duplicates[1].equal == before.duplicates[1].equal
    assert run.duplicates[0].same_partner >= 10
    for code, records in (
        ("equal_records", run.duplicates[0].equal),
        ("shared_partner", run.duplicates[0].same_partner),
    ):
        named = {"assignment": "one_to_one", "other": "many_to_one"}
        assert result_warning(code, records=records, side="Alice", **named) in run.warnings
    several = link(doubled(files.a, again), files.b, files.plan(blocked=False, assignment="none"), ENOUGH, quiet)
    assert not {"equal_records", "shared_partner"} & {warning.code for warning in several.warnings}


def test_copies_are_linked_once_and_named(files):
    """Half of the common people twice in Alice's file: no link is lost, and m is what it was."""
    whole = np.flatnonzero(np.all([field.codes >= 0 for field in files.a.fields.values()], axis=0))
    again = whole[whole < files.n_common][::2]
    before = run_of(files)
    plan = files.plan(blocked=False)
    run = link(doubled(files.a, again), files.b, plan, ENOUGH, quiet)
    assert len(run.links) >= len(before.links) - 2
    assert np.unique(run.pairs.row_b[run.links]).size == len(run.links)
    np.testing.assert_allclose(run.model.m, before.model.m, atol=0.05)
    first = run.copies[0]
    assert first is not None
    assert (first[files.a.n_rows :] == again).all()
    several = link(doubled(files.a, again), files.b, replace(plan, assignment="many_to_one"), ENOUGH, quiet)
    assert several.copies == (None, None)
    stated = findings(several, plan, ENOUGH, {}).linkage
    assert (stated.records.alice, stated.records.bob) == (files.a.n_rows + len(again), files.b.n_rows)
    assert stated.records.bob - stated.unlinked.bob < stated.links
    assert len(several.links) > len(before.links) + 0.9 * len(np.intersect1d(again, before.pairs.row_a[before.links]))


def test_equal_records_that_chance_explains_are_no_copies(files):
    """Two fields with few values: many people are equal in both, as in a survey."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**63, (4, 1), dtype=np.uint64)
    fields = {
        name: FieldSignatures(64, values, rng.integers(0, 4, 300).astype(np.int32)) for name in ("region", "schooling")
    }
    part = SignatureSet("", 300, fields, {})
    plan = LinkagePlan(tuple(FieldPlan(name, 64, (0.5, 1.0)) for name in fields))
    u = np.full((2, 2), [0.75, 0.25])
    model = replace(run_of(files).model, fields=tuple(FieldLevels(name, 2) for name in fields), m=u, u=u)
    assert copies(part, plan, model) is None
    rarely = replace(model, u=np.full((2, 2), [1 - 1e-4, 1e-4]))
    assert copies(part, plan, rarely) is not None


def test_more_links_than_records_are_no_claim(files):
    run = run_of(files, assignment="none", threshold=1e-12)
    larger = max(files.a.n_rows, files.b.n_rows)
    assert len(run.links) > larger
    assert result_warning("links_exceed_both_files", links=len(run.links), records=larger) in run.warnings
    stated = findings(run, files.plan(blocked=False), ENOUGH, {}).linkage
    assert stated.expected is None
    assert all(row.links <= larger for row in stated.thresholds)
    (between,) = number_warnings(110, 100, 120)
    assert between.code == "links_exceed_smaller_file"
    assert not list(number_warnings(100, 100, 120))
