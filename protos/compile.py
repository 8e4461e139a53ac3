"""Generate the Python code of the wire: ``python -m gemel.protos.compile [OUT]``; into the tree itself by default.

Run it after changing a ``.proto`` file and commit what it writes; a test compares the two.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
DEFINITIONS = sorted((ROOT / "gemel" / "protos" / "linkage" / "v1").glob("*.proto"))


def compile_protos(out: Path) -> None:
    """Write messages, type stubs and gRPC stubs of every definition below `out`."""
    google = str(files("grpc_tools") / "_proto")
    arguments = [
        "protoc",
        f"-I{ROOT}",
        f"-I{google}",
        f"--python_out={out}",
        f"--pyi_out={out}",
        f"--grpc_python_out={out}",
    ]
    status = protoc.main([*arguments, *(str(path.relative_to(ROOT)) for path in DEFINITIONS)])
    if status != 0:
        raise SystemExit(f"protoc ended with status {status}; see its message above")


if __name__ == "__main__":
    compile_protos(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
