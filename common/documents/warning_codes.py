"""The registry of warning codes, with which results warn.

A new warning is an entry of ``warning_codes.toml``, and a call of
`gemel.common.documents.result_warning.result_warning` with its figures. The tables in docs/documents.md are made from
here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Severity = Literal["note", "warning", "serious"]
"""How much a warning matters, in ascending order.

``note`` explains figures and needs no action. ``warning``: check it before you rely on the figures. ``serious``: do not
rely on the figures until it is remedied.
"""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class WarningCode:
    """The common properties of all warnings of one code."""

    code: str
    subject: str
    severity: Severity
    meaning: str
    text: str
    remedy: str = ""


_REGISTRY = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

SUBJECTS: dict[str, str] = _REGISTRY["subjects"]
"""Headings of the manual, in its order."""

WARNING_CODES = {
    code: WarningCode(code=code, subject=subject, **entry)
    for subject in SUBJECTS
    for code, entry in _REGISTRY[subject].items()
}
