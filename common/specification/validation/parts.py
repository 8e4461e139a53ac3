"""Parts that a blocking rule or a salt names of a field that does not have them."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.parts import BlockingKey
from gemel.common.validation_issues import DocumentPath, ValidationIssue


def key_issues(key: BlockingKey, path: DocumentPath, field: FieldSpec) -> Iterator[ValidationIssue]:
    """A part or prefix that the field does not have."""
    if key.part is not None:
        if field.kind != "date":
            remedy = "drop the part, or name a date field"
            yield ValidationIssue(
                (*path, "part"), "only a date has parts", f"{field.name} of kind {field.kind}", remedy
            )
        elif field.date is not None and key.part not in field.date.parts:
            remedy = f"add {key.part} to its parts, or name one of them"
            yield ValidationIssue((*path, "part"), f"{field.name} has no such part", key.part, remedy)
    if key.prefix is not None and field.kind in ("category", "date"):
        remedy = "name a `part` instead" if field.kind == "date" else "drop the prefix"
        yield ValidationIssue((*path, "prefix"), f"a {field.kind} has no prefix", f"prefix {key.prefix}", remedy)
