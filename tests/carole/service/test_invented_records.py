"""Runs in which a custodian has invented records to learn attributes of people, and runs on honest files.

Twenty near-copies each of 40 people in 2,000, through the real Carole, in modes open and block_keyed.
"""

from __future__ import annotations

import json

import polars as pl
import pytest

from benchmarks._leakage_invented import COPIES, PROBED, honest, probed
from gemel.carole.projects.project import State
from gemel.carole.store.results import RESOLUTION_RESULT
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from gemel.common.specification import load_specification
from gemel.custodian.cleaning.columns import clean
from gemel.custodian.encoding.records import encode_records
from tests.carole import trial
from tests.carole.deployment import SEED
from tests.carole.refusals import refusal
from tests.carole.service.test_assessed_runs import lease, project, report
from tests.carole.service.test_coded_runs import put, resolved
from tests.carole.trial import take
from tests.specifications import heading

FILES_SEED = 5
TEXT = (
    heading("trial")
    + """
fields:
  - {name: given_name, kind: name, bits: 256, describes: name}
  - {name: surname, kind: name, bits: 256}
  - {name: date_of_birth, kind: date, bits: 256, date: {order: ymd}}
  - {name: postcode, kind: code, bits: 256}
blocking:
  - {name: born, keys: [{field: date_of_birth}]}
  - {name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}
variables:
  - {name: sex, holder: both, categories: [f, m], role: key}
assessment:
  fractions: {alice: 0.3, bob: 0.3, combined: 0.2}
  limits: {correct_matches: 1}
  on_breach: hold
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


class Contribution(trial.Contribution):
    """A custodian's file, cleaned, signed and cut into chunks."""

    def __init__(self, side, frame, text):
        spec = load_specification(text)
        cleaned = clean(frame.with_columns(pl.col("sex").str.to_lowercase()), spec, side)
        self.encoded = encode_records(cleaned.columns, spec, SEED, 1, variables=cleaned.variables)
        self.cut(self.encoded.sets, layout=self.encoded.layout)


def carried_out(carole, mode, files, more=""):
    """A whole run on two files; its name."""
    text = TEXT.replace("mode: open", f"mode: {mode}").replace("  on_breach: hold\n", f"  on_breach: hold\n{more}")
    given = {side: Contribution(side, files[side], text) for side in Side}
    trial.contributed(carole.store, dict(given), project(text))
    spec, done = load_specification(text), lease(carole, "a")
    links = carole.carry_out(done, spec)
    if mode == "open":
        assert links
        return done.run
    put(carole, done.run, RESOLUTION_RESULT, resolved(carole, done.run, spec, given))
    assert carole.carry_out(take(carole.store), spec)
    return done.run


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_near_copies_hold_the_run_and_report_and_log_name_them(carole, mode):
    files = dict(probed(honest(FILES_SEED), "postcode", FILES_SEED).files)
    run = carried_out(carole, mode, files)
    assert carole.store.projects.get("trial").state is State.HELD
    with refusal(ErrorCode.WRONG_STATE):
        carole.store.results.fetch("trial", Role.CUSTODIAN_B, run, 0)
    document = report(carole, run)
    assert [breach["measure"] for breach in document["breaches"]] == ["near_copies"]
    assert document["contributions"]["bob"]["near_copies"] == PROBED * COPIES
    assert document["contributions"]["alice"]["near_copies"] == 0
    assert "the larger share is Bob's" in document["measures"]["near_copies"]["method"]
    _, entries = carole.store.audit.proven("trial", 0, 200)
    assessed = {entry.action: entry.details for entry, _ in entries}["assess"]
    details = json.loads(assessed) if isinstance(assessed, str) else assessed
    assert details["breaches"] == "near_copies"
    assert details["near_copies"] == document["measures"]["near_copies"]["judged"] > 0.25
    assert 0 < details["unlinked"] < 0.99


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_honest_files_with_duplicates_are_released(carole, mode):
    run = carried_out(carole, mode, honest(FILES_SEED))
    assert carole.store.projects.get("trial").state is State.RELEASED
    document = report(carole, run)
    assert document["measures"]["near_copies"]["value"] == 0.0
    assert 0.4 < document["measures"]["unlinked"]["value"] < 0.7


def test_a_policy_may_allow_copies_and_want_more_in_common(carole):
    files = dict(probed(honest(FILES_SEED), "postcode", FILES_SEED).files)
    run = carried_out(carole, "open", files, "  near_copies: 0.5\n  minimum_overlap: 0.9\n")
    assert carole.store.projects.get("trial").state is State.HELD
    assert [breach["measure"] for breach in report(carole, run)["breaches"]] == ["unlinked"]
