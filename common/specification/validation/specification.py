"""A specification: content that was found consistent. It can only be made through the checks."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from gemel.common.errors import ErrorCode, GemelErrors
from gemel.common.specification.model.content import SpecificationContent
from gemel.common.specification.validation.consistency import all_issues
from gemel.common.validation_issues import ValidationIssue


class InconsistentError(GemelErrors):
    """The inconsistencies of a specification each of whose values is valid by itself."""

    def __init__(self, issues: list[ValidationIssue]) -> None:
        super().__init__(ErrorCode.SPECIFICATION, [issue.error(ErrorCode.SPECIFICATION) for issue in issues])
        self.issues = issues


class Specification(SpecificationContent):
    """A linkage of two files, as all three parties approve it."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if issues := list(all_issues(self)):
            raise InconsistentError(issues)
        return self
