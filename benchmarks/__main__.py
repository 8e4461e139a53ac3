"""`python -m benchmarks NAME [OPTIONS]` runs one benchmark; without a name it lists them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def modules(package: str, folder: Path) -> dict[str, str]:
    """The programs of a package by name: its public modules and packages."""
    found = pkgutil.iter_modules([str(folder)])
    return {each.name: f"{package}.{each.name}" for each in found if not each.name.startswith("_")}


def run(package: str, folder: Path, arguments: list[str]) -> int:
    """Run the program named first with the arguments that follow."""
    found = modules(package, folder)
    if not arguments or arguments[0] not in found:
        print(f"usage: python -m {package} NAME [--help]\n")
        for name, module in sorted(found.items()):
            summary = (importlib.import_module(module).__doc__ or "").splitlines()[0]
            print(f"  {name:10s} {summary}")
        return 0 if not arguments or arguments[0] in ("-h", "--help") else 2
    status = importlib.import_module(found[arguments[0]]).main(arguments[1:])
    return int(status)


if __name__ == "__main__":
    sys.exit(run("benchmarks", Path(__file__).parent, sys.argv[1:]))
