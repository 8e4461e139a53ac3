"""Entries of the audit log in words: who did what, with its reason; digests and signatures stay in the log."""

from __future__ import annotations

import re
from typing import Any

from gemel.common.audit import AuditEntry
from gemel.common.language import gettext, written
from gemel.coordinator.console.project_words import when

_DIGITS = re.compile(r"[0-9a-fA-F]{24,}")
"""Of a digest, a signature or a number that was drawn: a reader of a page can do nothing with them."""


def entry_shown(entry: AuditEntry) -> dict[str, Any]:
    """What a page shows of an entry."""
    details = {key: value for key, value in entry.details.items() if key != "reason" and _is_for_people(value)}
    return {
        "sequence": entry.sequence,
        "at": when(entry.at),
        "project": entry.project,
        "actor": entry.actor,
        "action": entry.action.replace("-", " "),
        "reason": str(entry.details.get("reason", "")),
        "details": "; ".join(f"{key.replace('_', ' ')}: {_text(value)}" for key, value in details.items()),
    }


def _is_for_people(value: object) -> bool:
    # A mapping is a list of members, with the beginnings of their keys: these are compared by other ways than a page.
    return value not in ("", None, []) and not isinstance(value, dict) and not _DIGITS.search(str(value))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return written(value, ",d") if isinstance(value, int) else str(value)
