from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.recall import blocking_recall, independent_lists, key_agreement
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from tests.carole.fellegi_sunter.populations import exact_population


def caught(rates, total=1000.0):
    """Expected matches by mask, if every rule catches its share independently; what none catches is left out."""
    n = len(rates)
    mask = np.arange(1, 2**n, dtype=np.uint32)
    share = [np.prod([r if m >> k & 1 else 1 - r for k, r in enumerate(rates)]) for m in mask.tolist()]
    return mask, total * np.array(share)


@pytest.mark.parametrize("rates", [(0.9, 0.7), (0.89, 0.69, 0.84), (0.3, 0.2, 0.1, 0.05)])
def test_independent_rules_estimate_what_all_of_them_missed(rates):
    mask, matches = caught(rates)
    rules = [RuleFields(str(k), (k,)) for k in range(len(rates))]
    estimate = blocking_recall(mask, matches, rules)
    true = 1 - np.prod([1 - r for r in rates])
    assert estimate.method == "capture-recapture"
    assert estimate.recall == pytest.approx(true, abs=1e-9)
    assert estimate.found == pytest.approx(1000 * true)
    assert estimate.lost == pytest.approx(1000 * (1 - true))
    assert any("independently" in assumption for assumption in estimate.assumptions)


def test_rules_that_share_a_field_are_one_list():
    rules = [RuleFields("a", (0, 1)), RuleFields("b", (2,)), RuleFields("c", (1, 3)), RuleFields("d", (4,))]
    assert independent_lists(rules) == [0b0010, 0b0101, 0b1000]
    joined = [RuleFields("a", (0,)), RuleFields("b", (1,)), RuleFields("c", (0, 1))]
    assert independent_lists(joined) == [0b111]


def test_two_rules_on_one_field_do_not_pass_for_two_lists():
    """Each finds nearly what the other finds; taken for independent they would claim almost full recall."""
    mask = np.array([1, 2, 3], dtype=np.uint32)
    matches = np.array([10.0, 10.0, 600.0])
    rules = [RuleFields("prefix", (0,)), RuleFields("whole", (0,))]
    estimate = blocking_recall(mask, matches, rules)
    assert estimate.recall is None
    assert estimate.lost is None
    assert estimate.method == "not estimable"
    assert "add a rule on other fields" in estimate.assumptions[0]


def test_one_rule_is_not_estimable_without_the_agreement_of_its_fields():
    one = np.ones(1, dtype=np.uint32)
    rules = [RuleFields("born", (0,))]
    assert blocking_recall(one, np.array([900.0]), rules).method == "not estimable"
    unlearnt = blocking_recall(one, np.array([900.0]), rules, np.array([np.nan, 0.9]))
    assert unlearnt.method == "not estimable"
    known = blocking_recall(one, np.array([900.0]), rules, np.array([0.9, np.nan]))
    assert (known.method, known.recall) == ("model", pytest.approx(0.9))
    assert known.lost == pytest.approx(100)


def test_overlapping_rules_by_inclusion_and_exclusion():
    """Rules ab, bc, ac over fields that agree independently: at least two of three must agree."""
    rules = [RuleFields("ab", (0, 1)), RuleFields("bc", (1, 2)), RuleFields("ac", (0, 2))]
    estimate = blocking_recall(np.array([7], dtype=np.uint32), np.array([50.0]), rules, np.array([0.9, 0.8, 0.7]))
    assert estimate.method == "model"
    assert estimate.recall == pytest.approx(0.9 * 0.8 * 0.3 + 0.9 * 0.2 * 0.7 + 0.1 * 0.8 * 0.7 + 0.9 * 0.8 * 0.7)


def test_lists_that_never_meet_give_no_estimate():
    mask, matches = np.array([1, 2], dtype=np.uint32), np.array([30.0, 40.0])
    rules = [RuleFields("a", (0,)), RuleFields("b", (1,))]
    assert blocking_recall(mask, matches, rules).recall is None
    assert blocking_recall(mask[:0], matches[:0], rules).recall is None


def test_a_list_that_finds_all_the_others_found():
    mask, matches = np.array([1, 3], dtype=np.uint32), np.array([30.0, 40.0])
    assert blocking_recall(mask, matches, [RuleFields("a", (0,)), RuleFields("b", (1,))]).recall == 1.0


def test_no_rules_lose_nothing():
    estimate = blocking_recall(np.zeros(2, dtype=np.uint32), np.array([3.0, 4.0]), [])
    assert (estimate.recall, estimate.lost, estimate.method) == (1.0, 0.0, "no blocking")


def test_rules_that_chain_through_shared_fields_are_taken_two_at_a_time():
    """Rules a, b and ab: one list in all, but a and b share no field. Fields agree independently."""
    agree = 0.9, 0.8, 0.7
    rules = [RuleFields("a", (0,)), RuleFields("bc", (1, 2)), RuleFields("ac", (0, 2)), RuleFields("b", (1,))]
    counts: dict[int, float] = {}
    for a, b, c in product((0, 1), repeat=3):
        share = np.prod([p if x else 1 - p for x, p in zip((a, b, c), agree, strict=True)])
        bits = a | (b & c) << 1 | (a & c) << 2 | b << 3
        counts[bits] = counts.get(bits, 0.0) + 1000 * float(share)
    lost = counts.pop(0)
    mask, matches = np.array(list(counts), dtype=np.uint32), np.array(list(counts.values()))
    estimate = blocking_recall(mask, matches, rules)
    assert estimate.method == "capture-recapture, two rules at a time"
    assert "a and bc; a and b; ac and b" in estimate.assumptions[0]
    assert estimate.recall == pytest.approx(1 - lost / 1000, abs=1e-9)
    assert estimate.lost == pytest.approx(lost)


def test_a_rule_finds_what_has_its_fields_and_agrees_without_an_exchange():
    """Given name, surname, their exchange and the given name's presence, against every way that a match can turn out.

    Names agree where they are not exchanged. That they are compared for presence changes nothing: a rule without the
    name finds nothing.
    """
    agree, exchanged, present = (0.8, 0.9), 0.05, 0.7
    found = 0.0
    for given, surname, crossed, has_given in product((0, 1), repeat=4):
        chance = np.prod([q if x else 1 - q for x, q in zip((given, surname), agree, strict=True)])
        chance *= (exchanged if crossed else 1 - exchanged) * (present if has_given else 1 - present)
        found += chance * (not crossed and (surname or (given and has_given)))
    m = np.array([[0.2, 0.8], [0.1, 0.9], [0.95, 0.05], [0.02, 0.98]])
    fields = tuple(
        FieldLevels(name, 2, exception=name == "exchange") for name in ("given", "surname", "exchange", "present")
    )
    patterns, _ = exact_population(m, 1 - m, 0.1, 100, 100)
    model = replace(fit(patterns, fields, 100, 100), m=m, matches_behind_m=np.array([500.0, 500.0, 0.0, 0.0]))
    there = np.array([present, 1.0, 1.0, 1.0])
    agreement = key_agreement(model, there, believed=False)
    assert np.isnan(agreement[3])
    np.testing.assert_allclose(key_agreement(model, there, believed=True), [0.56, 0.9, 0.95, 0.98])
    # The two rules share the exchange, so that they are one list and the model is asked.
    rules = [RuleFields("given", (0, 2, 3), implied=(3,)), RuleFields("surname", (1, 2))]
    estimate = blocking_recall(np.array([3], dtype=np.uint32), np.array([50.0]), rules, agreement)
    assert (estimate.method, estimate.recall) == ("model", pytest.approx(found))
