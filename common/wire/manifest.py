"""A contribution's manifest: its purpose and its layout, checked before any of it is used."""

from __future__ import annotations

from dataclasses import dataclass

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.common.parties import Side
from gemel.common.signatures.intervals import Interval
from gemel.common.signatures.layout import CODES, KNOWN, Content, FieldLayout, Layout, SetLayout, VariableLayout
from gemel.common.wire.parties import side_from_wire, side_to_wire
from gemel.protos.linkage.v1 import contribution_pb2

VERSION = 1
PARTIES = 3
MAX_SEALED_SEEDS = 4096
"""Bytes of what is sealed to one compute party: a header, two secrets, their digests and a signature."""

_CONTENT: dict[Content, contribution_pb2.FieldContent] = {
    "signatures": contribution_pb2.FIELD_CONTENT_UNSPECIFIED,
    "values": contribution_pb2.FIELD_CONTENT_VALUES,
    "fixed": contribution_pb2.FIELD_CONTENT_FIXED,
    "shared": contribution_pb2.FIELD_CONTENT_SHARED,
    "withheld": contribution_pb2.FIELD_CONTENT_WITHHELD,
}
_CONTENT_OF = {number: content for content, number in _CONTENT.items()}


@dataclass(frozen=True)
class Manifest:
    """The purpose of a contribution, and its layout."""

    project: str
    side: Side
    epoch: int
    """Whose upload this is, under which agreed seed."""
    encoding_digest: bytes
    """SHA-256 of everything that decides the signatures, 32 bytes."""
    key_check_value: bytes
    """8 bytes that identify the seed, and reveal nothing else of it."""
    layout: Layout
    sealed_seeds: tuple[bytes, ...] = ()
    """In mode shared, for each compute party by its number what its shares are opened by (`share_headers`); otherwise
    none."""


def manifest_to_wire(manifest: Manifest) -> contribution_pb2.Manifest:
    sets = [
        contribution_pb2.SetLayout(
            rule=part.rule,
            rows=part.rows,
            fields=[
                contribution_pb2.FieldLayout(
                    name=field.name, bits=field.bits, distinct=field.distinct, content=_CONTENT[field.content]
                )
                for field in part.fields
            ],
            block_rules=part.blocks,
            variables=[
                contribution_pb2.VariableLayout(name=variable.name, categories=variable.categories)
                for variable in part.variables
            ],
            interval=part.interval.number,
            intervals=part.interval.of if part.interval.of > 1 else 0,
            tag_rules=part.tags or (),
        )
        for part in manifest.layout.sets
    ]
    return contribution_pb2.Manifest(
        version=VERSION,
        project=manifest.project,
        side=side_to_wire(manifest.side),
        encoding_digest=manifest.encoding_digest,
        epoch=manifest.epoch,
        sets=sets,
        key_check_value=manifest.key_check_value,
        records=manifest.layout.records,
        sealed_seeds=manifest.sealed_seeds,
    )


def _content(field: contribution_pb2.FieldLayout) -> Content:
    found = _CONTENT_OF.get(field.content)
    if found is None:
        where = "manifest.sets.fields.content"
        what = "a field must hold signatures or values"
        raise parameter(where, what, f"content {field.content}", "run the same version of Gemel on both sides")
    return found


def manifest_from_wire(message: contribution_pb2.Manifest, max_bytes: int, max_rows: int) -> Manifest:
    """Read and bound a manifest from another party.

    Raises PARAMETER for another version or a malformed digest; UPLOAD_LIMIT if the layout is out of bounds, or if its
    payload would be longer than `max_bytes` or a set would have more than `max_rows` rows.
    """
    if message.version != VERSION:
        what = f"a manifest must be of version {VERSION}"
        raise parameter("manifest.version", what, str(message.version), "run the same version of Gemel on both sides")
    if len(message.encoding_digest) != 32 or len(message.key_check_value) != 8:
        what = "an encoding digest must have 32 bytes and a key-check value 8"
        raise parameter("manifest", what, f"{len(message.encoding_digest)} and {len(message.key_check_value)}")
    shares = contribution_pb2.FIELD_CONTENT_SHARED
    shared = any(field.content == shares for part in message.sets for field in part.fields)
    layout = Layout(
        tuple(
            SetLayout(
                part.rule,
                part.rows,
                tuple(FieldLayout(field.name, field.bits, field.distinct, _content(field)) for field in part.fields),
                tuple(part.block_rules),
                tuple(VariableLayout(variable.name, variable.categories) for variable in part.variables),
                Interval(part.interval, part.intervals or 1),
                _tags(part, shared=shared),
            )
            for part in message.sets
        ),
        message.records,
    )
    layout.validate()
    _check_seeds(message, layout)
    rows = max(layout.records, *layout.rule_rows.values())
    if rows > max_rows or layout.total_bytes > max_bytes:
        what = f"an upload may have at most {max_rows} rows and {max_bytes} bytes"
        got = f"{rows} rows and {layout.total_bytes} bytes"
        remedy = "ask Carole's operator to raise the limits, or use fewer signature bits"
        raise GemelError(ErrorCode.UPLOAD_LIMIT, what, where="manifest", got=got, remedy=remedy)
    return Manifest(
        message.project,
        side_from_wire(message.side),
        message.epoch,
        message.encoding_digest,
        message.key_check_value,
        layout,
        tuple(message.sealed_seeds),
    )


def _tags(part: contribution_pb2.SetLayout, *, shared: bool) -> tuple[str, ...] | None:
    """The tags of a set, which in mode shared every set of rows and samples has, even if there are none."""
    rows = shared and part.rule not in (CODES, *KNOWN)
    return tuple(part.tag_rules) if rows or part.tag_rules else None


def _check_seeds(message: contribution_pb2.Manifest, layout: Layout) -> None:
    """What is sealed to the compute parties is there in mode shared, and nowhere else; its contents are theirs."""
    lengths = [len(sealed) for sealed in message.sealed_seeds]
    expected = PARTIES if layout.is_shared else 0
    if len(lengths) != expected or not all(0 < length <= MAX_SEALED_SEEDS for length in lengths):
        raise parameter(
            "manifest.sealed_seeds",
            f"a manifest of {'shares' if expected else 'signatures'} has {expected} sealed seeds of at most"
            f" {MAX_SEALED_SEEDS} bytes",
            f"{len(lengths)}, the longest of {max(lengths, default=0)} bytes",
            "run the same version of Gemel on both sides",
        )
