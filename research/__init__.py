"""Experiments of the source papers done again, and studies of how often estimates hold, with their pages."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

PAGES = Path(__file__).parent


def write_page(name: str, text: str, figures: Mapping[str, str]) -> None:
    """An experiment's page, and its figures as SVG by name."""
    for file, content in {f"{name}.md": text, **{f"{figure}.svg": svg for figure, svg in figures.items()}}.items():
        (PAGES / file).write_text(content, encoding="utf-8")


def study_options(
    arguments: list[str], name: str, description: str | None, *, replicates: int, seed: int, writes: str
) -> argparse.Namespace:
    """``--replicates``, ``--seed`` and ``--write``, with their defaults and what is written."""
    parser = argparse.ArgumentParser(prog=f"python -m research {name}", description=description)
    parser.add_argument("--replicates", type=int, default=replicates)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--write", action="store_true", help=f"write {writes}")
    return parser.parse_args(arguments)
