"""What is translated has its message's places, marks and forms, and what is read is what was edited.

That everything is translated is a question for a release: ``python -m tests.common.language.catalogues --check``.
"""

from __future__ import annotations

import io
import re
from gettext import GNUTranslations

import pytest

from tests.common.language.catalogues import CONSOLE, FOLDER, as_mo, catalogue, forms, incomplete, messages, names

_PLACES = (re.compile(r"%\((\w+)\)s"), re.compile(r"\{(\w*)[^{}]*\}"), re.compile(r"</?\w+[^<>]*>"))
"""Placeholders, and the marks of HTML with what they have: a template shows a translation as it is, unescaped."""


def test_the_check_names_what_is_not_collected_not_translated_and_dead() -> None:
    now = catalogue("de")
    assert not [line for line in incomplete("de", now) if "Risk" in line.split()]
    now.get("Risk").string = ""
    now.delete("Field")
    now.add("A sentence of no code", "Ein Satz")
    assert {
        "de: not translated: Risk",
        "de: not collected: Field",
        "de: in no code any more: A sentence of no code",
    } <= {*incomplete("de", now)}


@pytest.mark.parametrize("name", names())
def test_a_translation_has_the_places_and_marks_of_its_message(name: str) -> None:
    wrong = []
    for each in catalogue(name):
        if not each.id:
            continue
        originals, translations = forms(each.id), forms(each.string)
        if not any(translations):
            continue  # shown in English
        assert all(translations), each.id
        for translation in translations:
            own = [sorted(places.findall(translation)) for places in _PLACES]
            if not any(own == [sorted(places.findall(text)) for places in _PLACES] for text in originals):
                wrong.append((each.id, translation))
    assert wrong == []


@pytest.mark.parametrize("name", names())
def test_what_is_read_was_compiled_from_what_is_edited(name: str) -> None:
    compiled = GNUTranslations(io.BytesIO(as_mo(catalogue(name))))
    with (FOLDER / f"{name}.mo").open("rb") as file:
        read = GNUTranslations(file)
    assert {k: v for k, v in vars(compiled)["_catalog"].items() if k} == {
        k: v for k, v in vars(read)["_catalog"].items() if k
    }
    assert [read.plural(n) for n in (0, 1, 2)] == ([0, 0, 1] if name.endswith("fr") else [1, 0, 1])


@pytest.mark.parametrize("domain", ["", CONSOLE])
def test_no_message_ends_with_a_blank_or_has_two(domain: str) -> None:
    assert len(messages(domain)) > 300
    for message in messages(domain):
        for text in forms(message):
            assert text == "; " or text == " ".join(text.split()), text
