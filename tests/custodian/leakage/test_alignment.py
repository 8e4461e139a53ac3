"""Attacks on one field: against going through all assignments, against the plain definition, and on real names."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import gammaln

from gemel.common.errors import GemelError
from gemel.custodian.leakage.recovery import UNKNOWN, score
from gemel.custodian.leakage.similarity_graph import (
    NO_RIVAL,
    SLACK,
    align_core,
    best_two,
    grow,
    similarity_graph_alignment,
)
from gemel.custodian.leakage.view import FieldView, PublicValues, count_fit, frequency_alignment
from tests.custodian.leakage.names import public_surnames, signed, surnames

WORDS = st.lists(st.text("abcde", min_size=2, max_size=6), min_size=2, max_size=12, unique=True)


def fit_to_anchors(
    view: FieldView,
    rows: NDArray[np.int64],
    public: PublicValues,
    names: NDArray[np.int64],
    known: NDArray[np.int64],
    named: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Log-likelihood of every public value for every signature, given the anchors, up to a constant of the row.

    The definition of `grow`. An anchor is left out where it is the signature itself, and where its own name is judged.
    """
    fit = count_fit(view.counts[rows], public.shares[names] * view.counts.sum())
    similar = view.similarity(rows, known).astype(np.float64)
    plain = public.similarity(named, names).astype(np.float64)
    for anchor in range(len(known)):
        term = similar[:, anchor, None] * plain[anchor] - 0.5 * plain[anchor] ** 2
        term[rows == known[anchor], :] = 0.0
        term[:, names == named[anchor]] = 0.0
        fit += term / (view.noise + SLACK)
    return fit.astype(np.float32)


@given(WORDS, st.data())
def test_no_assignment_fits_the_counts_better_than_ranks(words: list[str], data: st.DataObject) -> None:
    words = words[:6]
    numbers = st.lists(st.integers(1, 40), min_size=len(words), max_size=len(words))
    counts, weights = np.array(data.draw(numbers)), np.array(data.draw(numbers), dtype=float)
    public = PublicValues(words, weights)
    view = FieldView(np.arange(len(words), dtype=np.uint64)[:, None], counts)
    rate = public.shares * counts.sum()

    def likelihood(assignment: NDArray[np.int64]) -> float:
        expected = rate[assignment]
        return float((counts * np.log(expected) - expected - gammaln(counts + 1)).sum())

    best = max(likelihood(np.array(order)) for order in permutations(range(len(words))))
    assert likelihood(frequency_alignment(view, public)) == pytest.approx(best)


def test_the_core_finds_the_likeliest_of_all_assignments() -> None:
    words = ["anna", "annas", "hanna", "bertram", "bert", "zoe"]
    counts = np.array([50, 30, 20, 45, 12, 11])
    public = PublicValues(words, counts * 7.0)
    view, places = signed(words, counts, 1024)
    rows, names = places.astype(np.int64), np.arange(len(words))
    rate = public.shares * counts.sum()
    similar, plain = view.similarity(rows, rows), public.similarity(names, names)

    def likelihood(assignment: tuple[int, ...]) -> float:
        chosen = np.array(assignment)
        count = -2 * (np.sqrt(counts) - np.sqrt(rate[chosen])) ** 2 / 3.0
        off = ~np.eye(len(words), dtype=bool)
        graph = (similar - plain[np.ix_(chosen, chosen)])[off] ** 2
        return float(count.sum() - graph.sum() / 4 / (view.noise + SLACK))

    best = max(permutations(range(len(words))), key=likelihood)
    found = align_core(view, rows, public, names, weight=0.01, growth=1.2)
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert found.argmax(axis=1).tolist() == list(best)
    assert [public.values[place] for place in best] == words


@given(WORDS, st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_growing_is_what_its_definition_says(words: list[str], n_anchors: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    public = PublicValues(words, rng.integers(1, 50, len(words)))
    view, _ = signed(words, rng.integers(1, 30, len(words)), 128)
    rows, names = np.arange(view.n_values), rng.permutation(len(words))
    n_anchors = min(n_anchors, view.n_values)
    known = rng.choice(view.n_values, n_anchors, replace=False)
    named = rng.choice(len(words), n_anchors, replace=False)
    fit = fit_to_anchors(view, rows, public, names, known, named)
    best, margin = grow(view, rows, public, names, known, named)
    column = {name: place for place, name in enumerate(names.tolist())}
    claimed = fit[rows, [column[name] for name in best.tolist()]]
    scale = max(1.0, float(np.abs(fit).max()))
    assert claimed == pytest.approx(fit.max(axis=1), abs=1e-4 * scale)
    ranked = np.sort(fit, axis=1)
    assert margin == pytest.approx(ranked[:, -1] - ranked[:, -2], abs=1e-3 * scale)


@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=8))
def test_best_two(entries: list[list[int]]) -> None:
    fit = np.array(entries, dtype=np.float32)
    best, margin = best_two(fit)
    ranked = np.sort(fit, axis=1)
    assert (best == fit.argmax(axis=1)).all()
    assert (margin == ranked[:, -1] - ranked[:, -2]).all()


def test_one_column_has_no_rival() -> None:
    assert best_two(np.zeros((2, 1), dtype=np.float32))[1].tolist() == [NO_RIVAL, NO_RIVAL]


@pytest.mark.parametrize("bits", [256, 1024])
def test_a_file_of_surnames_is_read_without_a_key(bits: int) -> None:
    view, truth = surnames(20_000, seed=bits, bits=bits, maximum=6000)
    public = public_surnames(6000)
    ranks = score("frequency", "surname", frequency_alignment(view, public), truth, view.counts, 0)
    found = similarity_graph_alignment(view, public, maximum=1500)
    graph = score("graph", "surname", found, truth, view.counts, 0)
    assert ranks.records < 0.15
    assert graph.records > 0.6, "an attack that fails on the open mode is a weak attack"
    assert graph.records <= graph.claimed <= 1
    assert graph.attainable_records == 1
    claimed = found[found != UNKNOWN]
    assert len(np.unique(claimed)) == len(claimed), "no public value is claimed twice"


def test_signatures_without_structure_give_nothing() -> None:
    view, truth = surnames(6_000, seed=5, maximum=2000)
    rng = np.random.default_rng(6)
    random = FieldView(rng.integers(0, 2**63, view.signatures.shape).astype(np.uint64), np.ones(view.n_values, int))
    found = similarity_graph_alignment(random, public_surnames(2000), maximum=200)
    assert score("graph", "surname", found, truth, random.counts, 0).values < 0.01


def test_the_estimate_of_a_similarity_is_unbiased_also_with_flips() -> None:
    words = ["johnson", "johnston", "smith", "smythe"]
    public = PublicValues(words, [4, 3, 2, 1])
    view, places = signed(words, np.ones(4, int), 8192)
    order = places.astype(np.int64)
    plain = public.similarity(np.arange(4), np.arange(4))
    assert view.similarity(order, order) == pytest.approx(plain, abs=5 * np.sqrt(view.noise))
    rng = np.random.default_rng(1)
    unpacked = np.unpackbits(view.signatures.view(np.uint8), axis=1)
    noisy = np.packbits(unpacked ^ (rng.random(unpacked.shape) < 0.1), axis=1).view(np.uint64)
    with_randomised_response = FieldView(noisy, view.counts, randomised_response=0.1)
    off = ~np.eye(4, dtype=bool)  # a signature agrees with itself, randomised or not
    assert with_randomised_response.similarity(order, order)[off] == pytest.approx(
        plain[off], abs=5 * np.sqrt(with_randomised_response.noise)
    )


def test_nothing_to_attack() -> None:
    public = PublicValues(["anna", "bert"], [2, 1])
    empty = FieldView(np.empty((0, 4), dtype=np.uint64), np.empty(0, dtype=np.int64))
    assert len(similarity_graph_alignment(empty, public)) == 0
    nothing = score("graph", "name", np.empty(0, np.int64), np.empty(0, np.int64), empty.counts, 0)
    assert nothing.records == nothing.attainable_records == nothing.precision == 0
    one, _ = signed(["anna"], np.array([9]))
    assert similarity_graph_alignment(one, public).tolist() == [0]
    assert similarity_graph_alignment(one, PublicValues(["anna"], [1])).tolist() == [0]


@pytest.mark.parametrize(
    ("values", "counts", "reported"),
    [
        ([], [], "at least one"),
        (["anna", "bert"], [1], "count per value"),
        (["anna", "bert"], [1, 0], "positive"),
        (["anna", "anna"], [1, 2], "each value once"),
        (["anna", ""], [1, 2], "have tokens"),
    ],
)
def test_a_dictionary_that_is_none(values: list[str], counts: list[int], reported: str) -> None:
    with pytest.raises(GemelError, match=reported):
        PublicValues(values, counts)


def test_scoring_counts_records_and_never_the_unknown() -> None:
    guesses, truth = np.array([0, 1, UNKNOWN, 3]), np.array([0, 2, UNKNOWN, UNKNOWN])
    found = score("x", "y", guesses, truth, np.array([5, 3, 1, 1]), 0)
    assert (found.values, found.records) == (0.25, 0.5)
    assert (found.attainable_values, found.attainable_records) == (0.5, 0.8)
    assert found.claimed == pytest.approx(0.9)
    assert found.chance == 0.5
    assert found.records <= found.chance
    assert found.precision == pytest.approx(0.5 / 0.9)
    with pytest.raises(GemelError, match="same values"):
        score("x", "y", guesses, truth[:3], np.array([5, 3, 1, 1]), 0)
