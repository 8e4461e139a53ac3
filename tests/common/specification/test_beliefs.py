"""Beliefs about matches in a specification: read, written back, and refused where they contradict each other."""

from __future__ import annotations

import pytest

from gemel.carole.engine.run.specified import plan_of
from gemel.carole.fellegi_sunter.settings import MPrior
from gemel.common.errors import GemelErrors
from gemel.common.specification import dump_specification, encoding_digest, load_specification
from tests.specifications import heading

FIELDS = """
fields:
  - {name: given_name, kind: name, personal: true}
  - {name: surname, kind: name}
  - {name: born, kind: date, date: {order: ymd}}
retention: {uploads_days: 1, results_days: 1, maps_days: 1}
"""


def text(model: str = "") -> str:
    return heading("believed", "open") + FIELDS + (f"model: {model}\n" if model else "")


def test_they_reach_the_plan_and_no_signature() -> None:
    given = "{expected_matches: 40, max_kin: 2, m_prior: [{field: surname, agreement: 0.8, weight: 50}]}"
    plain, believed = load_specification(text()), load_specification(text(given))
    assert load_specification(dump_specification(believed)) == believed
    assert encoding_digest(believed) == encoding_digest(plain)
    plan = plan_of(believed)
    assert (plan.dependence, plan.expected_matches, plan.max_kin) == ("auto", 40, 2)
    assert plan.m_prior == (("surname", MPrior(0.8, 50.0)),)
    # A date distinguishes the persons of a household by its kind, a name where the specification has it so.
    assert [field.personal for field in plan.fields] == [True, False, True]
    assert "personal" not in dump_specification(load_specification(text().replace(", personal: true", "")))


@pytest.mark.parametrize(
    ("m_prior", "what"),
    [
        ("[{field: town}]", "not compared"),
        ("[{field: surname}, {field: surname, agreement: 0.5}]", "contradict each other"),
        ("[{field: given_name, agreement: .1}, {field: surname, agreement: .2}, {field: born, agreement: .3}]",
         "nothing identifies a person"),
        ("[{field: surname, agreement: 1.5}]", "less than 1"),
        ("[{field: surname, weight: 0}]", "greater than 0"),
    ],
)  # fmt: skip
def test_beliefs_that_cannot_hold_are_refused(m_prior: str, what: str) -> None:
    with pytest.raises(GemelErrors, match=what):
        load_specification(text(f"{{m_prior: {m_prior}}}"))
