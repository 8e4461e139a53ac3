"""Decoys: members of invented households, none a record of the file, the same under one key, sent beside records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from gemel.common.errors import ErrorCode
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.signatures.layout import CODES, SAMPLES, sample_rows
from gemel.common.signatures.signature_sets import MISSING
from gemel.common.specification import Specification, load_specification
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.records import Encoded, encode_records
from tests.carole.refusals import refusal
from tests.custodian.encoding.encoded_rows import n_dummies, series
from tests.specifications import heading

SEED = Seed(bytes(range(32)))
NOISE = NoiseKey(bytes(range(32)))
TEXT = """
fields:
  - {name: given, kind: name, bits: 64, describes: NAME}
  - {name: born, kind: date, date: {order: ymd}, bits: 64, describes: BIRTH}
  - {name: surname, kind: name, bits: 64}
  - {name: postcode, kind: code, bits: 64}
blocking:
  - {name: born, keys: [{field: born}]}
  - {name: postcode, keys: [{field: postcode}]}
variables:
  - {name: region, holder: both, categories: [n, s], role: key}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""
N, DECOYS = 400, 150
PERSONAL, SHARED = ("given", "born"), ("surname", "postcode")


def specification(mode: str = "open", more: str = "", given: str = "name", born: str = "birth") -> Specification:
    text = heading("decoyed", mode) + TEXT.replace("NAME", given).replace("BIRTH", born)
    return load_specification(f"{text}quality: {{decoys: {DECOYS}}}\n{more}")


def people(n: int = N) -> dict[str, pl.Series]:
    """Each value shows its record; a tenth of each field is missing."""
    rng = np.random.default_rng(4)
    born = [f"{1900 + i // 300:04d}{1 + i % 300 // 25:02d}{1 + i % 25:02d}" for i in range(n)]
    columns = {"given": [f"g{i}" for i in range(n)], "born": born, "surname": [f"s{i}" for i in range(n)]}
    columns["postcode"] = [f"p{i}" for i in range(n)]
    return series(
        {name: [None if rng.random() < 0.1 else value for value in values] for name, values in columns.items()}
    )


PEOPLE = people()
REGION = {"region": pl.Series("region", np.arange(N) % 2, dtype=pl.Int32)}


def invented(spec: Specification, noise: NoiseKey = NOISE, of: dict[str, pl.Series] = PEOPLE) -> pl.DataFrame:
    return pl.DataFrame(with_decoys(of, spec, noise)).slice(len(of["given"]))


def sources(decoys: pl.DataFrame, names: tuple[str, ...]) -> list[set[int]]:
    """The records that each decoy's values can be from, field by field."""
    found = []
    for row in decoys.select(names).iter_rows():
        possible = [
            {i for i, own in enumerate(PEOPLE[name]) if own == value} for name, value in zip(names, row, strict=True)
        ]
        found.append(set.intersection(*possible))
    return found


def test_a_decoy_has_the_person_of_one_record_and_the_household_of_another() -> None:
    decoys = invented(specification())
    assert decoys.height == DECOYS
    person, household = sources(decoys, PERSONAL), sources(decoys, SHARED)
    assert all(person)
    assert all(household)
    whole = [len(p) == 1 == len(h) for p, h in zip(person, household, strict=True)]
    assert sum(whole) > DECOYS / 2
    assert all(p != h for p, h, only in zip(person, household, whole, strict=True) if only)
    assert len({next(iter(p)) for p in person}) > DECOYS / 2


def test_where_no_field_is_personal_a_random_half_is_from_each_of_two_records() -> None:
    decoys = invented(specification(given="family", born="household")).drop_nulls()
    of_field = np.array([[int(value[1:]) for value in decoys[name]] for name in ("given", "surname", "postcode")])
    year = decoys["born"].str.slice(0, 4).cast(pl.Int64) - 1900
    day = decoys["born"].str.slice(6, 2).cast(pl.Int64) - 1
    born = year * 300 + (decoys["born"].str.slice(4, 2).cast(pl.Int64) - 1) * 25 + day
    all_of = np.vstack([of_field, born.to_numpy()])
    for column in all_of.T:
        assert sorted(np.unique(column, return_counts=True)[1]) == [2, 2]
    # Any two fields are from one record in a third of the decoys.
    assert 0.2 < float((all_of[0] == all_of[1]).mean()) < 0.5


def test_no_decoy_is_a_record_and_missing_values_are_values_too() -> None:
    """Of two given names, dates, surnames and postcodes half of what can be invented exists."""
    rng = np.random.default_rng(1)
    few = {name: pl.Series(name, rng.integers(0, 3, 30)).cast(pl.String) for name in PEOPLE}
    few = {name: column.set(column == "0", None) for name, column in few.items()}
    few["born"] = few["born"].replace_strict({"1": "19000101", "2": "19000102"}, default=None)
    decoys = invented(specification(), of=few)
    assert decoys.height == DECOYS
    assert decoys["given"].null_count() > 0
    assert not set(decoys.iter_rows()) & set(pl.DataFrame(few).iter_rows())


@pytest.mark.parametrize("n", [1, 200])
def test_records_too_alike_to_invent_others_are_refused(n: int) -> None:
    alike = {name: pl.Series(name, [PEOPLE[name].drop_nulls()[0]] * n) for name in PEOPLE}
    with refusal(ErrorCode.PARAMETER, "too alike"):
        with_decoys(alike, specification(), NOISE)


def test_an_empty_file_is_refused_as_without_decoys() -> None:
    with refusal(ErrorCode.EMPTY_SOURCE):
        with_decoys({name: column.clear() for name, column in PEOPLE.items()}, specification(), NOISE)


def test_the_same_key_gives_the_same_decoys_and_another_others() -> None:
    first, again = invented(specification()), invented(specification())
    assert first.equals(again)
    # Of 160,000 that can be invented 150 each: one in common in a seventh of all keys.
    assert len(set(first.iter_rows()) & set(invented(specification(), NoiseKey.generate()).iter_rows())) < 8


def encoded(spec: Specification, decoys: bool = True, **options: object) -> Encoded:
    columns = with_decoys(PEOPLE, spec, NOISE) if decoys else PEOPLE
    n = DECOYS if decoys else 0
    return encode_records(columns, spec, SEED, 1, noise=NOISE, variables=REGION, decoys=n, **options)


def test_in_mode_open_they_come_last_and_have_no_category() -> None:
    made = encoded(specification())
    (part,) = made.sets
    part.validate()
    assert (part.n_rows, made.decoys, made.records) == (N + DECOYS, DECOYS, 0)
    assert (made.order[:N] < N).all()
    assert sorted(made.order) == list(range(N + DECOYS))
    assert (made.order[:N] != np.arange(N)).any()
    assert (part.variables["region"].codes[N:] == MISSING).all()
    assert (part.variables["region"].codes[:N] != MISSING).all()


def test_records_are_sent_as_without_decoys() -> None:
    with_them, without = (encoded(specification(), decoys, shuffle=np.arange).sets[0] for decoys in (True, False))
    for name, field in without.fields.items():
        there = with_them.fields[name]
        np.testing.assert_array_equal(field.signatures[field.codes], there.signatures[there.codes[:N]])
    for name, keys in without.blocks.items():
        np.testing.assert_array_equal(keys, with_them.blocks[name][:N])


@pytest.mark.parametrize("more", ["", "padding: powers_of_two\n"])
def test_in_mode_block_keyed_they_are_among_the_rows_and_nowhere_else(more: str) -> None:
    made = encoded(specification("block_keyed", more))
    made.layout.validate()
    assert (made.records, made.decoys) == (N, DECOYS)
    by_name = {part.rule: part for part in made.sets}
    assert by_name[CODES].n_rows == N
    assert by_name[SAMPLES].n_rows == sample_rows(N)
    assert sorted(made.orders[CODES]) == list(range(N))
    for rule, column in (("born", "born"), ("postcode", "postcode")):
        order = made.orders[rule]
        expected = np.flatnonzero(
            pl.Series(with_decoys(PEOPLE, specification(), NOISE)[column]).is_not_null().to_numpy()
        )
        assert sorted(order[order < N + DECOYS]) == expected.tolist()
        # Not last: Carole is not to know them.
        assert (order[: len(order) // 2] >= N).any()
    dummies = int((made.order >= N + DECOYS).sum())
    assert n_dummies(made) == dummies
    assert (dummies > 0) == bool(more)
