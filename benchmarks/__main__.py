"""`python -m benchmarks NAME [OPTIONS]` runs one benchmark; without a name it lists them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    """The benchmarks: this package's public modules."""
    found = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in found if not module.name.startswith("_"))


def main(arguments: list[str]) -> int:
    """Run the benchmark named first with the arguments that follow."""
    if not arguments or arguments[0] not in names():
        print("usage: python -m benchmarks NAME [--help]\n")
        for name in names():
            summary = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").splitlines()[0]
            print(f"  {name:10s} {summary}")
        return 0 if not arguments or arguments[0] in ("-h", "--help") else 2
    status = importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
