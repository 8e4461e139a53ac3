"""Processes of tests that run side by side compile everything once: modules before the workers start, a kernel where it
is called first.

In a clean checkout each worker would compile all modules at its start, since all start at once; and each worker and
each program that tests fork would compile the kernels of the same computations.
"""

from __future__ import annotations

import compileall
import fcntl
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (*(path.name for path in (ROOT / "gemel").iterdir() if path.is_symlink()), "gemel", "tests", "benchmarks")


def compile_modules(config: pytest.Config) -> None:
    """Compile the modules of which no compiled form is there, tests as pytest does; on all processors."""
    if sys.dont_write_bytecode or sys.platform != "linux":
        return
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    patterns = config.getini("python_files")
    tests = [path for path in files if path.name == "conftest.py" or any(map(path.match, patterns))]
    # pytest has imported its own part of both by now; a fork has what it needs.
    with ProcessPoolExecutor(mp_context=get_context("fork"), initializer=_begin, initargs=(config,)) as pool:
        list(pool.map(_compile_test, tests, chunksize=20))
        list(pool.map(_compile_module, sorted(set(files) - set(tests)), chunksize=20))


_config: list[pytest.Config] = []


def _begin(config: pytest.Config) -> None:
    _config.append(config)


def _compile_module(path: Path) -> None:
    compileall.compile_file(_imported_path(path), quiet=2)


def _imported_path(path: Path) -> Path:
    """By which a module is imported: `gemel` has links to the folders."""
    link = ROOT / "gemel" / path.relative_to(ROOT)
    return link if link.exists() else path


def _compile_test(path: Path) -> None:
    compiled = rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
    state = _config[0].stash[rewrite.assertstate_key]
    if rewrite._read_pyc(path, compiled, state.trace) is None:
        stat, code = rewrite._rewrite_test(path, _config[0])
        rewrite.try_makedirs(compiled.parent)
        rewrite._write_pyc(state, code, stat, compiled)


def share_kernels() -> None:
    """Let this process and its forks compile a kernel only while no other process does; then it is in Numba's cache."""
    dispatcher = sys.modules.get("numba.core.dispatcher")
    if sys.platform != "linux" or dispatcher is None or hasattr(dispatcher.Dispatcher.compile, "alone"):
        return
    from numba.core.compiler_lock import global_compiler_lock

    compiled = dispatcher.Dispatcher.compile

    def compile_alone(self: Any, sig: Any) -> Any:
        if not hasattr(self._cache, "_cache_file"):  # it is not kept
            return compiled(self, sig)
        # Numba's own lock first: of two threads each would else wait for what the other has.
        with global_compiler_lock, _alone(Path(self._cache._cache_file._index_path)):
            return compiled(self, sig)

    compile_alone.alone = True  # type: ignore[attr-defined]
    dispatcher.Dispatcher.compile = compile_alone


_held: set[Path] = set()
"""What this process compiles now: a kernel that calls itself, or a second form of one, waits for no one."""


@contextmanager
def _alone(index: Path) -> Iterator[None]:
    """While no other process is in here with the same index; such a lock ends with its process, and no fork has it."""
    if index in _held:
        yield
        return
    index.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(index.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        _held.add(index)
        yield
    finally:
        _held.discard(index)
        os.close(descriptor)
