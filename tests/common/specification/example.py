"""The text of a specification with something of everything."""

from __future__ import annotations

from pathlib import Path

EXAMPLE = Path(__file__).with_name("example.yaml").read_text(encoding="utf-8")
