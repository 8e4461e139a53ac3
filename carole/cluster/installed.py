"""What decides the numbers that a process computes: Gemel's own code, and the packages that compute with it.

Two processes that have the same get the same counts and pairs, bit for bit. A version says too little of an
installation from a checkout, so Gemel's code is compared by the digest of its files.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import gemel

PACKAGES = ("cryptography", "dask", "distributed", "numba", "numpy", "scipy")

PARTS = ("carole/blocking", "carole/cluster", "carole/comparison", "carole/engine", "carole/store", "common/signatures")
"""Folders of Gemel's code whose digest is compared."""

DIGITS = 12
"""Of the digest, as it is shown."""


@cache
def installed() -> Mapping[str, str]:
    """What this process has, by name: Python, Gemel and the packages."""
    found = {"python": platform.python_version(), "gemel": f"{_version('gemel')} {_digest()[:DIGITS]}"}
    return found | {package: _version(package) for package in PACKAGES}


def differences(mine: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What another process has otherwise, as text; empty if nothing."""
    return ", ".join(
        f"{name} {other.get(name, 'missing')} instead of {mine.get(name, 'none')}"
        for name in sorted({*mine, *other})
        if mine.get(name) != other.get(name)
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _digest() -> str:
    root = Path(gemel.__file__).parent
    digest = hashlib.sha256()
    for part in PARTS:
        for file in sorted((root / part).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
