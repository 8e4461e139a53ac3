"""Attacks that join rows: chaining, embeddings, category codes, co-occurrence; the dictionary of who has the seed."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._leakage_joins import (
    dictionary_attack,
    embedded_alignment,
    joined_rows,
    nearest_rows,
    recognised_groups,
    row_embedding,
    shared_rows,
)
from gemel.common.keys.derivation import Purpose, Seed, derive
from gemel.common.specification import load_specification
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.leakage.across import (
    ReadField,
    by_cooccurrence,
    code_recovery,
    conditional_shares,
    cooccurrence_alignment,
    margin_alignment,
    unique_rows,
)
from gemel.custodian.leakage.held_back import chained_alignment, value_classes
from gemel.custodian.leakage.own_whole import truth_of
from gemel.custodian.leakage.pairs import paired_signatures, paired_values
from gemel.custodian.leakage.recovery import UNKNOWN, Recovery, score
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise
from tests.custodian.leakage.names import KEYS, drawn_surnames, public_surnames, surnames
from tests.specifications import heading

SPECIFICATION = (
    heading("people", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 256}
  - {name: one, kind: category}
  - {name: two, kind: category}
blocking:
  - {name: one, keys: [{field: one}]}
  - {name: two, keys: [{field: two}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


@pytest.fixture(scope="module")
def wide() -> tuple[dict[str, pl.Series], tuple, dict[str, np.ndarray], PublicValues]:
    """Two rules with wide blocks, and 8,000 surnames."""
    rng = np.random.default_rng(3)
    columns = {
        "surname": drawn_surnames(rng, 8000, 1500),
        "one": pl.Series([f"a{k}" for k in rng.integers(0, 10, 8000)]),
        "two": pl.Series([f"b{k}" for k in rng.integers(0, 10, 8000)]),
    }
    sent = encode_records(columns, load_specification(SPECIFICATION, "test"), Seed.generate(), 1)
    sets = tuple(part for part in sent.sets if part.rule in sent.orders)
    return columns, sets, dict(sent.orders), public_surnames(1500)


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


def chained(wide: tuple, joins: np.ndarray) -> Recovery:
    """What chaining by some joins reads of surnames."""
    columns, sets, orders, public = wide
    classes = value_classes(sets, "surname", joins)
    guesses = chained_alignment(sets, "surname", classes, public, 8000)
    truth = truth_of(sets[0], "surname", columns["surname"], orders[sets[0].rule], public)
    counts = FieldView.of(sets[0].fields["surname"]).counts
    return score("chain", "surname", guesses[classes.of[0]], truth, counts, 0)


def test_shared_pseudonyms_are_broken_and_tags_join_no_class_worth_having(wide: tuple) -> None:
    _, sets, orders, _ = wide
    found = chained(wide, shared_rows(sets, "surname", orders))
    assert found.records > 0.3, "the positive control: an attack that fails here shows nothing elsewhere"
    by_tags = chained(wide, recognised_groups(sets, "surname"))
    assert by_tags.records - by_tags.chance < 0.02


def test_no_rows_no_joins() -> None:
    columns = {name: pl.Series(["a", None]) for name in ("surname", "one", "two")}
    sent = encode_records(columns, load_specification(SPECIFICATION, "test"), Seed.generate(), 1)
    sets = tuple(part for part in sent.sets if part.rule in sent.orders)
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
    found = row_embedding(block, [(partial(paired_values, public), codes)])
    order = rng.permutation(len(names))
    again = row_embedding(block[order] * 7, [(partial(paired_values, public), codes[order])])
    assert again == pytest.approx(found[order], abs=1e-5)


def test_rows_are_found_again_where_nothing_is_hidden() -> None:
    rng = np.random.default_rng(4)
    public = public_surnames(400)
    codes, block = rng.integers(0, 400, 120), np.repeat(np.arange(3), 40)
    plain = row_embedding(block, [(partial(paired_values, public), codes)])
    order = rng.permutation(120)
    nearest = nearest_rows(plain[order], plain)
    assert (codes[nearest] == codes[order]).mean() > 0.9
    assert nearest_rows(plain, plain[:0]).tolist() == [-1] * 120


def test_an_embedding_is_what_its_block_looks_like() -> None:
    public = PublicValues(["anna", "annas", "bert"], np.ones(3))
    codes = np.array([0, 0, 1, -1, 2])
    found = row_embedding(np.array([5, 5, 5, 5, 9]), [(partial(paired_values, public), codes)])
    alike = float(public.similarity(np.array([0]), np.array([1]))[0, 0])
    own = np.array(
        [
            [2, np.log(2), 1, alike, 0, 0],
            [2, np.log(2), 1, alike, 0, 0],
            [2, 0, alike, alike, 0, 0],
            [2, -1, 0, 0, 0, 0],  # missing
            [0, 0, 0, 0, 0, 0],  # alone
        ]
    )
    assert found[:, :6] == pytest.approx(own, abs=1e-6)
    assert found[0, 6:] == pytest.approx(0.5 * own[1:4].mean(axis=0), abs=1e-6)
    assert found[4, 6:] == pytest.approx(0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10))
def test_similarities_of_pairs_are_those_of_the_table(pairs: list[tuple[int, int]]) -> None:
    words = ["anna", "annas", "bert", "bertha", "zoe", "zoeller"]
    public = PublicValues(words, np.ones(6))
    view = FieldView(signatures(tokenise(words, "bigrams"), KEYS, 128), np.ones(6, dtype=np.int64), 0.1)
    one, other = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    for held, paired in ((public, paired_values), (view, paired_signatures)):
        table = held.similarity(np.arange(6), np.arange(6))
        assert paired(held, one, other) == pytest.approx(table[one, other], abs=1e-5)


def test_embeddings_read_an_open_field_and_not_one_whose_similarities_are_another_fields() -> None:
    view, truth = surnames(20_000, seed=7, bits=512, maximum=3000)
    found = embedded_alignment(view, public_surnames(3000), maximum=1500)
    assert score("embeddings", "surname", found, truth, view.counts, 0).records > 0.5, "the positive control"
    claimed = found[found != UNKNOWN]
    assert len(np.unique(claimed)) == len(claimed)
    # Rows of single-value blocks: signatures have nothing in common, and only their counts of one are left.
    rng = np.random.default_rng(8)
    apart = FieldView(rng.integers(0, 2**63, (2000, 8)).astype(np.uint64), np.ones(2000, dtype=np.int64))
    drawn = rng.choice(3000, size=2000, p=public_surnames(3000).shares)
    found = embedded_alignment(apart, public_surnames(3000), maximum=1500)
    recovery = score("embeddings", "surname", found, drawn, apart.counts, 0)
    assert recovery.records - recovery.chance < 0.02
    nothing = FieldView(np.empty((0, 8), dtype=np.uint64), np.empty(0, dtype=np.int64))
    assert len(embedded_alignment(nothing, public_surnames(3000))) == 0


def test_rows_alone_with_their_codes_are_joined() -> None:
    one = np.array([[0, 1], [0, 1], [1, 1], [2, 0]])
    other = np.array([[2, 0], [1, 1], [1, 1], [0, 1]])
    assert unique_rows(one) == 0.5
    assert joined_rows(one, other).tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, 0]
    assert unique_rows(one[:0]) == 0
    assert joined_rows(one[:0], other).tolist() == []
    assert margin_alignment(np.array([2, 2, 2, 0, 0, 1, -1]), 3, np.array([0.1, 0.6, 0.3])).tolist() == [2, 0, 1]


def test_groups_of_codes_are_read_by_their_sizes_and_then_by_margins() -> None:
    """Categories 0, 1, 2 and 3, 4 are groups: the codes of the smaller one are known though all are as common."""
    partition = [0, 0, 0, 1, 1]
    alike = np.repeat(np.arange(5), 10)
    guesses = margin_alignment(alike, 5, np.full(5, 0.2), [partition])
    assert [partition[guess] for guess in guesses] == [1, 1, 0, 0, 0]
    # In it the more common code is the more common category, whatever is more common elsewhere.
    counts = np.repeat(np.arange(5), [1, 2, 30, 20, 10])
    assert margin_alignment(counts, 5, np.array([0.1, 0.2, 0.3, 0.3, 0.1]), [partition]).tolist() == [4, 3, 2, 1, 0]


def test_one_field_tells_another() -> None:
    known = np.array([0, 0, 1, UNKNOWN, 1])
    codes = np.array([1, 1, 0, 2, -1], dtype=np.int32)
    joint = np.array([[0.9, 0.2], [0.1, 0.8]])  # of the first field's value given the second's
    assert cooccurrence_alignment(known, codes, 3, joint, np.array([0.5, 0.5])).tolist() == [1, 0, UNKNOWN]


def test_conditional_shares_are_those_of_the_people_known() -> None:
    first, second = np.array([0, 0, 1, UNKNOWN, 0]), np.array([0, 1, 1, 1, UNKNOWN])
    shares = conditional_shares(first, second, 2, 2)
    overall = np.array([3, 2]) / 5  # of those of whom both are known, and one more of each
    assert shares[:, 0] == pytest.approx((np.array([1, 0]) + overall) / 2)
    assert shares[:, 1] == pytest.approx((np.array([1, 1]) + overall) / 3)


@pytest.mark.parametrize("tied", [True, False])
def test_a_field_read_tells_the_fields_that_depend_on_it_and_no_others(tied: bool) -> None:
    rng = np.random.default_rng(9)
    name = rng.choice(60, size=4000, p=np.arange(60, 0, -1) / 1830)
    town = (name // 6 if tied else rng.integers(0, 10, 4000)).astype(np.int64)
    relabelled, secret = rng.permutation(60), rng.permutation(10)
    unknown = np.full(10, UNKNOWN)
    shares = np.bincount(town, minlength=10) / 4000
    names = ReadField("name", relabelled[name], np.argsort(relabelled), np.argsort(relabelled), np.ones(60) / 60)
    towns = ReadField("town", secret[town], np.argsort(secret), unknown, shares)
    assert names.recovered == 1
    found = by_cooccurrence(towns, [names, towns], rng)
    assert found is not None
    assert (found.values == 1) if tied else (found.records - found.chance < 0.35)
    assert by_cooccurrence(names, [names, towns], rng) is None, "no other field is known"


def test_codes_of_uneven_categories_are_read_and_of_even_ones_are_not() -> None:
    rng = np.random.default_rng(10)
    for shares, known in (([0.5, 0.3, 0.15, 0.05], True), ([0.25] * 4, False)):
        secret = rng.permutation(4)
        codes = secret[rng.choice(4, size=5000, p=shares)]
        margin = rng.multinomial(5000, shares).astype(float)
        found = code_recovery("trait", codes, np.argsort(secret), margin)
        assert (found.records == 1) == known
        assert found.attainable_records == 1


def test_who_has_the_seed_reads_all_that_is_in_the_dictionary() -> None:
    public = public_surnames(300)
    values = [*public.values[:200], "xqzzy"]
    signed = signatures(tokenise(values, "bigrams"), KEYS, 128)
    view = FieldView(signed, np.ones(201, dtype=np.int64))
    assert dictionary_attack(view, public, KEYS, b"").tolist() == [*range(200), UNKNOWN]
    other = derive(Seed.generate(), "test", Purpose.SIGNATURE, bytes(32), "surname")
    assert (dictionary_attack(view, public, other, b"") == UNKNOWN).all()
