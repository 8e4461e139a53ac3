"""The generated wire code is what the definitions make, and compatible with the release before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet

from gemel.protos.compile import ROOT, compile_protos
from tests.vectors.make_wire import PATH as FORMER
from tests.vectors.make_wire import write_definitions

RULES = '{"version": "v2", "breaking": {"use": ["WIRE", "RPC_NO_DELETE", "SERVICE_NO_DELETE"]}}'

pytest.importorskip("buf_bin", reason="buf-bin is not installed: make .venv/dev")


def broken(now: Path) -> str:
    """What a reader of the former definitions would misread or miss; empty for nothing."""
    buf = Path(sys.executable).with_name("buf")
    command = [buf, "breaking", now, "--against", FORMER, "--config", RULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 100), done.stderr
    return done.stdout


def test_the_former_release_reads_the_messages_of_this_one(tmp_path: Path) -> None:
    write_definitions(tmp_path / "now.binpb")
    assert broken(tmp_path / "now.binpb") == ""


def message(found: FileDescriptorSet, name: str) -> DescriptorProto:
    return next(each for file in found.file for each in file.message_type if each.name == name)


def state(found: FileDescriptorSet) -> EnumDescriptorProto:
    return next(each for file in found.file for each in file.enum_type if each.name == "RunState")


def renumbered(found: FileDescriptorSet) -> None:
    message(found, "Chunk").field[4].number = 6


def retyped(found: FileDescriptorSet) -> None:
    message(found, "Chunk").field[0].type = FieldDescriptorProto.TYPE_STRING


def without_a_method(found: FileDescriptorSet) -> None:
    (custody,) = [each for file in found.file for each in file.service if each.name == "Custody"]
    del custody.method[0]


def without_a_value(found: FileDescriptorSet) -> None:
    del state(found).value[-1]


@pytest.mark.parametrize("change", [renumbered, retyped, without_a_method, without_a_value])
def test_a_change_that_breaks_the_wire_is_found(change: Callable[[FileDescriptorSet], None], tmp_path: Path) -> None:
    found = FileDescriptorSet.FromString(FORMER.read_bytes())
    change(found)
    (tmp_path / "changed.binpb").write_bytes(found.SerializeToString())
    assert broken(tmp_path / "changed.binpb")


def test_generated_code_is_up_to_date(tmp_path: Path) -> None:
    compile_protos(tmp_path)
    fresh = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*_pb2*")}
    folder = ROOT / "gemel" / "protos" / "linkage" / "v1"
    committed = {path.relative_to(ROOT): path.read_bytes() for path in folder.glob("*_pb2*") if path.is_file()}
    assert fresh.keys() == committed.keys()
    stale = sorted(str(name) for name in fresh if fresh[name] != committed[name])
    assert not stale, f"run `make protos` and commit: {stale}"
