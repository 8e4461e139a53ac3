"""What custodians in this process send to Carole, and what their uploads held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gemel.common.encoding import Layout, SignatureSet, from_bytes
from gemel.common.parties import Side
from gemel.common.rpc.client import Connection
from gemel.common.wire import manifest_from_wire
from gemel.protos.linkage.v1 import contribution_pb2


def recorded(patch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Every request that is answered from now on, with its type's name; until the patch is undone."""
    sent: list[tuple[str, Any]] = []
    call = Connection.call

    def kept(self: Connection, method: Any, request: Any, **given: Any) -> Any:
        answer = call(self, method, request, **given)
        sent.append((type(request).__name__, request))
        return answer

    patch.setattr(Connection, "call", kept)
    return sent


def answered(patch: pytest.MonkeyPatch) -> list[tuple[Connection, Any, Any]]:
    """Every call that is answered from now on: its connection, request and answer; until the patch is undone."""
    calls: list[tuple[Connection, Any, Any]] = []
    call = Connection.call

    def kept(self: Connection, method: Any, request: Any, **given: Any) -> Any:
        answer = call(self, method, request, **given)
        calls.append((self, request, answer))
        return answer

    patch.setattr(Connection, "call", kept)
    return calls


def contribution(sent: list[tuple[str, Any]], side: Side) -> tuple[Layout, tuple[SignatureSet, ...]]:
    """What a custodian's messages carried."""
    begun = [
        message
        for _, message in sent
        if isinstance(message, contribution_pb2.BeginUploadRequest)
        and manifest_from_wire(message.manifest, 1 << 40, 1 << 30).side is side
    ]
    layout = manifest_from_wire(begun[0].manifest, 1 << 40, 1 << 30).layout
    chunks = {
        message.chunk.index: message.chunk.data
        for _, message in sent
        if isinstance(message, contribution_pb2.PutChunkRequest) and message.upload == begun[0].upload
    }
    return layout, from_bytes(layout, b"".join(chunks[index] for index in sorted(chunks)))


SHORTEST = 8
"""Bytes that each text of `occurring` must have."""


def occurring(texts: set[bytes], content: bytes) -> set[bytes]:
    """Which of many texts are somewhere in a content.

    Only those whose first bytes are somewhere in it are searched for: thousands of searches would take minutes.
    """
    assert all(len(text) >= SHORTEST for text in texts)
    first = {text: int.from_bytes(text[:SHORTEST], "little") for text in texts}
    starts = np.array(sorted({0, *first.values()}), dtype="<u8")
    windows = np.ndarray(max(len(content) - SHORTEST + 1, 0), "<u8", content, strides=(1,))
    at = np.searchsorted(starts, windows, side="right") - 1
    near = set(starts[np.unique(at[starts[at] == windows])].tolist())
    return {text for text in texts if first[text] in near and text in content}
