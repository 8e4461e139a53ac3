"""The reason that a person gives for a decision, as the audit log keeps it."""

from __future__ import annotations

from gemel.common.errors import parameter

MIN_REASON = 10
MAX_REASON = 1000
"""Minimum and maximum number of characters. A reason is a sentence that will be read years later."""


def normalized_reason(reason: str) -> str:
    """The reason as recorded in the log: one line of printable characters.

    Raises PARAMETER if it is too short or too long.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not MIN_REASON <= len(text) <= MAX_REASON:
        what = f"a decision needs a reason of {MIN_REASON} to {MAX_REASON} characters"
        remedy = "state the grounds so that a reader of the audit log understands them years later"
        raise parameter("reason", what, f"{len(text)} characters", remedy)
    return text
