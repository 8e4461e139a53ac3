"""What `benchmarks.claimed_risk` makes of its public populations, in small."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from benchmarks._claimed_attacks import AttackedFile, attacked_claims, two_crowds
from benchmarks._public_populations import ADULT, EUSILC_P
from benchmarks.claimed_risk import combination_counts, dis_coverage, dis_coverages, dis_table
from gemel.risk.identification.file_level import file_dis, population_measures
from gemel.risk.identification.key_file import KeyFile


@pytest.fixture(scope="module")
def people():
    return ADULT.records().select(pl.all().cast(pl.String).fill_null("?"))


def test_a_person_in_the_file_twice_is_one_person_and_is_noticed(people):
    keys = ADULT.keys["6 keys"]
    once = people[np.random.default_rng(2).choice(len(people), 1_500, replace=False)]
    plain = attacked_claims(AttackedFile(once, people, keys, 0.03), 1)
    twice = attacked_claims(AttackedFile(pl.concat([once, once.head(150)]), people, keys, 0.03), 1)
    alike = people.group_by(keys).len().join(once.select(keys), on=keys, how="right")["len"]
    own = once.select(keys).is_unique()
    assert plain.uniques == own.sum()
    assert plain.tau2[3] == pytest.approx((1.0 / alike.filter(own)).sum())
    assert plain.dis[3] == pytest.approx(own.sum() / alike.filter(own).sum())
    assert twice.uniques == own[150:].sum()
    assert twice.tau2[0] < 0.8 * twice.tau2[3]
    assert "records_copied" in twice.noted
    assert "records_copied" not in plain.noted


def test_too_few_pairs_are_left_out(people):
    keys = ADULT.keys["8 keys"]
    assert attacked_claims(AttackedFile(people[:40], people, keys, 0.01), 1) is None


def test_two_crowds_are_of_the_sizes_asked_for():
    sizes = two_crowds(30, 20, 7, np.random.default_rng(1)).group_by("a", "b", "c").len()["len"]
    assert sorted(sizes.to_list()) == [1] * 30 + [7] * 20


def test_truth_and_estimate_are_those_of_the_file_measures():
    """A whole population drawn as the sample: its uniques fit themselves only, and DIS is 1."""
    F = np.array([1, 1, 2, 3, 5], dtype=np.int64)
    whole = dis_coverage(F, 1.0, 3, np.random.default_rng(1))
    assert (whole.truth == 1).all()
    assert (whole.value == 1).all()
    one = dis_coverage(F, 0.5, 1, np.random.default_rng(2))
    f = np.random.default_rng(2).multivariate_hypergeometric(F, 6, method="marginals")
    cells = np.arange(5, dtype=np.int32)[:, None]
    labels = (tuple("abcde"),)
    file = KeyFile(("key",), labels, np.repeat(cells, f, axis=0), 0.5, cells, F)
    dis = file_dis(file)
    assert one.truth[0] == pytest.approx(population_measures(file)["Pr(CM | UM)"])
    assert (one.value[0], one.low[0], one.high[0]) == (dis.value, dis.low, dis.high)


def test_the_interval_covers_on_eusilc_p():
    """150 samples of 5 %: a coverage of .95 fails in one run of 1,000."""
    F = combination_counts(EUSILC_P, "6 keys")
    assert F.sum() == len(EUSILC_P.records())
    (found,) = dis_coverages((EUSILC_P,), (0.05,), 150)
    share, low, high = found.coverage
    assert binomtest(found.covered, 150, 0.95).pvalue > 1e-3
    assert low < share < high
    assert found.too_low + found.covered <= 150
    assert abs(found.bias) < 0.05
    assert dis_table([found])[-1].startswith("| eusilcP | 6 keys | 5% | 0.08")
