"""Decisions of a whole run: each way of deciding, and what it reports about duplicate records."""

from __future__ import annotations

import numpy as np
import pytest

from tryst.carole.engine import Resources, link
from tryst.common.documents.result_warning import result_warning
from tryst.common.encoding.signature_sets import FieldSignatures, SignatureSet

ENOUGH = Resources(memory_bytes=2**28, threads=2)


def silent(stage, fraction):
    assert 0 <= fraction <= 1


def run_of(files, **settings):
    return link(files.a, files.b, files.plan(blocked=False, **settings), ENOUGH, silent)


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
    run = link(doubled(files.a, again), files.b, files.plan(blocked=False), ENOUGH, silent)
    assert run.duplicates[0].equal == before.duplicates[0].equal + 14
    assert run.duplicates[1].equal == before.duplicates[1].equal
    assert run.duplicates[0].same_partner >= 10
    for code, records in (
        ("equal_records", run.duplicates[0].equal),
        ("shared_partner", run.duplicates[0].same_partner),
    ):
        assert result_warning(code, records=records, side="Alice") in run.warnings
    several = link(doubled(files.a, again), files.b, files.plan(blocked=False, assignment="none"), ENOUGH, silent)
    assert not {"equal_records", "shared_partner"} & {warning.code for warning in several.warnings}
