"""Where the product's packages are."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PRODUCT = {
    f"gemel.{name}": Path(name) for name in ("common", "risk", "carole", "coordinator", "alice", "bob", "protos")
}
"""Import name to folder."""
BENCHMARKS = {"benchmarks": Path("benchmarks")}
