"""What columns' names mean in six languages: no name means two things, and parts of dates are found."""

from __future__ import annotations

from collections import Counter

import pytest

from gemel.coordinator.draft.shared_columns import MEANINGS, meaning_of, part_of_date


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
