"""The catalogues and the code agree: no message is absent, none is dead, and each is translated whole."""

from __future__ import annotations

import io
import re
from gettext import GNUTranslations

import pytest

from tests.common.language.catalogues import CONSOLE, FOLDER, as_mo, as_po, catalogue, messages, names, renewed

_PLACES = (re.compile(r"%\((\w+)\)s"), re.compile(r"\{(\w*)[^{}]*\}"), re.compile(r"</?\w+[^<>]*>"))
"""Placeholders, and the marks of HTML with what they have: a template shows a translation as it is, unescaped."""


@pytest.mark.parametrize("name", names())
def test_the_catalogue_has_the_messages_of_the_code_and_no_others(name: str) -> None:
    now = catalogue(name)
    assert as_po(renewed(name, now)) == (FOLDER / f"{name}.po").read_bytes(), (
        "run python -m tests.common.language.catalogues"
    )


@pytest.mark.parametrize("name", names())
def test_every_message_is_translated_in_all_its_forms(name: str) -> None:
    lacking = [each.id for each in catalogue(name) if each.id and not all(_forms(each.string))]
    assert lacking == []


@pytest.mark.parametrize("name", names())
def test_a_translation_has_the_places_and_marks_of_its_message(name: str) -> None:
    wrong = []
    for each in catalogue(name):
        if not each.id:
            continue
        originals = _forms(each.id)
        for translation in _forms(each.string):
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
        for text in _forms(message):
            assert text == "; " or text == " ".join(text.split()), text


def _forms(text: object) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)  # type: ignore[arg-type]
