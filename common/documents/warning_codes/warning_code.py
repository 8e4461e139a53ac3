"""One code of the registry: its meaning, severity, text and remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["note", "warning", "serious"]
"""How much a warning matters, in ascending order.

``note`` explains figures and needs no action. ``warning``: check it before you rely on the figures. ``serious``: do not
rely on the figures until it is remedied.
"""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""In ascending order."""


@dataclass(frozen=True)
class WarningCode:
    """The common properties of all warnings of one code.

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
        The action to take; empty where none is needed.
    """

    code: str
    severity: Severity
    meaning: str
    text: str
    remedy: str = ""
