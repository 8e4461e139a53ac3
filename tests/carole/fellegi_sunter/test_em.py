"""EM on exact populations of pattern counts, where it must return what they were made from."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.model import MISSING, PatternCounts, expectation, match_weights
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, RuleFields
from gemel.common.documents.result_warning import result_warning
from gemel.common.errors import ErrorCode, GemelError
from research import em
from research.em import distributions, exact_counts
from tests.carole.fellegi_sunter.populations import density, exact_population, padded

M = [[0.02, 0.08, 0.9], [0.1, 0.9], [0.05, 0.05, 0.1, 0.8], [0.3, 0.7]]
U = [[0.8, 0.15, 0.05], [0.97, 0.03], [0.6, 0.3, 0.08, 0.02], [0.6, 0.4]]
FIELDS = [FieldLevels(name, len(row)) for name, row in zip(["surname", "born", "postcode", "sex"], M, strict=True)]
PLAIN = Estimation(prior=0, one_to_one=False, tolerance=1e-9, max_iterations=5000)
N = 300_000_000  # so many records that rounding counts to whole pairs changes nothing


def check_recovered(model, m, u, p):
    assert model.converged
    assert model.p == pytest.approx(p, rel=1e-6)
    np.testing.assert_allclose(model.m, m, atol=1e-6)
    np.testing.assert_allclose(model.u, u, atol=1e-6)


@pytest.mark.parametrize("missing", [None, [0.1, 0.0, 0.3, 0.05]])
@pytest.mark.parametrize("p", [0.2, 0.001])
@pytest.mark.parametrize("u", ["free", "corrected"])
def test_parameters_of_an_exact_population_are_recovered(u, p, missing):
    patterns, _ = exact_population(M, U, p, N, N, missing)
    check_recovered(fit(patterns, FIELDS, N, N, replace(PLAIN, u=u)), padded(M), padded(U), p)


@pytest.mark.parametrize("n_fields", [2, 3, 4])
def test_known_u_recovers_m_and_p_from_two_fields_on(n_fields):
    patterns, _ = exact_population(M[:n_fields], U[:n_fields], 0.05, N, N)
    known = padded(U[:n_fields]) * 1e9
    model = fit(patterns, FIELDS[:n_fields], N, N, replace(PLAIN, u="all_pairs"), level_counts=known)
    assert model.p == pytest.approx(0.05, rel=1e-6)
    np.testing.assert_allclose(model.m, padded(M[:n_fields]), atol=1e-6)


def test_u_from_all_pairs_is_biased_towards_m_by_p():
    """That u is r = p m + (1 - p) u is known; correcting it is what `corrected` is for."""
    patterns, _ = exact_population(M, U, 0.01, N, N)
    model = fit(patterns, FIELDS, N, N, replace(PLAIN, u="all_pairs"))
    np.testing.assert_allclose(model.u, 0.01 * padded(M) + 0.99 * padded(U), atol=1e-9)
    assert model.p < 0.01 * 0.99


def test_only_counts_matter_not_the_number_of_pairs():
    patterns, _ = exact_population(M, U, 0.1, 3000, 3000)
    more = PatternCounts(patterns.gamma, patterns.mask, patterns.count * 1_000_000)
    few = fit(patterns, FIELDS, 3000, 3000, replace(PLAIN, expected_matches=9e4))
    many = fit(more, FIELDS, 3_000_000, 3_000_000, replace(PLAIN, expected_matches=9e10))
    assert many.iterations == few.iterations
    np.testing.assert_allclose(many.m, few.m, atol=1e-9)


def test_the_likelihood_never_falls_and_ends_greatest():
    patterns, _ = exact_population(M, U, 0.1, 3000, 3000)
    history = fit(patterns, FIELDS, 3000, 3000, replace(PLAIN, u="free")).history
    assert len(history.p) == len(history.log_likelihood) == len(history.m)
    plain = history.log_likelihood[:10]
    assert np.all(np.diff(plain) > -1e-6)
    assert history.log_likelihood[-1] == pytest.approx(history.log_likelihood.max(), abs=1e-3)


RULES = [RuleFields("surname", (0,)), RuleFields("born", (1,)), RuleFields("postcode", (2,))]


def test_blocked_pairs_identify_m_only_through_rules_on_other_fields():
    """A rule's own field agrees in every pair it proposes; estimated from those, its m would be 1."""
    m = [[0.02, 0.08, 0.9], [0.15, 0.85], [0.05, 0.05, 0.1, 0.8], [0.02, 0.98]]
    u = [[0.9, 0.099, 0.001], [0.999, 0.001], [0.7, 0.2, 0.099, 0.001], [0.99, 0.01]]
    fields = [FieldLevels(name, len(row)) for name, row in zip("abcd", m, strict=True)]
    p = 1e-5
    patterns, everywhere = exact_population(m, u, p, N, N, rules=[(0,), (1,)])
    rules = [RuleFields(name, (q,)) for q, name in enumerate("ab")]
    model = fit(patterns, fields, N, N, PLAIN, rules, everywhere)
    recall = 1 - 0.1 * 0.15
    # Matches that no rule proposes count as non-matches: p is the share that was found, and so a little low as a prior.
    assert model.p == pytest.approx(p * recall, rel=2e-3)
    np.testing.assert_allclose(model.m, padded(m), atol=2e-3)
    np.testing.assert_allclose(model.u, padded(u), atol=1e-6)
    careless = fit(patterns, fields, N, N, PLAIN, [RuleFields(name, ()) for name in "ab"], everywhere)
    assert np.abs(careless.m - padded(m)).max() > 0.01


def test_pairs_of_two_rules_identify_what_either_allows():
    gamma = np.array([[1, 1], [1, 0]], dtype=np.int8)
    both = PatternCounts(gamma, np.array([3, 1], dtype=np.uint32), np.array([90, 10]))
    everywhere = np.array([[9000.0, 100.0], [9000.0, 100.0]])
    fields, rules = [FieldLevels(name, 2) for name in "ab"], [RuleFields(name, (q,)) for q, name in enumerate("ab")]
    model = fit(both, fields, 100, 100, Estimation(u="all_pairs", prior=0.0), rules, everywhere)
    # m of field b is estimated from rule a's pairs, which are all; of field a from rule b's only, the first row.
    assert model.matches_behind_m[1] > model.matches_behind_m[0]
    assert model.m[0, 1] == 1.0
    assert 0 < model.m[1, 0] < 0.1


def test_a_field_in_every_rule_gets_the_stated_default_and_a_warning():
    patterns, everywhere = exact_population(M, U, 0.001, N, N, rules=[(0,), (0, 1)])
    rules = [RuleFields("surname", (0,)), RuleFields("both", (0, 1))]
    model = fit(patterns, FIELDS, N, N, PLAIN, rules, everywhere)
    np.testing.assert_allclose(model.m[0, :3], [0.05, 0.05, 0.9])
    assert [warning for warning in model.warnings if warning.code == "m_assumed"] == [
        result_warning("m_assumed", field="surname", share=0.9)
    ]


def test_one_binary_field_is_refused():
    patterns = PatternCounts(np.array([[0], [1]], dtype=np.int8), np.zeros(2, dtype=np.uint32), np.array([2284, 50]))
    with pytest.raises(GemelError, match="not identifiable from one binary field") as raised:
        fit(patterns, [FieldLevels("age", 2)], 1167, 2)
    assert raised.value.code is ErrorCode.NOT_IDENTIFIED
    anyway = fit(patterns, [FieldLevels("age", 2)], 1167, 2, Estimation(refuse_unidentified=False, prior=0))
    assert not anyway.identified
    assert anyway.warnings[0].code == "model_not_identified"
    assert "not identifiable from one binary field" in anyway.warnings[0].text
    assert anyway.p * anyway.m[0, 1] + (1 - anyway.p) * anyway.u[0, 1] == pytest.approx(50 / 2334, rel=1e-3)


@pytest.mark.parametrize("u", ["free", "corrected"])
def test_two_fields_are_refused_unless_u_is_fixed(u):
    patterns, _ = exact_population(M[:2], U[:2], 0.1, 1000, 1000)
    with pytest.raises(GemelError, match="two fields"):
        fit(patterns, FIELDS[:2], 1000, 1000, Estimation(u=u))
    assert fit(patterns, FIELDS[:2], 1000, 1000, Estimation(u="all_pairs")).identified


def test_a_constant_field_does_not_help_to_identify():
    gamma = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=np.int8)
    patterns = PatternCounts(gamma, np.zeros(4, dtype=np.uint32), np.array([900, 40, 40, 20]))
    fields = [FieldLevels("a", 2), FieldLevels("b", 2), FieldLevels("always", 2)]
    with pytest.raises(GemelError, match="two fields"):
        fit(patterns, fields, 1000, 1)
    model = fit(patterns, fields, 1000, 1, Estimation(u="all_pairs"))
    assert result_warning("field_constant", field="always") in model.warnings


def test_a_field_that_is_always_missing_is_named_and_adds_nothing():
    patterns, _ = exact_population(M, U, 0.05, 3000, 3000)
    gamma = np.hstack([patterns.gamma, np.full((patterns.n_patterns, 1), MISSING, dtype=np.int8)])
    extended = PatternCounts(gamma, patterns.mask, patterns.count)
    without = fit(patterns, FIELDS, 3000, 3000, PLAIN)
    model = fit(extended, [*FIELDS, FieldLevels("empty", 8)], 3000, 3000, replace(PLAIN, prior=0.0))
    assert result_warning("field_always_missing", field="empty") in model.warnings
    expected = match_weights(patterns.gamma, without.m, without.u)
    np.testing.assert_allclose(match_weights(gamma, model.m, model.u), expected, atol=1e-6)


def test_unseen_levels_keep_a_prior_and_are_listed():
    patterns, _ = exact_population(M, U, 0.001, 3000, 3000)
    wider = [replace(field, n_levels=field.n_levels + 1) for field in FIELDS]
    model = fit(patterns, wider, 3000, 3000)
    assert result_warning("levels_not_observed", levels="surname 3; born 2; postcode 4; sex 2") in model.warnings
    assert "levels_not_observed" not in {warning.code for warning in fit(patterns, FIELDS, 3000, 3000).warnings}
    for q, field in enumerate(wider):
        assert (model.m[q, : field.n_levels] > 0).all()
        assert (model.u[q, : field.n_levels] > 0).all()
        assert model.m[q].sum() == pytest.approx(1)
        assert model.u[q].sum() == pytest.approx(1)
        assert (model.m[q, field.n_levels :] == 0).all()


def test_p_stays_within_one_match_per_record_and_a_warning_says_when_it_is_held():
    patterns, _ = exact_population(M, U, 0.01, 1000, 1000)
    held = fit(patterns, FIELDS, 1000, 1000)
    assert held.p == pytest.approx(1 / 1000)
    assert any("one-to-one linkage allows 1000" in warning.text for warning in held.warnings)
    free = fit(patterns, FIELDS, 1000, 1000, Estimation(one_to_one=False))
    assert free.expected_matches == pytest.approx(10_000, rel=0.05)
    assert not any("one-to-one" in warning.text for warning in free.warnings)


def test_stopping_early_is_reported():
    patterns, _ = exact_population(M, U, 0.1, 3000, 3000)
    model = fit(patterns, FIELDS, 3000, 3000, replace(PLAIN, max_iterations=3))
    assert not model.converged
    assert model.warnings[0].code == "estimation_not_converged"
    assert model.warnings[0].severity == "serious"
    assert fit(patterns, FIELDS, 3000, 3000, PLAIN).converged


def test_no_matches_at_all_is_a_defined_result():
    """Every pair is a non-match: no field agrees more often than by u."""
    patterns, everywhere = exact_population(U, U, 0.5, 3000, 3000)
    model = fit(patterns, FIELDS, 3000, 3000, Estimation(u="all_pairs"), level_counts=everywhere)
    assert np.isfinite(model.match_probabilities(patterns.gamma)).all()
    assert model.match_probabilities(patterns.gamma).max() < 0.5


@pytest.mark.parametrize("sizes", [(1, 500), (500, 1)])
def test_one_record_in_a_file(sizes):
    n_a, n_b = sizes
    patterns, _ = exact_population(M, U, 1 / max(sizes) / 2, n_a, n_b)
    model = fit(patterns, FIELDS, n_a, n_b)
    assert 0 < model.p <= 1 / max(sizes)


def test_a_single_pair_is_refused():
    single = PatternCounts(np.array([[2, 1, 3, 1]], dtype=np.int8), np.zeros(1, dtype=np.uint32), np.array([1]))
    with pytest.raises(GemelError, match="no field takes two levels"):
        fit(single, FIELDS, 1, 1)


def test_expected_matches_are_where_p_starts():
    patterns, _ = exact_population(M, U, 0.0001, 3000, 3000)
    model = fit(patterns, FIELDS, 3000, 3000, Estimation(expected_matches=123.0))
    assert model.history.p[0] == pytest.approx(123 / 9e6)
    assert fit(patterns, FIELDS, 3000, 3000).history.p[0] == pytest.approx(1 / 3000)


BLOCKED, EVERYWHERE = exact_population(M, U, 0.1, 100, 100, rules=[(0,)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": (), "level_counts": None}, r"all n_a \* n_b = 10000 pairs"),
        ({"level_counts": None}, "levels over all pairs, as pairs were blocked"),
        ({"settings": Estimation(u="free")}, "u cannot be estimated freely from blocked pairs"),
        ({"fields": FIELDS[:3]}, "4 fields, as gamma has"),
        ({"n_a": 2, "n_b": 2}, "at most n_a"),
        ({"fields": [*FIELDS[:3], FieldLevels("sex", 1)]}, "field sex: expected levels below 1, got 1"),
        ({"rules": [RuleFields("wrong", (4,))]}, r"blocking.wrong: positions of fields must be 0 to 3, got \[4\]"),
        ({"level_counts": EVERYWHERE[:3]}, r"shape \(4, 4\)"),
    ],
)
def test_inputs_that_disagree(changes, message):
    sound = {"fields": FIELDS, "n_a": 100, "n_b": 100, "rules": RULES, "level_counts": EVERYWHERE}
    with pytest.raises(GemelError, match=message):
        fit(BLOCKED, **sound | changes)


@pytest.mark.parametrize(
    ("name", "value"),
    [("u", "fixed"), ("expected_matches", 0.0), ("max_iterations", 0), ("tolerance", 0.0), ("prior", -1.0)],
)
def test_settings_that_make_no_sense(name, value):
    with pytest.raises(GemelError, match=f"model.{name}") as raised:
        Estimation(**{name: value})
    assert raised.value.code is ErrorCode.PARAMETER


@given(data=st.data())
def test_the_compiled_expectation_is_the_definition(data):
    n_levels = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n = data.draw(st.integers(1, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    gamma = np.array([[rng.integers(-1, k) for k in n_levels] for _ in range(n)], dtype=np.int8)
    count = rng.integers(0, 100, n).astype(float)
    identified = rng.integers(0, 2 ** len(n_levels), n).astype(np.uint64)
    m, u = ([rng.dirichlet(np.ones(k)) for k in n_levels] for _ in range(2))
    p = rng.uniform(0.001, 0.999)
    a, b = density(gamma, m, u, p)
    g = a / (a + b) * count
    width = max(n_levels)
    matches, others = np.full((2, len(n_levels), width), np.nan)
    with np.errstate(divide="ignore"):
        log_m, log_u = (np.hstack([np.log(padded(x)), np.zeros((len(x), 1))]) for x in (m, u))
    total, likelihood = expectation(gamma, count, identified, log_m, log_u, np.log(p), np.log1p(-p), matches, others)
    assert total == pytest.approx(g.sum())
    assert likelihood == pytest.approx((count * np.log(a + b)).sum())
    for q, k_q in enumerate(n_levels):
        identifies = (identified >> np.uint64(q)) & np.uint64(1) == 1
        for k in range(k_q):
            here = identifies & (gamma[:, q] == k)
            assert matches[q, k] == pytest.approx(g[here].sum(), abs=1e-9)
            assert others[q, k] == pytest.approx((count - g)[here].sum(), abs=1e-9)


# Populations of other fields, of a million cells, and streamed.


def fields_of(n_levels):
    return [FieldLevels(f"field {q}", n) for q, n in enumerate(n_levels)]


@pytest.mark.parametrize("u", ["free", "corrected"])
@pytest.mark.parametrize("missing", [None, [0.2] * 3])
@pytest.mark.parametrize("seed", range(4))
def test_three_fields_are_enough(seed, missing, u):
    """From seed 1 an extrapolation once reduced a level of m to nearly 0, from where EM returned too slowly."""
    n_levels = [4, 3, 2]
    m, others = distributions(n_levels, np.random.default_rng(seed))
    rows = ([row[:n] for row, n in zip(table, n_levels, strict=True)] for table in (m, others))
    patterns, _ = exact_population(*rows, 0.01, N, N, missing)
    model = fit(patterns, fields_of(n_levels), N, N, replace(PLAIN, tolerance=1e-10, max_iterations=20_000, u=u))
    check_recovered(model, m, others, 0.01)


def test_a_million_cells():
    n_levels = [10] * 6
    m, u = distributions(n_levels, np.random.default_rng(1))
    patterns = exact_counts(m, u, 0.01, n_levels, N**2)
    assert patterns.n_patterns == 10**6
    check_recovered(fit(patterns, fields_of(n_levels), N, N, replace(PLAIN, u="free")), m, u, 0.01)


@pytest.mark.long
def test_streamed_pairs_are_counted_all_and_give_their_model_back(capsys):
    em.streaming(3_000_000, 2, 1)
    printed = capsys.readouterr().out
    (total,) = re.findall(r"^([\d,]+) pairs, drawn and counted", printed)
    assert int(total.replace(",", "")) == 1732**2
    expected, drawn = map(float, re.findall(r"matches +(\d+) +expected, (\d+) on average", printed)[0])
    # 866 matches are drawn on average, with a standard deviation of 29.
    assert expected == pytest.approx(drawn, abs=6 * 29)
    assert "converged: True" in printed
    em.independence(1, np.random.default_rng(1))
    em.recovery(np.random.default_rng(1), largest=3)
    printed = capsys.readouterr().out
    assert len(re.findall(r"e-\d\d$", printed, re.MULTILINE)) == 2
