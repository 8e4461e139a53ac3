"""A file encoded in units from a working table: the bytes, orders and identifiers are those of the whole file."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures import intervals, layout
from gemel.common.signatures.layout import Layout
from gemel.common.signatures.payload import to_bytes
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding import samples
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.file_records import IDENTIFIER, TableRecords, variable_column
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.streamed import encode_table
from tests.custodian.encoding.encoded_rows import TableInMemory, series
from tests.specifications import heading

SEED, NOISE = Seed(bytes(range(32))), NoiseKey(bytes(range(32)))
TEXT = (
    heading("streamed", mode="block_keyed")
    + """
fields:
  - {name: surname, kind: name, bits: 64, randomised_response: 0.05}
  - {name: given, kind: name, bits: 64, key_domain: surname, describes: name, randomised_response: 0.05}
  - {name: born, kind: date, date: {order: ymd}, bits: 64}
  - {name: town, kind: text, tokens: words, bits: 128}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: names, keys: [{field: surname, prefix: 1}], split: town}
  - {name: year, keys: [{field: born, part: year}], withheld: [given]}
"""
)
SWAPS = "swaps: [[surname, given]]\n"
VARIABLES = """variables:
  - {name: wealth, holder: alice, column: q, categories: [low, high]}
  - {name: home, holder: both, categories: [city, sea, hill]}
"""
END = "retention: {uploads_days: 1, results_days: 1, maps_days: 1}\n"
NAMES = [None, "smith", "smyth", "aaa", "aaaa", "jones", "li"]
DATES = [None, "19151107", "19150000", "20000229", "00001107", "19600101"]
TOWNS = [None, "main st", "st main", " ", "york"]


def specification(*, swaps: bool, padded: bool, decoys: int, variables: bool) -> Specification:
    more = SWAPS * swaps + "padding: powers_of_two\n" * padded + VARIABLES * variables
    more += f"quality: {{decoys: {decoys}}}\n" if decoys else ""
    return load_specification(TEXT + more + END)


def file(n: int, rng: np.random.Generator) -> dict[str, pl.Series]:
    cells: dict[str, list[str | None]] = {"surname": NAMES, "given": NAMES, "born": DATES, "town": TOWNS}
    return series({name: rng.choice(some, n).tolist() for name, some in cells.items()})


def in_batches(
    columns: dict[str, pl.Series], variables: dict[str, pl.Series], cuts: list[int]
) -> tuple[TableRecords, pl.Series]:
    n = len(columns["born"])
    identifiers = pl.Series(IDENTIFIER, [f"id {number}" for number in range(n)])
    places = {variable_column(name): column for name, column in variables.items()}
    frame = pl.DataFrame({**columns, **places, IDENTIFIER: identifiers})
    table, begin = TableInMemory(), 0
    for end in [*sorted({cut for cut in cuts if 0 < cut < n}), n]:
        table.append(frame[begin:end])
        begin = end
    return TableRecords(table, tuple(variables)), identifiers


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals, parts and pieces of few rows, so that a small file has many."""
    monkeypatch.setattr(intervals, "INTERVAL_ROWS", 8)
    monkeypatch.setattr(samples, "_PART_ROWS", 16)
    for module in (layout, samples):
        monkeypatch.setattr(module, "GROUPS", 3)
    monkeypatch.setattr(layout, "GROUP_ROWS", 5)
    monkeypatch.setattr("gemel.custodian.encoding.streamed._CODES_ROWS", 7)


FILES = given(
    n=st.integers(4, 90),
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(1, 90), max_size=6),
    unit_rows=st.sampled_from([1, 16, 40, 1000]),
    chosen=st.fixed_dictionaries({name: st.booleans() for name in ("swaps", "padded", "variables")}),
    decoys=st.sampled_from([0, 100]),
)


@settings(max_examples=6)
@FILES
def test_units_make_the_bytes_of_the_whole(**drawn: Any) -> None:
    check_units(**drawn)


@pytest.mark.long
@settings(max_examples=60)
@FILES
def test_units_make_the_bytes_of_many_files(**drawn: Any) -> None:
    check_units(**drawn)


def check_units(n: int, seed: int, cuts: list[int], unit_rows: int, chosen: dict[str, Any], decoys: int) -> None:
    spec, rng = specification(decoys=decoys, **chosen), np.random.default_rng(seed)
    columns = file(max(n, 40) if decoys else n, rng)
    if decoys:  # invented from other records, they must be able to differ from all
        columns["town"] = pl.Series("town", [f"town {number}" for number in range(len(columns["town"]))])
    size = len(columns["born"])
    variables = {}
    if chosen["variables"]:
        held = {"wealth": [None, 0, 1], "home": [None, 0, 1, 2]}
        variables = {
            name: pl.Series(name, rng.choice(some, size).tolist(), dtype=pl.Int32) for name, some in held.items()
        }
    whole = encode_records(
        with_decoys(columns, spec, NOISE) if decoys else columns, spec, SEED, 2, noise=NOISE, variables=variables,
        decoys=decoys,
    )  # fmt: skip
    records, identifiers = in_batches(columns, variables, cuts)
    made: list[TableInMemory] = []

    def make() -> TableInMemory:
        made.append(TableInMemory())
        return made[-1]

    payload, sets, orders, names = b"", [], [], []
    for portion in encode_table(records, spec, SEED, 2, noise=NOISE, make=make, unit_rows=unit_rows, threads=1):
        payload += b"".join(to_bytes(portion.sets))
        sets += [part.layout for part in portion.sets]
        orders.append(portion.order)
        names += [value for part in portion.identifiers for value in part]
    assert Layout(tuple(sets), size) == whole.layout
    assert np.concatenate(orders).tolist() == whole.order.tolist()
    assert names == [identifiers[row] if row < size else None for row in whole.order.tolist()]
    assert payload == b"".join(to_bytes(whole.sets))
    assert made
    assert not any(list(table.batches()) for table in made), "what was laid out is erased"


@given(
    values=st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), min_size=15, max_size=120),
    part=st.sampled_from([1, 4, 1000]),
    seed=st.integers(0, 9),
)
def test_the_records_drawn_first_are_those_of_a_whole_sort(values: list[int], part: int, seed: int) -> None:
    digests = np.array(values, dtype=np.uint64)
    occurrence = np.array([values[:place].count(value) for place, value in enumerate(values)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "_PART_ROWS", part)

        def draw(digests: np.ndarray, occurrence: np.ndarray) -> np.ndarray:
            return (digests * np.uint64(2 * seed + 1) + occurrence.astype(np.uint64) * np.uint64(7)) >> np.uint64(60)

        rows, its = samples._first_drawn(digests, 15, draw)
    expected = np.argsort(draw(digests, occurrence), kind="stable")[:15]
    assert rows.tolist() == expected.tolist()
    assert its.tolist() == occurrence[expected].tolist()


@given(st.lists(st.integers(0, 19), max_size=30), st.lists(st.integers(1, 20), max_size=4))
def test_rows_are_gathered_from_pieces_in_any_order(rows: list[int], cuts: list[int]) -> None:
    columns = {"born": pl.Series([str(number) for number in range(20)])}
    records, _ = in_batches(columns, {}, cuts)
    found = records.gathered({"born": np.array(rows, dtype=np.int64)})
    assert found["born"].to_list() == [str(row) for row in rows]
