"""The base installation has no renderer of charts: commands that draw name the extra to install, all others work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"altair", "jinja2", "vl_convert"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""
MODULES = """
import importlib, json, pathlib, gemel
root = pathlib.Path(gemel.__file__).parent
missing, count = [], 0
for top in sorted(path for path in root.iterdir() if path.is_dir()):
    for file in sorted(top.rglob("*.py")):
        parts = ("gemel", *file.relative_to(root).with_suffix("").parts)
        if parts[-1] == "__main__" or parts[-2:] == ("protos", "compile"):
            continue
        name = ".".join(parts).removesuffix(".__init__")
        try:
            importlib.import_module(name)
            count += 1
        except ModuleNotFoundError as error:
            missing.append(name)
print(json.dumps([count, missing]))
"""
COMMAND = """
sys.argv[0] = "gemel"
from gemel.command import main
main()
"""


def run(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        check=False,
    )


@pytest.mark.long
def test_every_module_is_imported(tmp_path: Path) -> None:
    done = run(MODULES, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    count, missing = json.loads(done.stdout)
    assert missing == []
    assert count > 400


@pytest.mark.long
def test_only_reports_need_the_extra(tmp_path: Path) -> None:
    done = run(WITHOUT + MODULES, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in json.loads(done.stdout)[1]:
        consoles = ("gemel.coordinator.", "gemel.console.")
        assert "report" in name or name.startswith(consoles), name


@pytest.mark.parametrize("typed", ["demo --people 20 --out out", "risk tables table.csv --out report.html"])
def test_a_command_that_draws_names_the_extra_to_install(typed: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("sex,work,count\nf,yes,3\nf,no,1\nm,yes,2\nm,no,4\n")
    done = run(WITHOUT + COMMAND, *typed.split(), folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "pip install '.[report]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
