"""The reference of the specification: every option of every section is in it, with what the model allows."""

from __future__ import annotations

import re

import pytest
from pydantic import BaseModel

from gemel.common.specification import BlockingRule, Custodian, FieldSpec, Specification, VariableSpec
from gemel.common.specification.model.assessment import AssessmentSpec, MeasureLimits
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.model.section import Section
from gemel.common.specification.text.reference import specification_reference

REFERENCE = specification_reference()
HEADINGS = re.findall(r"^## (.+)$", REFERENCE, re.MULTILINE)


def tables() -> dict[str, dict[str, list[str]]]:
    """By heading, the cells of each option."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in REFERENCE.split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in text.splitlines() if line.startswith("| `")]
        found[heading] = {cells[0].strip("`"): cells[1:] for cells in rows}
    return found


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("`fields`", FieldSpec),
        ("`blocking`", BlockingRule),
        ("`variables`", VariableSpec),
        ("`assessment`", AssessmentSpec),
        ("`custodians.alice`, `custodians.bob`", Custodian),
    ],
)
def test_a_section_lists_its_options_in_their_order(heading: str, section: type[BaseModel]) -> None:
    assert list(tables()[heading]) == list(section.model_fields)


def test_every_section_has_one_heading() -> None:
    def below(section: type[Section]) -> set[type[Section]]:
        return {section}.union(*(below(inner) for inner in section.__subclasses__()))

    # The top level has a heading of other words, and the base of the limits is no section of its own.
    others = {Section, SpecificationContent, MeasureLimits}
    in_model = {found for found in below(Section) if found.__module__.startswith("gemel.common.specification.model")}
    reachable = [heading for heading in HEADINGS if heading.startswith("`")]
    assert len(reachable) == len(set(reachable))
    assert len(reachable) == len(in_model - others)


def test_every_option_has_a_meaning_and_states_whether_it_is_required() -> None:
    for heading, options in tables().items():
        if heading.startswith("`"):
            for option, (values, default, meaning) in options.items():
                assert values, (heading, option)
                assert default, (heading, option)
                assert meaning, (heading, option)
    top = (REFERENCE.split("\n## ")[0]).count("| required |")
    assert top == sum(field.is_required() for field in Specification.model_fields.values())


@pytest.mark.parametrize(
    ("heading", "option", "values", "default"),
    [
        ("`fields`", "bits", "whole number, 64 to 8,192, a multiple of 64", "by `kind`"),
        ("`fields`", "randomised_response", "number, 0 to 0.4", "`0.0`"),
        ("`fields`", "key_domain", "name", "the field's `name`"),
        ("`fields`", "value_frequencies", "`true`, `false`", "`false`"),
        ("`fields.date`", "parts", "list (at least 1) of `year`, `month`, `day`", "`[year, month, day]`"),
        ("`model`", "tolerance", "number, above 0, below 1", "`1e-08`"),
        ("`model`", "seed", "whole number, at least 0", "`1`"),
    ],
)
def test_values_and_defaults_are_the_models(heading: str, option: str, values: str, default: str) -> None:
    assert tables()[heading][option][:2] == [values, default]


def test_links_lead_to_headings() -> None:
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADINGS}
    assert set(re.findall(r"\]\(#([^)]+)\)", REFERENCE)) <= anchors
