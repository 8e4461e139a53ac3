"""The base of every section of the specification, and the small types that several of them use."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field

from gemel.common.documents.document import DescribedModel
from gemel.common.specification.model.defaults import DatePart

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
MAX_COLUMN_NAME = 256


def _text_of_integer(value: object) -> object:
    # YAML reads `9999` as a number. Only integers have one text form, so only they are taken as text.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


BY_FORM = Discriminator(lambda value: "text" if isinstance(value, str) else "other")
"""Of a union in which only a text has the tag `text`: its errors are then those of one member."""

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
ColumnName = Annotated[str, Field(min_length=1, max_length=MAX_COLUMN_NAME)]
Word = Annotated[str, BeforeValidator(_text_of_integer), Field(max_length=256)]


def folded_label(label: str) -> str:
    """The form in which categories and values are compared: NFKC, case folded, single blanks, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold()).split())


class Section(DescribedModel):
    """A part of the specification: immutable, strict, unknown keys refused."""


class BlockingKey(Section):
    """The part of one field that a blocking rule, or a salt, uses."""

    field: Name
    """The field."""
    part: DatePart | None = None
    """Of a date, only the year, the month or the day. Default: the whole date."""
    prefix: int | None = Field(default=None, ge=1, le=64)
    """Of a text, only the first characters. Default: the whole value."""

    @property
    def words(self) -> str:
        if self.part is not None:
            return f"the {self.part} of {self.field}"
        return self.field if self.prefix is None else f"the first {self.prefix} characters of {self.field}"

    def settles(self, other: BlockingKey) -> bool:
        """Whether rows that agree here agree on the other too."""
        if self.field != other.field or self.part not in (None, other.part):
            return False
        return self.prefix is None or (other.prefix is not None and other.prefix <= self.prefix)
