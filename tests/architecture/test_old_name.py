"""The project's former name is left nowhere but in the changelog."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORMER = "tsyrt"[::-1]
MADE = {"__pycache__", "build", "dist", "site", "node_modules"}
"""Folders that no one writes by hand; hidden ones are not looked at either, but for `.ci`."""


def files() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name == ".ci" or not (name.startswith(".") or name in MADE or "egg-info" in name)
        ]
        yield from (Path(folder, name) for name in names if Path(folder, name) != ROOT / "CHANGELOG.md")


def test_no_file_has_the_former_name_in_its_path_or_its_content() -> None:
    found = list(files())
    assert len(found) > 1_000
    assert [path for path in found if FORMER in str(path.relative_to(ROOT)).lower()] == []
    assert [path for path in found if FORMER.encode() in path.read_bytes().lower()] == []
