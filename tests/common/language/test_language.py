"""How a language writes, its catalogues, and the words of messages."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from gettext import GNUTranslations
from threading import Thread

import pytest

from gemel.common.errors import ErrorCode
from gemel.common.language import current, day, decimals, gettext, in_language, listed, moment, ngettext, written
from gemel.common.language.message_words import closest, nearest, shown
from gemel.common.language.message_words import listed as listed_words
from tests.carole.refusals import refusal
from tests.common.language.catalogues import CONSOLE, FOLDER, as_mo, catalogue, forms, incomplete, messages, names

AT = datetime(2026, 11, 1, 14, 5, tzinfo=UTC)


def test_numbers_and_dates_are_written_as_each_language_has_them() -> None:
    shown = {}
    for language in ("en", "de", "fr"):
        with in_language(language):
            shown[language] = (decimals("1,234.5"), written(0.125, ".1%"), day(AT), moment(AT.replace(day=27)))
    assert shown == {
        "en": ("1,234.5", "12.5%", "1 November 2026", "27 November 2026, 14:05"),
        "de": ("1\u202f234,5", "12,5\u00a0%", "1. November 2026", "27. November 2026, 14:05"),
        "fr": ("1\u202f234,5", "12,5\u00a0%", "1er novembre 2026", "27 novembre 2026, 14:05"),
    }


def test_lists_end_in_the_languages_own_word() -> None:
    with in_language("de"):
        assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b und c"]


def test_forms_for_one_and_for_several_follow_the_language() -> None:
    one, several = "One more is in the document.", "%(number)s more are in the document."
    with in_language("fr"):
        assert ngettext(one, several, 0) == ngettext(one, several, 1) != ngettext(one, several, 2)
    with in_language("de"):
        assert ngettext(one, several, 0) == ngettext(one, several, 2) != ngettext(one, several, 1)


def test_the_language_is_of_its_block_and_thread_alone() -> None:
    seen = []
    with in_language("de"):
        thread = Thread(target=lambda: seen.append(current().code))
        thread.start()
        thread.join()
        with in_language("fr"):
            assert gettext("Risk") == "Risque"
        assert gettext("Risk") == "Risiko"
    assert seen == ["en"]
    assert gettext("Risk") == "Risk"


def test_the_environment_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGUAGE", "LC_ALL", "LANG"):
        monkeypatch.setenv(name, "de_DE.UTF-8")
    assert gettext("Risk") == "Risk"
    assert gettext("") == ""


def test_an_unknown_language_is_named_with_those_that_there_are() -> None:
    with refusal(ErrorCode.PARAMETER, r"language: expected .* got 'nl'; give one of en, de, fr"):
        in_language("nl").__enter__()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "true"),
        (1.5, "1.5"),
        ("a", "'a'"),
        ({"a": 1}, "a mapping"),
        ([], "an empty list"),
        ((1, 2), "a list of 2"),
        ("x" * 100, "'" + "x" * 58 + "…"),
    ],
)
def test_shown(value: object, text: str) -> None:
    assert shown(value) == text


def test_the_word_that_was_probably_meant() -> None:
    assert closest("SURNMAE", ["given_name", "Surname"]) == "Surname"
    assert closest("x", ["given_name", "surname"]) is None
    assert nearest("surnmae", ["given_name", "surname"]) == "did you mean surname?"
    assert nearest("x", ["given_name", "surname"]) == "known here: given_name, surname"
    assert nearest("x", []) == ""


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")]
)
def test_names_in_a_row(names: list[str], text: str) -> None:
    assert listed_words(names, "or") == text
    assert listed_words(names) == text.replace(" or ", " and ")


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
