"""The numbers beside their plain definitions: attribution, tables, membership, recodings, on small outputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks._built_population import SMALL, Built, specification
from gemel.carole.assessment.attribution import Groups, Learnt, by_variable, learnt
from gemel.carole.assessment.attribution_gain import ExpectedCells, PossibleMatches, drawn_rises, greatest_rise
from gemel.carole.assessment.cell_risk import cell_risk
from gemel.carole.assessment.expected_matches import Believed, unique_links, with_interval
from gemel.carole.assessment.identification import key_file
from gemel.carole.assessment.measures import Measure
from gemel.carole.assessment.membership import membership
from gemel.carole.assessment.options import Recodable, recodings
from gemel.carole.assessment.publication import recovery
from gemel.common.specification.model.assessment import AssessmentSpec, PublishedTable
from gemel.risk.attribution.microdata import attributions, classes, l_diversity
from gemel.risk.identification.matching.recoding import Recoding
from tests.carole.assessment.outputs import output
from tests.risk.attribution.definition import sap_by_inclusion


def policy(**changes: object) -> AssessmentSpec:
    given = {
        "fractions": {"alice": 1.0, "bob": 1.0, "combined": 0.5},
        "limits": {"correct_matches": 0.5},
        "doubt": 0.2,
        "min_values": 2,
    }
    return AssessmentSpec.model_validate(given | changes)


@given(st.data())
def test_disclosure_of_groups_agrees_with_plain_counting(data: st.DataObject) -> None:
    """Records, groups, values and pairs drawn at random, against a record-by-record count."""
    n, levels = data.draw(st.integers(1, 12)), 3
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    value = np.array(data.draw(st.lists(st.integers(-1, levels - 1), min_size=n, max_size=n)), dtype=np.int32)
    more = data.draw(st.integers(0, 6))
    pair_group = np.concatenate([group, data.draw(st.lists(st.integers(0, 3), min_size=more, max_size=more))])
    drawn = data.draw(st.lists(st.integers(-1, levels - 1), min_size=more, max_size=more))
    pair_value = np.concatenate([value, drawn]).astype(np.int32)
    chances = data.draw(st.lists(st.floats(0.01, 1.0), min_size=n + more, max_size=n + more))
    weight = np.array(chances)
    groups = Groups(group.astype(np.int64), pair_group.astype(np.int64))
    right = np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n)))
    found = learnt(groups, value, pair_value, weight, levels, policy())
    doubted = learnt(groups, value, pair_value, weight, levels, policy(), [right])

    spoken = [i for i in range(n) if value[i] >= 0]
    inside = {g: Counter(int(value[i]) for i in spoken if group[i] == g) for g in set(group.tolist())}
    whole = {v: sum(weight[j] for j in range(n + more) if pair_value[j] == v) for v in range(levels)}
    total = sum(whole.values())

    def posterior(g: int, v: int) -> float:
        among = [j for j in range(n + more) if pair_group[j] == g and pair_value[j] >= 0]
        return float(sum(weight[j] for j in among if pair_value[j] == v) / sum(weight[j] for j in among))

    def value_of(of: Learnt, measure: str) -> float:
        return of.measures[measure].value

    certain = [i for i in spoken if len(inside[group[i]]) == 1]
    for measure in ("certain_attribution", "few_values"):
        assert value_of(found, measure) == pytest.approx(len(certain) / n)
        assert value_of(doubted, measure) == pytest.approx(sum(right[i] for i in certain) / n)
    measured = doubted.measures["certain_attribution"]
    assert (measured.lower or 0.0) <= measured.value <= measured.judged
    if spoken:
        made = classes(group[spoken][:, None].astype(np.int64), value[spoken].astype(np.int64), levels)
        reported = attributions(made)
        assert value_of(found, "certain_attribution") == pytest.approx(reported.records(reported.positive) / n)
        assert found.excluded == pytest.approx(reported.records(reported.negative) / n)
        assert found.diversity == l_diversity(made)
    occurring = set(value[spoken].tolist())
    assert found.excluded == pytest.approx(sum(set(inside[group[i]]) != occurring for i in spoken) / n)
    assert found.diversity == min((len(inside[group[i]]) for i in spoken), default=0)
    known = [posterior(int(group[i]), int(value[i])) for i in spoken]
    if not any(abs(p - 0.8) < 1e-9 for p in known):
        assert value_of(found, "probable_attribution") == pytest.approx(sum(p >= 0.8 for p in known) / n)
        rightly = sum(right[i] for i, p in zip(spoken, known, strict=True) if p >= 0.8)
        assert value_of(doubted, "probable_attribution") == pytest.approx(rightly / n)
    rises = [posterior(int(group[i]), v) - whole[v] / total for i in spoken for v in range(levels)]
    assert value_of(found, "attribution_gain") == pytest.approx(max([0.0, *rises]), abs=1e-12)


SPEC = specification(SMALL, (0.5, 0.5, 0.25))


@pytest.mark.parametrize("known", [0, 1, 3])
def test_an_attack_on_an_exact_table_agrees_with_the_sum_over_sets_of_cells(known: int) -> None:
    codes = np.zeros((9, len(SMALL)), dtype=np.int32)
    names = [t.name for t in SMALL]
    codes[:, names.index("sex")] = [0, 0, 0, 0, 1, 1, 1, 1, 1]
    codes[:, names.index("illness")] = [0, 1, 2, 3, 0, 0, 1, 2, 3]
    table = PublishedTable(variables=("sex", "illness"))
    counts = np.bincount(codes[:, names.index("sex")] * 4 + codes[:, names.index("illness")], minlength=8)
    assert (counts > 0).all()
    found = recovery(output(codes, SPEC), [table], known)
    assert found.probability == pytest.approx(sap_by_inclusion(counts)[known])
    assert found.small == 8
    both = [PublishedTable(variables=("sex",)), table]
    assert recovery(output(codes, SPEC), both, known).probability == pytest.approx(found.probability)


def test_tables_together_disclose_more_than_each() -> None:
    """Two margins disclose no cell, nor with the rounded table; with the exact table they do."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (40, len(SMALL))).astype(np.int32)
    margins = [PublishedTable(variables=("sex",)), PublishedTable(variables=("illness",))]
    alone = max(recovery(output(codes, SPEC), [table], 5).probability for table in margins)
    rounded = PublishedTable(variables=("sex", "illness"), protection="conventional", base=9)
    together = recovery(output(codes, SPEC), [*margins, rounded], 5).probability
    exact = recovery(output(codes, SPEC), [*margins, PublishedTable(variables=("sex", "illness"))], 5).probability
    assert exact >= together
    assert exact >= alone


def test_members_are_disclosed_by_what_is_released(population: Built) -> None:
    combined, release = population.combined, population.spec.release

    def disclosed(grant: str, doubt: float = 0.1) -> Measure:
        given = release.model_copy(update={"alice": grant, "bob": grant})
        return membership(combined, given, doubt).measures["members_disclosed"]

    shown = float(combined.probability.sum()) / min(len(combined.alice), len(combined.bob))
    assert disclosed("links").value == pytest.approx(shown)
    assert disclosed("nothing").value == disclosed("statistics").value == 0.0
    # Drawn linkages disclose how probable every pair is, as the pairs do, and never less than the links.
    assert disclosed("draws") == disclosed("pairs")
    assert disclosed("draws").value >= disclosed("links").value
    # Links of too low probability disclose nothing.
    assert membership(combined, release, 0.01).measures["members_disclosed"].value == 0.0


@pytest.mark.parametrize("maximum", [None, 3])
def test_a_recoding_without_a_new_fit_is_the_same_file(
    population: Built, monkeypatch: pytest.MonkeyPatch, maximum: int | None
) -> None:
    """Counts after a recoding are those of the recoded records; nothing changes by recoding nothing; risks fall."""
    if maximum is not None:
        monkeypatch.setattr("gemel.carole.assessment.cell_risk.EXACT_KEYS", maximum)
    combined = population.combined
    names = combined.with_role("key")
    file = key_file(combined.codes[:, combined.columns(names)], names, 0.25)
    assert file is not None
    model = cell_risk(file)
    assert (model.matching is None) == (maximum is not None)
    now = model.now
    assert np.array_equal(now.counts[now.of_record], file.frequency)
    for words, recoding in recodings(file):
        after = model.after(recoding)
        _, which, numbers = np.unique(recoding.applied(file.codes), axis=0, return_inverse=True, return_counts=True)
        assert np.array_equal(after.counts[after.of_record], numbers[which.reshape(-1)]), words
        chance, before = after.correct[after.of_record], now.correct[now.of_record]
        assert (chance <= before + 1e-9).all(), words
    everything = Recoding(tuple((0,) * n for n in file.levels))
    last = model.after(everything)
    assert last.counts.tolist() == [file.n_records]
    # All records equal: one of n / fraction people.
    assert last.correct[0] == pytest.approx(0.25 / file.n_records, rel=0.01)


def test_an_option_has_the_stated_effect(population: Built) -> None:
    """Leaving out a key: the attribution is that of an output without it."""
    combined, spec = population.combined, population.spec
    assert spec.assessment is not None
    names = combined.with_role("key")
    file = key_file(combined.codes[:, combined.columns(names)], names, spec.assessment.fractions.of("combined").value)
    assert file is not None
    model = cell_risk(file)
    believed = Believed.of(combined, spec.assessment.fractions.of("combined"), None)
    for q, name in enumerate(names):
        effect = Recodable(combined, model, believed, spec.assessment).effect(Recoding.none(file).without(q))
        # What would be assessed of an output without the variable.
        variables = tuple(v.model_copy(update={"role": "other"}) if v.name == name else v for v in combined.variables)
        without = replace(combined, variables=variables)
        cases = Believed.of(without, spec.assessment.fractions.of("combined"), None).cases()
        assert effect["sample_uniques"] == pytest.approx(unique_links(cases).judged)
        assert effect["correct_matches"] == pytest.approx(with_interval("matched", cases, "").judged)
        learnt_of = by_variable(without, spec.assessment, cases).values()
        certain = max(of.measures["certain_attribution"].judged for of in learnt_of)
        assert effect["certain_attribution"] == pytest.approx(certain)


# The greatest rise of a value's probability: its draws beside every set of true links, and what they must not hold.

LEVELS = 3
BACKGROUND = np.repeat(np.arange(LEVELS), [1000, 600, 400])
"""Values of a large group, which makes the frequencies known."""


def small_file(
    group: list[int], value: list[int], weight: list[float]
) -> tuple[ExpectedCells, NDArray[np.float64], NDArray[np.bool_]]:
    """Some pairs beside the large group, which is the last."""
    last = max(group) + 1
    groups = np.array([*group, *[last] * len(BACKGROUND)], dtype=np.int64)
    values = np.array([*value, *BACKGROUND], dtype=np.int32)
    weights = np.array([*weight, *np.ones(len(BACKGROUND))])
    counted = ExpectedCells.of(groups, values, weights, LEVELS, last + 1)
    return counted, weights, np.ones(last + 1, dtype=np.bool_)


def test_the_draws_have_the_law_of_every_set_of_true_links() -> None:
    """A pair with the rare value and one of another in a group, in three groups: 64 sets of true links."""
    group, value = [0, 0, 1, 1, 2, 2], [2, 0, 2, 1, 1, 1]
    weight = [0.5, 0.7, 0.6, 0.9, 0.8, 0.4]
    counted, weights, inside = small_file(group, value, weight)
    _, prior, _ = counted.posterior(weights)
    exact: dict[float, float] = {}
    for true in product((0, 1), repeat=len(group)):
        chance = float(np.prod([w if t else 1 - w for w, t in zip(weight, true, strict=True)]))
        rises = [0.0]
        for g in range(3):
            inner = [v for v, t, own in zip(value, true, group, strict=True) if t and own == g]
            rises += [inner.count(v) / len(inner) - prior[v] for v in range(LEVELS) if inner]
        key = round(max(rises), 1)
        exact[key] = exact.get(key, 0.0) + chance
    people = len(weights)
    drawn = np.round(drawn_rises(counted, PossibleMatches(weights, 0.0, people), inside, 20_000), 1)
    for rise, chance in exact.items():
        assert float((drawn == rise).mean()) == pytest.approx(chance, abs=0.02), rise


def test_what_is_known_for_certain_has_no_width() -> None:
    """Every link true, no one missed, everybody in the file."""
    counted, weights, inside = small_file([0, 0, 1], [2, 2, 0], [1.0, 1.0, 1.0])
    found = greatest_rise(counted, weights, inside, [PossibleMatches(weights, 0.0, len(weights))])
    assert found.lower == found.value == found.upper == pytest.approx(1 - 402 / 2003)


def test_a_larger_population_and_missed_people_widen_it() -> None:
    counted, weights, inside = small_file(list(range(300)), [1, 0] * 150, [1.0] * 300)
    widths = []
    for missed, people in ((0.0, 2_300), (0.0, 20_000), (400.0, 20_000)):
        found = greatest_rise(counted, weights, inside, [PossibleMatches(weights, missed, people)])
        assert found.lower is not None
        assert found.upper is not None
        widths.append(found.upper - found.lower)
    assert widths[0] == 0.0 < widths[1] < widths[2]
    # Someone with the rare value, of whom no group of one is in the file yet, may be among the missed.
    assert found.upper > found.value + 0.1
