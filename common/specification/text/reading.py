"""From the text of `linkage.yaml` to a `Specification`, or to all its issues at once.

Wrong types, unknown keys and inconsistent values are reported together, each with its path, its line, the value and a
remedy.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.language.message_words import shown
from gemel.common.specification.text.partial_validation import issues_despite_types
from gemel.common.specification.validation.specification import InconsistentError, Specification
from gemel.common.validation_issues import ValidationIssue, type_issues
from gemel.common.yaml_document import DocumentKind, read_yaml

MAX_BYTES = 256 * 1024

SPECIFICATION_DOCUMENT = DocumentKind("a specification", ErrorCode.SPECIFICATION, MAX_BYTES, shows_values=True)
"""Limits and errors of a specification's text; it is public, so errors show the values read."""

_REMEDIES: dict[str, str] = {
    "version": "write `version: 1`",
    "mode": "write `mode: open`; `trusted` sends the values themselves",
    "comparator": "use jaro or jaro_winkler, in mode trusted only",
    "project": "use 1 to 64 of a-z, 0-9 and -, beginning with a letter or digit",
    "name": "use 1 to 64 letters, digits, _ and -, beginning with a letter",
    "key_domain": "use 1 to 64 letters, digits, _ and -, beginning with a letter",
    "bits": "use a multiple of 64 from 64 to 8192, such as 1024",
    "randomised_response": "use 0, or a probability from 0.001 to 0.4, such as 0.05",
    "padding": "write `powers_of_two`, or drop it; a number of rows is refused, since most candidate pairs would be"
    " with dummies, and their handles would join most records",
    "levels": "use em8, em15, exact, or upper bounds above 0, ascending to 1, such as [0.5, 0.8, 1]",
    "retention": "write `retention: {uploads_days: 7, results_days: 30, maps_days: 90}` with your own numbers",
    "custodians": "write `custodians: {alice: {identifier: COLUMN}, bob: {identifier: COLUMN}}`",
    "identifier": "name the column with the custodian's own identifiers",
    "fields": "list the compared fields, each with `name` and `kind`",
    "kind": "use name, text, date, number, code or category",
    "keys": "list one to eight keys, such as `[{field: surname, prefix: 3}]`",
    "order": "use ymd, dmy or mdy",
    "holder": "use alice, bob or both",
    "categories": "list the variable's categories, at least two, such as [good, fair, poor]",
    "categorisation": "list `{category: ..., alice: [...], bob: [...]}` for each common category",
    "role": "use key, sensitive or other",
}


def read_specification(path: Path) -> Specification:
    """Read a specification from a file.

    Raises
    ------
    GemelError
        If the file is absent, too large or not UTF-8.
    GemelErrors
        As `load_specification`.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise GemelError(
            ErrorCode.SPECIFICATION, "the specification cannot be read", where=str(path), got=reason.lower()
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GemelError(
            ErrorCode.TEXT_ENCODING,
            "a specification must be UTF-8 text",
            where=str(path),
            got=f"another encoding at byte {error.start}",
            remedy="save it as UTF-8",
        ) from None
    return load_specification(text, str(path))


def load_specification(text: str, source: str = "linkage.yaml") -> Specification:
    """The specification that a YAML text holds.

    Parameters
    ----------
    text
        The YAML document.
    source
        Its name in errors: the file name.

    Raises
    ------
    GemelErrors
        With one error for each issue, in the order of the document.
    """
    document = read_yaml(text, source, SPECIFICATION_DOCUMENT)
    if not isinstance(document.value, dict):
        got = shown(document.value)
        issue = ValidationIssue((), "a specification must be a mapping", got, "begin with `version: 1`")
        raise document.errors([issue])
    issues = document.repeated
    try:
        spec = Specification.model_validate(document.value)
    except ValidationError as error:
        issues += type_issues(error, Specification, document.lines, _REMEDIES) + issues_despite_types(document.value)
    except InconsistentError as error:
        issues += error.issues
    if issues:
        raise document.errors(issues)
    return spec
