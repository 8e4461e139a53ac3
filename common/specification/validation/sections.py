"""The parts of a document that the checks across values look at, and two questions that many of them ask."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from gemel.common.language.message_words import nearest, shown
from gemel.common.parties import Side
from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.validation_issues import DocumentPath, ValidationIssue

Position = TypeVar("Position")


@dataclass(frozen=True)
class SoundSections:
    """The sections of a document that are valid by themselves, by their position in it. In a document with one field of
    the wrong type all others are still checked."""

    fields: Mapping[int, FieldSpec]
    rules: Mapping[int, BlockingRule]
    variables: Mapping[int, VariableSpec]
    mode: object
    """As the document has it; so are `swaps` and `padding`."""
    swaps: object
    padding: object
    identifiers: Mapping[Side, str]
    """The custodians' identifier columns, where they are known."""
    latent: LatentSpec | None
    other_names: frozenset[str] = frozenset()
    """Names of fields that are in the document but not in `fields`, because they have issues of their own."""
    other_rules: bool = False
    """Whether there are other blocking rules, which have issues of their own."""
    other_variables: bool = False
    """Whether there are other variables, which have issues of their own."""

    @classmethod
    def of(cls, content: SpecificationContent) -> SoundSections:
        """All of a specification's content."""
        return cls(
            dict(enumerate(content.fields)),
            dict(enumerate(content.blocking)),
            dict(enumerate(content.variables)),
            content.mode,
            content.swaps,
            content.padding,
            {side: content.custodians.of(side).identifier for side in Side},
            content.latent,
        )

    @cached_property
    def by_name(self) -> Mapping[str, FieldSpec]:
        return {field.name: field for field in self.fields.values()}

    @property
    def unsure(self) -> bool:
        """Whether there are fields or variables that are not known."""
        return self.other_variables or bool(self.other_names)

    def unknown_field(self, name: object, path: DocumentPath) -> Iterator[ValidationIssue]:
        if name not in self.by_name and name not in self.other_names:
            yield ValidationIssue(
                path, "no compared field has this name", shown(name), nearest(str(name), self.by_name)
            )


def repeated(values: Iterable[tuple[Position, Hashable]]) -> Iterator[tuple[Position, Position]]:
    """The position of each value that was met before, and where it was met first."""
    first: dict[Hashable, Position] = {}
    for position, value in values:
        if (earlier := first.setdefault(value, position)) != position:
            yield position, earlier
