"""What a blocking rule or a salt takes of one field: the whole value, its beginning, or a part of a date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from tryst.common.specification.defaults import DatePart
from tryst.common.specification.mistakes import Mistake, Path
from tryst.common.specification.section import Name, Section

if TYPE_CHECKING:
    from tryst.common.specification.fields import FieldSpec


class BlockingKey(Section):
    """What a blocking rule, or a salt, takes of one field."""

    field: Name
    """The field."""
    part: DatePart | None = None
    """Of a date, only the year, the month or the day. Default: the whole date."""
    prefix: int | None = Field(default=None, ge=1, le=64)
    """Of a text, only the first characters. Default: the whole value."""

    @property
    def words(self) -> str:
        """In words, such as *the year of date_of_birth*."""
        if self.part is not None:
            return f"the {self.part} of {self.field}"
        return self.field if self.prefix is None else f"the first {self.prefix} characters of {self.field}"

    def settles(self, other: BlockingKey) -> bool:
        """Whether rows that agree here agree on the other too."""
        if self.field != other.field or self.part not in (None, other.part):
            return False
        return self.prefix is None or (other.prefix is not None and other.prefix <= self.prefix)


def key_mistakes(key: BlockingKey, path: Path, field: FieldSpec) -> Iterator[Mistake]:
    """What a key takes of a field that has no such thing."""
    if key.part is not None:
        if field.kind != "date":
            remedy = "drop the part, or name a date field"
            yield Mistake((*path, "part"), "only a date has parts", f"{field.name} of kind {field.kind}", remedy)
        elif field.date is not None and key.part not in field.date.parts:
            remedy = f"add {key.part} to its parts, or name one of them"
            yield Mistake((*path, "part"), f"{field.name} has no such part", key.part, remedy)
    if key.prefix is not None and field.kind in ("category", "date"):
        remedy = "name a `part` instead" if field.kind == "date" else "drop the prefix"
        yield Mistake((*path, "prefix"), f"a {field.kind} has no prefix", f"prefix {key.prefix}", remedy)
