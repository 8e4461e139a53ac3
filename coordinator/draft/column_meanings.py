"""What a column's name means, in English, German, French, Spanish, Italian and Dutch.

A table, in a module of its own so that it can be read and added to. Names are compared without case, accents, blanks
and punctuation: ``Prénom``, ``PRENOM`` and ``pre_nom`` are one. A name that means different things in two of these
languages is left out, or listed where it is the commoner; content decides in the end, and the draft states every
pairing of columns with different names.
"""

from __future__ import annotations

import re
import unicodedata

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MEANINGS: dict[str, frozenset[str]] = {
    meaning: _words(names)
    for meaning, names in {
        "given_name": "givenname firstname forename fname gname christianname given first vorname vornamen rufname"
        " prenom prenoms nombre nombres nombredepila nome primonome voornaam voornamen roepnaam",
        "surname": "surname lastname familyname lname sname last family nachname familienname zuname nom nomdefamille"
        " apellido apellidos primerapellido cognome achternaam familienaam geslachtsnaam",
        "middle_name": "middlename secondname middle mname middleinitial zweitname zweitervorname deuxiemeprenom"
        " segundonombre secondonome tweedenaam tweedevoornaam",
        "maiden_name": "maidenname birthname maiden geburtsname nomdenaissance nomnaissance nomdejeunefille"
        " segundoapellido cognomedanubile meisjesnaam",
        "full_name": "fullname name completename personname vollername namevollstaendig nomcomplet nometprenom"
        " nomprenom nombrecompleto nombreyapellidos nomecompleto nomecognome volledigenaam naam",
        "birth_date": "dob dateofbirth birthdate birthday datebirth borndate bday born bdate geburtsdatum gebdatum"
        " gebdat geburtstag geborenam datedenaissance datenaissance ddn fechadenacimiento fechanacimiento fechanac"
        " datadinascita datanascita geboortedatum gebdatumpatient",
        "birth_year": "yob yearborn jahrgang",
        "postcode": "postcode postalcode zip zipcode plz postleitzahl codepostal codigopostal cap codicepostale"
        " codiceavviamento postalecode pcode",
        "sex": "sex gender geschlecht sexe sexo genero genre sesso genere geslacht",
        "city": "city town suburb place locality municipality ort wohnort stadt gemeinde ville commune localite ciudad"
        " localidad poblacion municipio citta comune localita plaats woonplaats stad",
        "street": "street streetname road strasse strassenname rue calle via straat straatnaam",
        "house_number": "housenumber streetnumber houseno streetno hausnummer hausnr numerorue numerodevoie numerocasa"
        " numerocivico civico huisnummer huisnr",
        "address": "address addr streetaddress addressline address1 addressline1 adresse anschrift direccion domicilio"
        " indirizzo adres",
        "phone": "phone telephone tel phonenumber mobile telefon telefonnummer telefonnr handy telefono"
        " telephoneportable movil cellulare telefoon telefoonnummer",
        "email": "email mail emailaddress emailadresse courriel correo correoelectronico posta postaelettronica"
        " emailadres",
        "region": "region state province county bundesland kanton departement provincia comunidad regione provincie",
    }.items()
}
"""Names of columns, bare, by what they mean."""

PARTS: dict[str, frozenset[str]] = {
    "year": _words("year yr yyyy yy y jahr j annee an ano anyo anno jaar"),
    "month": _words("month mon mth mm m monat mois mes mese maand"),
    "day": _words("day dd d tag t jour dia giorno dag"),
}
"""Words for the parts of a date, by the part."""

_BIRTH = _words("birth born dob b birthdate dateofbirth geburt geburts geb naissance nacimiento nac nascita geboorte")
_FILLERS = _words("of de del della di da der des van d la le il el")
_LONG = 3
"""Letters of a part of a date that may be joined to another word: ``Geburtsjahr``, ``birthyear``."""


def words_of(column: str) -> list[str]:
    """The words of a column's name: of ``dateOfBirth`` and ``date_of_birth`` date, of, birth."""
    return [word.casefold() for word in _WORD.findall(_CAMEL.sub(" ", column))]


def bare(column: str) -> str:
    """A column's name without case, blanks and punctuation."""
    return "".join(words_of(column))


def without_accents(text: str) -> str:
    """Letters without accents, ``ß`` as ``ss`` and ``ø`` as it is."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.replace("ß", "ss")) if not unicodedata.combining(c))


def meaning_of(column: str) -> str:
    """What a column's name means, one of `MEANINGS`, ``birth_year`` and so on; nothing if it is not known."""
    name = without_accents(bare(column))
    # Umlauts are also written with an e.
    known = next((meaning for meaning, names in MEANINGS.items() if name in names), "")
    if not known and (part := part_of_date(column)) is not None and part[1] == "birth":
        return f"birth_{part[0]}"
    return known


def part_of_date(column: str) -> tuple[str, str] | None:
    """Which part of which date a column's name means: ``("year", "birth")`` of ``Geburtsjahr``; None if of none.

    The date is named by the rest of the name, ``birth`` in every language, or nothing.
    """
    words = [word for word in map(without_accents, words_of(column)) if word not in _FILLERS or len(word) == 1]
    for part, names in PARTS.items():
        for place in (len(words) - 1, 0):
            if words and words[place] in names:
                return part, _date_named(words[:place] + words[place + 1 :])
    name = "".join(words)
    for part, names in PARTS.items():
        for affix in sorted((n for n in names if len(n) >= _LONG), key=len, reverse=True):
            for rest in (name.removesuffix(affix), name.removeprefix(affix)):
                if rest != name and _date_named([rest]) == "birth":
                    return part, "birth"
    # by, bm, bd
    if len(name) == 2 and name[0] == "b":
        return next(((part, "birth") for part, names in PARTS.items() if name[1] in names), None)
    return None


def _date_named(words: list[str]) -> str:
    rest = [word for word in words if word not in _FILLERS and word != "date"]
    stem = "".join(rest)
    return "birth" if stem in _BIRTH or stem.removesuffix("s") in _BIRTH else "_".join(rest)
