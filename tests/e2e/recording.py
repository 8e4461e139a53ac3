"""What custodians in this process send to Carole, and what their uploads held."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.common.parties import Side
from gemel.common.rpc.client import Connection
from gemel.common.signatures.layout import Layout
from gemel.common.signatures.payload import from_bytes
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.wire.manifest import manifest_from_wire
from gemel.protos.linkage.v1 import contribution_pb2, resolution_pb2
from tests.e2e.deployment import Deployment, pairs_of


class Calls(list[tuple[Connection, Any, Any]]):
    """Calls of this process that were answered: connection, request and answer of each."""

    def requests(self, *kinds: type) -> list[Any]:
        return [request for _, request, _ in self if not kinds or isinstance(request, kinds)]

    def sent(self, *kinds: type) -> bytes:
        """What went over the wire with them."""
        return b"\0".join(request.SerializeToString() for request in self.requests(*kinds))


def recorded(patch: pytest.MonkeyPatch) -> Calls:
    """Every call that is answered from now on; until the patch is undone."""
    calls = Calls()
    call = Connection.call

    def kept(self: Connection, method: Any, request: Any, **given: Any) -> Any:
        answer = call(self, method, request, **given)
        calls.append((self, request, answer))
        return answer

    patch.setattr(Connection, "call", kept)
    return calls


def contribution(calls: Calls, side: Side, project: str | None = None) -> tuple[Layout, tuple[SignatureSet, ...]]:
    """What a custodian's messages carried: of its first upload, or of that for a project."""
    manifests = {
        message.upload: manifest_from_wire(message.manifest, 1 << 40, 1 << 30)
        for message in calls.requests(contribution_pb2.BeginUploadRequest)
    }
    upload, layout = next(
        (upload, each.layout)
        for upload, each in manifests.items()
        if each.side is side and project in (None, each.project)
    )
    chunks = {
        message.chunk.index: message.chunk.data
        for message in calls.requests(contribution_pb2.PutChunkRequest)
        if message.upload == upload
    }
    return layout, from_bytes(layout, b"".join(chunks[index] for index in sorted(chunks)))


@dataclass(frozen=True)
class Recorded:
    """A finished linkage, and what both custodians sent for it."""

    layouts: dict[Side, Layout]
    sets: dict[Side, tuple[SignatureSet, ...]]
    tables: dict[Side, dict[str, pl.DataFrame]]
    """What each received, by the names of the files."""
    shown_links: dict[Side, int]
    reported_rows: dict[Side, int]
    statistics: dict[str, Any]
    artifacts: list[Any]

    @property
    def links(self) -> set[tuple[str, str]]:
        """Pairs of identifiers, by the links' common names."""
        return pairs_of({side: self.tables[side]["links"] for side in Side})


def recorded_linkage(made: Deployment, text: str) -> Recorded:
    """Link by a specification; both custodians' services are in this process."""
    with pytest.MonkeyPatch.context() as patch:
        calls = recorded(patch)
        project, status = made.link(text)
    own = dict(zip(Side, (contribution(calls, side) for side in Side), strict=True))
    shown = {side: made.shown(side, project) for side in Side}
    tables = {
        side: {path.stem: pl.read_parquet(path) for path in Path(shown[side].results).glob("*.parquet")}
        for side in Side
    }
    return Recorded(
        {side: layout for side, (layout, _) in own.items()},
        {side: sets for side, (_, sets) in own.items()},
        tables,
        {side: shown[side].links for side in Side},
        dict(zip(Side, (each.rows for each in made.status(project).contributions), strict=True)),
        made.coordinator.statistics(project, status.run).plain(),
        calls.requests(resolution_pb2.PutArtifactRequest),
    )


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
