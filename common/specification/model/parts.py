"""The part of a field that a blocking rule or a salt uses: the whole value, its beginning, or a part of a date."""

from __future__ import annotations

from pydantic import Field

from gemel.common.specification.model.defaults import DatePart
from gemel.common.specification.model.section import Name, Section


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
        """In words, such as *the year of date_of_birth*."""
        if self.part is not None:
            return f"the {self.part} of {self.field}"
        return self.field if self.prefix is None else f"the first {self.prefix} characters of {self.field}"

    def settles(self, other: BlockingKey) -> bool:
        """Whether rows that agree here agree on the other too."""
        if self.field != other.field or self.part not in (None, other.part):
            return False
        return self.prefix is None or (other.prefix is not None and other.prefix <= self.prefix)
