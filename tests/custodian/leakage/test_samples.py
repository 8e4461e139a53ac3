"""The samples of chance agreement attacked: what could be read is read, and of what is sent nothing is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_limits

from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import load_specification
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage import leakage_assessment as own_samples
from gemel.custodian.leakage.leakage_assessment import FIXED, group_alignment, groups_view, in_samples
from gemel.custodian.leakage.recovery import UNKNOWN
from gemel.custodian.tokens import tokenise
from tests.custodian.leakage.names import public_surnames
from tests.specifications import heading

SPEC = load_specification(
    heading("people", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 512}
  - {name: house, kind: number}
  - {name: born, kind: date, date: {order: ymd}}
blocking:
  - {name: born, keys: [{field: born}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


def people(n: int, seed: int, n_days: int = 25_000) -> dict[str, pl.Series]:
    rng = np.random.default_rng(seed)
    public = public_surnames(5000)
    days = (np.datetime64("1940-01-01") + rng.integers(0, n_days, n)).astype(str)
    return {
        "surname": pl.Series([public.values[name] for name in rng.choice(len(public), size=n, p=public.shares)]),
        "house": pl.Series([str(number) for number in rng.integers(1, 200, n)]),
        "born": pl.Series([day.replace("-", "") for day in days.tolist()]),
    }


def grouped(names: list[list[str]], bits: int) -> FieldSignatures:
    """Each group's names under a key of its own."""
    tables, codes = [], []
    for number, group in enumerate(names):
        keys = derive(Seed(bytes(range(32))), "people", Purpose.SAMPLE, bytes(32), "surname", f"group {number}")
        values = sorted(set(group))
        codes.append([sum(map(len, tables)) + values.index(name) for name in group])
        tables.append(signatures(tokenise(values, "bigrams"), keys, bits))
    return FieldSignatures(bits, np.concatenate(tables), np.array(codes, dtype=np.int32).ravel())


def test_names_of_which_counts_and_similarities_tell_enough_are_read_in_the_groups_attacked_and_in_no_other() -> None:
    """Groups of 400 from a list of 60 names."""
    rng, public = np.random.default_rng(1), public_surnames(60)
    given = [rng.choice(public.values, 400, p=public.shares).tolist() for _ in range(3)]
    field = grouped(given, 4096)
    guesses = group_alignment(groups_view(field, 3), public, np.array([0, 2]))
    read = [UNKNOWN if guess == UNKNOWN else public.values[guess] for guess in guesses[field.codes]]
    right = (np.array(read).reshape(3, 400) == np.array(given)).mean(axis=1)
    assert right[[0, 2]].min() > 0.8
    assert (guesses[field.codes[400:800]] == UNKNOWN).all()


def test_nothing_is_read_in_what_is_sent() -> None:
    with threadpool_limits(1, user_api="blas"):
        found = list(in_samples(people(3_000, 2), SPEC, FIXED, np.random.default_rng(3)))
    assert {(each.field, each.rule) for each in found} == {("surname", ""), ("born", "")}, "houses are too few"
    assert {each.attack for each in found} == {"groups of the samples", "groups of the samples, slowly"}
    for each in found:
        # Of 320 values: three standard errors of a share of .02.
        assert each.above_chance < 0.025, each


def test_the_gate_finds_what_larger_groups_would_give_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four groups of 1,200 values."""
    for module in ("common.signatures.layout", "custodian.encoding.samples"):
        monkeypatch.setattr(f"gemel.{module}.GROUPS", 4)
    monkeypatch.setattr("gemel.common.signatures.layout.GROUP_ROWS", 1_200)
    for name, value in (("GROUPS", 4), ("GROUP_ROWS", 1_200), ("PATIENTLY", 1_200)):
        monkeypatch.setattr(own_samples, name, value)
    monkeypatch.setattr(own_samples, "ATTACKED", 1)
    with threadpool_limits(1, user_api="blas"):
        found = list(in_samples(people(6_000, 2, n_days=100), SPEC, FIXED, np.random.default_rng(3)))
    assert {each.field for each in found} == {"surname"}
    assert max(each.above_chance for each in found) > 0.1
