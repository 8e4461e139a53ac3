"""The Bayes factor of values: both its distributions sum to 1, and the compiled form is the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.carole.extended_latent import BayesFactors, ValueModel, Values, Variable, WeightedPairs
from gemel.carole.extended_latent.bayes_factor import discount, frequencies
from gemel.common.errors import ErrorCode, GemelError
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.risk.models.fitted import fit
from gemel.risk.models.graphs import complete_graph
from tests.carole.extended_latent.definition import log_bayes_factors
from tests.carole.extended_latent.examples import (
    all_pairs,
    every_row,
    random_model,
    random_value_model,
    random_variables,
)
from tests.risk.models.examples import counts_of_table


def log_denominator(model: ValueModel, values: Values, row_a, row_b):
    """log Pr(values | U, gamma), from the models' own tables by brute force."""
    agree = values.agreeing(row_a, row_b)
    total = np.zeros(len(row_a))
    for key in model.alone:
        code = values.codes_a[row_a, key.column]
        strangers = key.share**2
        total += np.where(agree[:, key.column], np.log(strangers / strangers.sum())[code], 0.0)
    if model.match is None:
        return total
    names = [variable.name for variable in values.variables]
    for i, (a, b) in enumerate(zip(row_a, row_b, strict=True)):
        shared = [names[v] for v in np.flatnonzero(agree[i]) if not values.variables[v].stands_alone]
        for side, codes in ((model.alice, values.codes_a[a]), (model.bob, values.codes_b[b])):
            known = {
                name: int(codes[v])
                for v, name in enumerate(names)
                if codes[v] >= 0 and (not values.variables[v].is_key or name in shared)
            }
            total[i] += np.log(side.probability(known)) if known else 0.0
        if shared:
            total[i] -= np.log((model.alice.marginal(shared) * model.bob.marginal(shared)).sum())
    return total


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=25)
def test_both_distributions_sum_to_one_for_every_agreement_pattern(seed, separate):
    """Over all of Alice's and Bob's values and the common values of the agreeing keys, whatever those are."""
    rng = np.random.default_rng(seed)
    variables = random_variables(rng)
    model = random_value_model(variables, rng, separate)
    values = Values(variables, every_row(variables, "alice"), every_row(variables, "bob"))
    row_a, row_b = all_pairs(values)
    agree = values.agreeing(row_a, row_b)
    log_u = log_denominator(model, values, row_a, row_b)
    log_m = log_u + log_bayes_factors(model, values, row_a, row_b)
    evidence = values.evidence(row_a, row_b)
    for pattern in np.unique(agree, axis=0):
        # Pairs that differ only in keys on which they disagree show the same values: each is one point.
        inside = np.flatnonzero((agree == pattern).all(axis=1))
        _, first = np.unique(evidence[inside], axis=0, return_index=True)
        points = inside[first]
        assert np.exp(log_m[points]).sum() == pytest.approx(1)
        assert np.exp(log_u[points]).sum() == pytest.approx(1)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=25)
def test_compiled_factors_are_those_of_the_definition(seed, separate):
    rng = np.random.default_rng(seed)
    variables = random_variables(rng, 6)
    model = random_value_model(variables, rng, separate)
    files = []
    for side in ("alice", "bob"):
        rows = every_row(variables, side, missing=True)
        files.append(rows[rng.integers(0, len(rows), 30)])
    values = Values(variables, *files)
    row_a, row_b = all_pairs(values)
    expected = log_bayes_factors(model, values, row_a, row_b)
    assert np.allclose(BayesFactors(model, values).log(row_a, row_b), expected, rtol=1e-9, atol=1e-9)


def test_without_variables_of_one_side_only_the_factor_is_the_value_specific_weight():
    rng = np.random.default_rng(5)
    variables = (Variable("key", "both", 4),)
    model = ValueModel.of(random_model(("key",), (4,), rng))
    rows = every_row(variables, "alice")
    values = Values(variables, rows, rows)
    row_a, row_b = all_pairs(values)
    p = model.match.marginal(["key"])
    expected = np.where(row_a == row_b, np.log((p**2).sum() / p[row_a]), 0.0)
    assert np.allclose(log_bayes_factors(model, values, row_a, row_b), expected)
    assert np.allclose(BayesFactors(model, values).log(row_a, row_b), expected)


def test_values_that_the_model_excludes_of_a_match_rule_it_out():
    variables = (Variable("a", "alice", 2), Variable("b", "bob", 2))
    counts = counts_of_table([[3.0, 0.0], [1.0, 4.0]], ("a", "b"))
    model = ValueModel.of(fit(counts, complete_graph(("a", "b"))))
    values = Values(variables, every_row(variables, "alice"), every_row(variables, "bob"))
    row_a, row_b = all_pairs(values)
    plain = log_bayes_factors(model, values, row_a, row_b)
    assert np.isneginf(plain).tolist() == [False, True, False, False]
    assert plain[0] == pytest.approx(np.log(3 / 8 / (3 / 8 * 4 / 8)))
    assert BayesFactors(model, values).log(row_a, row_b)[1] == -700


@pytest.mark.parametrize(
    ("codes_a", "codes_b", "what"),
    [
        ([[0, -1], [2, -1]], [[-1, 0]], "codes of a must be -1 to 1"),
        ([[0, 0]], [[-1, 0]], "codes of b must be -1 to -1"),
        ([[0]], [[-1, 0]], "a column for each of 2 variables"),
    ],
)
def test_codes_that_do_not_fit_are_refused_with_a_count(codes_a, codes_b, what):
    variables = (Variable("a", "alice", 2), Variable("b", "bob", 2))
    with pytest.raises(GemelError, match=what):
        Values(variables, np.array(codes_a, np.int32), np.array(codes_b, np.int32))


# Keys that stand alone: common values by their shares, rare ones by those of similar frequency.


def test_common_values_have_nearly_their_shares():
    rng = np.random.default_rng(1)
    truth = np.array([0.5, 0.3, 0.2])
    files = [rng.choice(3, (n, 1), p=truth).astype(np.int32) for n in (4000, 6000)]
    key = frequencies(Values((Variable("key", "both", 3, alone=True),), *files))[0]
    assert key.share == pytest.approx(truth, abs=0.02)
    assert key.share.sum() == pytest.approx(1, abs=1e-3)


def test_a_person_in_both_files_counts_once():
    codes = np.array([[0], [1], [2], [2]], dtype=np.int32)
    values = Values((Variable("key", "both", 3, alone=True),), codes, codes)
    everybody = WeightedPairs(np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32), np.ones(4))
    key = frequencies(values, everybody)[0]
    plain = frequencies(values)[0]
    # Four people, of whom two bear the third name; the discount is 1/2.
    assert discount(np.array([1.0, 1.0, 2.0])) == 0.5
    assert key.share * 4 == pytest.approx([0.5, 0.5, 3 - 2 * 3 / 4 - 0.5])
    assert plain.share * 8 == pytest.approx([0.5, 0.5, 2.5])


def test_agreement_on_names_has_the_weight_of_the_population_where_shares_fail():
    """Real surnames, 400 and 600 people, 240 of them in both: the mean log factor of the true matches."""
    table = name_tables()["surname"]
    truth = table.weights / table.weights.sum()
    found = []
    for seed in range(10):
        rng = np.random.default_rng([3, seed])
        people = np.searchsorted(np.cumsum(table.weights), rng.integers(0, table.weights.sum(), 760), side="right")
        distinct, codes = np.unique(people, return_inverse=True)
        a, b = codes[:400, None].astype(np.int32), codes[160:, None].astype(np.int32)
        values = Values((Variable("surname", "both", len(distinct), alone=True),), a, b)
        matches = np.arange(240)
        weighted = WeightedPairs((160 + matches).astype(np.int32), matches.astype(np.int32), np.full(240, 0.5))
        p = truth[distinct][a[160:, 0]]
        known = np.log((truth**2).sum() / p).mean()
        key = frequencies(values, weighted)[0]
        shares = np.bincount(np.concatenate([a[:, 0], b[:, 0]])) / 1000
        plain = np.log((shares**2).sum() / shares[a[160:, 0]]).mean()
        found.append((known, key.log_factors[a[160:, 0]].mean(), plain))
    known, estimated, plain = np.mean(found, axis=0)
    assert plain < 0.1 * known
    assert 0.4 * known < estimated < 1.2 * known


def test_a_model_of_the_match_alone_is_no_ratio():
    model = random_model(("a",), (2,), np.random.default_rng(1))
    with pytest.raises(GemelError) as caught:
        ValueModel(model, None, None)
    assert caught.value.code is ErrorCode.PARAMETER
