"""The defaults of a field by its kind: cleaning, tokens, levels, bits, missing codes.

Every default that depends on a kind is in ``kinds.toml``, so that it can be reviewed in one place.
But for this: a name may be any word, so none of ``words_missing`` is missing there (`_defaults`). The levels are the
comparison levels of Smith and Shlomo's experiment; the tokenisations are the ones that linked best on files whose true
matches are known.

Missing-value codes are compared ignoring case, blanks at the ends and Unicode compatibility forms. They differ by
kind because a missing code in one column is a value in another: *Null*, *None*, *Na* and *Nan* are real names, ``9999``
is a real house number and postcode. So a field of kind ``name`` drops none of these, and a ``code`` drops only runs of
nines and zeros that are not issued as postcodes or numbers. Other codes of the files at hand, such as ``999`` for an
unknown age, are listed in the field's own ``missing``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field

from gemel.common.documents.document import DescribedModel

Kind = Literal["name", "text", "date", "number", "code", "category"]
Step = Literal[
    "unicode", "case", "accents", "punctuation", "stop_words", "whitespace", "alphanumeric", "digits", "leading_zeros"
]
Tokenisation = Literal["bigrams", "positional_bigrams", "positional_characters", "date_parts", "words", "value"]
Assignment = Literal["one_to_one", "greedy", "many_to_one", "one_to_many", "clusters", "none"]
LevelTable = Literal["em8", "em15", "exact"]
Mode = Literal["open", "trusted", "block_keyed", "shared"]
IN_BLOCKS: tuple[Mode, ...] = ("block_keyed", "shared")
"""Modes in which a record is signed for each block that it is in, and compared in blocks only. A tuple, in which also
what has no hash can be looked for: a document may have a list as its mode."""

Describes = Literal["name", "birth", "trait", "family", "household"]
PERSONAL: frozenset[Describes] = frozenset({"name", "birth", "trait"})
"""What a person keeps and the others of a household do not have as well."""

Comparator = Literal["jaro", "jaro_winkler"]
DateOrder = Literal["ymd", "dmy", "mdy"]
DatePart = Literal["year", "month", "day"]

MAX_FIELDS = 64
MAX_RULES = 32
"""A pair's satisfied blocking rules are the bits of one 32-bit mask."""
MAX_PATTERNS = 2**62
"""A pair's comparison levels are packed into one signed 64-bit number."""

STEPS: dict[Step, str] = {
    "unicode": "one form of Unicode (NFKC), control and invisible characters dropped",
    "case": "case folded (also final sigma and sharp s)",
    "accents": "accents dropped: é to e, ø to o, ß to ss",
    "punctuation": "apostrophes dropped, other punctuation and symbols made a blank",
    "stop_words": "the field's stop words dropped, wherever they occur as whole words",
    "whitespace": "runs of blanks made one, none at the ends",
    "alphanumeric": "all but letters and digits dropped, blanks too",
    "digits": "all but the digits 0 to 9 dropped",
    "leading_zeros": "zeros at the front dropped",
}
"""The cleaning steps, in the order in which they run. A specification may list them in any order: run in this one,
cleaning what is already clean changes nothing."""

LEVELS: dict[LevelTable, tuple[float, ...]] = {
    "em8": (0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.999, 1.0),
    "em15": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.999, 1.0),
    # One bit of 8192 that differs is a similarity of .99976: the bound lies between that and equality.
    "exact": (0.9999, 1.0),
}
"""Inclusive upper bounds of the comparison levels, by the name of their table."""


class KindDefaults(DescribedModel):
    """The defaults of a kind of field, which its specification may override."""

    meaning: str
    clean: tuple[Step, ...] = Field(strict=False)
    tokens: Tokenisation
    missing: tuple[str, ...]
    """Common missing-value codes of the kind, before those the field adds."""
    levels: LevelTable = "em8"
    bits: int = 1024
    allowed: frozenset[Step] = Field(default=frozenset(STEPS), strict=False)
    """The steps that make sense for the kind; the digits of a date, for example, must keep their places."""
    describes: Describes


_FILE = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))


def _defaults(kind: Kind) -> KindDefaults:
    entry = _FILE["kinds"][kind]
    words = [] if kind == "name" else _FILE["words_missing"]
    return KindDefaults(**{**entry, "missing": (*_FILE["always_missing"], *words, *entry.get("missing", ()))})


KINDS: dict[Kind, KindDefaults] = {kind: _defaults(kind) for kind in get_args(Kind)}
