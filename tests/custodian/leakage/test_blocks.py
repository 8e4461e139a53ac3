"""Attacks inside blocks: against going through all assignments, and on blocks that must or must not leak."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import poisson

from benchmarks._leakage_joins import size_alignment
from gemel.common.keys.derivation import FieldKeys
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.leakage.block_model import KeyLikelihood, block_likelihood
from gemel.custodian.leakage.block_view import BlockView, attack_by_size
from gemel.custodian.leakage.recovery import UNKNOWN, score
from gemel.custodian.leakage.similarity_graph import SLACK, mean_field, similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView, PublicValues
from gemel.custodian.tokens import tokenise
from tests.custodian.leakage.names import KEYS, public_surnames


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
        signed.append(signatures(tokens, keys, 256, int(block + 1).to_bytes(8, "little"), threads=1))
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
    recovery = score("pooled", "surname", pooled.guesses, truth, blocks.view.counts, 0)
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
