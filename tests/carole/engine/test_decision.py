"""Decisions of a whole run: each way of deciding, and what it reports about duplicate records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import LinkagePlan
from gemel.carole.engine.documents.run_documents import findings
from gemel.carole.engine.pairs.linkage_input import number_warnings
from gemel.carole.engine.pairs.selection import copies
from gemel.carole.engine.run.plan import FieldPlan
from gemel.carole.fellegi_sunter.settings import FieldLevels
from gemel.common.documents.result_warning import result_warning
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.runs import ENOUGH, codes_of, of_rows, run


@pytest.mark.parametrize("assignment", ["one_to_one", "greedy", "many_to_one", "one_to_many", "none"])
def test_how_often_a_record_may_be_linked(files, assignment):
    found = files.linked(assignment=assignment)
    pairs = found.pairs
    row_a, row_b = pairs.row_a[found.links], pairs.row_b[found.links]
    for rows, every, several, alone in (
        (row_a, pairs.row_a, "one_to_many", "many_to_one"),
        (row_b, pairs.row_b, "many_to_one", "one_to_many"),
    ):
        if assignment not in (several, "none"):
            assert len(np.unique(rows)) == len(rows)
        if assignment == alone:
            assert np.bincount(every, pairs.link_probability).max() <= 1 + 1e-9
    assert (pairs.link_probability[found.links] >= 0.5).all()
    assert found.threshold == 0.5
    assert (row_a == row_b).mean() > 0.85


def test_a_requested_rate_of_false_links_holds_in_expectation(files):
    strict, loose = (files.linked(false_link_rate=rate) for rate in (0.001, 0.05))
    for found, rate in ((strict, 0.001), (loose, 0.05)):
        chosen = found.pairs.link_probability[found.links]
        assert (1 - chosen).mean() <= rate
        assert chosen.min() == found.threshold
    assert set(strict.links) < set(loose.links)


def doubled(files, step):
    """Which of the common people with all fields, one in so many, are twice in Alice's file; and that file."""
    whole = np.flatnonzero(np.all([field.codes >= 0 for field in files.a.fields.values()], axis=0))
    again = whole[whole < files.n_common][::step]
    return again, of_rows(files.a, np.concatenate([np.arange(files.a.n_rows), again]))


def test_records_that_come_twice_are_counted(files):
    again, twice = doubled(files, 20)
    before, found = files.linked(), run(twice, files.b, files.plan())
    assert found.duplicates[0].equal == before.duplicates[0].equal + 2 * len(again)
    assert found.duplicates[1].equal == before.duplicates[1].equal
    assert found.duplicates[0].same_partner >= 1.4 * len(again) >= 10
    for code, records in (
        ("equal_records", found.duplicates[0].equal),
        ("shared_partner", found.duplicates[0].same_partner),
    ):
        named = {"assignment": "one_to_one", "other": "many_to_one"}
        assert result_warning(code, records=records, side="Alice", **named) in found.warnings
    several = run(twice, files.b, files.plan(assignment="none"))
    assert not {"equal_records", "shared_partner"} & codes_of(several)


def test_copies_are_linked_once_and_named(files):
    """Half of the common people twice in Alice's file: no link is lost, and m is what it was."""
    again, twice = doubled(files, 2)
    before, plan = files.linked(), files.plan()
    found = run(twice, files.b, plan)
    assert len(found.links) >= len(before.links) - 2
    assert np.unique(found.pairs.row_b[found.links]).size == len(found.links)
    np.testing.assert_allclose(found.model.m, before.model.m, atol=0.05)
    assert (found.copies[0][files.a.n_rows :] == again).all()
    several = run(twice, files.b, replace(plan, assignment="many_to_one"))
    assert several.copies == (None, None)
    stated = findings(several, plan, ENOUGH, {}).linkage
    assert (stated.records.alice, stated.records.bob) == (twice.n_rows, files.b.n_rows)
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
    model = replace(files.linked().model, fields=tuple(FieldLevels(name, 2) for name in fields), m=u, u=u)
    assert copies(part, plan, model) is None
    rarely = replace(model, u=np.full((2, 2), [1 - 1e-4, 1e-4]))
    assert copies(part, plan, rarely) is not None


def test_more_links_than_records_are_no_claim(files):
    found = files.linked(assignment="none", threshold=1e-12)
    larger = max(files.a.n_rows, files.b.n_rows)
    assert len(found.links) > larger
    assert result_warning("links_exceed_both_files", links=len(found.links), records=larger) in found.warnings
    stated = findings(found, files.plan(), ENOUGH, {}).linkage
    assert stated.claims is None
    assert all(row.links <= larger for row in stated.thresholds)
    (between,) = number_warnings(110, 100, 120)
    assert between.code == "links_exceed_smaller_file"
    assert not list(number_warnings(100, 100, 120))
