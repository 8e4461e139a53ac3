"""Coverage of the DIS interval on public populations: the bookkeeping exactly, the coverage itself by simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks._claimed_dis import combination_counts, dis_coverage, dis_coverages, dis_table
from benchmarks._public_populations import EUSILC_P
from gemel.risk.identification.file_level import file_measures
from gemel.risk.identification.key_file import KeyFile


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
    measures = file_measures(file)
    assert one.truth[0] == pytest.approx(measures.cm_given_um)
    assert (one.value[0], one.low[0], one.high[0]) == (measures.dis.value, measures.dis.low, measures.dis.high)


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
