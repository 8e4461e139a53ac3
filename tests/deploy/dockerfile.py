"""deploy/Dockerfile, read: its stages, what each copies, and what of the repository ends up in a target."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.architecture.tree import PRODUCT
from tests.deploy.sites import DEPLOY, REPOSITORY

OWN = ("gemel", *(str(folder) for folder in PRODUCT.values()))
NAMESPACES = {"google": "protobuf", "opentelemetry": "opentelemetry-api"}
"""Packages that several distributions share, and the one of them that is no extra."""
NOT_SHIPPED_TOOLS = ("protos/compile.py",)
"""Run by developers only; what it imports need not be there."""
NOT_OF_SERVICES = ("console/",)
"""Of consoles in a browser, which no service starts: what it imports is in the extra `console`."""


@dataclass
class Stage:
    """One stage: what it is built on, and its instructions in order."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def of(self, instruction: str) -> list[str]:
        """Arguments of every such instruction."""
        return [arguments for name, arguments in self.instructions if name == instruction]


def stages(path: Path = DEPLOY / "Dockerfile") -> dict[str, Stage]:
    """The stages by name."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("#"))
    found: dict[str, Stage] = {}
    current: Stage | None = None
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if not line.strip():
            continue
        instruction, _, arguments = line.strip().partition(" ")
        arguments = " ".join(arguments.split())
        if instruction == "FROM":
            base, name = re.fullmatch(r"(\S+) AS (\S+)", arguments).groups()  # type: ignore[union-attr]
            current = found[name] = Stage(name, base)
        elif current is not None:
            current.instructions.append((instruction, arguments))
    return found


def lineage(found: dict[str, Stage], name: str) -> list[Stage]:
    """A stage and those it is built on, the last first."""
    stage = found.get(name)
    return [] if stage is None else [stage, *lineage(found, stage.base)]


def copied(found: dict[str, Stage], target: str) -> dict[str, str]:
    """What a target takes from the repository: path there, to path in the build folder; through its build stage too."""
    paths: dict[str, str] = {}
    for stage in lineage(found, target):
        for arguments in stage.of("COPY"):
            *options, last = shlex.split(arguments)
            if options[0].startswith("--from="):
                paths |= copied(found, options[0].removeprefix("--from="))
                continue
            for source in options:
                into = last.removeprefix("./")
                whole = source.endswith("/") or not last.endswith("/")
                paths[source.rstrip("/")] = into.rstrip("/") if whole else into + Path(source).name
    return paths


def python_files(paths: Iterable[str]) -> Iterator[Path]:
    """The repository's Python files under some of its paths, relative to it."""
    for path in paths:
        whole = REPOSITORY / path
        for file in sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]:
            relative = file.relative_to(REPOSITORY)
            apart = str(relative) in NOT_SHIPPED_TOOLS or str(relative).startswith(NOT_OF_SERVICES)
            if file.suffix == ".py" and not apart:
                yield relative


@cache
def imports(file: Path) -> frozenset[str]:
    """Every module that a file of the repository imports, anywhere in it; of `from a import b` also ``a.b``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def module(file: Path) -> str:
    """The name by which a file of the repository is imported."""
    name = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
    return name if name.startswith("gemel") else f"gemel.{name}"


def distributions(files: Iterable[Path]) -> set[str]:
    """Third-party distributions that files import, in lower case."""
    tops = {name.partition(".")[0] for file in files for name in imports(file)}
    known = packages_distributions()
    third = tops - set(sys.stdlib_module_names) - set(OWN)
    return {NAMESPACES.get(top, known[top][0].lower().replace("_", "-")) for top in third}


def requirements(path: Path) -> set[str]:
    """Names in a requirements file, in lower case."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return {line.lower() for line in lines if line}
