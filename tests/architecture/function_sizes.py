"""The product's longest and most branching functions: ``python -m tests.architecture.function_sizes``.

A line each: lines, lines without the docstring, cyclomatic complexity, place and name; the longest first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import PRODUCT, REPOSITORY

LINES, COMPLEXITY = 80, 10
"""Listed is what is longer, or more complex."""

_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case)


def functions(path: Path) -> Iterator[tuple[int, int, int, str]]:
    """Size and complexity of each function of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        first = node.body[0]
        documented = ast.get_docstring(node) is not None
        docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
        inner = list(ast.walk(node))
        operators = sum(len(each.values) - 1 for each in inner if isinstance(each, ast.BoolOp))
        complexity = 1 + operators + sum(isinstance(each, _BRANCHES) for each in inner)
        yield length, length - docstring, complexity, f"{path.relative_to(REPOSITORY)}:{node.lineno} {node.name}"


def main() -> None:
    """Print the list."""
    paths = (path for folder in PRODUCT.values() for path in (REPOSITORY / folder).rglob("*.py"))
    found = [each for path in paths if "_pb2" not in path.stem for each in functions(path)]
    for length, code, complexity, name in sorted(found, reverse=True):
        if length > LINES or complexity > 2 * COMPLEXITY:
            print(f"{length:4d} {code:4d} {complexity:4d}  {name}")


if __name__ == "__main__":
    main()
