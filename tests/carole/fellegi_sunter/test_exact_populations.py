"""EM recovers the parameters of exact populations: of few cells, of a million, and with missing values."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gemel.carole.fellegi_sunter.em import fit
from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.carole.fellegi_sunter.settings import Estimation, FieldLevels
from research import em
from research.em import distributions, exact_counts

SIDE = 10**9


def fields_of(n_levels):
    return [FieldLevels(f"field {q}", n) for q, n in enumerate(n_levels)]


def with_missing(patterns, share, n_pairs):
    """The same population where every field is missing independently in a share of the pairs."""
    gamma, weight = patterns.gamma, patterns.count / patterns.count.sum()
    for q in range(gamma.shape[1]):
        lacking = gamma.copy()
        lacking[:, q] = -1
        gamma = np.vstack([gamma, lacking])
        weight = np.concatenate([weight * (1 - share), weight * share])
    distinct, member = np.unique(gamma, axis=0, return_inverse=True)
    count = np.rint(np.bincount(member.ravel(), weights=weight) * n_pairs).astype(np.int64)
    count[count.argmax()] += n_pairs - count.sum()
    return PatternCounts(distinct, np.zeros(len(distinct), dtype=np.uint32), count)


@pytest.mark.parametrize("u", ["free", "corrected"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_three_fields_are_enough(seed, missing, u):
    """From seed 1 an extrapolation once reduced a level of m to nearly 0, from where EM returned too slowly."""
    n_levels = [4, 3, 2]
    m, others = distributions(n_levels, np.random.default_rng(seed))
    patterns = exact_counts(m, others, 0.01, n_levels, SIDE**2)
    if missing:
        patterns = with_missing(patterns, missing, SIDE**2)
    settings = Estimation(prior=0, one_to_one=False, tolerance=1e-10, max_iterations=20_000, u=u)
    model = fit(patterns, fields_of(n_levels), SIDE, SIDE, settings)
    assert model.converged
    assert model.p == pytest.approx(0.01, abs=1e-6)
    assert model.m == pytest.approx(m, abs=1e-6)
    assert model.u == pytest.approx(others, abs=1e-6)


def test_a_million_cells():
    n_levels = [10] * 6
    m, u = distributions(n_levels, np.random.default_rng(1))
    patterns = exact_counts(m, u, 0.01, n_levels, SIDE**2)
    assert patterns.n_patterns == 10**6
    settings = Estimation(prior=0, one_to_one=False, tolerance=1e-9, u="free")
    model = fit(patterns, fields_of(n_levels), SIDE, SIDE, settings)
    assert model.converged
    assert model.m == pytest.approx(m, abs=1e-6)
    assert model.u == pytest.approx(u, abs=1e-6)
    assert model.p == pytest.approx(0.01, abs=1e-6)


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
