"""Checks of the fields that may be exchanged with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.message_words import nearest, shown
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.validation_issue import DocumentPath, ValidationIssue


def swap_issues(
    swaps: object, fields: Mapping[str, FieldSpec], other_names: frozenset[str], mode: object
) -> Iterator[ValidationIssue]:
    """Exchanges of fields that do not exist, or that cannot be compared."""
    seen: set[str] = set()
    for position, swap in enumerate(swaps if isinstance(swaps, list | tuple) else ()):
        path: DocumentPath = ("swaps", position)
        if not isinstance(swap, list | tuple) or len(swap) != 2 or not all(isinstance(name, str) for name in swap):
            continue  # Its type is wrong, which is reported elsewhere.
        if mode == "trusted":
            yield ValidationIssue(path, "values can be exchanged in mode open only", remedy="drop the swaps")
        for name in swap:
            if name not in fields and name not in other_names:
                yield ValidationIssue(path, "no compared field has this name", shown(name), nearest(str(name), fields))
            if name in seen:
                yield ValidationIssue(
                    path, "a field can be exchanged with one other only", shown(name), "drop one of them"
                )
            seen.add(str(name))
        first, second = (fields.get(str(name)) for name in swap)
        if first is not None and second is not None and first.key_domain != second.key_domain:
            yield ValidationIssue(
                path,
                "fields that may be exchanged must share a key domain",
                f"{first.key_domain} and {second.key_domain}",
                f"give both `key_domain: {first.key_domain}`",
            )
