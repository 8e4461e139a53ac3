"""Estimation of exact populations, and of people who have households, who moved, or whose kin are in the other file."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.dependence import Neighbours, linked
from gemel.carole.evaluation.link_quality import quality
from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.kinds.estimation import fit_joint
from gemel.carole.fellegi_sunter.kinds.relatives import Relatives
from gemel.carole.fellegi_sunter.link_posterior import LinkPosterior
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels, RuleFields
from tests.carole.fellegi_sunter.kinds import people
from tests.carole.fellegi_sunter.populations import counted_vectors, density, exact_population, kept_pairs, level_counts

FIELDS = [FieldLevels(name, 2) for name in ("surname", "street", "born", "given")]
ERRORS = (0.1, 0.1, 0.05, 0.1)


def households(seed, n_households=150, size=3, share=0.6):
    """Two files of people in households with one surname and one street; `share` of B's people are also in A."""
    rng = np.random.default_rng(seed)
    n = n_households * size
    people = np.empty((n, 4), dtype=np.int64)
    people[:, 0] = np.repeat(rng.integers(0, 60, n_households), size)
    people[:, 1] = np.repeat(rng.integers(0, 100, n_households), size)
    people[:, 2], people[:, 3] = rng.integers(0, 40, n), rng.integers(0, 15, n)
    in_a, in_b = rng.random(n) < share, rng.random(n) < share
    a, b = people[in_a], people[in_b].copy()
    for q, error in enumerate(ERRORS):
        wrong = rng.random(len(b)) < error
        b[wrong, q] = rng.integers(1000, 2000, wrong.sum())
    return a, b, np.flatnonzero(in_a)[:, None] == np.flatnonzero(in_b)[None, :]


def compared(a, b):
    return counted_vectors((a[:, None] == b[None]).reshape(-1, a.shape[1]))


def kept(model, patterns, member):
    return kept_pairs(model.match_probabilities(patterns.gamma), member, model.n_a, model.n_b)


@pytest.mark.parametrize("seeds", [3, pytest.param(10, marks=pytest.mark.long)])
def test_brothers_no_longer_blur_m(seeds):
    """Over the pairs of files m comes nearer the truth: brothers are not counted as matches of each other."""
    before, after = [], []
    truth = 1 - np.array(ERRORS)
    for seed in range(seeds):
        a, b, _ = households(seed)
        patterns, member = compared(a, b)
        model = fit(patterns, FIELDS, len(a), len(b))
        better, _, posterior = fit_joint(model, patterns, "none", pairs=kept(model, patterns, member))
        before.append(np.abs(model.m[:, 1] - truth).max())
        after.append(np.abs(better.m[:, 1] - truth).max())
        assert better.expected_matches == pytest.approx(posterior.expected_links, rel=0.02)
        assert better.expected_matches <= min(len(a), len(b))
    assert np.mean(after) < 0.7 * np.mean(before)


def test_a_fit_that_took_something_else_for_matching_is_corrected_and_reported():
    """Ten people in common of 400; given names follow gender, which is what the pairwise match class becomes."""
    rng = np.random.default_rng(2)
    n, common = 400, 10

    def people(k):
        gender = rng.integers(0, 2, k)
        return np.column_stack(
            [gender, 100 * gender + rng.integers(0, 12, k), *(rng.integers(0, maximum, k) for maximum in (120, 60, 80))]
        )

    a = people(n)
    b = np.vstack([a[:common], people(n - common)])
    patterns, member = compared(a, b)
    model = fit(patterns, [*FIELDS, FieldLevels("postcode", 2)], n, n)
    _, _, posterior = fit_joint(model, patterns, "none", pairs=kept(model, patterns, member))
    assert model.expected_matches > 100
    assert posterior.expected_links == pytest.approx(common, abs=5)


def test_all_pairs_u_stays_and_a_field_that_no_rule_leaves_out_keeps_its_default():
    a, b, _ = households(1)
    patterns, member = compared(a, b)
    satisfied = (patterns.gamma[:, 0] == 1).astype(np.uint32)
    row = np.flatnonzero(satisfied)
    blocked = PatternCounts(patterns.gamma[row], satisfied[row], patterns.count[row])
    position = np.full(patterns.n_patterns, -1)
    position[row] = np.arange(len(row))
    everywhere = level_counts(patterns)
    rules = [RuleFields("surname", (0,))]
    settings = Estimation(u="all_pairs")
    model = fit(blocked, FIELDS, len(a), len(b), settings, rules, everywhere)
    candidates = np.flatnonzero(position[member] >= 0)
    row_a, row_b = np.divmod(candidates, len(b))
    links = LinkPosterior("one_to_one", row_a, row_b, len(a), len(b))
    pairs = links, position[member][candidates]
    better, _, _ = fit_joint(model, blocked, "none", settings, rules, everywhere, None, pairs)
    np.testing.assert_array_equal(better.u, model.u)
    assert better.m[0].tolist() == pytest.approx([0.1, 0.9])
    assert better.matches_behind_m[0] == 0
    assert better.matches_behind_m[1] > 100


def test_matches_that_blocking_lost_count_among_all_pairs():
    """Counts without chance: 1 - (1 - .7)(1 - .8 * .9) of the matches are candidates, and p is of all."""
    m, n = [[0.3, 0.7], [0.2, 0.8], [0.1, 0.9], [0.15, 0.85], [0.1, 0.9], [0.1, 0.9]], 50_000
    u = [[0.99, 0.01], [0.95, 0.05], [0.9, 0.1], [0.97, 0.03], [0.98, 0.02], [0.95, 0.05]]
    p = 20_000 / n**2
    patterns, everywhere = exact_population(m, u, p, n, n, rules=[(0,), (1, 2)])
    fields = [FieldLevels(f"f{q}", 2) for q in range(6)]
    rules = [RuleFields("one", (0,)), RuleFields("two", (1, 2))]
    settings = Estimation(u="corrected")
    model = fit(patterns, fields, n, n, settings, rules, everywhere)
    _, joint, _ = fit_joint(model, patterns, "none", settings, rules, everywhere)
    assert joint.recall == pytest.approx(1 - 0.3 * (1 - 0.72), abs=0.005)
    assert joint.p == pytest.approx(p, rel=0.01)
    true, others = density(patterns.gamma, m, u, p)
    found = joint.match_probabilities(patterns.gamma)
    np.testing.assert_allclose(found @ patterns.count, true.sum() * n**2, rtol=0.01)
    np.testing.assert_allclose(found, true / (true + others), atol=0.02)


@pytest.mark.parametrize("dependence", ["none", "auto"])
@pytest.mark.parametrize("rules", [(), ((0,), (1, 2))])
def test_the_parameters_of_an_exact_population_are_returned(dependence, rules):
    """Matches and strangers of independent fields, counted without chance."""
    m, n = [[0.08, 0.92], [0.05, 0.95], [0.1, 0.9], [0.07, 0.93], [0.1, 0.9], [0.06, 0.94]], 50_000
    u = [[0.99, 0.01], [0.998, 0.002], [0.9, 0.1], [0.996, 0.004], [0.998, 0.002], [0.95, 0.05]]
    p = 20_000 / n**2
    patterns, everywhere = exact_population(m, u, p, n, n, rules=rules)
    blocked = [RuleFields(str(key), key) for key in rules]
    settings = Estimation(u="corrected")
    model = fit(patterns, people.FIELDS, n, n, settings, blocked, everywhere)
    found, joint, _ = fit_joint(model, patterns, dependence, settings, blocked, everywhere)
    assert joint.converged
    assert joint.is_plain
    assert found.expected_matches == pytest.approx(20_000, rel=0.02)
    np.testing.assert_allclose(found.u, u, rtol=0.01)
    identified = range(6) if not rules else range(1, 6)
    np.testing.assert_allclose([found.m[q] for q in identified], [m[q] for q in identified], atol=0.01)


# Populations of which kinds of pairs are the truth.

SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 10))]


def judged(seed, **of_files):
    """Quality of the links, expected over true matches, and the model."""
    case = people.two_files(seed, **of_files)
    model, joint, _, links = linked(case, "auto", people.FIELDS)
    n = int(case.is_match.sum())
    return quality(case.is_match[links], n), model.expected_matches / n, joint


@pytest.mark.parametrize("seed", SEEDS)
def test_people_who_moved_are_linked(seed):
    """With errors in 3 % of all values, and with none, where nothing but the moves is learnt of m."""
    for errors in (0.03, 0.0):
        found, claimed, joint = judged(seed, moved=0.15, errors=errors)
        assert found.f1 > 0.98
        assert claimed == pytest.approx(1, abs=0.03)
        assert joint.converged
        moved = joint.kinds.shared.index(people.shared("given", "born", "sex", "surname"))
        assert joint.relations.one_person[moved] > 0.9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("kin", "share", "shared"),
    [
        (people.siblings, 0.6, people.shared("surname", "street", "town")),
        (people.twins, 0.2, people.shared("born", "surname", "street", "town")),
        (people.sons, 0.2, people.shared("given", "sex", "surname", "street", "town")),
    ],
)
def test_kin_in_the_other_file_are_two_people(kin, share, shared, seed):
    found, claimed, joint = judged(seed, kin=kin, share=share)
    # The true weights give .951 to .998 in ten of each, and the same means: .976, .982 and .987.
    assert found.f1 > 0.94
    # The data do not tell a son of one name from a person whose date of birth is wrong: what is claimed has its doubt.
    relations = joint.relations
    assert abs(claimed - 1) < 0.05 + 2 * (joint.kinds.pairs @ relations.doubt) / 200
    k = joint.kinds.shared.index(shared)
    assert relations.one_person[k] < 2 * relations.doubt[k] + 0.02
    assert relations.one_person[k] < 0.35


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_in_common_is_no_link(seed):
    """Six tenths of B are siblings of people of A."""
    case = people.two_files(seed, 700, common=0, kin=people.siblings, share=0.6)
    model, joint, _, links = linked(case, "auto", people.FIELDS)
    assert len(links) == 0
    assert model.expected_matches < 2 + joint.kinds.pairs @ joint.relations.doubt
    assert model.expected_matches < 5


# Whole names: the names of a family are alike in part, and so are the e-mail addresses that are made of them.

WHOLE_NAMES = [
    FieldLevels("full_name", 8, describes="name"),
    FieldLevels("email", 8, describes="name"),
    FieldLevels("telephone", 2, describes="household"),
    FieldLevels("street", 2, describes="household"),
    FieldLevels("town", 2, describes="household"),
]
LEVELS = {
    "strangers": [0.93, 0.06, 0.0095, 0.0005, 0, 0, 0, 0],
    "family": [0.3, 0.45, 0.2, 0.05, 0, 0, 0, 0],
    "one": [0.01, 0.01, 0.02, 0.02, 0.03, 0.04, 0.04, 0.83],
}


def families(seed, size=3, n_households=150, share=0.4):
    """Levels of all pairs of two files of households, and which of them are one person."""
    rng = np.random.default_rng(seed)
    person = np.arange(n_households * size)
    a, b = (person[rng.random(len(person)) < share] for _ in range(2))
    one = a[:, None] == b[None]
    home = (a[:, None] // size == b[None] // size) & ~one
    gamma = np.empty((*one.shape, len(WHOLE_NAMES)), dtype=np.int8)
    for q in (0, 1):
        gamma[..., q] = rng.choice(8, one.shape, p=LEVELS["strangers"])
        for who, of in ((home, "family"), (one, "one")):
            gamma[who, q] = rng.choice(8, who.sum(), p=LEVELS[of])
    for q, chance in zip((2, 3, 4), (0.001, 0.01, 0.1), strict=True):
        gamma[..., q] = rng.random(one.shape) < np.where(home | one, 0.97, chance)
    # Who has a name alike has an address alike, whoever it is.
    alike = (gamma[..., 0] > 0) & (rng.random(one.shape) < 0.5) & ~one
    gamma[alike, 1] = gamma[alike, 0]
    return gamma, one


@pytest.mark.parametrize("seed", SEEDS)
def test_a_family_whose_whole_names_are_alike_in_part_is_not_one_person(seed, monkeypatch):
    """But it would be, if relatives' names were thought to be as strangers' are."""
    gamma, one = families(seed)
    patterns, member = counted_vectors(gamma.reshape(-1, len(WHOLE_NAMES)))
    case = Neighbours(patterns, member, one.ravel(), *one.shape)

    def f1():
        model, joint, _, links = linked(case, "auto", WHOLE_NAMES)
        return quality(case.is_match[links], int(one.sum())).f1, model, joint

    found, model, joint = f1()
    assert found > 0.95
    assert model.expected_matches == pytest.approx(one.sum(), rel=0.1)
    assert joint.agreement[0, 7] > 0.7
    assert joint.converged
    believed = Relatives.believed
    monkeypatch.setattr(Relatives, "believed", lambda *given: replace(believed(*given), names=0))
    assert f1()[0] < found - 0.1
