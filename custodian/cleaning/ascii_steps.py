"""The cleaning steps as column expressions for values that are all ASCII, where they need no Unicode tables.

Most values are, and these run at the speed of the column engine; the others are cleaned by `definition` one by one, so
that every custodian uses the one Unicode table whose version is in the encoding digest.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from gemel.common.specification.model.defaults import Step

_BLANKS = r"[\t-\r\x1c-\x20]"
"""The ASCII characters at which Python's `str.split` splits."""
_BLANK_CHARACTERS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "


def is_ascii(text: pl.Expr) -> pl.Expr:
    """Whether a text is all ASCII."""
    return text.str.len_bytes() == text.str.len_chars()


def ascii_folded(text: pl.Expr) -> pl.Expr:
    """`definition.folded` of an ASCII text."""
    return text.str.to_lowercase().str.strip_chars(_BLANK_CHARACTERS)


def _same(text: pl.Expr) -> pl.Expr:
    return text


def _leading_zeros(text: pl.Expr) -> pl.Expr:
    bare = text.str.strip_chars_start("0 ")
    only_zeros = (bare == "") & (text.str.strip_chars(_BLANK_CHARACTERS) != "")
    return pl.when(only_zeros).then(pl.lit("0")).otherwise(bare)


ASCII_STEPS: dict[Step, Callable[[pl.Expr], pl.Expr]] = {
    "unicode": lambda text: text.str.replace_all(r"[\x00-\x1f\x7f]", " "),
    "case": lambda text: text.str.to_lowercase(),
    "accents": _same,
    "punctuation": lambda text: text.str.replace_all("['`]", "").str.replace_all(r"[!-/:-@\[-`{-~]", " "),
    "whitespace": lambda text: text.str.replace_all(f"{_BLANKS}+", " ").str.strip_chars(" "),
    "alphanumeric": lambda text: text.str.replace_all("[^0-9A-Za-z]", ""),
    "digits": lambda text: text.str.replace_all("[^0-9]", ""),
    "leading_zeros": _leading_zeros,
}
"""Each step of `definition.TEXT_STEPS` for ASCII texts."""
