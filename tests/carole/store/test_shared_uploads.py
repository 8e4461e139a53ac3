"""Contributions of mode shared in the store: Carole keeps what she cannot read, and the digests that she can."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from gemel.carole.store import Store
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import SAMPLES, FieldLayout, Layout, SetLayout
from gemel.common.wire.chunks import chunk_slices, root_digest
from tests.carole.refusals import refusal
from tests.carole.trial import PROJECT, UPLOADS, Contribution, contribute, keyed

UPLOAD, SEEDS = UPLOADS[Side.ALICE], (b"carole's", b"coordinator's", b"steward's")
FIELDS = (FieldLayout("surname", 128, 0, "shared"), FieldLayout("born", 64, 0, "shared"))
LAYOUT = Layout(
    (
        SetLayout("born", 300, (FIELDS[0], FieldLayout("born", 64, 0, "fixed")), ("born",), tags=("name",)),
        SetLayout("name", 200, FIELDS, ("name",), tags=("born",)),
        SetLayout(SAMPLES, 500, FIELDS, tags=()),
    ),
    300,
)


def shared(digests: np.ndarray) -> Contribution:
    """A contribution with these digests of the first set's blocks, and random bytes in the place of all shares."""
    rng = np.random.default_rng(4)
    own = [digests, np.sort(rng.integers(1, 2**63, 200, dtype=np.uint64)), np.empty(0, dtype=np.uint64)]
    made = Contribution(1, rows=1)
    made.layout = LAYOUT
    made.payload = b"".join(
        each.tobytes() + rng.bytes(part.sealed_bytes) for part, each in zip(LAYOUT.sets, own, strict=True)
    )
    made.chunks = [made.payload[part] for part in chunk_slices(len(made.payload))]
    made.digests = [hashlib.sha256(chunk).digest() for chunk in made.chunks]
    made.root = root_digest(made.digests)
    return made


DIGESTS = np.sort(np.random.default_rng(3).integers(1, 2**64, 300, dtype=np.uint64))


def begin(store: Store, seeds: tuple[bytes, ...] = SEEDS) -> None:
    store.uploads.begin(PROJECT, Side.ALICE, "alice", UPLOAD, LAYOUT, sealed_seeds=seeds)


def test_it_is_kept_with_its_seeds_and_its_digests_are_read(store: Store) -> None:
    keyed(store)
    begin(store)
    begin(store)
    with refusal(ErrorCode.CHUNK_CONFLICT):
        begin(store, (*SEEDS[:2], b"another's"))
    given = shared(DIGESTS)
    given.put(store, Side.ALICE, UPLOAD)
    with pytest.raises(GemelError):
        store.uploads.shares(PROJECT, Side.ALICE)
    given.commit(store, Side.ALICE, UPLOAD)
    kept = store.uploads.shares(PROJECT, Side.ALICE)
    assert (kept.upload, kept.epoch, kept.layout, kept.sealed_seeds) == (UPLOAD, 1, LAYOUT, SEEDS)
    stored = store.uploads.open(PROJECT, Side.ALICE)
    assert (stored.digests(0) == DIGESTS).all()
    start = LAYOUT.sets[0].total_bytes
    assert bytes(stored.payload.read(start, start + 1600)) == given.payload[start : start + 1600]
    assert (stored.digests(1) == np.frombuffer(given.payload[start : start + 1600], dtype="<u8")).all()
    with pytest.raises(GemelError, match="shares, which only compute parties read"):
        stored.read(0)


@pytest.mark.parametrize("wrong", [DIGESTS[::-1].copy(), np.concatenate([[np.uint64(0)], DIGESTS[1:]])])
def test_digests_out_of_order_or_of_no_block_do_not_count(store: Store, wrong: np.ndarray) -> None:
    keyed(store)
    begin(store)
    given = shared(wrong)
    given.put(store, Side.ALICE, UPLOAD)
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        given.commit(store, Side.ALICE, UPLOAD)


def test_a_contribution_of_another_mode_has_no_shares(store: Store, contributions: dict[Side, Contribution]) -> None:
    keyed(store)
    given = contributions[Side.ALICE]
    contribute(store, Side.ALICE, given)
    with refusal(ErrorCode.NOT_FOUND):
        store.uploads.shares(PROJECT, Side.ALICE)
