"""The committed protobuf code is what the definitions generate."""

from __future__ import annotations

from pathlib import Path

from gemel.protos.compile import ROOT, compile_protos


def test_generated_code_is_up_to_date(tmp_path: Path) -> None:
    compile_protos(tmp_path)
    fresh = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*_pb2*")}
    folder = ROOT / "gemel" / "protos" / "linkage" / "v1"
    committed = {path.relative_to(ROOT): path.read_bytes() for path in folder.glob("*_pb2*") if path.is_file()}
    assert fresh.keys() == committed.keys()
    stale = sorted(str(name) for name in fresh if fresh[name] != committed[name])
    assert not stale, f"run `make protos` and commit: {stale}"
