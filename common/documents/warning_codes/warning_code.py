"""One code of the registry: what a warning of this code says, how much it matters, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["note", "warning", "serious"]
"""How much a warning matters, from the least.

``note`` explains figures; nothing is to be done. ``warning``: check it before you rely on the figures. ``serious``: do
not rely on the figures until it is remedied.
"""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the least to the most serious."""


@dataclass(frozen=True)
class WarningCode:
    """What all warnings of one code have in common.

    Attributes
    ----------
    code
        Name in documents, in words joined by underscores.
    severity
        How much it matters.
    meaning
        One line, for the manual.
    text
        The sentence of a warning, with the names of its figures in braces, as `str.format` has them.
    remedy
        What to do about it; empty where there is nothing to do.
    """

    code: str
    severity: Severity
    meaning: str
    text: str
    remedy: str = ""
