"""Conversion between internal data and wire messages: manifests, sides, chunks, checkpoints, row handles."""

from gemel.common.wire.chunks import CHUNK_BYTES, chunk_count, chunk_size, chunk_slices, missing_ranges, root_digest
from gemel.common.wire.manifest import Manifest, manifest_from_wire, manifest_to_wire
from gemel.common.wire.parties import side_from_wire, side_to_wire

__all__ = [
    "CHUNK_BYTES",
    "Manifest",
    "chunk_count",
    "chunk_size",
    "chunk_slices",
    "manifest_from_wire",
    "manifest_to_wire",
    "missing_ranges",
    "root_digest",
    "side_from_wire",
    "side_to_wire",
]
