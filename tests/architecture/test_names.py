"""One name means one thing: what a package exports is never the name of one of its submodules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.tree import REPOSITORY, benchmarks, product

OUTSIDE = ("tests", "benchmarks", "research", "deploy", "docs")
"""Folders of programs that import the product."""


def test_no_package_exports_a_name_that_is_also_one_of_its_submodules() -> None:
    """``import a.b.c`` and ``from a.b import c`` would be a module and a function, by the spelling."""
    modules = product() | benchmarks()
    both = [
        f"{name}.{bound}"
        for name, module in modules.items()
        for bound in (*module.definitions, *module.imports)
        if f"{name}.{bound}" in modules and module.is_package
    ]
    assert both == []


def imported_twice(source: str, packages: set[str]) -> list[str]:
    """The product's packages that a program imports without `gemel` before them, which loads their modules again."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return [name for name in names if name.split(".")[0] in packages]


def test_programs_import_the_product_by_its_one_name() -> None:
    packages = {path.name for path in (REPOSITORY / "gemel").iterdir() if path.is_dir()} - {"__pycache__"}
    assert {"alice", "bob", "common", "carole"} <= packages
    paths: list[Path] = [path for folder in OUTSIDE for path in (REPOSITORY / folder).rglob("*.py")]
    assert len(paths) > 500
    named = re.compile(rf"\b(import|from)\s.*\b({'|'.join(packages)})\b")
    sources = {str(path): text for path in paths if named.search(text := path.read_text("utf-8"))}
    assert {path: twice for path, text in sources.items() if (twice := imported_twice(text, packages))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import alice",
        "import bob as b",
        "from alice.commands import app",
        "def f():\n  import bob",
        "a = 1; import bob",
    ],
)
def test_an_import_without_the_name_is_found(source: str) -> None:
    assert imported_twice(source, {"alice", "bob"})
    assert not imported_twice(
        source.replace("alice", "gemel.alice").replace("import bob", "import gemel.bob"), {"alice", "bob"}
    )
