"""`python -m benchmarks NAME [OPTIONS]` runs one benchmark; without a name it lists them."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def modules() -> dict[str, str]:
    """The benchmarks by name: the public modules of this package, and of `benchmarks.papers` the experiments redone."""
    here = Path(__file__).parent
    found = {}
    for package, folder in (("benchmarks", here), ("benchmarks.papers", here / "papers")):
        for module in pkgutil.iter_modules([str(folder)]):
            if not module.ispkg and not module.name.startswith("_"):
                found[module.name] = f"{package}.{module.name}"
    return dict(sorted(found.items()))


def main(arguments: list[str]) -> int:
    """Run the benchmark named first with the arguments that follow."""
    found = modules()
    if not arguments or arguments[0] not in found:
        print("usage: python -m benchmarks NAME [--help]\n")
        for name, module in found.items():
            summary = (importlib.import_module(module).__doc__ or "").splitlines()[0]
            print(f"  {name:10s} {summary}")
        return 0 if not arguments or arguments[0] in ("-h", "--help") else 2
    status = importlib.import_module(found[arguments[0]]).main(arguments[1:])
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
