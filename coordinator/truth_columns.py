"""The columns that name the person, by which links are judged: nothing of a linkage may be made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.parties import Side
from gemel.common.specification import Specification


@dataclass(frozen=True)
class Truth:
    """The columns of the two files that name the person: equal for the same one."""

    alice: str
    bob: str

    @classmethod
    def of_options(cls, alice: str | None, bob: str | None) -> Self | None:
        """The truth as the options --truth-alice and --truth-bob give it; None without them."""
        if alice is not None and bob is not None:
            return cls(alice, bob)
        if alice is None and bob is None:
            return None
        raise GemelError(
            ErrorCode.PARAMETER, "the truth needs a column of each file", remedy="give --truth-alice and --truth-bob"
        )

    def of(self, side: Side) -> str:
        return self.alice if side is Side.ALICE else self.bob

    def require_unused(self, spec: Specification) -> None:
        """Refuse a specification that links by the truth: its links would be right and prove nothing.

        The column of identifiers may be the truth: it enters no signature.

        Raises
        ------
        GemelError
            SPECIFICATION for a field, with the blocking rules made of it, or a variable that has a column of the
            truth; all at once.
        """
        errors = [*self._compared(spec), *self._carried(spec)]
        if errors:
            raise errors[0] if len(errors) == 1 else GemelErrors(ErrorCode.SPECIFICATION, errors)

    def _compared(self, spec: Specification) -> Iterator[GemelError]:
        for field in spec.fields:
            sides = [side for side in Side if self.of(side) in field.columns_of(side)]
            if sides:
                rules = [rule.name for rule in spec.blocking if field.name in rule.fields]
                blocked = f" and blocked by (rule {', '.join(rules)})" if rules else ""
                yield self._used(f"field {field.name}", f"compared{blocked}", sides)

    def _carried(self, spec: Specification) -> Iterator[GemelError]:
        for variable in spec.variables:
            sides = [s for s in Side if variable.held_by(s) and self.of(s) == variable.column_of(s)]
            if sides:
                yield self._used(f"variable {variable.name}", "carried as a code", sides)

    def _used(self, where: str, how: str, sides: list[Side]) -> GemelError:
        columns = " and ".join(f"{side}'s {self.of(side)!r}" for side in sides)
        return GemelError(
            ErrorCode.SPECIFICATION,
            "the truth must not be linked by: the links would be right and prove nothing",
            where=where,
            got=f"the column of the truth, {columns}, {how}",
            remedy="take it out of the specification, or draft again with --truth-alice and --truth-bob",
        )
