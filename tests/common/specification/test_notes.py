"""The notes for those who approve a specification."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from gemel.common.errors import GemelErrors
from gemel.common.specification import Specification, load_specification, notes, specification_notes
from gemel.common.specification.model.defaults import Mode
from gemel.common.specification.notes.wording import WORDS
from gemel.coordinator.demonstration.people.insured import insured_specification
from tests.common.specification.example import notes_of

EXAMPLE = load_specification(Path(__file__).with_name("example.yaml").read_text())


def text(**changes: Any) -> str:
    return notes_of(Specification.model_validate({**EXAMPLE.model_dump(), **changes}))


def fields(*settings: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": f"f{n}", "kind": "name", **one} for n, one in enumerate(settings)]


def test_open_mode_is_never_silent_about_what_it_shows() -> None:
    assert "Mode open: equal values have equal signatures" in text()
    assert specification_notes(EXAMPLE)[0].startswith("Mode open")


def test_blocking_shows_rows_that_share_a_key() -> None:
    assert "share a key of a rule" in text()
    assert "every row of one file is compared" in text(blocking=())


def test_m_of_a_field_in_every_rule_is_not_estimated() -> None:
    rules = [{"name": "a", "keys": [{"field": "sex"}, {"field": "surname"}]}, {"name": "b", "keys": [{"field": "sex"}]}]
    reported = text(blocking=rules)
    assert "Every blocking rule uses sex:" in reported
    assert "cannot be estimated" in reported
    assert "cannot be estimated" not in text()


def test_all_fields_in_rules_and_a_single_rule() -> None:
    one = [{"name": "a", "keys": [{"field": "f0"}]}]
    reported = text(fields=fields({}), blocking=one)
    assert "Only one blocking rule" in reported
    assert "Every compared field is also in a blocking rule" in reported
    assert "Every compared field" not in text(fields=fields({}, {}), blocking=one)


def test_levels_that_tokens_or_bits_cannot_distinguish() -> None:
    reported = text(
        blocking=(),
        fields=fields(
            {"tokens": "value"},
            {"bits": 64, "levels": "em15"},
            {"bits": 64, "levels": "exact"},
            {},
            {"kind": "category", "missing": ["x"]},
        ),
    )
    assert "Field f0: tokens `value`" in reported
    assert (
        "Field f1: its levels are finer than 64 bits can distinguish; `levels: [0.2, 0.4, 0.6, 0.7, 0.85, 0.925,"
        in reported
    )
    assert "Field f2: with 64 bits" in reported
    assert "f3" not in reported
    assert "f4" not in reported


def test_shared_domains_identifiers_and_columns() -> None:
    reported = text(
        blocking=(), fields=fields({"key_domain": "n", "column": "x"}, {"key_domain": "n", "column": "rec_id"})
    )
    assert "Key domain n: Carole can compare values across f0 and f1." in reported
    assert "Field f1 compares alice's identifier column" in reported
    assert "read the same column of alice" in text(blocking=(), fields=fields({"column": "x"}, {"column": "x"}))


def test_frequencies_and_missing_values_as_evidence_are_noted() -> None:
    reported = text(fields=fields(*[{"value_frequencies": True, "missing_as": "level"}] * 2), blocking=())
    assert "rare value" in reported
    assert "multiply" in reported
    assert "missing_as: level" in reported
    assert "rare value" not in text()


def test_several_links_of_a_record_show_the_other_files_copies() -> None:
    several = {each: text(links={"assignment": each}) for each in ("one_to_one", "many_to_one", "one_to_many", "none")}
    shown = {
        each: [side for side in ("Alice", "Bob") if f"{side} learns which of the linked people" in reported]
        for each, reported in several.items()
    }
    assert shown == {"one_to_one": [], "many_to_one": ["Bob"], "one_to_many": ["Alice"], "none": ["Alice", "Bob"]}


def test_what_drawn_linkages_disclose_is_stated() -> None:
    release = {"alice": "draws", "bob": "links", "draws": 30}
    reported = text(release=release)
    assert "Alice receives 30 drawn linkages" in reported
    assert "drawn linkages" not in text(release={"draws": 30})
    assert Specification.model_validate({**EXAMPLE.model_dump(), "release": release}).release.drawn == 30
    assert EXAMPLE.release.drawn == 0


def test_what_exact_probabilities_disclose_is_stated() -> None:
    assert "to the last digit" not in text()
    one, both = (text(release={"exact_probabilities": who}) for who in ("bob", "both"))
    assert "Bob receives link probabilities to the last digit" in one
    assert "Alice and Bob receive link probabilities to the last digit" in both
    assert "WHICH FIELDS OF A LINKED RECORD THE OTHER FILE HOLDS OTHERWISE" in one
    for release in (
        {"exact_probabilities": "both", "bob": "statistics"},
        {"exact_probabilities": "bob", "bob": "nothing"},
    ):
        with pytest.raises(GemelErrors, match="no probabilities of pairs"):
            Specification.model_validate({**EXAMPLE.model_dump(), "release": release})


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"release": {"alice": "draws", "draws": 1}}, "greater than or equal to 2"),
        ({"release": {"alice": "draws", "draws": 1000}}, "less than or equal to 100"),
        ({"release": {"bob": "draws"}, "model": {"scheme": "lr_weighted"}}, "are not calibrated"),
    ],
)
def test_draws_that_cannot_be_made_are_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises((GemelErrors, ValidationError), match=what):
        text(**changes)


def test_notes_on_latent_in_block_keyed_say_who_gets_codes_and_what_caps_them():
    def insured_notes(**changes: object) -> str:
        spec = insured_specification("insurers", mode="block_keyed")
        changed = {**spec.model_dump(mode="json", exclude_defaults=True), **changes}
        return notes_of(Specification.model_validate(changed))

    plain = insured_notes()
    assert "seals the codes of the records of candidate pairs to the coordinator's process" in plain
    assert "TOGETHER WITH A CUSTODIAN IT READS ALL VARIABLES" in plain
    assert "Nothing caps the records whose codes" in plain
    assert "Carole receives the joint distribution" not in plain
    assert "Carole receives the joint distribution" in insured_notes(release={"joint": "bob"})
    assert "Nothing caps" not in insured_notes(resolution={"max_joins": 1, "max_requested": 0.6})


def test_each_note_has_its_words_and_their_figures() -> None:
    places = Path(notes.__path__[0]).glob("*.py")
    calls = [node for place in places for node in ast.walk(ast.parse(place.read_text())) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "note"]
    named = {call.args[0].value: call for call in made if isinstance(call.args[0], ast.Constant)}
    for name, call in named.items():
        needed = {figure for _, figure, _, _ in Formatter().parse(WORDS[str(name)]) if figure}
        assert {keyword.arg for keyword in call.keywords} == needed, name
    # Those of a mode are named by it, and two by a condition.
    elsewhere = {*(f"sent_{mode}" for mode in get_args(Mode)), "randomised_response", "randomised_for_nothing"}
    assert WORDS.keys() - named.keys() == elsewhere
