"""What claims come to, against going through them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.errors import GemelError
from gemel.risk.identification.matching.claims import claim_best_of_each, claim_most_probable

pairs = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.booleans()), min_size=1, max_size=30
)


@given(pairs, st.sampled_from([0.0, 0.3, 0.6, 1.0]))
def test_claims_by_the_definition(rows, minimum):
    target, probability, match = (np.array(column) for column in zip(*rows, strict=True))
    found = claim_best_of_each(target, probability, match, minimum)
    claimed, right = [], []
    for person in set(target.tolist()):
        own = [(p, m) for t, p, m in rows if t == person]
        best = max(p for p, _ in own)
        if best >= minimum:
            tied = [m for p, m in own if p == best]
            claimed.append(best)
            right.append(sum(tied) / len(tied))
    assert found.number == len(claimed)
    if claimed:
        assert found.claimed == pytest.approx(np.mean(claimed))
        assert found.true == pytest.approx(np.mean(right))
        assert found.correct == pytest.approx(sum(right))
    top = claim_most_probable(probability, match)
    tied = [m for _, p, m in rows if p == probability.max()]
    assert (top.number, top.claimed, top.true) == (1, probability.max(), pytest.approx(sum(tied) / len(tied)))


def test_without_the_truth_no_true_rate_is_given():
    found = claim_best_of_each(np.array([0, 1]), np.array([0.2, 0.7]), None, 0.5)
    assert (found.number, found.claimed, found.true, found.correct) == (1, 0.7, None, None)
    assert claim_most_probable(np.array([0.2, 0.7])).true is None
    nothing = claim_most_probable(np.zeros(0), np.zeros(0, dtype=bool))
    assert (nothing.number, nothing.true) == (0, 0.0)


@pytest.mark.parametrize(("probability", "match"), [([1.2], None), ([float("nan")], None), ([0.5], [True, False])])
def test_what_cannot_be_is_refused(probability, match):
    with pytest.raises(GemelError):
        claim_most_probable(np.array(probability), None if match is None else np.array(match))
