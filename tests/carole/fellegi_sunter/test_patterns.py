import numpy as np
import pytest

from gemel.carole.fellegi_sunter.model import PatternCounts
from gemel.common.errors import ErrorCode, GemelError


def counts(gamma, mask=None, count=None):
    gamma = np.array(gamma, dtype=np.int8)
    mask = np.zeros(len(gamma)) if mask is None else np.array(mask)
    count = np.ones(len(gamma)) if count is None else np.array(count)
    return PatternCounts(gamma, mask.astype(np.uint32), count.astype(np.int64))


def test_sizes():
    patterns = counts([[0, 1], [-1, 2], [1, 1]], count=[5, 0, 7])
    assert (patterns.n_patterns, patterns.n_fields, patterns.n_pairs) == (3, 2, 12)


@pytest.mark.parametrize(
    ("gamma", "mask", "count", "normalized_reason"),
    [
        ([0, 1], [0, 0], [1, 1], "two dimensions"),
        ([[0], [1]], [0], [1, 1], r"shape \(2,\)"),
        ([[0], [1]], [0, 0], [1], r"shape \(2,\)"),
        ([[0], [-2]], [0, 0], [1, 1], "-1 .missing. or more, got -2"),
        ([[0], [1]], [0, 0], [1, -1], "must not be negative, got -1"),
    ],
)
def test_invalid_input_is_refused(gamma, mask, count, normalized_reason):
    with pytest.raises(GemelError, match=normalized_reason) as raised:
        counts(gamma, mask, count)
    assert raised.value.code is ErrorCode.PARAMETER
