"""How much of what one column holds another holds too: whole values, words, years.

Two files of different people share few whole values of an address and no order of the words of a name, but they share
words; and what a column holds shows in how often each word occurs. So columns are judged by the two distributions'
overlap, the sum of the smaller share of each word: 1 for the same column, near 0 for columns of another meaning.
"""

from __future__ import annotations

import polars as pl

MAX_ROWS = 50_000
"""Rows looked at for words, evenly spread over a file."""


def shares_value(alice: pl.Series, bob: pl.Series) -> bool:
    """Whether any value of one file is also in the other, but for case, punctuation and zeros in front."""
    ours, theirs = (_plain(text).unique() for text in (alice, bob))
    return bool(ours.is_in(theirs.implode()).any())


def overlap_of_values(alice: pl.Series, bob: pl.Series) -> float:
    """Overlap of the distributions of whole values, but for case, punctuation and zeros in front."""
    return _overlap(_plain(_some(alice)), _plain(_some(bob)))


def overlap_of_words(alice: pl.Series, bob: pl.Series) -> float:
    """Overlap of the distributions of words, whatever their order: `john smith` and `smith, john` have the same."""
    return _overlap(_words(_some(alice)), _words(_some(bob)))


def overlap_of_years(alice: pl.Series, bob: pl.Series) -> float:
    """Overlap of the distributions of the years of dates: a number of four digits, or the first four of eight."""
    return _overlap(*(_some(text).str.extract(r"(\d{4})(?:\d{4}|\D|$)").drop_nulls() for text in (alice, bob)))


def _some(text: pl.Series) -> pl.Series:
    return text.gather_every(max(1, len(text) // MAX_ROWS))


def _plain(text: pl.Series) -> pl.Series:
    plain = text.drop_nulls().str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}]", "").str.strip_chars_start("0")
    return plain.filter(plain != "")


def _words(text: pl.Series) -> pl.Series:
    words = text.drop_nulls().str.to_lowercase().str.extract_all(r"[\p{L}\p{M}\p{N}]+").explode()
    return words.drop_nulls()


def _overlap(ours: pl.Series, theirs: pl.Series) -> float:
    if ours.is_empty() or theirs.is_empty():
        return 0.0
    shares = [values.alias("value").value_counts(normalize=True).sort("value") for values in (ours, theirs)]
    both = shares[0].join(shares[1], on="value", how="inner", maintain_order="left")
    return float(both.select(pl.min_horizontal("proportion", "proportion_right").sum()).item())
