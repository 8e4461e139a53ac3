"""The bootstrap of a run: matches are drawn by their probabilities, and claims compared with the truth drawn."""

from __future__ import annotations

import numpy as np
import pytest

from gemel.carole.engine.decision.quality import Decided, Fitted, drawn_matches, replicates
from gemel.carole.engine.pairs.stream import KeptPairs
from gemel.carole.evaluation.quality_estimate import Claim
from gemel.carole.fellegi_sunter.model import PatternCounts

DRAWS = 4000


def pairs(*rows: tuple[int, int], pattern: int = 0) -> KeptPairs:
    a, b = np.array(rows, dtype=np.int32).T
    return KeptPairs(a, b, np.full(len(rows), pattern, dtype=np.int32))


@pytest.mark.parametrize("once", [(True, True), (True, False), (False, True), (False, False)])
def test_matches_are_drawn_as_often_as_they_are_probable_and_no_record_twice(once: tuple[bool, bool]) -> None:
    kept = pairs((0, 0), (0, 1), (1, 1), (2, 2), (3, 2))
    probability = np.array([0.6, 0.3, 0.2, 0.5, 0.1])
    rng = np.random.default_rng(11)
    drawn = np.array([drawn_matches(kept.row_a, kept.row_b, probability, once, rng) for _ in range(DRAWS)])
    for rows, at_most_once in zip((kept.row_a, kept.row_b), once, strict=True):
        most = max(drawn[:, rows == row].sum(axis=1).max() for row in np.unique(rows))
        assert (most == 1) == at_most_once
    # Where both sides are held to one match, a pair loses when its record of B is drawn twice: half of those times.
    lost = np.zeros(5)
    if all(once):
        lost = np.array([0, 0.3 * 0.2, 0.3 * 0.2, 0.5 * 0.1, 0.5 * 0.1]) / 2
    error = np.sqrt(probability / DRAWS)
    assert (np.abs(drawn.mean(axis=0) - (probability - lost)) < 4 * error).all()


def test_an_honest_claim_is_found_honest_and_a_boast_a_boast() -> None:
    """Two hundred pairs of one likely and one unlikely vector; the decision links the likely ones."""
    n = 200
    kept = KeptPairs(
        np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.repeat([0, 1], n // 2).astype(np.int32)
    )
    probability = np.repeat([0.9, 0.2], n // 2)
    patterns = PatternCounts(
        np.array([[1], [0], [-1]], dtype=np.int8), np.zeros(3, dtype=np.uint32), np.array([n // 2, n // 2, 10_000])
    )
    fitted = Fitted(patterns, kept, (kept.row_a, kept.row_b), probability, np.array([0.0, 0.0, 10.0]), (True, True))
    seen = []

    def decide(counts: PatternCounts, drawn: KeptPairs, stays: np.ndarray) -> Decided:
        seen.append(counts)
        assert len(drawn.pattern) == stays.sum()
        assert counts.n_pairs == patterns.n_pairs
        assert np.bincount(drawn.pattern, minlength=3).tolist()[:2] == counts.count[:2].tolist()
        return Decided(np.flatnonzero(drawn.pattern == 0), Claim(0.9, 90 / 120))

    found = replicates(fitted, decide, 60, np.random.default_rng(2), lambda _: None)
    assert len(seen) == 60
    # Of 110 matches that are drawn, 90 in 120 have the likely vector; of the others 10 in 90.
    assert found.true[:, 0].mean() == pytest.approx(82.5 / 92.5, abs=0.02)
    assert found.true[:, 1].mean() == pytest.approx(90 / 120, abs=0.02)
    assert (found.claimed == (0.9, 90 / 120)).all()
    assert any(counts.count[2] > 10_000 for counts in seen)  # matches too dissimilar to be kept
