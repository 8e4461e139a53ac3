"""Nothing tells anyone to install this project by its bare name: on a package index that may be another party's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gemel.common.missing_module import EXTRAS, installing
from tests.architecture.wording import FOLDERS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BY_NAME = re.compile(
    rf"(?:pip|pipx|uv|uvx|poetry|conda)\s(?:[\w-]+\s+)*['\"]?{PROJECT['name']}(?![\w./-])|{PROJECT['name']}\[[\w,]+\]"
)


@pytest.mark.parametrize(
    ("text", "by_name"),
    [
        (f"pip install {PROJECT['name']}", True),
        (f"python -m pip install --upgrade '{PROJECT['name']}'", True),
        (f"needs `{PROJECT['name']}[cluster]`", True),
        ("pip install '.[report]'", False),
        (f"/opt/{PROJECT['name']}/bin/pip install --no-deps /opt/{PROJECT['name']}/source", False),
    ],
)
def test_what_counts(text: str, by_name: bool) -> None:
    assert bool(BY_NAME.search(text)) == by_name


def test_nothing_is_installed_by_name() -> None:
    paths = [*ROOT.glob("*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    kinds = {
        ".md",
        ".py",
        ".yaml",
        ".yml",
        ".j2",
        ".sql",
        ".po",
        ".ipynb",
        ".sh",
        ".service",
        ".txt",
        ".toml",
        ".json",
        "",
    }
    named = ("CHANGELOG.md", "pyproject.toml")  # the extras of developers name the package themselves
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in paths
        if path.is_file() and path.suffix in kinds and path.name not in named and path != Path(__file__)
        for match in BY_NAME.finditer(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert not found


def test_remedies_name_extras_that_there_are() -> None:
    assert set(EXTRAS.values()) <= set(PROJECT["optional-dependencies"])
    assert "'.[report]'" in installing("report")
