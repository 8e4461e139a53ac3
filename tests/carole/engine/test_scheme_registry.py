"""The schemes are a registry: what depends on one reads its facts, and a new one is an entry in each of two modules."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import gemel
from gemel.carole.fellegi_sunter.schemes import SCHEMES
from gemel.common.specification.model import schemes as known
from tests.architecture.tree import PRODUCT

ROOT = Path(gemel.__file__).parent
HOMES = ("common/specification/model/schemes.py", "carole/fellegi_sunter/schemes.py")
OF_SCHEMES_ONLY = set(known.SCHEMES) - {"exact"}  # a table of levels and others have this name too


def test_the_facts_and_the_computations_are_of_the_same_schemes():
    assert list(SCHEMES) == list(known.SCHEMES)
    assert all(scheme.facts is known.SCHEMES[name] for name, scheme in SCHEMES.items())
    assert known.DEFAULT_SCHEME in SCHEMES


def named(code: str) -> list[int]:
    """Lines that have a scheme's name, or compare what is called a scheme with one."""
    lines = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and node.value in OF_SCHEMES_ONLY:
            lines.append(node.lineno)
        if isinstance(node, ast.Compare) and "scheme" in ast.unparse(node):
            constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            if constants & set(known.SCHEMES):
                lines.append(node.lineno)
    return sorted(lines)


def test_no_other_module_names_or_compares_a_scheme():
    assert named('x = fit("lr_weighted")\ny = plan.scheme in ("exact", "other")\nz = levels == "exact"') == [1, 2]
    modules = [path for top in PRODUCT.values() for path in (ROOT / top).rglob("*.py")]
    assert len(modules) > 300
    words = {"scheme", *OF_SCHEMES_ONLY}
    found = set()
    for path in modules:
        code = path.read_text(encoding="utf-8")
        if any(word in code for word in words) and named(code):
            found.add(path.relative_to(ROOT).as_posix())
    assert found <= set(HOMES)


def test_a_scheme_is_added_in_two_modules():
    done = subprocess.run(
        [sys.executable, "-m", "tests.carole.engine.added_scheme"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
