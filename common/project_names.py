"""Names of projects that a shell completes: those of the specifications in the present folder. Nothing is called."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

_NAME = re.compile(r"^project:\s*['\"]?([a-z0-9][a-z0-9-]*)", re.MULTILINE)
_FILES, _CHARACTERS = 100, 10_000
"""How many files are looked at, and how much of each: completion must not keep anyone waiting."""


def project_names(incomplete: str) -> list[str]:
    """The names that begin so, of the YAML files here, in their order."""
    found = set()
    for path in islice(sorted(Path().glob("*.y*ml")), _FILES):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_CHARACTERS)
        except OSError:
            continue
        found |= set(_NAME.findall(text)[:1])
    return sorted(name for name in found if name.startswith(incomplete))
