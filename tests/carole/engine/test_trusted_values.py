"""Values: compared themselves, as their plain definition, and weighed by how rare they are."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.carole.comparison.levels import FieldComparison, levels_of, similarity_table
from gemel.carole.engine import FieldPlan, LinkagePlan, RulePlan
from gemel.carole.engine.inputs.files import joint_codes, rarity, value_weights
from gemel.carole.engine.pairs import preparation
from gemel.carole.evaluation.link_quality import calibration, expected_precision_recall, matching_pairs, quality
from gemel.common.errors import ErrorCode
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, pack_values, unpack_values
from gemel.coordinator.demonstration.people.names import name_tables
from gemel.custodian.encoding.signing import canonical
from tests.carole.engine.conftest import BOUNDS as EM8
from tests.carole.engine.runs import n_right, run
from tests.carole.refusals import refusal

FIELDS = ("given", "family", "born")
N_COMMON = 120


def misspelt(name: str, rng: np.random.Generator) -> str:
    if rng.random() > 0.25 or len(name) < 3:
        return name
    at = int(rng.integers(len(name) - 1))
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def packed(values: list[str]) -> FieldSignatures:
    distinct = sorted({value for value in values if value})
    rows, ranks = canonical(pack_values(distinct, 256, "field"))
    place = {value: int(rank) for value, rank in zip(distinct, ranks, strict=True)}
    return FieldSignatures(256, rows, np.array([place.get(v, -1) for v in values], dtype=np.int32), "values")


@pytest.fixture(scope="module")
def trusted() -> tuple[SignatureSet, SignatureSet]:
    rng = np.random.default_rng(4)
    people = [
        (str(given).lower(), str(family).lower(), f"{year}{month:02d}")
        for given, family, year, month in zip(
            name_tables()["female"].draw(330, rng),
            name_tables()["surname"].draw(330, rng),
            rng.integers(1930, 2010, 330),
            rng.integers(1, 13, 330),
            strict=True,
        )
    ]
    a = people[:200]
    b = [tuple(misspelt(value, rng) for value in person) for person in [*people[:N_COMMON], *people[200:]]]
    b[5] = ("", b[5][1], b[5][2])
    sides = []
    for records in (a, b):
        keys = np.array([int(record[2][:4]) for record in records], dtype=np.uint64)
        fields = {name: packed([record[q] for record in records]) for q, name in enumerate(FIELDS)}
        sides.append(SignatureSet("", len(records), fields, {"year": keys}))
        sides[-1].validate()
    return sides[0], sides[1]


def plan_of(blocked: bool, **settings) -> LinkagePlan:
    fields = tuple(FieldPlan(name, 256, EM8, "jaro_winkler" if name == "family" else "jaro") for name in FIELDS)
    return LinkagePlan(fields, (RulePlan("year", ("born",)),) if blocked else (), **settings)


def vectors(a, b, plan):
    """Every pair's comparison vector, by the similarity of its very values."""
    columns = []
    for field in plan.fields:
        first, second = a.fields[field.name], b.fields[field.name]
        values = [unpack_values(side.signatures, "") for side in (first, second)]
        levels = levels_of(similarity_table(values[0], values[1], field.comparator), EM8)
        whole = levels[first.codes[:, None], second.codes[None, :]]
        missing = (first.codes < 0)[:, None] | (second.codes < 0)[None, :]
        columns.append(np.where(missing, -1, whole))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("blocked", [True, False])
def test_patterns_are_those_of_the_values(trusted, blocked, tables, monkeypatch):
    monkeypatch.setattr(preparation, "CELLS_PER_PAIR", 100 if tables else 0)
    a, b = trusted
    plan = plan_of(blocked)
    linkage = run(a, b, plan)
    gamma = vectors(a, b, plan)
    compared = a.blocks["year"][:, None] == b.blocks["year"][None, :] if blocked else np.ones(gamma.shape[:2], bool)
    expected = Counter(map(tuple, gamma[compared].tolist()))
    patterns = linkage.patterns
    assert dict(zip(map(tuple, patterns.gamma.tolist()), patterns.count.tolist(), strict=True)) == expected
    assert n_right(linkage) > 0.7 * N_COMMON


@pytest.mark.parametrize("comparator", ["jaro", "jaro_winkler"])
def test_levels_over_all_pairs_exact_and_sampled(trusted, comparator):
    a, b = (side.fields["family"] for side in trusted)
    rng = np.random.default_rng(1)
    with ThreadPoolExecutor(2) as pool:
        table = FieldComparison(a, b, EM8, comparator).level_table(pool)
        by_table = FieldComparison(a, b, EM8, comparator, table=table).distribution(pool, rng, 0, 16)
        exact = FieldComparison(a, b, EM8, comparator).distribution(pool, rng, 2**40, 16)
        drawn = FieldComparison(a, b, EM8, comparator).distribution(pool, rng, 0, 16 * 40_000)
    assert by_table.tolist() == exact.tolist()
    assert exact.sum() == np.count_nonzero(a.codes >= 0) * np.count_nonzero(b.codes >= 0)
    assert drawn / drawn.sum() == pytest.approx(exact / exact.sum(), abs=0.01)
    assert drawn[-1] / drawn.sum() == pytest.approx(exact[-1] / exact.sum())
    pairs = FieldComparison(a, b, EM8, comparator)
    rows = np.arange(50, dtype=np.int32)
    out = np.zeros(50, dtype=np.int64)
    pairs.add(rows, rows, 50, 3, out)
    assert out.tolist() == [3 * int(table[i, j]) for i, j in zip(a.codes[:50], b.codes[:50], strict=True)]


def test_values_where_signatures_are_expected_and_the_other_way_round_are_refused(trusted, files):
    open_plan = LinkagePlan(tuple(FieldPlan(name, 256, EM8) for name in FIELDS))
    with refusal(ErrorCode.ENCODING_MISMATCH, "signatures expected, got values"):
        run(*trusted, open_plan)
    plan = LinkagePlan(tuple(FieldPlan(f.name, f.bits, f.bounds, "jaro") for f in files.plan().fields))
    with refusal(ErrorCode.ENCODING_MISMATCH, "alice, field given: values expected"):
        run(files.a, files.b, plan)


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
