"""What is drawn of a large file for the leakage gate: whole blocks of every size, and counts of all records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gemel.common.specification import load_specification
from gemel.custodian.cleaning.profile import Profile
from gemel.custodian.drawn_records import CLASSES, DrawnRecords, size_class_of
from gemel.custodian.encoding.blocking_keys import key_text
from gemel.custodian.encoding.file_records import TableRecords, variable_column
from gemel.custodian.source import drawing
from gemel.custodian.source.cleaned_file import CleanedFile
from gemel.custodian.source.drawing import drawn_records
from tests.custodian.encoding.encoded_rows import TableInMemory
from tests.specifications import heading

SPEC = load_specification(
    heading("people", mode="block_keyed")
    + """
fields:
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
blocking:
  - {name: born, keys: [{field: born, part: year}]}
  - {name: names, keys: [{field: surname}, {field: born, part: month}]}
variables: [{name: home, holder: both, categories: [city, sea]}]
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
)
N = 3_000


def columns(n: int = N) -> dict[str, pl.Series]:
    rng = np.random.default_rng(5)
    names = pl.Series("surname", [f"name {number}" for number in rng.zipf(1.6, n) % 500]).set(
        pl.Series(rng.random(n) < 0.1), None
    )
    years, months = 1900 + rng.zipf(1.3, n) % 100, rng.integers(0, 3, n)
    born = pl.Series("born", [f"{year}{month:02}01" for year, month in zip(years, months, strict=True)])
    home = pl.Series("home", rng.integers(0, 2, n), dtype=pl.Int32)
    return {"surname": names, "born": born, variable_column("home"): home}


def drawn(cuts: int, seed: int = 1) -> DrawnRecords:
    table, frame = TableInMemory(), pl.DataFrame(columns())
    for begin in range(0, N, cuts):
        table.append(frame[begin : begin + cuts])
    file = CleanedFile(TableRecords(table, ("home",)), Profile(N, ()), None, 1)
    return drawn_records(file, SPEC, np.random.default_rng(seed))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("_AT_ONCE", 128), ("BLOCKED_ROWS", 40), ("OTHER_ROWS", 60), ("ANY_ROWS", 100)):
        monkeypatch.setattr(drawing, name, size)
    monkeypatch.setattr(drawing, "COMMONEST", 30)


def test_blocks_are_whole_and_of_every_size_and_their_rows_are_counted() -> None:
    found, whole = drawn(700), columns()
    for rule in SPEC.keyed_rules:
        text = key_text(whole, SPEC, rule, split=True)
        sizes = dict(text.drop_nulls().value_counts().iter_rows())
        own = key_text(found.columns, SPEC, rule, split=True)
        those = found.blocks[rule.name]
        classes = size_class_of(np.array(list(sizes.values())))
        expected = np.bincount(classes, weights=list(sizes.values()), minlength=CLASSES)
        assert those.rows_of_size.tolist() == expected.tolist()
        assert those.n_rows == text.is_not_null().sum()
        assert those.own_size == pytest.approx(sum(size**2 for size in sizes.values()) / those.n_rows)
        for places in (those.attacked, those.others):
            counted = own[places].value_counts()
            assert all(count == sizes[key] for key, count in counted.iter_rows()), "a block is not whole"
        assert not set(those.attacked) & set(those.others)
        counts = own[those.attacked].value_counts()["count"].to_numpy()
        taken = np.bincount(size_class_of(counts), weights=counts, minlength=CLASSES)
        for size_class in np.unique(classes):
            assert taken[size_class] >= min(40, expected[size_class])
        assert 0 < len(those.others) <= 60
        assert own[those.others].value_counts()["count"].min() > 1


def test_records_at_random_and_the_commonest_values() -> None:
    found, whole = drawn(700), columns()
    assert len(found.anyone) == len(found.variables["home"]) == 100
    for name in ("surname", "born"):
        counts = dict(whole[name].drop_nulls().value_counts().iter_rows())
        shown = dict(found.counts[name].iter_rows())
        assert len(shown) == min(30, len(counts))
        assert all(counts[value] == count for value, count in shown.items())
        assert sorted(shown.values()) == sorted(counts.values())[-len(shown) :]
    assert found.n_records == N
    assert found.n_drawn == len(found.columns["born"]) < N


def test_the_same_number_draws_the_same_records_whatever_the_batches() -> None:
    one, other = drawn(700), drawn(31)
    assert all(one.columns[name].equals(column) for name, column in other.columns.items())
    assert all(one.counts[name].equals(counts) for name, counts in other.counts.items())
    assert one.anyone.tolist() == other.anyone.tolist()
    another = drawn(700, seed=2)
    assert not one.columns["born"].equals(another.columns["born"])
