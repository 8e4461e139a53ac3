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
    """The common properties of all warnings of one code."""

    code: str
    severity: Severity
    meaning: str
    text: str
    remedy: str = ""
