"""What a field's name says that it describes."""

from __future__ import annotations

from typing import get_args

import pytest

from gemel.common.specification import KINDS
from gemel.common.specification.model.column_words import described_by
from gemel.common.specification.model.defaults import PERSONAL, Describes

NAMES: dict[Describes, str] = {
    "name": "given_name fname_c1 firstName Vorname prénom middle_initial full_name Initialen e-mail email",
    "birth": "date_of_birth DOB yob Geburtsjahr place_of_birth birth_country age year b_month lieu_naissance",
    "trait": "sex Geschlecht ethnic_group eye_colour nationality occupation country marital_state Familienstand",
    "family": "surname lname_c1 Nachname nom mother_given_name name_of_household_head maiden_name birth_date_of_mother",
    "household": "address street postcode PLZ phone2 municipality house_number county town_now Wohnort",
}


@pytest.mark.parametrize(("described", "column"), [(d, column) for d in NAMES for column in NAMES[d].split()])
def test_names_say_what_fields_describe(described: Describes, column: str) -> None:
    assert described_by(column) == described


@pytest.mark.parametrize("column", ["x", "y", "m", "field_7", "income", "admitted", ""])
def test_other_names_say_nothing(column: str) -> None:
    assert described_by(column) is None


def test_every_description_is_some_kinds_or_a_names() -> None:
    assert {kind.describes for kind in KINDS.values()} | {"name"} == set(get_args(Describes))
    assert set(NAMES) == set(get_args(Describes)) > PERSONAL
