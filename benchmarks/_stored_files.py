"""Two contributions of mode block_keyed in a store of Carole's, as a run reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from gemel.carole.engine import Contribution
from gemel.carole.projects.project import Grant, KeyReport, Policy
from gemel.carole.store import Store
from gemel.carole.store.provision import initialise
from gemel.carole.store.registry import NewProject
from gemel.carole.store.store import milliseconds
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Role, Side
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.wire.chunks import Chunk, chunk_slices, root_digest

PROJECT = "stored"
_DIGEST = b"\1" * 32


class StoredFiles:
    """A store with the contributions of both custodians.

    Attributes
    ----------
    blobs, keys
        The folder, and the keys that wrap its data keys.
    total_bytes, sets
        Of both contributions: bytes, and sets.
    """

    def __init__(self, folder: Path, sets: Sequence[tuple[SignatureSet, ...]], n_records: int) -> None:
        self.blobs, self.keys = folder / "blobs", WrappingKeys.create()
        identity = Identity(IdentityKey.create())
        places = f"sqlite:///{folder}/carole.db", self.blobs
        initialise(*places, identity, milliseconds)
        self._store = Store(*places, Vault(self.keys), identity)
        self._store.recover()
        self._key_project()
        self.total_bytes = self.sets = 0
        for side, of_side in zip(Side, sets, strict=True):
            self._contribute(side, of_side, n_records)

    def contributions(self) -> tuple[Contribution, Contribution]:
        """Of Alice and of Bob."""
        a, b = (Contribution(self._store.uploads.open(PROJECT, side)) for side in Side)
        return a, b

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _key_project(self) -> None:
        grants = {Role.CUSTODIAN_A: Grant.LINKS, Role.CUSTODIAN_B: Grant.LINKS, Role.COORDINATOR: Grant.STATISTICS}
        new = NewProject(PROJECT, "a specification", _DIGEST, b"\2" * 32, grants, Policy.NONE, 7, 30)
        self._store.projects.create(new, "coordinator")
        for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B):
            self._store.projects.approve(PROJECT, role, str(role), _DIGEST, b"s" * 64)
        for side in Side:
            self._store.projects.report_keys(PROJECT, side, str(side), 1, KeyReport(b"k" * 8, b"c" * 32))

    def _contribute(self, side: Side, sets: tuple[SignatureSet, ...], n_records: int) -> None:
        payload = b"".join(to_bytes(sets))
        chunks = [payload[part] for part in chunk_slices(len(payload))]
        digests = [hashlib.sha256(chunk).digest() for chunk in chunks]
        root, upload = root_digest(digests), str(side)[0] * 32
        uploads = self._store.uploads
        uploads.begin(PROJECT, side, str(side), upload, layout_of(sets, n_records))
        for index, (chunk, digest) in enumerate(zip(chunks, digests, strict=True)):
            uploads.put(PROJECT, side, upload, Chunk(index, len(chunks), root, digest, chunk))
        uploads.commit(PROJECT, side, str(side), upload, len(chunks), len(payload), root)
        self.total_bytes += len(payload)
        self.sets += len(sets) - 1
