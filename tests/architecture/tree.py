"""Where the product's packages are, and their syntax, read once a session."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.architecture.reachability import Module, read_tree

REPOSITORY = Path(__file__).parents[2]
PRODUCT = {
    f"gemel.{name}": Path(name)
    for name in (
        "common",
        "party",
        "records",
        "serving",
        "custodian",
        "risk",
        "carole",
        "shared",
        "coordinator",
        "console",
        "alice",
        "bob",
        "protos",
    )
}
"""Import name to folder."""
BENCHMARKS = {name: Path(name) for name in ("benchmarks", "research")}


@cache
def product() -> dict[str, Module]:
    """The product's modules by dotted name."""
    modules = read_tree(REPOSITORY, PRODUCT)
    for name in ("command", "ended_in_order"):
        modules[f"gemel.{name}"] = Module(f"gemel.{name}", REPOSITORY / "gemel" / f"{name}.py")
    return modules


@cache
def benchmarks() -> dict[str, Module]:
    """The benchmarks' modules by dotted name."""
    return read_tree(REPOSITORY, BENCHMARKS)
