"""Samples in groups: pairs of one group, and nothing else; the memory that they keep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gemel.carole.engine import Contribution
from gemel.carole.engine.inputs.files import contribution_of
from gemel.carole.engine.pairs.check_agreement import RandomPairs
from gemel.carole.engine.pairs.preparation import all_pairs_levels, grouped_levels, pairs_in_groups
from gemel.carole.engine.run.specified import plan_of
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS, SAMPLES
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import load_specification
from gemel.custodian.encoding.records import encode_records
from tests.carole.engine.progress import quiet
from tests.carole.engine.runs import SEED, drawn, of_rows
from tests.specifications import heading

SPEC = load_specification(
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
PLAN = plan_of(SPEC)
NAMES = ["smith", "smyth", "jones", "johns", "brown", "bryan", "taylor", None]
FIELDS = {
    "surname": NAMES,
    "given": NAMES,
    "sex": ["f"] * 7 + ["m"] * 3,
    "phone": [f"{i:05d}" if i % 3 else None for i in range(300)],
    "town": [f"town{i}" for i in range(60)],
}


def contribution(n: int, seed: int) -> Contribution:
    return contribution_of(encode_records(drawn(n, np.random.default_rng(seed), **FIELDS), SPEC, SEED, 1).sets, n)


def test_levels_are_those_of_the_pairs_of_each_group_of_any_size() -> None:
    """Also of fields that may be exchanged, and of a value that is missing."""
    a, b = contribution(300, 1).sample, contribution(20, 2).sample
    assert (a.n_rows, b.n_rows) == (GROUPS * GROUP_ROWS, GROUPS * 20)
    few, sizes = 20, (GROUP_ROWS, 20)
    both = [of_rows(part, slice(few * size)) for part, size in zip((a, b), sizes, strict=True)]
    found, parts = grouped_levels((both[0], both[1]), few, PLAN), []
    with ThreadPoolExecutor(2) as pool:
        for number in range(few):
            group = (of_rows(part, slice(number * n, (number + 1) * n)) for part, n in zip(both, sizes, strict=True))
            parts.append(all_pairs_levels(*group, PLAN, {}, pool, quiet))
    np.testing.assert_array_equal(found, np.sum(parts, axis=0))
    for field, counted in zip(PLAN.compared, found, strict=True):
        assert min(counted[0], counted[len(field.bounds) - 1]) > 0, field.name


@pytest.mark.parametrize(("n_a", "n_b"), [(32, 32), (32, 7), (1, 3)])
def test_each_pair_of_rows_of_a_group_is_taken_once(n_a: int, n_b: int) -> None:
    parts = tuple(SignatureSet(SAMPLES, GROUPS * n, {}, {}) for n in (n_a, n_b))
    row_a, row_b = pairs_in_groups((parts[0], parts[1]), GROUPS)
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
