"""A custodian's own file, attacked under its specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.common.documents.result_warning import result_warning
from gemel.common.keys.noise import AssessmentKeys
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding import rows_of_mode
from gemel.custodian.leakage import own_blocks
from gemel.custodian.leakage.block_view import BlockView
from gemel.custodian.leakage.leakage_assessment import assess
from gemel.custodian.leakage.own_whole import public_values
from gemel.custodian.leakage.view import FieldView
from gemel.custodian.leakage_report import LeakageReport
from tests.custodian.leakage.names import people, public_surnames
from tests.specifications import heading

HEAD = (
    heading("people", "MODE")
    + """
fields:
  - {name: surname, kind: name, bits: 256}
  - {name: sex, kind: category}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: year, keys: [{field: surname, prefix: 1}, {field: born, part: year}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


def specification(mode: str) -> Specification:
    return load_specification(HEAD.replace("MODE", mode), "test")


SPEC_KEYED = specification("block_keyed")


def test_a_sex_of_unequal_shares_is_read_in_open_mode_and_a_warning_says_so() -> None:
    columns = people(200, 1) | {"sex": pl.Series(["f", "m", "m", "m"] * 50)}
    report = assess(columns, specification("open"))
    assert report.by_field()["sex"].above_chance > 0.2
    assert report.exceeds
    assert not report.refuses, "open mode warns unless the specification sets otherwise"


@pytest.mark.long
def test_open_mode_leaks_and_says_so() -> None:
    report = assess(people(6000, 1), specification("open"))
    found = report.by_field()
    assert found["surname"].above_chance > 0.3
    assert found["sex"].above_chance > 0.4
    assert report.exceeds
    assert not report.refuses, "open mode warns unless the specification sets otherwise"


@pytest.mark.parametrize(
    ("mode", "n"), [("open", 300), ("block_keyed", 60), pytest.param("open", 4000, marks=pytest.mark.long)]
)
def test_flipped_bits_are_attacked_as_they_are_sent(mode: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attacker knows the public probability, field by field; with it she reads on."""
    noisy = load_specification(HEAD.replace("MODE", mode).replace("bits: 256", "bits: 256, randomised_response: 0.05"))
    seen: list[float] = []
    of = FieldView.of.__func__  # type: ignore[attr-defined]

    def kept(cls: type[FieldView], field: FieldSignatures, randomised_response: float = 0.0) -> FieldView:
        seen.append(randomised_response)
        return of(cls, field, randomised_response)

    monkeypatch.setattr(FieldView, "of", classmethod(kept))
    report = assess(people(n, 1), noisy)
    assert set(seen) == {0.0, 0.05}
    if n > 1000:
        assert report.by_field()["surname"].above_chance > 0.25


def test_blocks_of_birthdays_do_not_leak_surnames() -> None:
    report = assess(people(2500, 2), specification("block_keyed"))
    assert report.refuses
    surname = [f for f in report.findings if f.field == "surname" and f.rule == "born"]
    assert surname
    assert max(f.above_chance for f in surname) < 0.04  # some hundred records are drawn
    assert {f.rule for f in report.findings} == {"born", "year", ""}  # the samples are of no rule
    assert {f.attack for f in report.findings if f.field == "surname" and f.rule == "year"} == {
        "each block by itself",
        "blocks of the field's own keys",
    }


TRAITS = """
variables:
  - {name: trait, holder: alice, categories: [a, b, c]}
  - {name: rare, holder: alice, categories: [x, y]}
"""


def rare_by_cooccurrence(report: LeakageReport) -> float:
    """Share of the codes of the variable `rare` that the attack by co-occurrence reads."""
    return max(found.recovered for found in report.codes if found.field == "rare" and "co-occurrence" in found.attack)


@pytest.mark.parametrize(
    ("mode", "n"), [("open", 400), ("block_keyed", 400), pytest.param("open", 2000, marks=pytest.mark.long)]
)
def test_codes_of_variables_are_reported_and_not_judged(mode: str, n: int) -> None:
    columns = people(n, 5)
    rng = np.random.default_rng(6)
    # The trait goes with the commonest surnames, which the alignment reads.
    common = columns["surname"].is_in(public_surnames(3000).values[:60]).to_numpy()
    trait = np.where(common, 0, rng.integers(1, 3, n)).astype(np.int32)
    variables = {"trait": pl.Series(trait), "rare": pl.Series([0] * (n - 1) + [1], dtype=pl.Int32)}
    spec = load_specification(HEAD.replace("MODE", mode) + TRAITS + "release: {assessment: none}\n", "test")
    report = assess(columns, spec, variables)
    margins = {found.field: found for found in report.codes if "margins" in found.attack}
    assert margins["rare"].recovered == 1, "two categories of very different counts"
    assert margins["rare"].chance == pytest.approx(1 - 1 / n)
    across = [found for found in report.codes if "co-occurrence" in found.attack]
    assert bool(across) == (mode == "open"), "codes are beside signatures in open mode only"
    if n > 1000:
        assert rare_by_cooccurrence(report) > 0.5
    assert not {found.field for found in report.findings} & {"trait", "rare"}
    assert "own_combinations" in {warning.code for warning in report.warnings}
    assert {each["field"] for each in report.as_dict()["codes"]} == {"trait", "rare"}


def test_trusted_mode_hides_nothing() -> None:
    report = assess(people(10, 3), specification("trusted"))
    assert all(found.above_chance == 1 for found in report.findings)


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_empty_fields_one_value_and_a_missing_blocking_field(mode: str) -> None:
    columns = {
        "surname": pl.Series([None, None, None], dtype=pl.String),
        "sex": pl.Series(["f", "f", "f"]),
        "born": pl.Series(["19800101", None, None], dtype=pl.String),
    }
    report = assess(columns, specification(mode))
    assert "surname" not in report.by_field()
    assert report.by_field().get("sex") is None or report.by_field()["sex"].above_chance == 0
    assert not report.exceeds


def test_a_join_by_carole_is_reported_as_left_out() -> None:
    columns = {name: values.head(0) for name, values in people(1, 4).items()}
    capped = load_specification(HEAD.replace("MODE", "block_keyed") + "resolution: {by: carole, max_records: 9}\n")
    joins = result_warning("joins_not_measured")
    reported = [joins in assess(columns, spec).warnings for spec in (SPEC_KEYED, capped)]
    assert reported == [False, True]


@pytest.mark.parametrize(("mode", "beside"), [("open", "beside their signatures"), ("block_keyed", "beside no sign")])
def test_codes_are_counted_and_change_no_finding(mode: str, beside: str) -> None:
    """Among them one that lacks a value, which is a value of its own here."""
    variables = "variables: [{name: region, holder: alice, categories: [a, b, c, d, e, f, g]}, "
    variables += "{name: age, holder: both, categories: [x, y, z, u, v]}]\nrelease: {assessment: none}\n"
    spec = load_specification(HEAD.replace("MODE", mode) + variables)
    places = [(i % 7, i % 5) for i in range(30)] + [(3, None) if i == 0 else (i % 2, i % 2) for i in range(10)]
    held = {
        "region": pl.Series([region for region, _ in places], dtype=pl.Int32),
        "age": pl.Series([age for _, age in places], dtype=pl.Int32),
    }
    columns = people(40, 5)
    report = assess(columns, spec, held)
    alone = sum(places.count(one) == 1 for one in places)
    assert 25 < alone < 35
    (reported,) = [warning.text for warning in report.warnings if "codes of 2 variables" in warning.text]
    assert beside in reported
    assert f"{alone / 40:.1%} of the records" in reported
    plain = assess(columns, specification(mode))
    # Which field is best read, and so helps to read the others, depends on the throw-away keys.
    assert [(f.field, f.rule, f.attack.split(" with ")[0]) for f in report.findings] == [
        (f.field, f.rule, f.attack.split(" with ")[0]) for f in plain.findings
    ]


def test_the_dictionary_is_the_files_own_values_with_other_counts() -> None:
    field = specification("open").field("surname")
    column = pl.Series(["smith"] * 50 + ["jones"] * 20 + [None, "lee"])
    public = public_values(column, field, np.random.default_rng(1))
    assert public is not None
    assert set(public.values) == {"smith", "jones", "lee"}
    assert public.values[0] == "smith"
    assert public_values(pl.Series([None], dtype=pl.String), field, np.random.default_rng(1)) is None


def test_padded_blocks_are_attacked_as_they_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack sees padded sizes and what they may hide; what it recovers is counted by records, not by dummies."""
    seen: list[tuple[BlockView, np.ndarray]] = []
    attacked = own_blocks.attack_by_size

    def kept(*given: Any) -> Any:
        seen.append((given[3], given[9]))
        return attacked(*given)

    monkeypatch.setattr(own_blocks, "attack_by_size", kept)
    columns = people(1500, 4)
    plain = specification("block_keyed")
    report = assess(columns, plain.model_copy(update={"padding": "powers_of_two"}))
    assert {found.rule for found in report.findings} == {"born", "year", ""}
    assert seen
    for blocks, records in seen:
        assert (blocks.sizes & (blocks.sizes - 1) == 0).all()
        assert blocks.minimum is not None
        assert (blocks.minimum == blocks.sizes // 2 + 1).all()
        assert records.sum() < blocks.view.counts.sum()
        assert (records <= blocks.view.counts).all()


@pytest.mark.parametrize("number", [1, 2])
def test_a_field_that_the_key_fixes_is_known_as_if_it_were_sent(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is sent; the attacker knows nevertheless which rows have one value, and the report is the same."""
    keys = AssessmentKeys.of_number(number)
    columns = people(100, number)
    found = assess(columns, SPEC_KEYED, keys=keys).as_dict()
    with monkeypatch.context() as changed:
        changed.setattr(rows_of_mode, "fixed_fields", lambda rule, spec: frozenset())
        assert found == assess(columns, SPEC_KEYED, keys=keys).as_dict()
    monkeypatch.setattr(own_blocks, "known_by_block", lambda part: part)
    assert found != assess(columns, SPEC_KEYED, keys=keys).as_dict()
