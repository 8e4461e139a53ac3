"""Make `wire.binpb`: the protobuf definitions of a release, with which those of the next one are compared.

Run at a release, from the checkout's root, with

    python -m tests.vectors.make_wire
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

from gemel.protos.compile import DEFINITIONS, ROOT

PATH = Path(__file__).with_name("wire.binpb")


def write_definitions(out: Path) -> None:
    """Write this checkout's definitions as a descriptor set."""
    include = [f"-I{ROOT}", f"-I{files('grpc_tools') / '_proto'}"]
    names = [str(path.relative_to(ROOT)) for path in DEFINITIONS]
    status = protoc.main(["protoc", *include, f"--descriptor_set_out={out}", "--include_imports", *names])
    if status != 0:
        raise SystemExit(f"protoc ended with status {status}; see its message above")


if __name__ == "__main__":
    write_definitions(PATH)
