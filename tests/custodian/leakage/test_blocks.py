"""Attacks inside blocks: against going through all assignments, and on blocks that must or must not leak."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import poisson
from threadpoolctl import threadpool_limits

from benchmarks._leakage_joins import size_alignment
from gemel.common.keys.derivation import FieldKeys, Purpose, Seed, derive
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import load_specification
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage import leakage_assessment as own_samples
from gemel.custodian.leakage.block_model import KeyLikelihood, block_likelihood
from gemel.custodian.leakage.block_view import BlockView, attack_by_size
from gemel.custodian.leakage.leakage_assessment import FIXED, group_alignment, groups_view, in_samples
from gemel.custodian.leakage.recovery import UNKNOWN, score
from gemel.custodian.leakage.similarity_graph import SLACK, mean_field, similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise
from tests.custodian.leakage.names import KEYS, drawn_days, drawn_surnames, public_surnames
from tests.specifications import heading


def block_view(
    names: NDArray[np.int64], blocks: NDArray[np.int64], public: PublicValues, keys: FieldKeys = KEYS
) -> tuple[BlockView, NDArray[np.int64]]:
    """Rows with a name each in blocks, signed under each block's key; the view, and what each signature is."""
    signed, codes, truth = [], np.empty(len(names), dtype=np.int32), []
    for block in np.unique(blocks):
        rows = np.flatnonzero(blocks == block)
        held, places = np.unique(names[rows], return_inverse=True)
        tokens = tokenise([public.values[name] for name in held], public.tokenisation)
        codes[rows] = places + sum(map(len, signed))
        signed.append(signatures(tokens, keys, 256, int(block + 1).to_bytes(8, "little")))
        truth.append(held)
    field = FieldSignatures(256, np.concatenate(signed), codes)
    return BlockView.of(field, blocks.astype(np.uint64) + np.uint64(1)), np.concatenate(truth)


def test_a_block_is_read_as_its_likeliest_assignment() -> None:
    public = PublicValues(["ann", "anna", "bert", "zoe"], [4, 3, 2, 1])
    names = np.array([0, 0, 0, 1, 1, 3])
    blocks, truth = block_view(names, np.zeros(6, dtype=np.int64), public)
    similar = blocks.view.similarity(np.arange(3), np.arange(3))
    plain = public.similarity(np.arange(4), np.arange(4))

    def likelihood(held: tuple[int, ...]) -> float:
        if len(set(held)) < len(held):
            return -np.inf
        apart = (similar - plain[np.ix_(held, held)])[~np.eye(3, dtype=bool)] ** 2
        count = poisson.logpmf(blocks.view.counts, 6 * public.shares[list(held)]).sum()
        return float(count - apart.sum() / 4 / (blocks.view.noise + SLACK))

    best = max(product(range(4), repeat=3), key=likelihood)
    assert block_likelihood(blocks, public, np.array([0])).tolist() == list(best)
    assert score("block", "name", np.array(best), truth, blocks.view.counts, 0).values > 0


@pytest.mark.long
def test_blocks_of_a_birthday_tell_no_surname() -> None:
    rng = np.random.default_rng(1)
    public = public_surnames(3000)
    names = rng.choice(len(public), size=4000, p=public.shares)
    blocks, truth = block_view(names, rng.integers(0, 1500, 4000), public)
    pooled = similarity_graph_alignment(blocks.view, public, maximum=500)
    recovery = score("pooled", "surname", pooled, truth, blocks.view.counts, 0)
    assert recovery.records - recovery.chance < 0.01
    found, classes = attack_by_size("block", "surname", block_likelihood, blocks, public, truth, rng, per_class=100)
    assert found.records - found.chance < 0.02
    assert sum(part.rows for part in classes) == 4000
    assert found.n_values == blocks.view.n_values


def test_large_blocks_of_a_surnames_beginning_are_read() -> None:
    rng = np.random.default_rng(2)
    public = public_surnames(3000)
    key_of = np.unique([name[:2] for name in public.values], return_inverse=True)[1]
    names = rng.choice(len(public), size=20_000, p=public.shares)
    chosen = np.isin(key_of[names], np.unique(key_of[:40]))
    names = names[chosen]
    blocks, truth = block_view(names, key_of[names], public)
    attack = KeyLikelihood(public, key_of, np.ones(1))
    largest = np.argsort(-blocks.sizes)[:8]
    guesses = attack(blocks, public, largest)
    inside = np.isin(blocks.block, largest)
    assert (guesses[~inside] == UNKNOWN).all()
    found = score("key", "surname", guesses[inside], truth[inside], blocks.view.counts[inside], 0)
    assert found.records > 0.5, "a rule on a surname's beginning alone leaks"


def test_sizes_tell_keys_of_very_different_shares() -> None:
    assert size_alignment(np.array([5, 90, 30]), np.array([0.3, 0.6, 0.1])).tolist() == [2, 1, 0]
    assert size_alignment(np.array([5, 90, 30]), np.array([1.0])).tolist() == [UNKNOWN, 0, UNKNOWN]


def test_rows_without_a_value_and_blocks_without_any() -> None:
    public = PublicValues(["anna", "bert"], [2, 1])
    tokens = tokenise(["anna", "bert"], "bigrams")
    field = FieldSignatures(64, signatures(tokens, KEYS, 64), np.array([0, -1, 1, -1], dtype=np.int32))
    blocks = BlockView.of(field, np.array([7, 7, 9, 11], dtype=np.uint64))
    assert blocks.sizes.tolist() == [2, 1, 1]
    assert [part.tolist() for part in blocks.members()] == [[0], [1], []]
    attack = KeyLikelihood(public, np.array([0, 1]), np.ones(1))
    for each in (block_likelihood, attack):
        assert (each(blocks, public, np.arange(3)) >= 0).all()
    truth = np.array([0, 1])
    found, _ = attack_by_size("x", "y", block_likelihood, blocks, public, truth, np.random.default_rng(1))
    assert found.n_records == 2
    assert found.records == pytest.approx(0.5)


def test_the_error_of_a_sample_is_that_of_repeated_samples() -> None:
    rng = np.random.default_rng(5)
    n_blocks = 3000
    names = rng.integers(0, 50, n_blocks)
    one = FieldView(np.arange(n_blocks, dtype=np.uint64)[:, None], np.ones(n_blocks, dtype=np.int64))
    blocks = BlockView(one, np.arange(n_blocks), np.ones(n_blocks, dtype=np.int64))
    public = PublicValues([f"name{place}" for place in range(50)], np.arange(50, 0, -1))

    def attack(view: BlockView, known: PublicValues, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(names < 10, names, UNKNOWN)  # right for a fifth

    found = [attack_by_size("", "", attack, blocks, public, names, rng, 1, spread=300)[0] for _ in range(200)]
    gained = np.array([each.records - each.chance for each in found])
    reported = np.mean([each.error for each in found])
    assert reported == pytest.approx(gained.std(), rel=0.2)
    assert gained.mean() == pytest.approx(((names < 10) & (names > 0)).mean(), abs=4 * gained.std() / 200**0.5)
    everything, _ = attack_by_size("", "", attack, blocks, public, names, rng, n_blocks)
    assert everything.error == 0


def test_graphs_matched_at_once_are_matched_each_by_itself() -> None:
    rng = np.random.default_rng(3)
    fit = rng.normal(size=(5, 4, 30)).astype(np.float32)
    similar = rng.uniform(size=(5, 4, 4)).astype(np.float32)
    plain = rng.uniform(size=(30, 30)).astype(np.float32)
    at_once = mean_field(fit, similar, 50.0, plain)
    for graph in range(5):
        np.testing.assert_allclose(at_once[graph], mean_field(fit[graph], similar[graph], 50.0, plain), atol=1e-4)


# The samples of chance agreement attacked: what could be read is read, and of what is sent nothing is.

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
    return {
        "born": drawn_days(rng, n, "1940-01-01", n_days),
        "surname": drawn_surnames(rng, n, 5000),
        "house": pl.Series([str(number) for number in rng.integers(1, 200, n)]),
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
