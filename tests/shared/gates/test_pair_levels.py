"""Pairs compared on shares, against plain rows compared one by one and against the comparisons of `carole`."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.comparison.crosswise import CrosswiseComparison, crosswise_bounds
from gemel.carole.comparison.kernels import disagreement_limits
from gemel.common.signatures.row_words import RowWords
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.shared.gates.output_bits import ComparedField, Exchange, Opened, OutputBits, PairComparison
from gemel.shared.gates.output_slices import SlicedPairs, output_slices
from gemel.shared.gates.pair_levels import compare_pairs, presence_of_rows, rows_of
from gemel.shared.session.local_session import local_parties, together
from tests.shared.gates.plain import PLAIN_ONES, plain_all_of, shares_of, value_of

BITS = 128
BOUNDS = (0.2, 0.5, 0.8, 0.999, 1.0)
LIMITS = tuple(disagreement_limits(BITS, BOUNDS).tolist())
CROSSWISE = tuple(disagreement_limits(BITS, crosswise_bounds(BITS)).tolist())
RULES = ("first", "second", "third")
SHARED = ("given", "family", "birth", "place", "extra")
N_A, N_B, N = 30, 40, 500

WORDS = RowWords(tuple((name, BITS) for name in SHARED), ("first", "third"))
FIELDS = (
    ComparedField("given", BITS, LIMITS),
    ComparedField("family", BITS, LIMITS),
    ComparedField("block", BITS, LIMITS, "fixed"),
    ComparedField("birth", BITS, (*LIMITS[:2], -1)),
    ComparedField("secret", BITS, LIMITS, "withheld"),
    ComparedField("place", BITS, ()),
)
COMPARISON = PairComparison(
    WORDS, FIELDS, (Exchange(0, 1, CROSSWISE),), RULES, "second", ComparedField("extra", BITS, LIMITS)
)
SAMPLES = PairComparison(
    RowWords(WORDS.fields), tuple(replace(each, content="shared") for each in FIELDS[:2]), COMPARISON.exchanges
)


def rows(rng: np.random.Generator, n: int, values: np.ndarray) -> np.ndarray:
    """Rows whose values are few, near each other, exchanged at times, and missing at times."""
    made = rng.integers(0, 1 << 64, (n, WORDS.total), dtype=np.uint64)
    made[:, 0] = 0
    for k, name in enumerate(SHARED):
        made[:, 0] |= (rng.random(n) < 0.85).astype(np.uint64) << np.uint64(k)
        made[:, WORDS.signature(name)] = values[rng.integers(0, 3, n), k]
    exchanged = rng.random(n) < 0.4
    both = made[exchanged, WORDS.signature("given")].copy()
    made[exchanged, WORDS.signature("given")] = made[exchanged, WORDS.signature("family")]
    made[exchanged, WORDS.signature("family")] = both
    few = rng.integers(0, 1 << 64, (n, WORDS.total), dtype=np.uint64)
    for _ in range(3):
        few &= rng.integers(0, 1 << 64, few.shape, dtype=np.uint64)
    few[:, : WORDS.presence_words + 2] = 0
    made ^= few * (rng.random((n, 1)) < 0.4)
    for rule in WORDS.tags:
        made[:, WORDS.tag(rule)] = rng.integers(0, 3, n)
    return made


@pytest.fixture(scope="module")
def files() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(23)
    values = rng.integers(0, 1 << 64, (3, len(SHARED), BITS // 64), dtype=np.uint64)
    return rows(rng, N_A, values), rows(rng, N_B, values), rng.integers(0, N_A, N), rng.integers(0, N_B, N)


def one_pair(a: np.ndarray, b: np.ndarray, comparison: PairComparison):  # type: ignore[no-untyped-def]
    """The definition, in Python's integers: counted, mask, present, level, exchange, checked."""
    words = comparison.words

    def value(row: np.ndarray, name: str) -> int:
        return int.from_bytes(row[words.signature(name)].tobytes(), "little")

    def has(row: np.ndarray, name: str) -> bool:
        word, bit = words.presence(name)
        return bool(int(row[word]) >> bit & 1)

    def number(one: str, other: str, limits: tuple[int, ...]) -> int:
        return sum((value(a, one) ^ value(b, other)).bit_count() <= limit for limit in limits)

    def far(one: str, other: str) -> int:
        return (value(a, one) ^ value(b, other)).bit_count()

    n_fields, n_exchanges = len(comparison.fields), len(comparison.exchanges)
    nothing = (False, 0, [False] * n_fields, [-1] * n_fields, [-1] * n_exchanges, -1)
    mask = 0
    for place, rule in enumerate(comparison.rules):
        same = rule == comparison.rule or a[words.tag(rule)] == b[words.tag(rule)]
        mask |= same << place
        if same and rule != comparison.rule and place < comparison.own_place:
            return nothing
    present, level = [], []
    for field in comparison.fields:
        here = field.content == "fixed" or (field.content == "shared" and has(a, field.name) and has(b, field.name))
        present.append(here)
        top = len(field.limits)
        level.append(
            -1 if not here else top if field.content == "fixed" else number(field.name, field.name, field.limits)
        )
    exchange = []
    for each in comparison.exchanges:
        f, g = comparison.fields[each.first].name, comparison.fields[each.second].name
        found = -1
        if present[each.first] and present[each.second]:
            found = min(number(f, g, each.limits), number(g, f, each.limits))
            if far(f, g) + far(g, f) >= far(f, f) + far(g, g):
                found = 0
            if found > 0 and comparison.rule is not None:
                level[each.first] = level[each.second] = -1
        exchange.append(found)
    checked = -1
    if comparison.check and has(a, comparison.check.name) and has(b, comparison.check.name):
        name = comparison.check.name
        checked = int(number(name, name, comparison.check.limits) == len(comparison.check.limits))
    return True, mask, present, level, exchange, checked


def assert_is_the_definition(opened: Opened, files, comparison: PairComparison) -> None:  # type: ignore[no-untyped-def]
    rows_a, rows_b, pair_a, pair_b = files
    for k, (i, j) in enumerate(zip(pair_a, pair_b, strict=True)):
        counted, mask, present, level, exchange, checked = one_pair(rows_a[i], rows_b[j], comparison)
        assert bool(opened.counted[k]) == counted
        assert opened.mask[k] == mask
        assert opened.present[k].tolist() == present
        assert opened.level[k].tolist() == level
        assert opened.exchange[k].tolist() == exchange
        if opened.checked is not None:
            assert opened.checked[k] == checked


@pytest.mark.parametrize("comparison", [COMPARISON, SAMPLES, replace(COMPARISON, rule="second", check=None)])
def test_pairs_on_shares_are_pairs_on_words(files, comparison: PairComparison) -> None:  # type: ignore[no-untyped-def]
    rows_a, rows_b, pair_a, pair_b = files
    if comparison.rule is None:
        without_tags = [0, *range(1 + len(WORDS.tags), WORDS.total)]
        rows_a, rows_b = rows_a[:, without_tags], rows_b[:, without_tags]
    held_a, held_b = shares_of(rows_a), shares_of(rows_b)
    shown = []

    def run(party):  # type: ignore[no-untyped-def]
        held = held_a[party.own], held_b[party.own]
        report = shown.append if party.own == 0 else lambda _: None
        bits = compare_pairs(party, *held, pair_a, pair_b, comparison, "levels", report)
        assert not [each for each in party.openings if each.what != "check"]
        return bits

    bits = value_of(together(local_parties(), run))
    assert bits.shape == (N, comparison.output.total_words)
    assert shown[-1] == 1
    opened = comparison.output.read(bits)
    assert_is_the_definition(opened, (rows_a, rows_b, pair_a, pair_b), comparison)
    assert not bits[~opened.counted].any()
    np.testing.assert_array_equal(on_words((rows_a, rows_b, pair_a, pair_b), comparison), bits)


def on_words(files, comparison: PairComparison) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The same circuit on plain words."""
    rows_a, rows_b, pair_a, pair_b = files
    pairs = SlicedPairs(rows_a[None], rows_b[None], pair_a, pair_b, comparison.words)
    return rows_of(output_slices(pairs, comparison, PLAIN_ONES, plain_all_of), N)[0]


def test_the_pairs_of_the_tests_have_every_outcome(files) -> None:  # type: ignore[no-untyped-def]
    opened = COMPARISON.output.read(on_words(files, COMPARISON))
    assert set(opened.exchange.ravel().tolist()) == {-1, 0, 1, 2}
    assert {0, 4} <= set(opened.level[:, 0].tolist())
    assert set(opened.checked.tolist()) == {-1, 0, 1}
    assert set(opened.mask.tolist()) == {0, 2, 6}


def test_exchanges_are_those_of_carole(files) -> None:  # type: ignore[no-untyped-def]
    rows_a, rows_b, pair_a, pair_b = files

    def fields(made: np.ndarray, name: str) -> FieldSignatures:
        word, bit = WORDS.presence(name)
        here = (made[:, word] >> np.uint64(bit) & np.uint64(1)).astype(bool)
        codes = np.where(here, np.arange(len(made)), -1).astype(np.int32)
        return FieldSignatures(BITS, np.ascontiguousarray(made[:, WORDS.signature(name)]), codes)

    a, b = ((fields(made, "given"), fields(made, "family")) for made in (rows_a, rows_b))
    out = np.zeros(N, dtype=np.int64)
    CrosswiseComparison(a, b).add(pair_a.astype(np.int32), pair_b.astype(np.int32), N, 1, ((0, 0), (0, 0)), out)
    comparison = replace(COMPARISON, rule="first", rules=("first",))
    opened = comparison.output.read(on_words(files, comparison))
    np.testing.assert_array_equal(opened.exchange[:, 0], np.where(out == 3, -1, out))


def test_presence_of_rows(files) -> None:  # type: ignore[no-untyped-def]
    held = shares_of(files[0])
    bits = value_of([presence_of_rows(each, WORDS, ("place", "given")) for each in held])
    expected = (files[0][:, 0] >> np.uint64(3) & np.uint64(1)) | (files[0][:, 0] & np.uint64(1)) << np.uint64(1)
    np.testing.assert_array_equal(bits[:, 0], expected)


def test_bits_go_on_in_further_words() -> None:
    output = OutputBits((30, 30, 30), (Exchange(0, 2, (5, 3)),), ("a", "b"), True)
    assert (output.words, output.total_words, output.check) == (2, 3, 128)
    opened = np.zeros((1, 3), dtype=np.uint64)
    for place in (0, 2, output.present(2), *range(*output.levels(2).indices(128))[:7], output.check):
        opened[0, place // 64] |= np.uint64(1 << place % 64)
    read = output.read(opened)
    assert (read.mask[0], read.level[0].tolist(), read.exchange[0].tolist()) == (2, [-1, -1, 7], [-1])
    assert read.checked is not None
    assert read.checked[0] == 0
