"""Minimal sample uniques and their scores: oracles, brute force, identities, missing values, limits."""

from __future__ import annotations

import json
from itertools import combinations, permutations, product
from math import factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.risk.identification.file_level import population_measures
from gemel.risk.identification.key_file import KeyFile
from gemel.risk.identification.matching.claims import claim_best_of_each, claim_most_probable
from gemel.risk.identification.strategies import Frequencies, Strategy, attack, attacks, thesis_strategies
from gemel.risk.identification.suda import largest_within, minimal_uniques
from gemel.risk.identification.suda_ranking import calibrated, suda_scores

SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
FIVE = ["urbrur", "roof", "walls", "water", "sex"]


def plain(codes) -> list[set[tuple[int, ...]]]:
    """The definition: all subsets, smallest first; unique when no one else agrees, minimal when no subset is."""
    n_keys = len(codes[0])
    found = []
    for own in codes:
        mine: set[tuple[int, ...]] = set()
        for size in range(n_keys + 1):
            for keys in combinations(range(n_keys), size):
                if any(set(m) <= set(keys) for m in mine):
                    continue
                agreeing = sum(all(own[q] == other[q] or -1 in (own[q], other[q]) for q in keys) for other in codes)
                if agreeing == 1:
                    mine.add(keys)
        found.append(mine)
    return found


@st.composite
def files(draw, missing=("level", "any")):
    n_keys = draw(st.integers(1, 5))
    largest = draw(st.integers(1, 3))
    value = st.one_of(st.integers(0, largest).map(str), st.none()) if draw(st.booleans()) else st.integers(0, largest)
    rows = draw(st.lists(st.tuples(*[value] * n_keys), min_size=1, max_size=25))
    columns = {f"v{q}": [None if row[q] is None else str(row[q]) for row in rows] for q in range(n_keys)}
    return KeyFile.from_columns(columns, 0.01, missing=draw(st.sampled_from(missing)))


@given(files(), st.integers(1, 3))
def test_the_search_finds_what_the_definition_says(file, threads):
    found = minimal_uniques(file, threads=threads)
    names = {n: q for q, n in enumerate(file.names)}
    for record, expected in enumerate(plain(file.codes.tolist())):
        assert {tuple(sorted(names[k] for k in keys)) for keys in found.of_record(record)} == expected


@given(files(), st.integers(1, 5))
def test_a_limit_of_size_finds_the_small_ones(file, maximum):
    everything, limited = minimal_uniques(file), minimal_uniques(file, maximum)
    for record in range(file.n_records):
        small = [keys for keys in everything.of_record(record) if len(keys) <= maximum]
        assert limited.of_record(record) == small
    assert limited.complete == (maximum >= file.n_keys)


@given(files())
def test_the_harmonic_mean_of_dis_is_is_dis(file):
    for kind in ("is", "suda"):
        scored = suda_scores(file, kind)
        own = scored.dis_scores[file.uniques]
        if len(own):
            U = len(own)
            assert (1 / own - 1).sum() == pytest.approx(U * (1 / scored.dis - 1), rel=1e-9)
            assert U / (1 / own).sum() == pytest.approx(scored.dis, rel=1e-9)
            assert (scored.scores[file.uniques] >= (1 if kind == "is" else 0)).all()
        assert (np.delete(scored.dis_scores, file.uniques) == 0).all()


@given(files(missing=("level",)))
def test_contributions_are_sums_over_minimal_uniques(file):
    scored = suda_scores(file)
    own = scored.minimal_uniques
    whole = scored.scores.sum()
    for q, name in enumerate(file.names):
        by_record = np.zeros(file.n_records)
        for record in range(file.n_records):
            by_record[record] = sum(
                factorial(file.n_keys - len(keys)) for keys in own.of_record(record) if name in keys
            )
            if scored.scores[record]:
                assert scored.contributions(record)[q] == pytest.approx(by_record[record] / scored.scores[record])
        if whole:
            assert scored.by_variable[q] == pytest.approx(by_record.sum() / whole)
            for level in range(file.levels[q]):
                with_level = by_record[file.codes[:, q] == level].sum()
                assert scored.by_category[q][level] == pytest.approx(with_level / whole)


@pytest.mark.parametrize(
    ("data", "keys"), [("testdata2", FIVE), ("testdata2", SEVEN), ("testdata", FIVE)], ids=["2 k5", "2 k7", "k5"]
)
def test_the_oracle_files(shared, data, keys):
    expected = pl.read_csv(shared / "oracles" / f"suda_{data}_k{len(keys)}.csv")
    records = pl.read_csv(shared / "data" / f"data_{data}.csv", columns=keys)
    scored = suda_scores(KeyFile.from_columns(records.select(keys).to_dict(), 0.01))
    assert scored.scores.tolist() == expected["score"].to_list()
    assert np.abs(scored.dis_scores - expected["dis_suda"].to_numpy()).max() < 1e-7
    for record, (msus, n) in enumerate(expected.select("msus", "n_msu").iter_rows()):
        own = scored.minimal_uniques.of_record(record)
        assert len(own) == n
        assert {frozenset(keys) for keys in own} == {frozenset(x.split("+")) for x in (msus or "").split(";") if x}


def test_the_worked_examples(shared):
    examples = json.loads((shared / "oracles" / "suda_worked_examples.json").read_text())
    runs = [
        (pl.DataFrame(example["data"]), run)
        for example in examples.values()
        for run in example.values()
        if isinstance(run, dict)
    ]
    assert len(runs) >= 6
    for data, run in runs:
        file = KeyFile.from_columns(data.select(run["variables"]).to_dict(), run["DisFraction"])
        scored = suda_scores(file, "is" if run["original_scores"] else "suda")
        assert scored.scores.tolist() == pytest.approx(run["score"], rel=1e-12)
        assert scored.dis_scores.tolist() == pytest.approx(run["disScore"], abs=1e-7)
        for record, shares in enumerate(run["contributionPercent"]):
            assert scored.contributions(record).tolist() == pytest.approx(shares, abs=1e-12)
        expected = [c["contribution"] / 100 for c in run["attribute_contributions"]]
        assert scored.by_variable.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "max_size", "score"), [("is", None, 1), ("is", 1, 1), ("suda", 1, 0)], ids=["all", "is of 1", "suda of 1"]
)
def test_a_size_limit_leaves_a_unique_the_least_score(kind, max_size, score):
    file = KeyFile.from_columns({"a": list("xxyy"), "b": list("zwzw"), "c": list("uuuu")}, 0.1)
    assert suda_scores(file, kind, max_size).scores.tolist() == [score] * 4


def test_files_without_uniques_and_with_one_record():
    pairs = suda_scores(KeyFile.from_columns({"a": list("xxyy")}, 0.1))
    assert pairs.scores.tolist() == [0, 0, 0, 0]
    assert pairs.dis == 0
    one = suda_scores(KeyFile.from_columns({"a": ["x"], "b": ["y"]}, 0.1))
    assert one.minimal_uniques.of_record(0) == [()]
    assert one.scores.tolist() == [2]
    assert one.dis_scores.tolist() == [1]


def test_more_bits_than_one_word():
    rng = np.random.default_rng(3)
    columns = {f"v{q}": rng.integers(0, 60, 60) for q in range(12)} | {"w": rng.integers(0, 2, 60)}
    file = KeyFile.from_columns(columns, 0.1)
    found = minimal_uniques(file, 2)
    for record in range(0, 60, 7):
        for keys in found.of_record(record):
            own = file.codes[:, [file.names.index(k) for k in keys]]
            assert (own == own[record]).all(axis=1).sum() == 1
    assert sum(len(found.of_record(r)) for r in range(60)) == len(found.subsets)
    few = [file.names.index(n) for n in ("v0", "v1", "v2", "w")]
    part = minimal_uniques(file.only(["v0", "v1", "v2", "w"]))
    expected = plain(file.codes[:, few].tolist())
    for record in range(60):
        named = {tuple(few.index(file.names.index(k)) for k in keys) for keys in part.of_record(record)}
        assert named == expected[record]


@pytest.fixture(scope="module")
def many():
    """A file with more minimal uniques than fit into some limits."""
    rng = np.random.default_rng(1)
    return KeyFile.from_columns({f"v{q}": rng.integers(0, 3, 200) for q in range(8)}, 0.1)


def test_too_many_to_hold_is_an_error_with_a_remedy(many):
    with pytest.raises(GemelError, match="give a largest size") as caught:
        minimal_uniques(many, limit=50)
    assert caught.value.code == ErrorCode.MEMORY
    assert len(minimal_uniques(many, 3, limit=10_000).subsets) > 0


def test_bad_settings():
    file = KeyFile.from_columns({"a": list("xy")}, 0.1)
    for words, make in (
        ("at least one key", lambda: minimal_uniques(file, 0)),
        ("`is` or `suda`", lambda: suda_scores(file, "other")),
        ("POL is a form of IS", lambda: suda_scores(file, "suda").pol),
        ("at most 62 keys", lambda: minimal_uniques(KeyFile.from_columns({f"v{q}": [1, 2] for q in range(63)}, 0.1))),
        ("DIS must lie above 0", lambda: calibrated(np.array([1.0]), 0.0, 3)),
        ("cannot be negative", lambda: calibrated(np.array([-1.0]), 0.5, 3)),
    ):
        with pytest.raises(GemelError, match=words):
            make()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_limit_is_of_all_tasks_together_whatever_the_threads(many, threads):
    minimum = next(limit for limit in range(100, 20_000, 100) if _fits(many, limit, 1))
    assert minimum > 500
    assert _fits(many, minimum, threads)
    assert not _fits(many, minimum - 100, threads)


def _fits(file, limit, threads):
    try:
        minimal_uniques(file, threads=threads, limit=limit)
    except GemelError:
        return False
    return True


def test_memory_gives_the_limit():
    file = KeyFile.from_columns({"a": list("xxyz"), "b": list("pqpq")}, 0.1)
    limits = [largest_within(file, memory, 2) for memory in (0, 2**10, 2**20, 2**30)]
    assert limits[0] == 0
    assert limits == sorted(limits)
    assert largest_within(file, 2**20, 1) > largest_within(file, 2**20, 64)


def test_pol_is_is_over_its_greatest_value():
    file = KeyFile.from_columns({"a": list("xxyz"), "b": list("zwzw"), "c": list("uuuu")}, 0.1)
    scored = suda_scores(file)
    assert scored.minimal_uniques.of_record(2) == [("a",)]
    assert scored.pol[2] == pytest.approx(2 / 6)


# Matching strategies: walks through real urns, the thesis's formulas, who dominates whom and who does not.


@st.composite
def counts(draw, cells: int = 6, largest: int = 6):
    F = draw(st.lists(st.integers(1, largest), min_size=1, max_size=cells))
    f = [draw(st.integers(0 if j else 1, n)) for j, n in enumerate(F)]
    return Frequencies(np.array(f), np.array(F))


def walked(f, F, direction, chosen) -> tuple[float, float]:
    """Probability and cost by going through every order of the population, people by people."""
    people = [j for j, n in enumerate(F) for _ in range(n)]
    starts = np.cumsum([0, *F])
    sampled = [i - starts[j] < f[j] for i, j in enumerate(people)]  # the first f_j people of a cell
    orders, steps, hits = list(permutations(range(len(people)))), [], []
    if direction == "population to sample":
        for order in orders:
            t, i = next((t, i) for t, i in enumerate(order) if chosen[people[i]])
            steps.append(t + 1)
            hits.append(1 / f[people[i]] if sampled[i] else 0.0)  # matched against one of the records at random
    else:
        for order, record in product(orders, [i for i, j in enumerate(people) if chosen[j] and sampled[i]]):
            t, i = next((t, i) for t, i in enumerate(order) if people[i] == people[record])
            steps.append(t + 1)
            hits.append(i == record)
    return np.mean(hits), np.mean(steps)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda F: sum(F) <= 5), st.data())
def test_every_strategy_is_the_average_over_all_searches(F, data):
    f = [data.draw(st.integers(0 if j else 1, n)) for j, n in enumerate(F)]
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
    for some in (files for size in (1, 2, 3) for files in product(cells, repeat=size)):
        f, F = np.array(some).T
        if not f.sum():
            continue
        found = attacks(Frequencies(f, F), 2)
        chances = {number: own.probability for number, own in found.items()}
        beaten |= {(a, b) for a, b in permutations(chances, 2) if chances[b] > chances[a] + 1e-9}  # a is not above b
    assert set(permutations(range(1, 8), 2)) - beaten == {(4, 5), (6, 7), (3, 2)}


@given(st.lists(st.integers(0, 6), min_size=2, max_size=30), st.data())
def test_strategies_of_a_file_are_its_file_measures(people, data):
    drawn = data.draw(st.lists(st.integers(0, len(people) - 1), min_size=1, unique=True))
    file = KeyFile.from_columns({"x": [people[i] for i in drawn]}, population={"x": people})
    found, measures = attacks(Frequencies.of(file)), population_measures(file)
    assert found[4].probability == pytest.approx(measures["Pr(CM | SU)"])
    assert found[5].probability == pytest.approx(measures["Pr(CM | UM)"])
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
