"""What processes side by side need is compiled by one of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from tests import compiled_once

KERNEL = """
import numba

@numba.njit(cache=True)
def doubled(number):
    return doubled(number - 1) + 2 if number > 0 else 0
"""
PROGRAM = """
import json, sys, numba
from tests.compiled_once import share_kernels
share_kernels()
sys.path.insert(0, sys.argv[1])
from kernel import doubled
print("ready", flush=True)
sys.stdin.readline()
assert doubled(4) == 8
print(json.dumps([sum(doubled.stats.cache_misses.values()), sum(doubled.stats.cache_hits.values())]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are shared on Linux alone")
def test_of_two_processes_one_compiles_a_kernel_and_the_other_loads_it(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=compiled_once.ROOT,
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    counts = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert sorted(counts) == [[0, 1], [1, 0]]


def test_a_test_is_compiled_as_pytest_would(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "test_new.py"
    path.write_text("def test_new():\n    assert 1 + 1 == 2\n")
    monkeypatch.setattr(compiled_once, "_config", [request.config])
    compiled_once._compile_test(path)
    compiled = rewrite.get_cache_dir(path) / f"test_new{rewrite.PYC_TAIL}"
    assert rewrite._read_pyc(path, compiled) is not None


def test_a_module_is_compiled_where_it_is_imported_from() -> None:
    imported = compiled_once._imported_path(compiled_once.ROOT / "common" / "errors.py")
    assert imported == compiled_once.ROOT / "gemel" / "common" / "errors.py"
    assert compiled_once._imported_path(Path(__file__)) == Path(__file__)
