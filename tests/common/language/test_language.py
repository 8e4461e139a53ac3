"""Numbers, dates and lists in the language that is chosen, and nothing but English where none is."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Thread

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language import current, day, decimals, gettext, in_language, listed, moment, ngettext, written

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
    with pytest.raises(GemelError, match=r"language: expected .* got 'nl'; give one of en, de, fr") as raised:
        in_language("nl").__enter__()  # type: ignore[arg-type]
    assert raised.value.code is ErrorCode.PARAMETER
