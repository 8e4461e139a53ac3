"""Matching strategies: walks through real urns, the thesis's formulas, who dominates whom and who does not."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.file_level import file_measures
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.claims import claim_best_of_each, claim_most_probable
from gemel.risk.identification.strategies import Frequencies, Strategy, attack, attacks, thesis_strategies


@st.composite
def counts(draw, cells: int = 6, largest: int = 6):
    F = draw(st.lists(st.integers(1, largest), min_size=1, max_size=cells))
    f = [draw(st.integers(0, n)) for n in F]
    f[0] = max(f[0], 1)
    return Frequencies(np.array(f), np.array(F))


def walked(f, F, direction, chosen) -> tuple[float, float]:
    """Probability and cost by going through every order of the population, people by people."""
    people = [j for j, n in enumerate(F) for _ in range(n)]
    N = len(people)
    seat = {}  # the first f_j people of a cell are the sampled ones
    for i, j in enumerate(people):
        seat.setdefault(j, []).append(i)
    orders = set(permutations(range(N))) if N <= 6 else None
    assert orders is not None
    hits, steps, tries = 0.0, 0.0, 0
    if direction == "population to sample":
        eligible = {i for i in range(N) if chosen[people[i]]}
        for order in orders:
            t = next(t for t, i in enumerate(order) if i in eligible)
            j = people[order[t]]
            # he matches the person against one of the f_j records at random
            hits += (1 / f[j] if order[t] in seat[j][: f[j]] else 0) if f[j] else 0
            steps += t + 1
            tries += 1
        return hits / tries, steps / tries
    records = [i for j in range(len(F)) if chosen[j] for i in seat[j][: f[j]]]
    for order, record in product(orders, records):
        j = people[record]
        t = next(t for t, i in enumerate(order) if people[i] == j)
        hits += order[t] == record
        steps += t + 1
        tries += 1
    return hits / tries, steps / tries


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda F: sum(F) <= 5), st.data())
def test_every_strategy_is_the_average_over_all_searches(F, data):
    f = [data.draw(st.integers(0, n)) for n in F]
    f[0] = max(1, f[0])
    own = Frequencies(np.array(f), np.array(F))
    for strategy in thesis_strategies(2).values():
        chosen = strategy.condition(own.f, own.F)
        found = attack(own, strategy)
        if not found.targets:
            assert (found.probability, found.efficiency) == (0, 0)
            continue
        probability, cost = walked(f, F, strategy.direction, chosen)
        assert found.probability == pytest.approx(probability)
        assert found.cost == pytest.approx(cost)


@given(counts(), st.integers(1, 4))
def test_dominance(own, r):
    found = attacks(own, r)
    assert found[4].probability >= found[5].probability - 1e-12
    assert found[6].probability >= found[7].probability - 1e-12
    assert found[3].probability >= found[2].probability - 1e-12
    if own.F.max() == own.F.min():
        assert found[4].probability == pytest.approx(found[5].probability)


@given(counts(), st.integers(0, 63))
def test_from_population_to_sample_is_never_dearer_nor_less_efficient(own, picked):
    """For one condition on sampled cells, both directions (T11: cost dominance, efficiency, no free lunch)."""

    def chosen(f, F):
        return (f > 0) & (picked >> np.arange(len(f)) & 1 > 0)

    out = attack(own, Strategy("some cells", "sample to population", chosen))
    back = attack(own, Strategy("some cells", "population to sample", chosen))
    if not out.targets:
        assert not back.targets
        return
    N = own.F.sum()
    assert out.cost >= back.cost - 1e-9
    assert out.cost_replaced >= back.cost_replaced - 1e-9
    assert back.efficiency >= out.efficiency - 1e-12
    assert out.probability / out.cost_replaced == pytest.approx(1 / N)
    assert back.probability / back.cost_replaced == pytest.approx(back.targets / N)
    if out.targets == 1:
        assert out.cost == pytest.approx(back.cost)
        assert out.efficiency == pytest.approx(back.efficiency)


def test_no_other_pair_of_the_seven_dominates():
    """Among small files there is a counterexample for every pair but 4 over 5, 6 over 7 and 3 over 2.

    With r = 2, so that 6 and 7 are others than 4 and 5.
    """
    beaten = set()
    cells = [(f, F) for F in (1, 2, 3, 7) for f in range(F + 1) if f <= 3]
    for some in [*product(cells, repeat=1), *product(cells, repeat=2), *product(cells, repeat=3)]:
        f, F = np.array(some).T
        if not f.sum():
            continue
        found = attacks(Frequencies(f, F), 2)
        for a, b in permutations(found, 2):
            if found[b].probability > found[a].probability + 1e-9:
                beaten.add((a, b))  # a does not dominate b
    assert set(permutations(range(1, 8), 2)) - beaten == {(4, 5), (6, 7), (3, 2)}


@given(st.lists(st.integers(0, 6), min_size=2, max_size=30), st.data())
def test_strategies_of_a_file_are_its_file_measures(people, data):
    drawn = data.draw(st.lists(st.integers(0, len(people) - 1), min_size=1, unique=True))
    file = KeyFile.from_columns({"x": [people[i] for i in drawn]}, population={"x": people})
    found, measures = attacks(Frequencies.of(file)), file_measures(file)
    assert found[4].probability == pytest.approx(measures.cm_given_su)
    assert found[5].probability == pytest.approx(measures.cm_given_um)
    assert found[2].probability == pytest.approx(len(file.cells) / len(people))
    assert found[2].cost == pytest.approx(1)


def test_custom_conditions_may_use_both_counts():
    own = Frequencies(np.array([1, 1, 2, 0]), np.array([1, 4, 2, 3]))
    known = attack(own, Strategy("small in the population", "population to sample", lambda f, F: F <= 2))
    assert known.targets == 2
    assert known.probability == pytest.approx(2 / 3)
    with pytest.raises(GemelError, match="every cell"):
        attack(own, Strategy("wrong", "population to sample", lambda f, F: np.array([True])))


def test_bad_input():
    for f, F in (([2], [1]), ([0], [1]), ([-1, 2], [1, 2]), ([1, 1], [1])):
        with pytest.raises(GemelError):
            Frequencies(np.array(f), np.array(F))
    with pytest.raises(GemelError, match="need the population"):
        Frequencies.of(KeyFile.from_columns({"x": [1, 2]}, 0.5))
    with pytest.raises(GemelError, match="at least one record"):
        thesis_strategies(0)


# What claims come to, against going through them one by one.

pairs = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.booleans()), min_size=1, max_size=30
)


@given(pairs, st.sampled_from([0.0, 0.3, 0.6, 1.0]))
def test_claims_by_the_definition(rows, minimum):
    target, probability, match = (np.array(column) for column in zip(*rows, strict=True))
    found = claim_best_of_each(target, probability, match, minimum)
    claimed, right = [], []
    for person in set(target.tolist()):
        own = [(p, m) for t, p, m in rows if t == person]
        best = max(p for p, _ in own)
        if best >= minimum:
            tied = [m for p, m in own if p == best]
            claimed.append(best)
            right.append(sum(tied) / len(tied))
    assert found.number == len(claimed)
    if claimed:
        assert found.claimed == pytest.approx(np.mean(claimed))
        assert found.true == pytest.approx(np.mean(right))
        assert found.correct == pytest.approx(sum(right))
    top = claim_most_probable(probability, match)
    tied = [m for _, p, m in rows if p == probability.max()]
    assert (top.number, top.claimed, top.true) == (1, probability.max(), pytest.approx(sum(tied) / len(tied)))


def test_without_the_truth_no_true_rate_is_given():
    found = claim_best_of_each(np.array([0, 1]), np.array([0.2, 0.7]), None, 0.5)
    assert (found.number, found.claimed, found.true, found.correct) == (1, 0.7, None, None)
    assert claim_most_probable(np.array([0.2, 0.7])).true is None
    nothing = claim_most_probable(np.zeros(0), np.zeros(0, dtype=bool))
    assert (nothing.number, nothing.true) == (0, 0.0)


@pytest.mark.parametrize(("probability", "match"), [([1.2], None), ([float("nan")], None), ([0.5], [True, False])])
def test_what_cannot_be_is_refused(probability, match):
    with pytest.raises(GemelError):
        claim_most_probable(np.array(probability), None if match is None else np.array(match))
