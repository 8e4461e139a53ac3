"""One warning on a result, in a document, in a report or on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import field_validator

from gemel.common.documents.document import Part
from gemel.common.documents.warning_codes import SEVERITIES, WARNING_CODES, Severity


class ResultWarning(Part):
    """A warning for the reader of a result, one of those listed under [warnings](#warnings)."""

    code: str
    severity: Severity
    """How much it matters: see [warnings](#warnings)."""
    text: str
    """One or two sentences with its figures; names and counts, never a value of a record."""
    remedy: str | None = None
    """The action to take."""

    @field_validator("code")
    @classmethod
    def _known(cls, code: str) -> str:
        if code not in WARNING_CODES:
            raise ValueError("the document has a warning that this version does not know")
        return code

    @property
    def line(self) -> str:
        return f"{self.severity}: {self.text}" + (f" {self.remedy}" if self.remedy else "")


def result_warning(code: str, **figures: str | float) -> ResultWarning:
    """Build a warning by its code, one of `WARNING_CODES`, and the figures named in braces in the code's text."""
    known = WARNING_CODES[code]
    text = known.text.format(**figures)
    if known.remedy:
        return ResultWarning(code=code, severity=known.severity, text=text, remedy=known.remedy)
    return ResultWarning(code=code, severity=known.severity, text=text)


def by_severity(warnings: Iterable[ResultWarning]) -> list[ResultWarning]:
    """Each warning once, the most serious first, otherwise in the order given."""
    return sorted(dict.fromkeys(warnings), key=lambda warning: -SEVERITIES.index(warning.severity))
