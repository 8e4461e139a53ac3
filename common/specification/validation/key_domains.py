"""The attributes that fields signed with the same keys must have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gemel.common.message_words import shown
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.validation_issue import ValidationIssue

_SHARED = (
    "kind",
    "clean",
    "stop_words",
    "missing",
    "date",
    "tokens",
    "bits",
    "randomised_response",
    "salt",
    "only_similar",
)
"""The attributes that fields of one key domain must have in common."""


def key_domain_issues(fields: Mapping[int, FieldSpec]) -> Iterator[ValidationIssue]:
    """Fields of one key domain that are encoded differently."""
    # One key for two encodings would make equal values differ, and reveal more to Carole than either encoding alone.
    seen: dict[str, int] = {}
    for position, field in fields.items():
        first = fields[seen.setdefault(field.key_domain, position)]
        for attribute in _SHARED:
            mine, theirs = getattr(field, attribute), getattr(first, attribute)
            if mine != theirs:
                got = f"{shown(mine)} beside {shown(theirs)}" if isinstance(mine, str | int | float) else ""
                yield ValidationIssue(
                    ("fields", position, "key_domain"),
                    f"{first.name} is of the same key domain but has other {attribute}",
                    got,
                    f"give both the same {attribute}, or each a key_domain of its own",
                )
