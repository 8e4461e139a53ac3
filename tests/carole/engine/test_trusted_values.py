"""Runs on values: by table or pair by pair, blocked and not, they are those of the plain definition."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gemel.carole.comparison.levels import FieldComparison, levels_of, similarity_table
from gemel.carole.engine import FieldPlan, LinkagePlan, RulePlan
from gemel.carole.engine.pairs import preparation
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
