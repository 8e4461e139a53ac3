"""Standard errors of m, u and p: against the likelihood's Hessian, and against how estimates vary."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.kinds.estimation import first_joint, fit_joint
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.settings import BELIEF_WORTH, Estimation, FieldLevels, RuleFields
from gemel.carole.fellegi_sunter.standard_errors import linked_errors, pairwise_errors
from tests.carole.fellegi_sunter.populations import counted_vectors, density, kept_pairs, level_counts

M = np.array([[0.1, 0.15, 0.75], [0.1, 0.2, 0.7], [0.2, 0.8, 0.0], [0.1, 0.9, 0.0]])
U = np.array([[0.8, 0.15, 0.05], [0.85, 0.1, 0.05], [0.8, 0.2, 0.0], [0.9, 0.1, 0.0]])
LEVELS = 3, 3, 2, 2
FIELDS = [FieldLevels(f"field {q}", n) for q, n in enumerate(LEVELS)]
INSIDE = M > 0
GAMMA = np.array(list(product(range(3), range(3), range(2), range(2))), dtype=np.int8)


def counted(rng, n_pairs, p):
    a, b = density(GAMMA, M, U, p)
    count = rng.multinomial(n_pairs, (a + b) / (a + b).sum())
    return PatternCounts(GAMMA, np.zeros(len(GAMMA), dtype=np.uint32), count.astype(np.int64))


def drawn(rng, n):
    """Comparison vectors of matches."""
    share = density(GAMMA, M, U, 0.5)[0]
    return rng.choice(len(GAMMA), n, p=share / share.sum())


def to_logits(p, *tables):
    """Parameters as one vector: the levels' logits relative to the first, and that of p."""
    rows = [np.log(row[1:n] / row[0]) for table in tables for row, n in zip(table, LEVELS, strict=True)]
    return np.concatenate([*rows, [np.log(p / (1 - p))]])


def from_logits(theta, n_tables):
    """p and the tables of such a vector."""
    tables = np.zeros((n_tables * len(LEVELS), M.shape[1]))
    ends = np.cumsum([n - 1 for n in LEVELS] * n_tables)
    for row, logits in zip(tables, np.split(theta[:-1], ends[:-1]), strict=True):
        weight = np.exp([0.0, *logits])
        row[: len(weight)] = weight / weight.sum()
    return 1 / (1 + np.exp(-theta[-1])), *tables.reshape(n_tables, *M.shape)


def numerical(function, x, step=1e-4):
    """Jacobian by central differences."""
    columns = []
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        columns.append((np.atleast_1d(function(up)) - np.atleast_1d(function(down))) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("u", ["free", "all_pairs"])
def test_they_are_those_of_the_likelihoods_hessian(u):
    """Of the marginal log likelihood, by finite differences, through the logits and back to probabilities."""
    patterns = counted(np.random.default_rng(1), 10**6, 0.02)
    settings = Estimation(u=u, prior=0, one_to_one=False, tolerance=1e-11, max_iterations=20_000)
    known = None if u == "free" else U * 1e12
    model = fit(patterns, FIELDS, 1000, 1000, settings, level_counts=known)
    estimated = (model.m, model.u) if u == "free" else (model.m,)

    def likelihood(theta):
        p, m, others = (*from_logits(theta, len(estimated)), model.u)[:3]
        return float(patterns.count @ np.log(sum(density(GAMMA, m, others, p))))

    def everything(theta):
        p, *tables = from_logits(theta, len(estimated))
        return np.concatenate([*(table.ravel() for table in tables), [p]])

    at = to_logits(model.p, *estimated)
    hessian = numerical(lambda theta: numerical(likelihood, theta)[0], at)
    back = numerical(everything, at)
    expected = np.sqrt(np.diag(back @ np.linalg.inv(-hessian) @ back.T))
    found = pairwise_errors(model, patterns, settings, (), known)
    n = M.size
    assert found.m[INSIDE] == pytest.approx(expected[:n].reshape(M.shape)[INSIDE], rel=1e-3)
    assert found.p == pytest.approx(expected[-1], rel=1e-3)
    if u == "free":
        assert found.u[INSIDE] == pytest.approx(expected[n : 2 * n].reshape(M.shape)[INSIDE], rel=1e-3)
    else:
        assert np.isnan(found.u).all()
        assert "counted over all pairs" in found.note


@pytest.mark.parametrize("blocked", [False, True])
def test_corrected_u_and_rules_by_their_estimating_functions(blocked):
    """The derivative of the equations, written down plainly, by finite differences; squares by a sum over pairs."""
    patterns, everywhere = counted(np.random.default_rng(2), 10**6, 0.02), None
    rules = ()
    if blocked:
        everywhere = level_counts(patterns, 3)
        patterns, rules = by_rules(patterns)
    settings = Estimation(prior=0, one_to_one=False, tolerance=1e-11, max_iterations=20_000)
    model = fit(patterns, FIELDS, 1000, 1000, settings, rules, everywhere)
    counts = level_counts(patterns, 3) if everywhere is None else everywhere
    n_pairs = 10**6
    identifies = np.ones((len(patterns.gamma), 4), dtype=bool)
    for q in range(4 if rules else 0):
        apart = [r for r, rule in enumerate(rules) if q not in rule.fields]
        identifies[:, q] = [any(mask >> r & 1 for r in apart) for mask in patterns.mask]

    def contributions(theta):
        """Of each pattern's pair to each equation, in the order of the parameters, and of a pair left out."""
        p, m, u = from_logits(theta, 2)
        a, b = density(patterns.gamma, m, u, p)
        g = a / (a + b)
        rows, left = [], []
        for q, f in enumerate(FIELDS):
            for k in range(1, f.n_levels):
                rows.append(identifies[:, q] * g * ((patterns.gamma[:, q] == k) - m[q, k]))
                left.append(0.0)
        for q, f in enumerate(FIELDS):
            for k in range(1, f.n_levels):
                rows.append((patterns.gamma[:, q] == k) - p * m[q, k] - (1 - p) * u[q, k])
                left.append(np.nan)
        rows.append(g - p)
        left.append(-p)
        return np.stack(rows, axis=1), np.array(left)

    def equations(theta):
        p, m, u = from_logits(theta, 2)
        rows, left = contributions(theta)
        total = patterns.count @ rows + (n_pairs - patterns.n_pairs) * left
        at = sum(f.n_levels - 1 for f in FIELDS)
        for q, f in enumerate(FIELDS):
            for k in range(1, f.n_levels):
                total[at] = counts[q, k] - counts[q].sum() * (p * m[q, k] + (1 - p) * u[q, k])
                at += 1
        return total

    at = to_logits(model.p, model.m, model.u)
    assert np.abs(equations(at)).max() < 1e-3
    rows, _ = contributions(at)
    squares = (patterns.count[:, None] * rows).T @ rows
    squares[-1, -1] += (n_pairs - patterns.n_pairs) * model.p**2
    if blocked:
        n_m = sum(f.n_levels - 1 for f in FIELDS)
        squares[n_m:-1, n_m:-1] = 0
        i = n_m
        for q, f in enumerate(FIELDS):
            r = counts[q, 1 : f.n_levels] / counts[q].sum()
            size = f.n_levels - 1
            squares[i : i + size, i : i + size] = counts[q].sum() * (np.diag(r) - np.outer(r, r))
            i += size
        # Over all pairs the equations of u sum to 0, so that those left out make up for the candidates.
        inside_sum = patterns.count @ rows[:, n_m:-1]
        squares[n_m:-1, -1] += model.p * inside_sum
        squares[-1, n_m:-1] += model.p * inside_sum
    inverse = np.linalg.inv(numerical(equations, at))
    back = numerical(lambda theta: np.concatenate([table.ravel() for table in from_logits(theta, 2)[1:]]), at)
    expected = np.sqrt(np.diag(back @ inverse @ squares @ inverse.T @ back.T))
    found = pairwise_errors(model, patterns, settings, rules, everywhere)
    assert found.m[INSIDE] == pytest.approx(expected[: M.size].reshape(M.shape)[INSIDE], rel=1e-3)
    assert found.u[INSIDE] == pytest.approx(expected[M.size :].reshape(M.shape)[INSIDE], rel=1e-3)
    assert found.p == pytest.approx(
        model.p * (1 - model.p) * np.sqrt((inverse @ squares @ inverse.T)[-1, -1]), rel=1e-3
    )


def by_rules(patterns):
    """Pairs that are alike in field 0, or in field 1; each rule is made of that field."""
    mask = ((patterns.gamma[:, 0] == 2) + 2 * (patterns.gamma[:, 1] == 2)).astype(np.uint32)
    kept = mask > 0
    blocked = PatternCounts(patterns.gamma[kept], mask[kept], patterns.count[kept])
    return blocked, (RuleFields("first", (0,)), RuleFields("second", (1,)))


@pytest.mark.parametrize("n_files", [60, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize(("u", "blocked"), [("free", False), ("corrected", False), ("corrected", True)])
def test_intervals_cover(u, blocked, n_files):
    """95 % intervals over many files: the truth lies in .95 of them, within 3 standard errors of that share.

    Where pairs were blocked p is that of matches among the candidates, by which all estimates are a little off; there
    the estimates' own mean stands for the truth.
    """
    rng = np.random.default_rng(3)
    settings = Estimation(u=u, prior=0, one_to_one=False, max_iterations=5000)
    p = 0.01
    estimates, errors = [], []
    for _ in range(n_files):
        patterns, everywhere, rules = counted(rng, 250_000, p), None, ()
        if blocked:
            everywhere = level_counts(patterns, 3)
            patterns, rules = by_rules(patterns)
        model = fit(patterns, FIELDS, 500, 500, settings, rules, everywhere)
        found = pairwise_errors(model, patterns, settings, rules, everywhere)
        estimates.append([*model.m[INSIDE], *model.u[INSIDE], model.p])
        errors.append([*found.m[INSIDE], *found.u[INSIDE], found.p])
    truth = np.mean(estimates, axis=0) if blocked else np.array([*M[INSIDE], *U[INSIDE], p])
    deviation = (np.array(estimates) - truth) / np.array(errors)
    share = (np.abs(deviation) < 1.96).mean(axis=0)
    assert (np.abs(share - 0.95) < 3 * np.sqrt(0.05 * 0.95 / n_files)).all(), share.round(3)
    assert np.std(deviation, axis=0) == pytest.approx(1.0, abs=0.2 * np.sqrt(200 / n_files))


def test_under_one_to_one_a_certain_link_counts_as_a_draw():
    rng = np.random.default_rng(4)
    patterns = counted(rng, 250_000, 0.001)
    model = replace(fit(patterns, FIELDS, 500, 500), m=M, p=0.001)
    matches = rng.integers(0, len(GAMMA), 250)
    found = linked_errors(model, patterns, np.arange(250), matches, np.ones(250))
    assert found.m[INSIDE] == pytest.approx(np.sqrt(M * (1 - M) / (250 + BELIEF_WORTH))[INSIDE])
    assert found.p * 250_000 == pytest.approx(np.sqrt(250 / 2), rel=0.01)
    assert np.isnan(found.u).all()


def two_files(rng, n=300, common=0.6):
    """All pairs of two files of records, of whom a share is in both, by agreement on four fields."""
    a, b = (np.column_stack([rng.integers(0, values, n) for values in (40, 60, 30, 80)]) for _ in "ab")
    same = rng.random(n) < common
    b[same] = a[same]
    for q, error in enumerate((0.15, 0.1, 0.2, 0.05)):
        wrong = same & (rng.random(n) < error)
        b[wrong, q] = rng.integers(1000, 1200, int(wrong.sum()))
    return counted_vectors((a[:, None] == b[None]).reshape(-1, 4))


@pytest.mark.parametrize(
    ("seeds", "least", "most", "number_least"),
    [(20, 0.87, 1.0, 0.8), pytest.param(60, 0.9, 0.98, 0.88, marks=pytest.mark.long)],
)
def test_intervals_of_linked_files_cover(seeds, least, most, number_least):
    """Files of records, not of pairs, linked one to one, one for each seed.

    95 % intervals hold m in .90 to .98 of 240 cases (three standard errors below, and the prior's pull) and the number
    of matches in .88 or more of 60; of a third of them in as many as three of their standard errors allow.
    """
    truth, fields, n = np.array([0.85, 0.9, 0.8, 0.95]), [FieldLevels(name, 2) for name in "abcd"], 300
    inside, number = [], []
    for seed in range(seeds):
        patterns, member = two_files(np.random.default_rng(seed))
        model = fit(patterns, fields, n, n)
        start = first_joint(model, patterns, "none", Estimation())
        probability = np.maximum(*(one.match_probabilities(patterns.gamma) for one in (model, start)))
        links, pattern = kept_pairs(probability, member, n, n)
        model, _, posterior = fit_joint(model, patterns, "none", pairs=(links, pattern))
        found = linked_errors(model, patterns, links.row_a, pattern, posterior.probability)
        inside.append(np.abs(model.m[:, 1] - truth) < 1.96 * found.m[:, 1])
        number.append(abs(model.p - 0.6 / n) < 1.96 * found.p)
    assert least <= np.mean(inside) <= most
    assert np.mean(number) >= number_least


def test_doubt_widens_them_and_dependence_then_has_none():
    rng = np.random.default_rng(5)
    patterns = counted(rng, 250_000, 0.001)
    model = replace(fit(patterns, FIELDS, 500, 500), m=M, p=0.001)
    row, pattern = np.repeat(np.arange(250), 2), drawn(rng, 500)
    certain = linked_errors(model, patterns, row[::2], pattern[::2], np.ones(250))
    doubtful = linked_errors(model, patterns, row, pattern, np.tile([0.9, 0.1], 250))
    assert (doubtful.m[INSIDE] > certain.m[INSIDE]).all()
    dependent = linked_errors(model, patterns, row, pattern, np.tile([0.85, 0.1], 250), dependent=True)
    assert np.isnan(dependent.m).any()
    assert "dependence" in dependent.note


def test_links_that_swap_records_by_the_plain_definition():
    """Missing information is the covariance of the score, record by record: enumerated."""
    rng = np.random.default_rng(6)
    patterns = counted(rng, 250_000, 0.001)
    model = replace(fit(patterns, FIELDS, 500, 500), m=M, p=0.001)
    chance = np.array([0.9, 0.05])
    choices = drawn(rng, 600).reshape(300, 2)
    row, pattern = np.repeat(np.arange(300), 2), choices.ravel()
    found = linked_errors(model, patterns, row, pattern, np.tile(chance, 300))
    places = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0)]
    size = len(places) + 1
    information = np.zeros((size, size))
    learnt = 300 * chance.sum() + BELIEF_WORTH
    for i, (q, k) in enumerate(places):
        for j, (r, other) in enumerate(places):
            if q == r:
                information[i, j] = learnt * M[q, k] * ((k == other) - M[q, other])
    matches = 300 * chance.sum()
    information[-1, -1] = matches * (1 - model.p) / (1 - matches / 500)
    for pair in choices:
        scores = np.zeros((3, size))
        for outcome, vector in enumerate(GAMMA[pair]):
            scores[outcome] = [*((vector[q] == k) - M[q, k] for q, k in places), 1.0]
        weight = np.array([*chance, 1 - chance.sum()])
        mean = weight @ scores
        information -= (weight[:, None] * scores).T @ scores - np.outer(mean, mean)
    covariance = np.linalg.inv(information)
    assert found.m[2, 0] == pytest.approx(M[2, 0] * M[2, 1] * np.sqrt(covariance[4, 4]), rel=1e-6)
    assert found.p == pytest.approx(model.p * (1 - model.p) * np.sqrt(covariance[-1, -1]), rel=1e-6)


def test_none_rather_than_a_wrong_one():
    patterns = counted(np.random.default_rng(7), 250_000, 0.001)
    model = fit(patterns, FIELDS, 500, 500, Estimation(max_iterations=2))
    found = pairwise_errors(model, patterns, Estimation(max_iterations=2), (), None)
    assert np.isnan(found.m).all()
    assert np.isnan(found.p)
    assert "had not converged" in found.note
    half = PatternCounts(GAMMA[:, :1], patterns.mask, patterns.count)
    loose = Estimation(refuse_unidentified=False)
    assert "not identified" in pairwise_errors(fit(half, FIELDS[:1], 500, 500, loose), half, loose, (), None).note


def test_p_at_its_bound_has_none_and_m_has():
    patterns = counted(np.random.default_rng(8), 250_000, 0.01)
    model = fit(patterns, FIELDS, 500, 500)
    assert model.p == pytest.approx(1 / 500)
    found = pairwise_errors(model, patterns, Estimation(), (), None)
    assert np.isnan(found.p)
    assert np.isfinite(found.m[:, 1]).all()
