import numpy as np
import pytest

from tests.carole.fellegi_sunter.populations import exact_population
from tryst.carole.fellegi_sunter.em import fit
from tryst.carole.fellegi_sunter.misfit import pattern_fit
from tryst.carole.fellegi_sunter.patterns import PatternCounts
from tryst.carole.fellegi_sunter.settings import Estimation, FieldLevels

M = [[0.1, 0.9], [0.15, 0.85], [0.2, 0.8], [0.05, 0.95]]
U = [[0.9, 0.1], [0.8, 0.2], [0.95, 0.05], [0.7, 0.3]]
FIELDS = [FieldLevels(name, 2) for name in ("name", "suburb", "postcode", "sex")]
PLAIN = Estimation(u="free", prior=0, one_to_one=False)


@pytest.mark.parametrize("missing", [None, [0.0, 0.2, 0.0, 0.1]])
def test_what_the_model_made_fits(missing):
    patterns, _ = exact_population(M, U, 0.1, 100_000, 100_000, missing)
    found = pattern_fit(fit(patterns, FIELDS, 100_000, 100_000, PLAIN), patterns)
    np.testing.assert_allclose(found.expected, found.observed, rtol=1e-3, atol=1.0)
    assert found.expected.sum() == pytest.approx(1e10)
    assert np.abs(found.residual).max() < 1


def test_dependent_fields_stand_out():
    """Among non-matches suburb and postcode agree together or not at all, beyond their product."""
    patterns, _ = exact_population(M, U, 0.1, 1000, 1000)
    together = patterns.gamma[:, 1] == patterns.gamma[:, 2]
    count = np.where(together, patterns.count * 3 // 2, patterns.count // 2)
    n = int(count.sum())
    dependent = PatternCounts(patterns.gamma, patterns.mask, count)
    found = pattern_fit(fit(dependent, FIELDS, n, 1, PLAIN), dependent)
    assert np.abs(found.residual).max() > 3
    worst = found.worst(3)
    assert np.abs(found.residual[worst]).min() >= np.abs(np.delete(found.residual, worst)).max()


def test_masks_are_added_up():
    gamma = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]], dtype=np.int8)
    patterns = PatternCounts(gamma, np.array([0, 1, 2], dtype=np.uint32), np.array([5, 2, 1]))
    full, _ = exact_population(M, U, 0.1, 1000, 1000)
    found = pattern_fit(fit(full, FIELDS, 1000, 1000, PLAIN), patterns)
    assert found.observed.tolist() == [5, 3]
