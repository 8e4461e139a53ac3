"""Agreement on rare values: against the plain definition, as a distribution, and on files with skewed surnames."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.engine import FieldPlan, LinkagePlan
from gemel.carole.engine.inputs.files import joint_codes, rarity, value_weights
from gemel.carole.evaluation.link_quality import calibration, expected_precision_recall, matching_pairs, quality
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet
from tests.carole.engine.runs import run

EXACT = (0.9999, 1.0)
COMMON = 400
SIZES = {"surname": 3000, "given": 300, "year": 60, "sex": 2}


def signed(pool, values):
    """A field whose values have the pool's signatures, distinct ones in an order of their own."""
    used, codes = np.unique(values[values >= 0], return_inverse=True)
    column = np.full(len(values), -1, dtype=np.int32)
    column[values >= 0] = codes
    return FieldSignatures(128, pool[used], column)


def plainly(a, b):
    """The definition, in floats and dictionaries: log2 of c / P(x) for each pair that agrees."""
    shares = [
        Counter({value: count / sum(v >= 0 for v in side) for value, count in Counter(side).items() if value >= 0})
        for side in (a, b)
    ]
    sides = [share for share in shares if share]
    p = {x: sum(share[x] for share in sides) / len(sides) for share in sides for x in share}
    c = sum(share**2 for share in p.values())
    return [[log2(c / p[x]) if x == y >= 0 else 0.0 for y in b] for x in a]


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=12), st.lists(st.integers(-1, 5), min_size=1, max_size=12))
def test_it_is_the_definition(a, b):
    pool = np.random.default_rng(1).integers(0, 2**64, (6, 2), dtype=np.uint64)
    sets = [SignatureSet("", len(v), {"name": signed(pool, np.array(v))}, {}) for v in (a, b)]
    row_a, row_b = np.divmod(np.arange(len(a) * len(b)), len(b))
    assert rarity(*sets, ["name"], row_a, row_b) == pytest.approx(np.ravel(plainly(a, b)))


def test_the_factor_is_a_ratio_of_distributions():
    """Among non-matches that agree its mean is 1, so that m and u of agreement stay valid."""
    rng = np.random.default_rng(2)
    values = rng.zipf(1.5, 1000) % 50
    weights = value_weights(values, values)
    share = np.bincount(values, minlength=50) / len(values)
    among_strangers = share**2 / (share @ share)
    assert among_strangers @ np.exp2(weights) == pytest.approx(1.0)
    assert share @ np.exp2(-weights) == pytest.approx(1.0)


def skewed(rng, n=800, common=COMMON):
    """Two files in which few surnames are most people's; every field of the second has errors."""
    shares = {
        name: 1 / np.arange(1, size + 1) ** (0.0 if name in ("year", "sex") else 1.0) for name, size in SIZES.items()
    }
    fields = [{}, {}]
    for name, size in SIZES.items():
        pool = rng.integers(0, 2**64, (2 * size, 2), dtype=np.uint64)
        p = shares[name] / shares[name].sum()
        a, b = rng.choice(size, n, p=p), rng.choice(size, n, p=p)
        b[:common] = a[:common]
        wrong = rng.random(n) < 0.08
        # An error makes another value, most often one that no record has.
        b[wrong] = rng.integers(size, 2 * size, int(wrong.sum())) if size > 2 else 1 - b[wrong]
        for side, values in zip(fields, (a, b), strict=True):
            side[name] = signed(pool, values)
    return (
        [SignatureSet("", n, side, {}) for side in fields],
        np.arange(n),
        np.r_[np.arange(common), np.arange(n, 2 * n - common)],
    )


def judged(seed, *, rare, assignment):
    """F1 of the decision, area under the curve, largest calibration gap of the match probabilities."""
    (a, b), person_a, person_b = skewed(np.random.default_rng(seed))
    fields = tuple(FieldPlan(name, 128, EXACT, value_frequencies=name in rare) for name in SIZES)
    plan = LinkagePlan(fields, assignment=assignment)
    found = run(a, b, plan)
    match = matching_pairs(person_a, person_b, found.pairs.row_a, found.pairs.row_b)
    curve = expected_precision_recall(found.pairs.match_probability, match, COMMON)
    gap = calibration(found.pairs.match_probability, match).largest_gap
    return quality(match[found.links], COMMON).f1, curve.auc, abs(gap)


def test_it_helps_where_surnames_are_skewed_and_stays_calibrated():
    """Seeds 0 to 3, means; without one-to-one, under which other fields give the same information."""
    without, with_them = (
        np.mean([judged(seed, rare=rare, assignment="none") for seed in range(4)], axis=0)
        for rare in ((), ("surname", "given"))
    )
    assert with_them[0] > without[0] + 0.03
    assert with_them[1] > without[1] + 0.03
    assert with_them[2] < 0.05


def test_it_helps_the_best_assignment_too():
    without, with_them = (judged(1, rare=rare, assignment="one_to_one") for rare in ((), ("surname", "given")))
    assert with_them[0] > without[0]
    assert with_them[1] > without[1]
    assert with_them[2] < without[2]


def test_values_count_the_same_whatever_their_order_in_the_upload():
    rng = np.random.default_rng(4)
    pool = rng.integers(0, 2**64, (4, 2), dtype=np.uint64)
    a, b = FieldSignatures(128, pool[[2, 0]], np.array([0, 1, -1], np.int32)), signed(pool, np.array([0, 2, 3]))
    code_a, code_b = joint_codes(a, b)
    assert code_a[1] == code_b[0]
    assert code_a[0] == code_b[1]
    assert code_a[2] == -1
