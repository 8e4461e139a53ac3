"""Block-keyed mode in the engine: the pairs and rules of the open mode, u from samples in groups, equal links."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest

from benchmarks.modes import febrl, judged, link_in, people
from gemel.carole.engine import Contribution, LinkagePlan, compare
from gemel.carole.engine.inputs.files import BlockKeyedFiles, contribution_of
from gemel.carole.engine.pairs import shards
from gemel.carole.engine.pairs.check_agreement import RandomPairs
from gemel.carole.engine.pairs.preparation import all_pairs_levels, grouped_levels, pairs_in_groups
from gemel.carole.engine.run.plan import FieldPlan, RulePlan
from gemel.carole.engine.run.specified import plan_of
from gemel.common.errors import ErrorCode
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS, SAMPLES
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import ENOUGH, SEED, drawn, every_pair, of_rows
from tests.carole.refusals import refusal
from tests.specifications import heading

TEXT = (
    heading("separate", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 512}
  - {name: given, kind: name, bits: 512}
  - {name: sex, kind: category}
  - {name: town, kind: category}
blocking:
  - {name: town, keys: [{field: town}]}
  - {name: name, keys: [{field: surname, prefix: 2}]}
  - {name: sex-given, keys: [{field: sex}, {field: given}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
SPEC = load_specification(TEXT)
PLAN = LinkagePlan(
    tuple(FieldPlan(field.name, field.bits, field.bounds) for field in SPEC.fields),
    tuple(RulePlan(rule.name, rule.fields) for rule in SPEC.blocking),
    dependence="none",
)


def columns(n: int, rng: np.random.Generator, women: float = 0.5) -> dict[str, pl.Series]:
    names = ["smith", "smyth", "jones", "johns", "brown", "bryan", "taylor", None]
    towns = [None, *(f"town{i}" for i in range(1, 6))]
    sex = pl.Series("sex", np.where(rng.random(n) < women, "f", "m"))
    return {**drawn(n, rng, surname=names, given=names, town=towns), "sex": sex}


def contribution(given: dict[str, pl.Series]) -> tuple[Encoded, Contribution]:
    made = encode_records(given, SPEC, SEED, 1)
    return made, contribution_of(made.sets, len(given["sex"]))


@pytest.mark.parametrize("seed", range(5))
def test_every_pair_of_records_is_compared_once_with_all_rules_it_satisfies(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    mine, theirs = columns(40, rng), columns(30, rng)
    (made_a, a), (made_b, b) = contribution(mine), contribution(theirs)
    monkeypatch.setattr(shards, "UNIT_PAIRS", 97)
    _, mask, count, kept = every_pair((a, b), PLAN)
    assert np.array_equal(np.bincount(kept.pattern), count)
    pairs_of_records = zip(made_a.order[kept.row_a].tolist(), made_b.order[kept.row_b].tolist(), strict=True)
    found = dict(zip(pairs_of_records, mask[kept.pattern].tolist(), strict=True))
    assert len(found) == len(kept.pattern)
    expected = {}
    for i in range(40):
        for j in range(30):
            x = {name: column[i] for name, column in mine.items()}
            y = {name: column[j] for name, column in theirs.items()}
            agree = [
                x["town"] is not None and x["town"] == y["town"],
                x["surname"] is not None and y["surname"] is not None and x["surname"][:2] == y["surname"][:2],
                x["given"] is not None and x["given"] == y["given"] and x["sex"] == y["sex"],
            ]
            if any(agree):
                expected[i, j] = sum(1 << r for r, both in enumerate(agree) if both)
    assert found == expected


def test_u_comes_from_the_samples_whatever_the_populations() -> None:
    """Sex 95 : 5 in one file, 50 : 50 in the other: chance agreement is .5, where pooled within-file u is .702."""
    rng = np.random.default_rng(7)
    n = 6000
    (_, a), (_, b) = contribution(columns(n, rng, 0.95)), contribution(columns(n, rng, 0.5))
    found, _ = compare(a, b, PLAN, ENOUGH, quiet)
    u = found.levels[2] / found.levels[2].sum()
    # u = x y + (1 - x)(1 - y): five standard errors of shares in two samples of 6,000 records, some of them twice.
    error = 5 * np.sqrt(((2 * 0.5 - 1) ** 2 * 0.95 * 0.05 + (2 * 0.95 - 1) ** 2 * 0.25) / 6000)
    assert abs(u[1] - 0.5) < error < 0.06
    assert found.n_a == n


@pytest.mark.parametrize(
    ("data", "least", "apart"), [("people", 0.97, 0.004), pytest.param("febrl", 0.99, 0.002, marks=pytest.mark.long)]
)
def test_the_same_links_as_in_mode_open(data: str, least: float, apart: float, request: pytest.FixtureRequest) -> None:
    """Some three of 750 links, and FEBRL4 without its social security numbers: as `benchmarks modes` prints."""
    if data == "febrl" and not (request.getfixturevalue("shared") / "data" / "febrl").is_dir():
        pytest.skip("FEBRL4 is not beside this checkout")
    spec, files = febrl() if data == "febrl" else people(1500, 0.4, 11)
    f1 = {mode: judged(link_in(mode, spec, files, SEED), files, "person")[0] for mode in ("open", "block_keyed")}
    assert f1["open"] > least
    assert abs(f1["open"] - f1["block_keyed"]) < apart


def test_a_block_above_its_rules_limit_is_refused() -> None:
    rng = np.random.default_rng(1)
    (_, a), (_, b) = contribution(columns(400, rng)), contribution(columns(400, rng))
    plan = plan_of(load_specification(TEXT.replace("[{field: town}]}", "[{field: town}], limit: 1000}")))
    with refusal(ErrorCode.PARAMETER, "a block may have at most"):
        compare(a, b, plan, ENOUGH, quiet)


def test_records_without_a_key_are_reported() -> None:
    rng = np.random.default_rng(1)
    part, other = columns(300, rng), columns(300, rng)
    nobody = pl.Series([None] * 300, dtype=pl.String)
    surname = pl.Series(["smith"] * 100 + [None] * 200, dtype=pl.String)
    part |= {"town": nobody, "given": nobody, "surname": surname}
    (_, a), (_, b) = contribution(part), contribution(other)
    (reported, *others) = BlockKeyedFiles(a, b).warnings()
    assert reported.code == "records_without_key"
    assert reported.text.startswith("Up to 200 of Alice's 300 records")
    assert all("of Bob's 300 records" in warning.text for warning in others)


def test_rows_are_of_no_fewer_records_than_one_rule_has_of_them() -> None:
    rng = np.random.default_rng(5)
    made, part = contribution(columns(80, rng))
    for n in (0, 1, 5, 60):
        rows = rng.choice(part.starts[-1], n).astype(np.int32)
        per_rule = [
            {row for row in rows.tolist() if low <= row < high}
            for low, high in zip(part.starts, part.starts[1:], strict=False)
        ]
        fewest = part.fewest_records(rows)
        assert fewest == max(map(len, per_rule))
        assert fewest <= len(set(made.order[rows].tolist()))


GROUPED = load_specification(
    heading("groups", "block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 512, key_domain: name}
  - {name: given, kind: name, bits: 512, key_domain: name}
  - {name: sex, kind: category}
  - {name: phone, kind: code, missing_as: level}
  - {name: town, kind: category}
swaps: [[surname, given]]
blocking:
  - {name: town, keys: [{field: town}]}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
GROUPED_PLAN = plan_of(GROUPED)
SAMPLED_NAMES = ["smith", "smyth", "jones", "johns", "brown", "bryan", "taylor", None]
FIELDS = {
    "surname": SAMPLED_NAMES,
    "given": SAMPLED_NAMES,
    "sex": ["f"] * 7 + ["m"] * 3,
    "phone": [f"{i:05d}" if i % 3 else None for i in range(300)],
    "town": [f"town{i}" for i in range(60)],
}


def sampled(n: int, seed: int) -> Contribution:
    return contribution_of(encode_records(drawn(n, np.random.default_rng(seed), **FIELDS), GROUPED, SEED, 1).sets, n)


def test_levels_are_those_of_the_pairs_of_each_group_of_any_size() -> None:
    """Also of fields that may be exchanged, and of a value that is missing."""
    a, b = sampled(300, 1).sample, sampled(20, 2).sample
    assert (a.n_rows, b.n_rows) == (GROUPS * GROUP_ROWS, GROUPS * 20)
    few, sizes = 20, (GROUP_ROWS, 20)
    both = [of_rows(part, slice(few * size)) for part, size in zip((a, b), sizes, strict=True)]
    found, parts = grouped_levels((both[0], both[1]), few, GROUPED_PLAN), []
    with ThreadPoolExecutor(2) as pool:
        for number in range(few):
            group = (of_rows(part, slice(number * n, (number + 1) * n)) for part, n in zip(both, sizes, strict=True))
            parts.append(all_pairs_levels(*group, GROUPED_PLAN, {}, pool, quiet))
    np.testing.assert_array_equal(found, np.sum(parts, axis=0))
    for field, counted in zip(GROUPED_PLAN.compared, found, strict=True):
        assert min(counted[0], counted[len(field.bounds) - 1]) > 0, field.name


@pytest.mark.parametrize(("n_a", "n_b"), [(32, 32), (32, 7), (1, 3)])
def test_each_pair_of_rows_of_a_group_is_taken_once(n_a: int, n_b: int) -> None:
    parts = tuple(SignatureSet(SAMPLES, GROUPS * n, {}, {}) for n in (n_a, n_b))
    row_a, row_b = pairs_in_groups(parts[0].n_rows, parts[1].n_rows, GROUPS)
    assert np.array_equal(row_a // n_a, row_b // n_b)
    assert len(set(zip(row_a.tolist(), row_b.tolist(), strict=True))) == len(row_a) == GROUPS * n_a * n_b


def test_random_pairs_are_of_one_group_and_every_one_as_likely() -> None:
    drawn = RandomPairs(GROUPS * 5, GROUPS * 3, lambda *_: None, 90_000, 1, GROUPS)
    n = drawn.n_pairs
    row_a, row_b, mask = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.uint32)
    (part,) = drawn.parts(n)
    assert drawn.write(part, row_a, row_b, mask) == n
    assert np.array_equal(row_a // 5, row_b // 3)
    times = np.bincount(row_a.astype(np.int64) * GROUPS * 3 + row_b, minlength=GROUPS**2 * 15)
    # 3,750 pairs 24 times each: seven standard errors.
    assert np.count_nonzero(times) == GROUPS * 15
    assert times.max() < 24 + 7 * 4.9
