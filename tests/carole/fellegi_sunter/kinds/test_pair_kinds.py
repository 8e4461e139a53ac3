"""Kinds of pairs: their densities, sizes and shares found by their definitions, and which of them are found."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.fellegi_sunter.kinds.law import estimated, independent
from gemel.carole.fellegi_sunter.kinds.pair_kinds import (
    MAX_CANDIDATES,
    STRANGERS,
    Counted,
    Densities,
    Kinds,
    Shareable,
    ShareFound,
    Vectors,
    fitted,
    posteriors,
    search,
)
from gemel.carole.fellegi_sunter.kinds.relatives import Relatives
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from gemel.risk.models.graphs import mask_of, members
from tests.carole.fellegi_sunter.kinds.laws import EVERY, GRAPHS, LEVELS, missing_some, random_distribution, random_m

SEEDS = st.integers(0, 2**32)
FIELDS = len(LEVELS)
ALL = ShareFound((), np.zeros((FIELDS, 2)), {0: 1.0})
"""Nothing is blocked."""


def defined(law, m, shared):
    """Density of every complete vector: the law of the fields that are not shared, times m of those that are."""
    whole = np.exp(law.log_probability(EVERY))
    others = [q for q in range(FIELDS) if not shared >> q & 1]
    of_others = np.array([whole[(EVERY[:, others] == vector[others]).all(axis=1)].sum() for vector in EVERY])
    return of_others * np.prod([m[q, EVERY[:, q]] for q in members(shared)] or [np.ones(len(EVERY))], axis=0)


@given(SEEDS, st.sampled_from(GRAPHS), st.integers(0, 31))
def test_a_density_is_the_sum_over_all_completions(seed, edges, shared):
    rng = np.random.default_rng(seed)
    law, m = random_distribution(edges, rng), random_m(rng)
    whole = defined(law, m, shared)
    assert whole.sum() == pytest.approx(1)
    gamma = missing_some(rng, 20)
    found = np.exp(Densities(Vectors(gamma), law, m).log_density(shared))
    for vector, value in zip(gamma, found, strict=True):
        fits = ((vector == -1) | (vector == EVERY)).all(axis=1)
        assert value == pytest.approx(whole[fits].sum(), rel=1e-9)


@given(SEEDS, st.sampled_from(GRAPHS), st.integers(0, 31))
def test_relatives_have_names_of_their_own_levels(seed, edges, shared):
    """The law of all other fields, times m of those shared, times the relatives' levels of the names not shared."""
    rng = np.random.default_rng(seed)
    law, m, levels = random_distribution(edges, rng), random_m(rng), random_m(rng)
    names, ties = 0b00011, 0b10100
    relatives = Relatives(names, ties, levels, levels, {})
    apart = names & ~shared if relatives.levels(shared) is not None else 0
    whole = defined(law, m, shared | apart)
    for q in members(apart):
        whole = whole / m[q, EVERY[:, q]] * levels[q, EVERY[:, q]]
    found = np.exp(Densities(Vectors(EVERY), replace(law, relatives=relatives), m).log_density(shared))
    np.testing.assert_allclose(found, whole, rtol=1e-9)


@given(SEEDS, st.integers(0, 31))
def test_distinct_vectors_over_some_fields(seed, fields):
    gamma = missing_some(np.random.default_rng(seed), 40)
    member, distinct = Vectors(gamma).distinct(fields)
    columns = list(members(fields))
    np.testing.assert_array_equal(distinct[member][:, columns], gamma[:, columns])
    assert len(np.unique(distinct, axis=0)) == len(distinct)
    assert (np.delete(distinct, columns, axis=1) == -1).all()


def test_many_fields_do_not_overflow_the_numbers_of_their_vectors():
    gamma = np.random.default_rng(1).integers(-1, 120, (200, 40)).astype(np.int8)
    gamma[100:] = gamma[:100]
    member, distinct = Vectors(gamma).distinct((1 << 40) - 1)
    assert len(distinct) == 100
    np.testing.assert_array_equal(distinct[member], gamma)


def three_kinds(seed):
    """Random counts, and kinds of strangers, of everything shared and of three fields shared."""
    rng = np.random.default_rng(seed)
    law, m = random_distribution(GRAPHS[seed % len(GRAPHS)], rng), random_m(rng)
    count = rng.poisson(200.0 * rng.random(len(EVERY))).astype(np.float64)
    found = ShareFound((RuleFields("rule", (0,)),), np.tile([0.5, 0.8], (FIELDS, 1)), {1: 1.0})
    kinds = Kinds((STRANGERS, 31, 7), np.array([count.sum() / 2, 30.0, 60.0]))
    return Counted(count, Densities(Vectors(EVERY), law, m), found), kinds


def log_likelihood(counted, kinds, pairs):
    density = np.exp([counted.densities.log_density(shared) for shared in kinds.shared])
    share = np.array([counted.found(shared) for shared in kinds.shared])
    return counted.count @ np.log(pairs @ density) - pairs @ share


@pytest.mark.parametrize("seed", range(6))
def test_sizes_have_the_greatest_likelihood(seed):
    """It is concave in the sizes: no step in any direction raises it, and it is what is returned."""
    counted, kinds = three_kinds(seed)
    found, value = fitted(kinds, counted, 100_000)
    assert value == pytest.approx(log_likelihood(counted, kinds, found.pairs), rel=1e-9)
    assert found.pairs[0] == kinds.pairs[0]
    for k, factor in product((1, 2), (0.9, 0.99, 1.01, 1.1)):
        moved = found.pairs.copy()
        moved[k] = moved[k] * factor + (1e-3 if factor > 1 else 0)
        assert log_likelihood(counted, kinds, moved) <= value + 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_sizes_are_those_of_plain_em(seed):
    counted, kinds = three_kinds(seed)
    density = np.exp([counted.densities.log_density(shared) for shared in kinds.shared])
    share = np.array([counted.found(shared) for shared in kinds.shared])
    pairs = kinds.pairs.copy()
    for _ in range(30):
        each = pairs[:, None] * density
        pairs[1:] = ((each / each.sum(axis=0)) @ counted.count / share)[1:]
    found, _ = fitted(kinds, counted, 30)
    np.testing.assert_allclose(found.pairs, pairs, rtol=0.01, atol=1e-3)
    np.testing.assert_allclose(
        posteriors(found, counted.densities), found.pairs[:, None] * density / (found.pairs @ density)
    )


@given(SEEDS)
def test_the_share_found_is_that_of_all_agreements_by_some_rule(seed):
    """Every combination of fields that agree, with its probability, and of rules whose fields the records have."""
    rng = np.random.default_rng(seed)
    keys = [tuple(sorted(rng.choice(FIELDS, rng.integers(1, 4), replace=False).tolist())) for _ in range(3)]
    agreement = rng.random((FIELDS, 2))
    usable = dict(enumerate(rng.dirichlet(np.ones(8)).tolist()))
    found = ShareFound([RuleFields(str(key), key) for key in keys], agreement, usable)
    for shared in (0, 31, int(rng.integers(32))):
        expected = 0.0
        for agreeing in product((False, True), repeat=FIELDS):
            chances = [agreement[q, shared >> q & 1] for q in range(FIELDS)]
            chance = np.prod([p if agrees else 1 - p for p, agrees in zip(chances, agreeing, strict=True)])
            by = sum(all(agreeing[q] for q in key) << r for r, key in enumerate(keys))
            expected += chance * sum(share for some, share in usable.items() if some & by)
        assert found(shared) == pytest.approx(max(expected, 1e-9), rel=1e-9, abs=1e-12)


def test_without_rules_all_are_found():
    assert ALL(STRANGERS) == ALL(31) == 1.0


# Which sets of fields can be shared.

PEOPLE = [
    FieldLevels("given", 2, describes="name"),
    FieldLevels("surname", 2, describes="family"),
    FieldLevels("sex", 2, describes="trait"),
    FieldLevels("exchange", 2, exception=True, of=(0, 1)),
    FieldLevels("constant", 2, describes="household"),
]
M = np.array([[0.1, 0.9], [0.1, 0.9], [0.02, 0.98], [0.98, 0.02], [0.0, 1.0]])
U = np.array([[0.99, 0.01], [0.98, 0.02], [0.5, 0.5], [0.999, 0.001], [0.1, 0.9]])


def test_further_comparisons_and_weak_fields_follow_the_others():
    shareable = Shareable.of(PEOPLE, M, U)
    assert shareable.fields == mask_of((0, 1, 2))
    assert shareable.everything == mask_of(range(5))
    assert shareable.closed(mask_of((0,))) == mask_of((0, 4))
    assert shareable.closed(mask_of((0, 1))) == mask_of((0, 1, 3, 4))
    assert shareable.closed(mask_of((2,))) == STRANGERS
    assert shareable.closed(mask_of((3, 4))) == STRANGERS


@given(st.integers(1, 14), st.lists(st.integers(1, 2**14 - 1), max_size=5))
def test_candidates_are_closed_and_few(n, present):
    shareable = Shareable((1 << n) - 1)
    found = shareable.candidates(present, (3, 12))
    assert len(set(found)) == len(found) <= MAX_CANDIDATES
    assert STRANGERS not in found
    assert all(shareable.closed(each) == each for each in found)
    if n <= 9:
        assert len(found) == 2**n - 1


# Which kinds there are.

SIX = [
    FieldLevels("given", 2, describes="name"),
    FieldLevels("born", 2, describes="birth"),
    FieldLevels("sex", 2, describes="trait"),
    FieldLevels("surname", 2, describes="family"),
    FieldLevels("street", 2, describes="household"),
    FieldLevels("town", 2, describes="household"),
]
EVERY_OF_SIX = np.array(list(product((0, 1), repeat=6)), dtype=np.int8)
U_OF_SIX = np.array([0.01, 0.002, 0.5, 0.004, 0.002, 0.1])
M_OF_SIX = np.array([0.92, 0.95, 0.99, 0.93, 0.9, 0.95])
GROUPS = (mask_of((4, 5)), mask_of((3,)), mask_of((0,)), mask_of((1,)))
N_PAIRS = 4_000_000.0


def population(sizes, rng=None, u=U_OF_SIX):
    """Counts of all vectors of six fields for the kinds of these sizes among strangers, and what is known of them."""
    levels = np.column_stack([1 - u, u])
    law = estimated(independent(6), EVERY_OF_SIX[:0], np.zeros(0), levels, [2] * 6)
    m = np.column_stack([1 - M_OF_SIX, M_OF_SIX])
    densities = Densities(Vectors(EVERY_OF_SIX), law, m)
    count = sum(n * np.exp(densities.log_density(shared)) for shared, n in sizes.items())
    count = count + (N_PAIRS - sum(sizes.values())) * np.exp(densities.log_density(STRANGERS))
    count = count if rng is None else rng.poisson(count).astype(np.float64)
    return Counted(count, densities, ShareFound((), np.zeros((6, 2)), {0: 1.0})), Shareable.of(SIX, m, levels)


WHOLE = (1 << 6) - 1
MOVED, MARRIED = mask_of((0, 1, 2, 3)), mask_of((0, 1, 2, 4, 5))
FAMILY, STREET = mask_of((3, 4, 5)), mask_of((4, 5))


@pytest.mark.parametrize(
    "sizes",
    [{WHOLE: 1000.0}, {WHOLE: 800.0, MOVED: 200.0}, {WHOLE: 500.0, MOVED: 60.0, MARRIED: 40.0, FAMILY: 900.0},
     {FAMILY: 600.0, STREET: 4000.0}],
)  # fmt: skip
def test_an_exact_population_is_found_again(sizes):
    counted, shareable = population(sizes)
    found = search(counted, N_PAIRS, 2000.0, shareable, GROUPS)
    sized = dict(zip(found.shared, found.pairs, strict=True))
    for shared, n in sizes.items():
        assert sized.pop(shared) == pytest.approx(n, rel=0.05)
    sized.pop(STRANGERS)
    assert sum(sized.values()) < 5


@pytest.mark.parametrize("seed", range(5))
def test_sampled_populations_are_found_by_their_kinds(seed):
    sizes = {WHOLE: 500.0, MOVED: 100.0, FAMILY: 900.0}
    counted, shareable = population(sizes, np.random.default_rng(seed))
    found = search(counted, N_PAIRS, 2000.0, shareable, GROUPS)
    sized = dict(zip(found.shared, found.pairs, strict=True))
    for shared, n in sizes.items():
        assert sized.pop(shared) == pytest.approx(n, rel=0.15, abs=3 * np.sqrt(n))
    assert sum(n for shared, n in sized.items() if shared != STRANGERS) < 60


@pytest.mark.parametrize("seed", range(5))
def test_no_kind_is_added_among_strangers_and_matches(seed):
    counted, shareable = population({WHOLE: 1000.0}, np.random.default_rng(seed))
    found = search(counted, N_PAIRS, 2000.0, shareable, GROUPS)
    assert sum(found.pairs[2:]) < 10
    assert found.pairs[1] == pytest.approx(1000, rel=0.1)


def test_sizes_are_of_all_pairs_where_blocking_saw_a_part():
    """Only pairs that agree on the date of birth or on surname and street."""
    counted, shareable = population({WHOLE: 800.0, MOVED: 200.0})
    agreement = np.column_stack([U_OF_SIX, M_OF_SIX])
    rules = [RuleFields("born", (1,)), RuleFields("home", (3, 4))]
    seen = (EVERY_OF_SIX[:, 1] == 1) | (EVERY_OF_SIX[:, 3] + EVERY_OF_SIX[:, 4] == 2)
    part = Vectors(EVERY_OF_SIX[seen])
    densities = Densities(part, counted.densities.law, counted.densities.m)
    blocked = Counted(counted.count[seen], densities, ShareFound(rules, agreement, {3: 1.0}))
    found = search(blocked, N_PAIRS, 2000.0, shareable, GROUPS)
    sized = dict(zip(found.shared, found.pairs, strict=True))
    assert sized[WHOLE] == pytest.approx(800, rel=0.05)
    assert sized[MOVED] == pytest.approx(200, rel=0.1)


def test_kinds_that_lost_their_pairs_are_left_away():
    counted, shareable = population({WHOLE: 1000.0})
    found = search(counted, N_PAIRS, 2000.0, shareable, GROUPS, start=[MOVED, FAMILY])
    assert not {MOVED, FAMILY} & set(found.shared)
    assert all(found.shared[:2]) == 0
    assert [a for a, b in combinations(found.shared, 2) if a == b] == []
