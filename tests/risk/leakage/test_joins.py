"""Attacks that join rows: chaining, embeddings, category codes, co-occurrence; the dictionary of who has the seed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.encoding.records import encode_records
from common.keys.derivation import Purpose, Seed, derive
from common.minhash import signatures
from common.specification import load_specification
from common.tokens import tokenise
from risk.leakage import UNKNOWN, FieldView, PublicValues, score
from risk.leakage.assessment import truth_of
from risk.leakage.category_codes import joined_rows, margin_alignment, unique_rows
from risk.leakage.chaining import chained_alignment, recognised_groups, shared_rows, value_classes
from risk.leakage.cooccurrence import cooccurrence_alignment
from risk.leakage.dictionary import dictionary_attack
from risk.leakage.embedding import nearest_rows, public_similarity, row_embedding
from tests.risk.leakage.names import KEYS, public_surnames

SPECIFICATION = """
version: 1
project: people
mode: block_keyed
custodians: {alice: {identifier: id}, bob: {identifier: id}}
fields:
  - {name: surname, kind: name, bits: 256}
  - {name: one, kind: category}
  - {name: two, kind: category}
blocking:
  - {name: one, keys: [{field: one}]}
  - {name: two, keys: [{field: two}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""


@pytest.fixture(scope="module")
def wide() -> tuple[dict[str, pl.Series], tuple, dict[str, np.ndarray], PublicValues]:
    """Two rules with wide blocks, and 8,000 surnames."""
    rng = np.random.default_rng(3)
    public = public_surnames(1500)
    names = rng.choice(len(public), size=8000, p=public.shares)
    columns = {
        "surname": pl.Series([public.values[name] for name in names]),
        "one": pl.Series([f"a{k}" for k in rng.integers(0, 10, 8000)]),
        "two": pl.Series([f"b{k}" for k in rng.integers(0, 10, 8000)]),
    }
    sent = encode_records(columns, load_specification(SPECIFICATION, "test"), Seed.generate(), 1)
    sets = tuple(part for part in sent.sets if part.rule)
    return columns, sets, dict(sent.orders), public


def test_shared_pseudonyms_rebuild_the_classes_of_equal_values(wide: tuple) -> None:
    columns, sets, orders, public = wide
    classes = value_classes(sets, "surname", shared_rows(sets, "surname", orders))
    truths = [truth_of(part, "surname", columns["surname"], orders[part.rule], public) for part in sets]
    of_class: dict[int, set[int]] = {}
    for of, truth in zip(classes.of, truths, strict=True):
        for each, value in zip(of.tolist(), truth.tolist(), strict=True):
            of_class.setdefault(each, set()).add(value)
    assert all(len(values) == 1 for values in of_class.values()), "only equal values are ever joined"
    common = np.bincount(np.concatenate(truths)).argmax()
    assert sum(values == {int(common)} for values in of_class.values()) == 1, "and the common ones all are"


def test_shared_pseudonyms_are_broken(wide: tuple) -> None:
    columns, sets, orders, public = wide
    classes = value_classes(sets, "surname", shared_rows(sets, "surname", orders))
    guesses = chained_alignment(sets, "surname", classes, public, 8000)
    truth = truth_of(sets[0], "surname", columns["surname"], orders[sets[0].rule], public)
    counts = FieldView.of(sets[0].fields["surname"]).counts
    found = score("chain", "surname", guesses[classes.of[0]], truth, counts, 0)
    assert found.records > 0.3, "the positive control: an attack that fails here shows nothing elsewhere"


def test_tags_join_no_class_worth_having(wide: tuple) -> None:
    columns, sets, orders, public = wide
    joins = recognised_groups(sets, "surname")
    classes = value_classes(sets, "surname", joins)
    guesses = chained_alignment(sets, "surname", classes, public, 8000)
    truth = truth_of(sets[0], "surname", columns["surname"], orders[sets[0].rule], public)
    counts = FieldView.of(sets[0].fields["surname"]).counts
    assert score("chain", "surname", guesses[classes.of[0]], truth, counts, 0).above_chance < 0.02


def test_no_rows_no_joins() -> None:
    columns = {name: pl.Series(["a", None]) for name in ("surname", "one", "two")}
    sent = encode_records(columns, load_specification(SPECIFICATION, "test"), Seed.generate(), 1)
    sets = tuple(part for part in sent.sets if part.rule)
    joins = shared_rows(sets, "one", dict(sent.orders))
    assert joins.shape == (1, 2)
    assert recognised_groups(sets, "one").shape == (0, 2)
    classes = value_classes(sets, "one", joins)
    assert classes.counts.tolist() == [1]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_an_embedding_depends_on_no_names(names: list[int], seed: int) -> None:
    public = PublicValues(["anna", "annas", "bert", "bertha", "zoe", "zoeller"], np.ones(6))
    rng = np.random.default_rng(seed)
    codes, block = np.array(names), rng.integers(0, 3, len(names))
    found = row_embedding(block, [(public_similarity(public), codes)])
    order = rng.permutation(len(names))
    again = row_embedding(block[order] * 7, [(public_similarity(public), codes[order])])
    assert again == pytest.approx(found[order], abs=1e-5)


def test_rows_are_found_again_where_nothing_is_hidden() -> None:
    rng = np.random.default_rng(4)
    public = public_surnames(400)
    codes, block = rng.integers(0, 400, 120), np.repeat(np.arange(3), 40)
    plain = row_embedding(block, [(public_similarity(public), codes)])
    order = rng.permutation(120)
    nearest = nearest_rows(plain[order], plain)
    assert (codes[nearest] == codes[order]).mean() > 0.9
    assert nearest_rows(plain, plain[:0]).tolist() == [-1] * 120


def test_rows_alone_with_their_codes_are_joined() -> None:
    one = np.array([[0, 1], [0, 1], [1, 1], [2, 0]])
    other = np.array([[2, 0], [1, 1], [1, 1], [0, 1]])
    assert unique_rows(one) == 0.5
    assert joined_rows(one, other).tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, 0]
    assert unique_rows(one[:0]) == 0
    assert joined_rows(one[:0], other).tolist() == []
    assert margin_alignment(np.array([2, 2, 2, 0, 0, 1, -1]), 3, np.array([0.1, 0.6, 0.3])).tolist() == [2, 0, 1]


def test_one_field_tells_another() -> None:
    known = np.array([0, 0, 1, UNKNOWN, 1])
    codes = np.array([1, 1, 0, 2, -1], dtype=np.int32)
    joint = np.array([[0.9, 0.2], [0.1, 0.8]])  # of the first field's value given the second's
    assert cooccurrence_alignment(known, codes, 3, joint, np.array([0.5, 0.5])).tolist() == [1, 0, UNKNOWN]


def test_who_has_the_seed_reads_all_that_is_in_the_dictionary() -> None:
    public = public_surnames(300)
    values = [*public.values[:200], "xqzzy"]
    signed = signatures(tokenise(values, "bigrams"), KEYS, 128)
    view = FieldView(signed, np.ones(201, dtype=np.int64))
    assert dictionary_attack(view, public, KEYS, b"").tolist() == [*range(200), UNKNOWN]
    other = derive(Seed.generate(), "test", Purpose.SIGNATURE, bytes(32), "surname")
    assert (dictionary_attack(view, public, other, b"") == UNKNOWN).all()
