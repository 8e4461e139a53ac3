"""The model of dependent fields on files where suburb and postcode go together, and where nothing does."""

from functools import cache

import numpy as np
import pytest

from benchmarks.dependence import FIELDS, linked, neighbours
from gemel.carole.evaluation.link_quality import quality
from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.kinds.diagnosis import misfits
from gemel.carole.fellegi_sunter.kinds.estimation import fit_joint
from gemel.carole.fellegi_sunter.kinds.joint_model import OutsideBlocks
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.settings import FieldLevels, RuleFields
from tests.carole.fellegi_sunter.populations import counted_vectors, kept_pairs, level_counts


@cache
def judged(kind, pairs):
    rows = []
    for seed in range(pairs):
        case = neighbours(np.random.default_rng(seed))
        model, joint, probability, links = linked(case, kind)
        n = int(case.is_match.sum())
        alone = quality(case.is_match[probability >= 0.5], n)
        rows.append((alone.precision, alone.recall, quality(case.is_match[links], n).precision, model, joint))
    return rows


@pytest.mark.parametrize("pairs", [1, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["pairwise", "decomposable"])
def test_precision_stays_where_independence_loses_it(kind, pairs):
    """Suburb and postcode corrupted together: precision at p >= .5, each pair by itself, over pairs of files."""
    before, after = judged("none", pairs), judged(kind, pairs)
    assert max(row[0] for row in before) < 0.6
    assert min(row[0] for row in after) > 0.96
    assert min(row[2] for row in after) > 0.98
    assert np.mean([row[1] for row in after]) > np.mean([row[1] for row in before])
    for _, _, _, model, joint in after:
        # 500 are in common; those who moved and whose name was also misspelt cannot be distinguished from non-matches.
        assert model.expected_matches == pytest.approx(500, rel=0.1)
        assert joint.converged
        assert joint.law.structure.edges[0].fields == (3, 4)


def test_the_diagnosis_names_the_two_fields_in_words():
    case = neighbours(np.random.default_rng(0))
    _, joint, _, _ = linked(case, "decomposable")
    worst = {
        within: next(found for found in joint.misfits if found.within == within) for within in ("matches", "others")
    }
    assert worst["others"].fields == worst["matches"].fields == ("suburb", "postcode")
    # 60 suburbs, each with its postcode: strangers agree on both as often as on one of them.
    assert worst["others"].observed == pytest.approx(1 / 60, rel=0.1)
    assert worst["others"].expected == pytest.approx(1 / 60**2, rel=0.2)
    assert worst["others"].words.startswith("pairs of two people agree on both suburb and postcode")
    assert worst["matches"].words.startswith("pairs of one person differ on both suburb and postcode")


def test_the_expected_counts_are_those_observed():
    """The fitted model explains how often neighbours are seen: independence expects a sixtieth of them."""
    case = neighbours(np.random.default_rng(1))
    model, joint, _, _ = linked(case, "decomposable")
    gamma, count = case.patterns.gamma, case.patterns.count
    one, two = (np.exp(each) for each in joint.log_probabilities(gamma))
    expected = count.sum() * (joint.p * one + (1 - joint.p) * two)
    row = int(np.flatnonzero((gamma == [0, 0, 0, 1, 1]).all(axis=1))[0])
    assert expected[row] == pytest.approx(count[row], rel=0.05)
    assert count[row] > 20 * count.sum() * np.prod([model.u[q, k] for q, k in enumerate(gamma[row])])


def test_independent_fields_change_nothing():
    """Exact copies with independent errors: hardly an edge, and the same probabilities."""
    rng = np.random.default_rng(5)
    n = 400
    people = np.column_stack([rng.integers(0, values, n) for values in (60, 150, 60, 40, 80)])
    b = people.copy()
    wrong = rng.random(b.shape) < 0.1
    b[wrong] = rng.integers(1000, 2000, int(wrong.sum()))
    patterns, member = counted_vectors((people[:, None] == b[None]).reshape(-1, 5))
    model = fit(patterns, FIELDS, n, n)
    pairs = kept_pairs(model.match_probabilities(patterns.gamma), member, n, n)
    _, _, first = fit_joint(model, patterns, "none", pairs=pairs)
    _, joint, posterior = fit_joint(model, patterns, "auto", pairs=pairs)
    assert joint.is_plain
    np.testing.assert_allclose(posterior.probability, first.probability, atol=0.05)
    one_by_one = fit_joint(model, patterns, "decomposable")
    assert one_by_one[2] is None
    assert one_by_one[0].expected_matches == pytest.approx(model.expected_matches, rel=0.05)


def test_pairs_outside_the_blocks_estimate_the_agreement_of_non_matches():
    """Blocked on the year of birth, and the rest sampled: neighbours in the blocks are no longer taken for matches."""
    case = neighbours(np.random.default_rng(2))
    gamma, count = case.patterns.gamma, case.patterns.count
    inside = gamma[:, 2] == 1
    mask = np.where(inside, 1, 0).astype(np.uint32)
    blocked = PatternCounts(gamma[inside], mask[inside], count[inside])
    rules = [RuleFields("born", (2,))]
    everywhere = level_counts(case.patterns)
    model = fit(blocked, FIELDS, case.n_a, case.n_b, None, rules, everywhere)
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(100_000, count / count.sum())
    outside_blocks = OutsideBlocks(gamma[~inside], drawn[~inside] * 10.0, 10.0)
    position = np.cumsum(inside) - 1
    kept = np.flatnonzero(inside[case.member])
    links = LinkPosterior("one_to_one", *np.divmod(kept, case.n_b), case.n_a, case.n_b)
    pairs = links, position[case.member[kept]]
    _, _, first = fit_joint(model, blocked, "none", None, rules, everywhere, None, pairs)
    after, joint, posterior = fit_joint(model, blocked, "decomposable", None, rules, everywhere, outside_blocks, pairs)
    n = int(case.is_match[kept].sum())
    before = quality(case.is_match[kept][first.probability >= 0.5], n)
    now = quality(case.is_match[kept][posterior.probability >= 0.5], n)
    assert now.precision > max(0.95, before.precision + 0.1)
    assert (3, 4) in {edge.fields for edge in joint.law.structure.edges}
    assert after.expected_matches == pytest.approx(n, rel=0.15)


def test_misfits_use_only_pairs_with_both_fields():
    gamma = np.array([[1, 1], [1, 0], [0, 1], [0, 0], [-1, 1]], dtype=np.int8)
    fields = [FieldLevels("suburb", 2), FieldLevels("postcode", 2)]
    (found,) = misfits("others", gamma, np.array([100.0, 20.0, 20.0, 860.0, 999.0]), fields)
    assert found.observed == pytest.approx(0.1)
    assert found.expected == pytest.approx(0.12**2)
    assert found.words == (
        "pairs of two people agree on both suburb and postcode 6.9 times as often as independence has it "
        "(10.0% of them)"
    )
    assert misfits("others", gamma, np.array([1.0, 9.0, 9.0, 81.0, 5.0]), fields) == ()
    assert misfits("matches", gamma, np.zeros(5), fields) == ()
