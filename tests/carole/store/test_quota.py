"""A custodian that begins upload after upload, or stores more than its share, is refused, and the others are not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import text

from gemel.carole.store.payloads.encrypted_payloads import digest_of, resting, resting_root, root_of
from gemel.carole.store.uploads import Quota
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Role, Side
from gemel.common.signatures.layout import SAMPLES, FieldLayout, Layout, SetLayout
from gemel.common.wire.chunks import chunk_slices, root_digest
from tests.carole.refusals import refusal
from tests.carole.store.test_migrations import content, transaction
from tests.carole.store.test_runs import SHARE, SHARES
from tests.carole.trial import NEW, PROJECT, UPLOADS, Contribution, contribute, contributed, erase, keyed, taken

DAY_MS = 24 * 3600 * 1000
LARGE = 1 << 40


@pytest.fixture
def given(contributions):
    return contributions[Side.ALICE]


def begin(store, given, number, quota, side=Side.ALICE, to=PROJECT):
    return store.uploads.begin(to, side, str(side), f"{number:032x}", given.layout, quota=quota)


def entries(store):
    return sum(entry.action == "begin-upload" for entry in store.audit.entries(PROJECT))


def refused(store, given, number, quota, **named):
    with refusal(ErrorCode.UPLOAD_LIMIT) as caught:
        begin(store, given, number, quota, **named)
    return str(caught.value)


def test_new_uploads_are_counted_for_a_day(store, given, clock):
    keyed(store)
    quota = Quota(LARGE, new_uploads=3)
    for number in range(3):
        begin(store, given, number, quota)
    for number in range(3, 10):
        assert "24 hours" in refused(store, given, number, quota)
    assert entries(store) == 3, "what is refused writes nothing"
    begin(store, given, 2, quota)  # its progress may be queried as often as it likes
    begin(store, given, 3, quota, side=Side.BOB)
    clock.now += DAY_MS
    begin(store, given, 4, quota)


def test_bytes_are_counted_over_all_projects_without_what_is_replaced(store, given):
    keyed(store)
    size = len(given.payload)
    quota = Quota(2 * size, new_uploads=100)
    begin(store, given, 0, quota)
    begin(store, given, 1, quota)
    given.put(store, Side.ALICE, f"{1:032x}")
    given.commit(store, Side.ALICE, f"{1:032x}")
    keyed(store, replace(NEW, name="second"))
    keyed(store, replace(NEW, name="third"))
    begin(store, given, 2, quota, to="second")
    begin(store, given, 3, quota, to="second")
    assert "in all projects" in refused(store, given, 4, quota, to="third")
    begin(store, given, 5, quota, side=Side.BOB, to="third")
    erase(store)
    begin(store, given, 4, quota, to="third")


# Contributions of mode shared in the store: Carole keeps what she cannot read, and the digests that she can.

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


def shared(digests):
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


def begin_shared(store, seeds=SEEDS):
    store.uploads.begin(PROJECT, Side.ALICE, "alice", UPLOAD, LAYOUT, sealed_seeds=seeds)


def test_it_is_kept_with_its_seeds_and_its_digests_are_read(store):
    keyed(store)
    begin_shared(store)
    begin_shared(store)
    with refusal(ErrorCode.CHUNK_CONFLICT):
        begin_shared(store, (*SEEDS[:2], b"another's"))
    given = shared(DIGESTS)
    given.put(store, Side.ALICE, UPLOAD)
    with pytest.raises(GemelError):
        store.uploads.shares(PROJECT, Side.ALICE)
    given.commit(store, Side.ALICE, UPLOAD)
    kept = store.uploads.shares(PROJECT, Side.ALICE)
    assert (kept.upload, kept.epoch, kept.layout, kept.sealed_seeds) == (UPLOAD, 1, LAYOUT, SEEDS)
    stored = store.uploads.open(PROJECT, Side.ALICE)
    assert (stored.reference(0).digests() == DIGESTS).all()
    start = LAYOUT.sets[0].total_bytes
    assert bytes(stored.payload.read(start, start + 1600)) == given.payload[start : start + 1600]
    assert (stored.reference(1).digests() == np.frombuffer(given.payload[start : start + 1600], dtype="<u8")).all()
    with pytest.raises(GemelError, match="shares, which only compute parties read"):
        stored.read(0)


@pytest.mark.parametrize("wrong", [DIGESTS[::-1].copy(), np.concatenate([[np.uint64(0)], DIGESTS[1:]])])
def test_digests_out_of_order_or_of_no_block_do_not_count(store, wrong):
    keyed(store)
    begin_shared(store)
    given = shared(wrong)
    given.put(store, Side.ALICE, UPLOAD)
    with refusal(ErrorCode.UPLOAD_CORRUPT):
        given.commit(store, Side.ALICE, UPLOAD)


def test_a_contribution_of_another_mode_has_no_shares(store, contributions):
    keyed(store)
    given = contributions[Side.ALICE]
    contribute(store, Side.ALICE, given)
    with refusal(ErrorCode.NOT_FOUND):
        store.uploads.shares(PROJECT, Side.ALICE)


# No digest of a stored content's plaintext rests in the database or on the disk, before its erasure or after.


def plain_digests(contents):
    """Of chunks, of the root over them, and of all at once; each as it is and in hexadecimal digits."""
    made: dict[str, bytes] = {}
    for number, whole in enumerate(contents):
        chunks = [whole[part] for part in chunk_slices(len(whole))]
        digests = [hashlib.sha256(chunk).digest() for chunk in chunks]
        found = [*digests, root_digest(digests), hashlib.sha256(whole).digest()]
        for place, digest in enumerate(found):
            made[f"content {number}, digest {place}"] = digest
            made[f"content {number}, digest {place}, written out"] = digest.hex().encode()
    return made


def everything(url, folder):
    """What a thief has: every row, and every byte of every file."""
    rows = [value for table in content(url).values() for row in table for value in row]
    values = [value if isinstance(value, bytes) else str(value).encode() for value in rows]
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"\0".join([*values, *files])


def found_in(url, folder, digests):
    held = everything(url, folder)
    return [name for name, digest in digests.items() if digest in held]


def test_a_thief_of_the_store_finds_no_digest_of_what_it_holds(store, url, tmp_path, contributions):
    contributed(store, contributions)
    lease = taken(store, "e" * 32)
    statistics = {str(Role.COORDINATOR): [b"statistics"]}
    store.runs.finish(lease, 7, {**SHARES, **statistics})
    digests = plain_digests([*(given.payload for given in contributions.values()), b"statistics"])
    assert len(contributions[Side.ALICE].chunks) > 2
    assert found_in(url, tmp_path, digests) == []
    # The search does find a digest that is there: a sealed share's, which confirms nothing.
    share = plain_digests([SHARE])
    assert found_in(url, tmp_path, share)
    assert store.results.fetch(PROJECT, Role.COORDINATOR, "e" * 32, 0).data == b"statistics"
    erase(store)
    assert found_in(url, tmp_path, digests) == []
    with transaction(url) as connection:
        left = connection.execute(text("SELECT count(*) FROM payloads WHERE length(root) > 32")).scalar_one()
    assert left == 0, "of what is erased nothing is left to decrypt"


def test_a_digest_opens_in_its_place_alone():
    vault = Vault(WrappingKeys.create())
    key, _ = vault.create("payload a")
    other, _ = vault.create("payload a")
    digest = hashlib.sha256(b"content").digest()
    stored = resting(key, 3, digest)
    assert len(stored) == 60
    assert stored != resting(key, 3, digest)
    assert digest_of(key, 3, stored) == digest
    assert root_of(key, resting_root(key, digest)) == digest == root_of(key, digest)
    assert root_of(key, None) is None
    wrong: list[Callable[[], object]] = [
        lambda: digest_of(key, 4, stored),
        lambda: digest_of(other, 3, stored),
        lambda: root_of(key, stored),
        lambda: digest_of(key, 3, key.encrypt(3, digest)),  # a chunk's content is no digest
        lambda: key.decrypt(3, stored),
    ]
    for attempt in wrong:
        with refusal(ErrorCode.VAULT):
            attempt()
