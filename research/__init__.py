"""Experiments of the source papers done again, and studies of how often estimates hold, with their pages."""

from __future__ import annotations

import argparse
from pathlib import Path

PAGES = Path(__file__).parent
"""Where an experiment writes its page."""


def study_options(
    arguments: list[str], name: str, description: str | None, *, replicates: int, seed: int, writes: str
) -> argparse.Namespace:
    """``--replicates``, ``--seed`` and ``--write``, with their defaults and what is written."""
    parser = argparse.ArgumentParser(prog=f"python -m research {name}", description=description)
    parser.add_argument("--replicates", type=int, default=replicates)
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--write", action="store_true", help=f"write {writes}")
    return parser.parse_args(arguments)
