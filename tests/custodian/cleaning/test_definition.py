"""What cleaning makes of one value; and that cleaning what is clean changes nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gemel.common.specification import STEPS, DateFormat, FieldSpec
from gemel.custodian.cleaning.definition import TEXT_STEPS, clean_value, folded

STOP_WORDS = ("the", "P.O. Box", "mr", "straße", "12")


def characters() -> Iterator[str]:
    """Every character that case, accents or compatibility could change: all of Unicode but its empty planes and the
    ideographs that have one form only."""
    for code in [*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]:
        if not 0x4E00 <= code < 0xA000 and not 0x17000 <= code < 0x18D00:
            yield chr(code)


def _text(**settings: object) -> FieldSpec:
    return FieldSpec.model_validate({"name": "f", "kind": "text", **settings})


@pytest.mark.parametrize(
    ("kind", "value", "cleaned"),
    [
        ("name", "O'Brien", "obrien"),
        ("name", "O’Brien", "obrien"),
        ("name", "Müller-Lüdenscheidt", "mullerludenscheidt"),
        ("name", "MULLER LUDENSCHEIDT ", "mullerludenscheidt"),
        ("name", "Ｗｅｉß", "weiss"),
        ("name", "Łukasz Øster Æsir", "lukaszosteraesir"),
        ("name", "Nguyễn", "nguyen"),
        ("name", "Ἀλέξανδρος", "αλεξανδροσ"),
        ("name", "मोदी", "मोदी"),
        ("name", "יוסף", "יוסף"),
        ("name", "Jo\u200bhn", "john"),
        ("name", "Null", "null"),
        ("name", "None", "none"),
        ("name", "Na", "na"),
        ("name", "n/a", None),
        ("name", "N/A ", None),
        ("name", "Unknown", None),
        ("name", "--", None),
        ("name", "' '", None),
        ("text", "12, St.  John's\tRoad", "12 st johns road"),
        ("text", "null", None),
        ("text", "[unknown]", None),
        ("code", "ab-12 3cd", "ab123cd"),
        ("code", "0000", None),
        ("code", "99999", None),
        ("code", "9999", "9999"),
        ("category", " F ", "f"),
        ("category", "NA", None),
        ("number", "007", "7"),
        ("number", "1,234.50", "1234.5"),
        ("number", "-9.0", None),
        ("number", "twelve", None),
    ],
)
def test_defaults_of_each_kind(kind: str, value: str, cleaned: str | None) -> None:
    assert clean_value(value, FieldSpec.model_validate({"name": "f", "kind": kind})) == cleaned


def test_a_missing_value_is_missing() -> None:
    field = _text()
    assert clean_value(None, field) is None
    assert clean_value("", field) is None
    assert clean_value(" \u00a0\u200b", field) is None


def test_own_missing_codes_are_found_as_written_and_after_cleaning() -> None:
    field = _text(missing=("Not Given", 999))
    assert clean_value("NOT GIVEN ", field) is None
    assert clean_value("999", field) is None
    assert clean_value("(999)", field) is None
    assert clean_value("9999", field) == "9999"


def test_a_missing_date_is_found_however_it_is_written() -> None:
    field = FieldSpec(name="f", kind="date", date=DateFormat(order="dmy"), missing=("01/01/1900",))
    assert clean_value("1.1.1900", field) is None
    assert clean_value("1900-01-01", field) is None
    assert clean_value("2.1.1900", field) == "19000102"


def test_stop_words_go_as_whole_words_and_phrases() -> None:
    field = _text(stop_words=STOP_WORDS)
    assert clean_value("The P.O. Box 7 of the Theatre", field) == "7 of theatre"
    assert clean_value("STRASSE p o the box 12", field) is None
    joined = FieldSpec(name="f", kind="name", stop_words=("van der",))
    assert clean_value("van der Berg", joined) == "berg"
    assert clean_value("Vanderberg", joined) == "vanderberg"


def test_an_accent_is_a_combining_mark_of_latin_greek_or_cyrillic_only() -> None:
    accents = TEXT_STEPS["accents"]
    assert accents("é e\u0301 Й ά") == "e e И α"
    assert accents("か\u3099 กี่ 한글") == "が กี่ 한글"


def test_leading_zeros_leave_a_zero() -> None:
    step = TEXT_STEPS["leading_zeros"]
    assert [step(value) for value in ("007", "0 0 7", "000", "", "700")] == ["7", "7", "0", "", "700"]


@pytest.mark.parametrize("step", [step for step in STEPS if step != "stop_words"])
def test_each_step_done_twice_is_done_once_for_every_character(step: str) -> None:
    function = TEXT_STEPS[step]  # type: ignore[index]
    for character in characters():
        once = function(character)
        assert function(once) == once, f"U+{ord(character):04X} {unicodedata.name(character, '')}"


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 8], ids=["each", "each eighth"])
def test_the_steps_together_done_twice_are_done_once_for_every_character(step: int) -> None:
    fields = [FieldSpec(name="f", kind="name"), _text(), FieldSpec(name="f", kind="category")]
    for character in islice(characters(), 0, None, step):
        for field in fields:
            # With a letter before and behind, so that it can combine and is not missing.
            once = clean_value(f"x{character}y", field)
            assert clean_value(once, field) == once, f"U+{ord(character):04X} {unicodedata.name(character, '')}"


steps = st.lists(st.sampled_from(list(STEPS)), unique=True).map(tuple)
values = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=st.sampled_from("aA0 -.'éÉßıİ\u0301\u0345\u200d\u00a0ﬁ½Åǅ"), max_size=20),
    st.lists(st.sampled_from([*STOP_WORDS, "unknown", "n/a", "00", "9", "-", " ", "(", "p", "o"]), max_size=6).map(
        " ".join
    ),
)


@given(value=values, clean=steps, kind=st.sampled_from(["name", "text", "code", "category"]), stopped=st.booleans())
@example(value="0van der", clean=("leading_zeros",), kind="text", stopped=False)
@example(value="A:\u0300", clean=("unicode", "case", "punctuation", "alphanumeric"), kind="name", stopped=False)
@example(value="A'\u0300", clean=("unicode", "case", "punctuation"), kind="name", stopped=False)
def test_cleaning_what_is_clean_changes_nothing(value: str, clean: tuple[str, ...], kind: str, stopped: bool) -> None:
    words = STOP_WORDS if stopped and "leading_zeros" not in clean else ()
    field = FieldSpec.model_validate({"name": "f", "kind": kind, "clean": clean, "stop_words": words})
    once = clean_value(value, field)
    if once is not None:
        assert clean_value(once, field) == once
        assert once == once.strip() or "whitespace" not in clean
        assert folded(once) != ""


@given(
    value=st.one_of(values, st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str), st.dates().map(str))
)
def test_a_clean_number_or_date_is_clean(value: str) -> None:
    number = FieldSpec(name="f", kind="number")
    date = FieldSpec(name="f", kind="date", date=DateFormat(order="ymd"))
    for field in (number, date):
        once = clean_value(value, field)
        assert once is None or clean_value(once, field) == once
