"""Columns of different names that hold the same: paired by meaning, as parts of one, and by content."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.common.parties import Side
from gemel.common.specification import Specification, load_specification
from gemel.common.specification.model.column_words import MEANINGS, meaning_of, part_of_date
from gemel.coordinator.demonstration.people import IDENTIFIER, TRUTH, two_files
from gemel.coordinator.draft.column_pairs import overlap_of_values, overlap_of_words, overlap_of_years, shares_value
from gemel.coordinator.draft.specification_draft import draft
from gemel.coordinator.draft.specification_text import dump_specification
from gemel.custodian.cleaning.columns import clean

N, COMMON = 600, 150
BORN = "date_of_birth"


@pytest.fixture(scope="module")
def files() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two files of invented people, without errors, a quarter in common and these in front, in the same order."""
    alice, bob = two_files(N, N, COMMON, 0.0, np.random.default_rng(5))
    common = alice[TRUTH].is_in(bob[TRUTH].implode())
    order = alice.filter(common)[TRUTH]
    of_bob = order.to_frame().join(bob, on=TRUTH, maintain_order="left").select(bob.columns)
    others = bob.filter(~bob[TRUTH].is_in(order.implode()))
    return pl.concat([alice.filter(common), alice.filter(~common)]).drop(TRUTH), pl.concat([of_bob, others]).drop(TRUTH)


def in_parts(frame: pl.DataFrame, year: str, month: str, day: str) -> pl.DataFrame:
    parts = [pl.col(BORN).str.slice(at, n).alias(name) for name, at, n in ((year, 0, 4), (month, 5, 2), (day, 8, 2))]
    return frame.with_columns(parts).drop(BORN)


def drafted(alice: pl.DataFrame, bob: pl.DataFrame) -> tuple[Specification, dict[str, tuple[str, str]], str]:
    """A draft, the columns of its fields, and its comments in one line."""
    spec, comments, _ = draft(alice, bob, "pairs")
    text = dump_specification(spec, comments)
    assert load_specification(text) == spec
    columns = {field.name: (field.column_of(Side.ALICE), field.column_of(Side.BOB)) for field in spec.fields}
    return spec, columns, " ".join(" ".join(comments.values()).split())


def agree(spec: Specification, alice: pl.DataFrame, bob: pl.DataFrame, field: str) -> float:
    """Share of the people in common whose cleaned values are equal."""
    ours = clean(alice, spec, Side.ALICE).columns[field].head(COMMON)
    theirs = clean(bob, spec, Side.BOB).columns[field].head(COMMON)
    return float((ours == theirs).mean() or 0.0)


def test_two_languages_and_a_date_in_parts(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    german = in_parts(files[0], "Geburtsjahr", "Geburtsmonat", "Geburtstag").rename(
        {IDENTIFIER: "KundenNr", "given_name": "Vorname", "surname": "Name", "sex": "Geschlecht", "street": "Straße"}
        | {"house_number": "HausNr", "town": "Ort", "postcode": "PLZ", "phone": "Telefon"}
    )
    french = files[1].with_columns(pl.col(BORN).str.to_date(strict=False).dt.strftime("%d/%m/%Y"))
    french = french.rename(
        {IDENTIFIER: "no_dossier", "given_name": "Prénom", "surname": "Nom", "sex": "Sexe", "street": "Rue"}
        | {"house_number": "numéro_rue", "town": "Commune", "postcode": "Code postal", BORN: "né(e) le"}
    )
    spec, columns, comments = drafted(german, french)
    assert [spec.custodians.of(side).identifier for side in Side] == ["KundenNr", "no_dossier"]
    assert set(columns.values()) >= {
        ("Vorname", "Prénom"),
        ("Name", "Nom"),
        ("Geschlecht", "Sexe"),
        ("HausNr", "numéro_rue"),
        ("Straße", "Rue"),
        ("Ort", "Commune"),
        ("PLZ", "Code postal"),
        ("Telefon", "phone"),
    }
    assert "Vorname and Prénom seem to mean the same: check." in comments
    assert "Name and Nom hold much the same, by" in comments
    born = next(name for name, pair in columns.items() if pair[0] == "Geburtstag + Geburtsmonat + Geburtsjahr")
    assert columns[born][1] == "né(e) le"
    assert spec.field(born).date.order == "dmy"  # type: ignore[union-attr]
    assert "Geburtsjahr + Geburtsmonat + Geburtstag are read as one: check." in comments
    assert agree(spec, german, french, born) == 1


def test_a_date_in_parts_in_both_files_stays_in_parts(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    alice = in_parts(files[0], "by", "bm", "bd")
    bob = in_parts(files[1], "year_of_birth", "MonthOfBirth", "birth_day")
    spec, columns, comments = drafted(alice, bob)
    assert columns["by"] == ("by", "year_of_birth")
    assert columns["bd"] == ("bd", "birth_day")
    born = [field for field in spec.fields if field.name in ("by", "bm", "bd")]
    assert {(field.kind, field.describes) for field in born} == {("number", "birth")}
    assert min(agree(spec, alice, bob, field.name) for field in born) == 1
    assert "by and year_of_birth seem to mean the same: check." in comments
    same = in_parts(files[1], "by", "bm", "bd")
    assert [name for name in drafted(alice, same)[1] if name[0] == "b"] == ["by", "bm", "bd"]


def test_dates_are_not_mistaken_for_each_other(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    day = pl.Series([f"20{n % 24:02d}-0{n % 9 + 1}-1{n % 9}" for n in range(N)])
    alice = in_parts(files[0], "by", "bm", "bd").with_columns(
        day.str.slice(at, n).alias(name) for name, at, n in (("year", 0, 4), ("month", 5, 2), ("day", 8, 2))
    )
    bob = files[1].with_columns(seen=day)
    _, columns, _ = drafted(alice, bob)
    assert columns[BORN] == ("by + bm + bd", BORN)
    assert ("year + month + day", "seen") in columns.values()
    # Two dates of the same years, one of them named: the named one has the other file's.
    again = in_parts(files[0], "by", "bm", "bd").with_columns(in_parts(files[0], "y", "m", "d").select("y", "m", "d"))
    for ours, theirs, side in ((again, files[1], 0), (files[1], again, 1)):
        assert drafted(ours, theirs)[1][BORN][side] == "by + bm + bd"
    bob = in_parts(files[1], "y", "m", "d").with_columns(seen=day)
    assert drafted(alice, bob)[1]["by"] == ("by", "y")


def test_parts_beside_the_whole_date_are_left_out(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    alice, bob = (in_parts(f, "by", "bm", "bd").with_columns(f[BORN]) for f in files)
    _, columns, comments = drafted(alice, bob)
    assert columns[BORN] == (BORN, BORN)
    assert not [pair for pair in columns.values() if "bm" in pair[0]]
    for part in ("by", "bm", "bd"):
        assert f"Left out: {part}: of a date that is compared." in comments


@pytest.mark.parametrize("values", [("14", "1", "99"), ("1", "65", "x")])
def test_columns_named_like_parts_that_hold_none_are_no_date(
    files: tuple[pl.DataFrame, pl.DataFrame], values: tuple[str, str, str]
) -> None:
    named = [pl.lit(value).alias(name) for value, name in zip(values, ("year", "month", "day"), strict=True)]
    _, columns, _ = drafted(*(f.with_columns(named) for f in files))
    assert not [pair for pair in columns.values() if "year" in pair[0]]


def test_a_name_and_an_address_in_one_column_and_in_several(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    alice, bob = files
    whole = alice.with_columns(
        name=pl.concat_str(pl.col("surname").str.to_uppercase(), pl.lit(", "), "given_name"),
        adres=pl.concat_str("house_number", pl.lit(" "), "street"),
    ).drop("surname", "given_name", "street", "house_number")
    for ours, theirs in ((whole, bob), (bob, whole)):
        spec, columns, comments = drafted(ours, theirs)
        side = 0 if theirs is whole else 1
        assert columns["name"][side] == "given_name + surname"
        assert columns["adres"][side] == "house_number + street"
        assert "given_name + surname are read as one: check." in comments
        assert agree(spec, ours, theirs, "adres") > 0.9


def test_a_surname_named_name_is_not_composed(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    alice = files[0].rename({"surname": "name", "given_name": "vorname"})
    assert drafted(alice, files[1])[1]["name"] == ("name", "surname")


def test_names_that_mean_nothing_are_paired_by_content(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    bland = {column: f"c{n}" for n, column in enumerate(files[0].columns)}
    _, columns, comments = drafted(files[0].rename(bland), files[1])
    for column in ("given_name", "surname", BORN, "street", "town", "postcode"):
        assert (bland[column], column) in columns.values()
    # Two values mean anything, and a custodian's own numbers are no one else's.
    for column in ("sex", IDENTIFIER):
        assert (bland[column], column) not in columns.values()
    assert "Only in alice's file: c" in comments
    assert "c1 and given_name hold much the same, by" in comments
    wrong = [pair for pair in columns.values() if bland[pair[1]] != pair[0]]
    assert not wrong


def test_names_that_share_words_and_no_whole_value_are_compared(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    def named(frame: pl.DataFrame, *parts: object) -> pl.DataFrame:
        return frame.with_columns(person_name=pl.concat_str(*parts)).drop("given_name", "surname")

    alice = named(files[0], "given_name", pl.lit(" "), "surname")
    bob = named(files[1], pl.col("surname").str.to_uppercase(), pl.lit(", "), pl.col("given_name"), pl.lit(" MR"))
    assert not shares_value(alice["person_name"], bob["person_name"])
    assert drafted(alice, bob)[1]["person_name"] == ("person_name", "person_name")
    other = bob.with_columns(person_name=pl.concat_str(pl.lit("q"), pl.int_range(N).cast(pl.String)))
    assert "Left out: person_name: no value of it occurs in both files." in drafted(alice, other)[2]


def test_numbers_of_a_custodian_may_be_shared(files: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    numbers = pl.Series("member_no", [f"{n * 7919 % 99991:05d}" for n in range(1, N + 1)])
    alice = files[0].drop(IDENTIFIER).with_columns(numbers)
    bob = files[1].drop(IDENTIFIER).with_columns(numbers)
    spec, _, comments = drafted(alice, bob)
    assert spec.custodians.alice.identifier == "member_no"
    assert "an identifier of a custodian's own; its values are in both files: add it, as a code, if both" in comments
    bob = bob.with_columns(member_no=numbers.str.reverse() + "x")
    assert "Left out: member_no: an identifier of a custodian's own." in drafted(alice, bob)[2]


words = st.lists(st.sampled_from(["ann", "bob", "cat", "dan", "12", "7"]), max_size=3).map(" ".join)


@given(st.lists(words, min_size=1, max_size=12), st.lists(words, min_size=1, max_size=12))
def test_overlaps_are_as_defined(ours: list[str], theirs: list[str]) -> None:
    def overlap(one: list[str], other: list[str]) -> float:
        a, b = Counter(one), Counter(other)
        return sum(min(a[v] / a.total(), b[v] / b.total()) for v in a.keys() & b.keys())

    columns = pl.Series(ours), pl.Series([f" {text.upper()}!" for text in theirs])
    split = [word for text in ours for word in text.split()], [word for text in theirs for word in text.split()]
    assert overlap_of_words(*columns) == pytest.approx(overlap(*split))
    whole = [[plain for text in texts if (plain := text.replace(" ", "").lstrip("0"))] for texts in (ours, theirs)]
    assert overlap_of_values(*columns) == pytest.approx(overlap(*whole))
    assert shares_value(*columns) == bool(set(whole[0]) & set(whole[1]))


def test_years_of_dates_however_written() -> None:
    iso = pl.Series(["1965-03-12", "1970-01-01", None, "x"])
    assert overlap_of_years(iso, pl.Series(["12.3.1965", "01/01/1970"])) == pytest.approx(1)
    assert overlap_of_years(iso, pl.Series(["19650312", "19990101"])) == pytest.approx(0.5)


def test_no_name_means_two_things() -> None:
    counts = Counter(name for names in MEANINGS.values() for name in names)
    assert not [name for name, count in counts.items() if count > 1]
    for meaning, names in MEANINGS.items():
        assert {meaning_of(name) for name in names} == {meaning}


@pytest.mark.parametrize(
    ("meaning", "columns"),
    [
        ("given_name", "given_name Vorname Prénom PRENOM nombre Nome voornaam firstName"),
        ("surname", "last-name Nachname NOM apellidos cognome achternaam"),
        ("birth_date", "dob Geburtsdatum date_de_naissance fecha_nacimiento dataDiNascita geboortedatum"),
        ("birth_year", "birth_year Geburtsjahr annéeNaissance año_de_nacimiento anno_nascita geboortejaar yob by"),
        ("birth_month", "month_of_birth GebMonat mois_naissance mes_nacimiento mese_nascita geboortemaand dob_m"),
        ("birth_day", "day_of_birth GebTag jour_naissance día_nacimiento giorno_nascita geboortedag bd"),
        ("postcode", "ZIP PLZ code_postal CódigoPostal CAP postcode"),
        ("sex", "Gender Geschlecht sexe sexo sesso geslacht"),
        ("street", "street Straße STRASSE rue calle via straat"),
        ("", "income Beruf x17 year m birthplace admission_day"),
    ],
)
def test_a_name_means_the_same_in_every_language(meaning: str, columns: str) -> None:
    assert {column: meaning_of(column) for column in columns.split()} == dict.fromkeys(columns.split(), meaning)


def test_dates_are_distinguished_by_the_rest_of_the_name() -> None:
    found = [part_of_date(name) for name in ("admission_year", "AdmissionMonth", "day_of_admission", "Jahr", "yearly")]
    assert found == [("year", "admission"), ("month", "admission"), ("day", "admission"), ("year", ""), None]
