"""The prior precision chosen from held-out pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.extended_latent import ExtendedSettings, ValueModel, WeightedPairs
from gemel.carole.extended_latent.em import sampled_pairs
from gemel.carole.extended_latent.estimation import estimate
from gemel.carole.extended_latent.precision import (
    FOLDS,
    POWERS,
    PRECISIONS,
    UNDECIDED,
    calibrated,
    choose_precision,
    strangers,
)
from gemel.common.errors import ErrorCode, GemelError
from tests.carole.extended_latent.definition import log_bayes_factors
from tests.carole.extended_latent.linked_files import linked_files, of_columns


def weighted(linked) -> WeightedPairs:
    g = linked.fitted.match_probabilities(linked.patterns.gamma)
    return sampled_pairs(linked.pairs, lambda *at: g[at[2]], 0.05, 1, lambda done: None)


@pytest.fixture(scope="module")
def linked():
    return linked_files(200, np.random.default_rng(31), u="all_pairs")


def test_the_criterion_is_its_definition():
    """Pair by pair and stranger by stranger, for every power."""
    rng = np.random.default_rng(1)
    g = rng.random(30)
    log_factor, others = rng.normal(0, 2, 30), rng.normal(-0.5, 2, (30, 4))
    valid = rng.random((30, 4)) < 0.6
    valid[0] = False
    worth = []
    for t in POWERS:
        total = weight = 0.0
        for i in range(30):
            if valid[i].any():
                total += g[i] * np.exp(t * others[i][valid[i]]).mean()
                weight += g[i]
        z = total / weight
        worth.append(sum(np.log(1 - g[i] + g[i] * np.exp(t * log_factor[i]) / z) for i in range(30)))
    assert calibrated(g, log_factor, others, valid) == pytest.approx(max(worth), rel=1e-12)


def test_a_certain_pair_with_a_hopeless_factor_gives_a_finite_sum():
    valid = np.ones((2, 1), dtype=np.bool_)
    g, others = np.array([1.0, 0.5]), np.zeros((2, 1))
    assert np.isfinite(calibrated(g, np.array([-700.0, 700.0]), others, valid))


def test_the_choice_does_not_depend_on_the_scale_of_factors():
    """All factors to a power: the criterion takes that back, and finds the same worth."""
    rng = np.random.default_rng(2)
    g, log_factor, others = rng.random(200), rng.normal(0.5, 1, 200), rng.normal(-0.5, 1, (200, 8))
    valid = np.ones((200, 8), dtype=np.bool_)
    plain = calibrated(g, log_factor, others, valid)
    inside = [calibrated(g, log_factor / t, others / t, valid) for t in (2.0**0.5, 2.0**-0.5)]
    assert inside == pytest.approx([plain, plain], rel=1e-6)


def test_strangers_agree_on_the_same_keys_and_are_others(linked):
    pairs = weighted(linked)
    row_b, valid = strangers(linked.values, pairs, np.random.default_rng(3))
    assert valid.mean() > 0.3
    at, column = np.nonzero(valid)
    drawn = row_b[at, column]
    assert (drawn != pairs.row_b[at]).all()
    model_keys = list(linked.values.model_keys)
    own = linked.values.agreeing(pairs.row_a[at], pairs.row_b[at])[:, model_keys]
    assert np.array_equal(linked.values.agreeing(pairs.row_a[at], drawn)[:, model_keys], own)


def test_factors_of_held_out_pairs_are_those_of_models_estimated_without_them(linked):
    """The whole choice again, plainly: folds of records, estimations, factors by their definition."""
    pairs, settings = weighted(linked), ExtendedSettings()
    values = of_columns(linked.values, linked.values.model_columns)
    found = estimate(linked.values, pairs, settings)
    assert found.choice is not None
    rng = np.random.default_rng(settings.seed)
    rows, member = np.unique(pairs.row_a, return_inverse=True)
    fold = rng.permutation(len(rows))[member] % FOLDS
    row_b, valid = strangers(values, pairs, rng)
    worth = []
    for precision in PRECISIONS:
        log_factor, others = np.zeros(len(fold)), np.zeros(valid.shape)
        for k in range(FOLDS):
            inside = fold == k
            outside = WeightedPairs(pairs.row_a[~inside], pairs.row_b[~inside], pairs.weight[~inside])
            model = ValueModel.of(estimate(values, outside, replace(settings, precision=precision)).model.match)
            log_factor[inside] = log_bayes_factors(model, values, pairs.row_a[inside], pairs.row_b[inside])
            for r in range(valid.shape[1]):
                others[inside, r] = log_bayes_factors(model, values, pairs.row_a[inside], row_b[inside, r])
        worth.append(calibrated(pairs.weight, log_factor, others, valid))
    assert found.choice.worth == pytest.approx(worth, abs=1e-6)
    assert found.precision == found.choice.precision == PRECISIONS[int(np.argmax(worth))]


def test_it_is_the_same_again_and_reported(linked):
    fits = [linked.fit(settings=ExtendedSettings(rounds=1)) for _ in range(2)]
    assert fits[0].value_fit.precision == fits[1].value_fit.precision in PRECISIONS
    given = linked.fit(settings=ExtendedSettings(precision=3.0))
    assert (given.value_fit.precision, given.value_fit.choice) == (3.0, None)


def test_too_little_to_hold_out_leaves_it_undecided(linked):
    few = WeightedPairs(np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32), np.ones(3))
    none = WeightedPairs(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))

    def never(pairs, precisions):
        raise AssertionError("nothing is to be estimated")

    for pairs in (few, none):
        choice = choose_precision(linked.values, pairs, never, 1)
        assert (choice.precision, choice.tried) == (UNDECIDED, ())


@pytest.mark.parametrize("fitting", [0, 2])
def test_precisions_whose_tables_do_not_fit_are_left_out(linked, fitting):
    pairs = weighted(linked)

    def models(outside, precisions):
        for i, precision in enumerate(precisions):
            if i == fitting:
                raise GemelError(ErrorCode.MEMORY, "a table is too large")
            yield estimate(linked.values, outside, ExtendedSettings(precision=precision)).model.match

    if fitting:
        choice = choose_precision(linked.values, pairs, models, 1)
        assert choice.tried == PRECISIONS[:fitting]
        assert choice.precision in choice.tried
    else:
        with pytest.raises(GemelError, match="too large"):
            choose_precision(linked.values, pairs, models, 1)


def test_one_variable_and_keys_alone_have_a_choice_or_none(linked):
    pairs = weighted(linked)
    key = of_columns(linked.values, [4])
    assert estimate(key, pairs, ExtendedSettings()).precision in PRECISIONS
    alone = replace(key, variables=(replace(key.variables[0], alone=True),))
    assert estimate(alone, pairs, ExtendedSettings()).precision is None


@pytest.mark.parametrize("precision", [0.0, -1.0, np.nan, np.inf])
def test_a_precision_must_be_a_positive_number(precision):
    with pytest.raises(GemelError, match="above 0, or none"):
        ExtendedSettings(precision=precision)
