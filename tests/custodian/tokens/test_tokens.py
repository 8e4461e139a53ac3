"""Tokens: the definition by example, and the fast form against the definition."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.suite import Suite
from gemel.custodian.tokens import MAX_LENGTH, PADDING, TOKENISATIONS, hashed, tokenise
from tests.carole.refusals import refusal
from tests.custodian.tokens.definition import tokens

KEY = bytes(range(32))

# Few letters, so that bigrams repeat; also a letter outside the basic plane, a combining mark and blanks.
TEXTS = st.lists(
    st.one_of(
        st.text(alphabet="ab", max_size=12),
        st.text(alphabet="aé\u0301 \t\U0001d4d0\U0010ffff\U0001f600", max_size=70),
        st.text(max_size=20),
    ),
    max_size=8,
)
DATES = st.lists(
    st.one_of(
        st.just(""),
        st.from_regex(r"[0-9]{8}", fullmatch=True).filter(str.isascii),
        st.sampled_from(["19150000", "00001107", "00000000", "19151100", "11111111"]),
    ),
    max_size=8,
)


def bigram(pair: str) -> int:
    first, second = (PADDING if c == "_" else ord(c) for c in pair)
    return 1 << 60 | first << 21 | second


def jaccard(first: str, second: str, tokenisation: str) -> float:
    a, b = (tokens(value, tokenisation, KEY) for value in (first, second))
    return len(a & b) / len(a | b)


def test_bigrams_are_padded() -> None:
    assert tokens("john", "bigrams") == {bigram(pair) for pair in ("_j", "jo", "oh", "hn", "n_")}
    assert tokens("a", "bigrams") == {bigram("_a"), bigram("a_")}
    assert tokens("aaaa", "bigrams") == {bigram("_a"), bigram("aa"), bigram("a_")}
    assert tokens("", "bigrams") == frozenset()


def test_smith_and_shlomo_example_of_a_true_jaccard() -> None:
    # Slide 8: {jo, oh, hn} and {jo, on} have similarity 1/4; padded, two of seven tokens are shared.
    assert jaccard("john", "jon", "bigrams") == pytest.approx(3 / 6)
    inner = [
        {c for c in tokens(v, "bigrams") if c >> 21 & PADDING != PADDING and c & PADDING != PADDING}
        for v in ("john", "jon")
    ]
    assert len(inner[0] & inner[1]) / len(inner[0] | inner[1]) == 1 / 4


def test_positions_count() -> None:
    assert jaccard("121212", "212121", "positional_characters") == 0
    assert jaccard("123456", "123457", "positional_characters") == pytest.approx(5 / 7)
    assert jaccard("abab", "baba", "positional_bigrams") == 0
    assert jaccard("abcd", "abce", "positional_bigrams") == pytest.approx(3 / 7)


def test_similarities_of_dates_are_as_documented() -> None:
    assert len(tokens("19151107", "date_parts")) == 11
    assert jaccard("19151107", "19151108", "date_parts") == pytest.approx(9 / 13)
    assert jaccard("19151107", "19151128", "date_parts") == pytest.approx(8 / 14)
    assert jaccard("19151107", "19150829", "date_parts") == pytest.approx(5 / 17)
    digits = [jaccard("19151107", other, "positional_characters") for other in ("19151108", "19151128", "19150829")]
    assert digits == pytest.approx([7 / 9, 6 / 10, 4 / 12])


def test_unknown_parts_of_a_date_have_no_tokens() -> None:
    assert len(tokens("19150000", "date_parts")) == 5
    assert len(tokens("00001107", "date_parts")) == 6
    assert tokens("00000000", "date_parts") == frozenset()
    assert tokens("19150000", "date_parts") < tokens("19151107", "date_parts")


def test_words_and_values_are_hashed_under_the_key() -> None:
    assert tokens(" st  john st ", "words", KEY) == {hashed("st", 5, KEY), hashed("john", 5, KEY)}
    assert tokens("st john", "value", KEY) == {hashed("st john", 6, KEY)}
    assert tokens("st", "words", KEY).isdisjoint(tokens("st", "words", KEY[::-1]))


@given(values=TEXTS, tokenisation=st.sampled_from([t for t in TOKENISATIONS if t != "date_parts"]))
@example(values=["a" * 200, "ab" * 60, "abc" * 20], tokenisation="bigrams")
def test_fast_agrees_with_the_definition(values: list[str], tokenisation: str) -> None:
    check(values, tokenisation)


@given(values=DATES)
def test_fast_agrees_with_the_definition_on_dates(values: list[str]) -> None:
    check(values, "date_parts")


def check(values: list[str], tokenisation: str) -> None:
    for suite in Suite:
        fast = tokenise(values, tokenisation, KEY, suite=suite)
        assert fast.codes.dtype == np.uint64
        assert fast.n_values == len(values)
        for i, value in enumerate(values):
            assert fast[i].tolist() == sorted(tokens(value, tokenisation, KEY, suite=suite))
        assert fast.counts.tolist() == [len(tokens(value, tokenisation, KEY)) for value in values]


@given(value=st.text(min_size=1, max_size=12))
def test_no_token_of_one_kind_is_one_of_another(value: str) -> None:
    kinds = [tokens(value, t, KEY) for t in TOKENISATIONS if t != "date_parts"] + [tokens("12121212", "date_parts")]
    assert len(frozenset().union(*kinds)) == sum(map(len, kinds))


def test_a_series_is_as_good_as_a_list() -> None:
    values = ["ann", "bo", "ann"]
    np.testing.assert_array_equal(tokenise(pl.Series(values), "bigrams").codes, tokenise(values, "bigrams").codes)


@pytest.mark.parametrize("value", ["1915117", "1915-1-7", "191511 7", "١٩١٥١١٠٧", "19151107 "])
def test_what_is_no_date_is_refused_without_being_shown(value: str) -> None:
    for make in (lambda: tokens(value, "date_parts"), lambda: tokenise(["19151107", value], "date_parts")):
        with pytest.raises(GemelError, match="1 other values") as caught:
            make()
        assert value not in str(caught.value)


def test_bad_parameters_are_refused() -> None:
    for make in (
        lambda: tokenise(["a"], "trigrams"),
        lambda: tokens("a", "trigrams"),
        lambda: tokenise(["a"], "words"),
        lambda: tokenise(["a"], "value", KEY[:-1]),
        lambda: tokens("a" * (MAX_LENGTH + 1), "bigrams"),
        lambda: tokenise(["a" * (MAX_LENGTH + 1)], "bigrams"),
    ):
        with refusal(ErrorCode.PARAMETER):
            make()


def test_the_longest_value_still_has_its_own_places() -> None:
    value = "ab" * (MAX_LENGTH // 2)
    fast = tokenise([value], "positional_bigrams")
    assert fast.codes.tolist() == sorted(tokens(value, "positional_bigrams"))
    assert len(fast.codes) == MAX_LENGTH + 1


@given(
    st.sampled_from([name for name in TOKENISATIONS if name != "date_parts"]),
    TEXTS,
    st.sets(st.text(alphabet="ab", max_size=4), max_size=6),
)
def test_values_that_are_not_listed_are_one_token(tokenisation: str, values: list[str], listed: set[str]) -> None:
    """The fast form against the definition, and what the definition promises."""
    listed |= set(values[::2])
    found = tokenise(values, tokenisation, KEY, listed)
    for place, value in enumerate(values):
        expected = tokens(value, tokenisation, KEY, listed)
        assert found[place].tolist() == sorted(expected)
        whole = tokens(value, tokenisation, KEY)
        assert expected == (whole if value in listed or not whole else {hashed(value, 6, KEY)})


def test_unknown_dates_stay_missing_beside_a_list() -> None:
    values = ["19151107", "00000000", "", "19151108"]
    found = tokenise(values, "date_parts", KEY, {"19151107"})
    assert found.counts.tolist() == [11, 0, 0, 1]


@given(st.lists(st.text(alphabet="ab ", max_size=4), max_size=8), st.data())
def test_tokens_of_some_values(values: list[str], data: st.DataObject) -> None:
    whole = tokenise(values, "words", bytes(32))
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(len(values))))) if values else [])
    some = whole.take(np.array(chosen, dtype=np.int64))
    assert [some[place].tolist() for place in range(some.n_values)] == [whole[value].tolist() for value in chosen]
