"""No digest of a stored content's plaintext rests in the database or on the disk, before its erasure or after."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from sqlalchemy import text

from gemel.carole.store import Store
from gemel.carole.store.payloads.encrypted_payloads import digest_of, resting, resting_root, root_of
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import Role, Side
from gemel.common.wire.chunks import chunk_slices, root_digest
from tests.carole.store.test_migrations import content, transaction
from tests.carole.store.test_runs import SHARE, SHARES
from tests.carole.trial import PROJECT, Contribution, contributed


def plain_digests(contents: Iterable[bytes]) -> dict[str, bytes]:
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


def everything(url: str, folder: Path) -> bytes:
    """What a thief has: every row, and every byte of every file."""
    rows = [value for table in content(url).values() for row in table for value in row]
    values = [value if isinstance(value, bytes) else str(value).encode() for value in rows]
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"\0".join([*values, *files])


def found_in(url: str, folder: Path, digests: dict[str, bytes]) -> list[str]:
    held = everything(url, folder)
    return [name for name, digest in digests.items() if digest in held]


def test_a_thief_of_the_store_finds_no_digest_of_what_it_holds(
    open_store: Callable[[], Store], url: str, tmp_path: Path, contributions: dict[Side, Contribution]
) -> None:
    store = open_store()
    contributed(store, contributions)
    store.runs.start(PROJECT, "coordinator", "r", "e" * 32)
    lease = store.runs.take("worker")
    assert lease is not None
    statistics = {str(Role.COORDINATOR): [b"statistics"]}
    store.runs.finish(lease, 7, {**SHARES, **statistics})
    digests = plain_digests([*(given.payload for given in contributions.values()), b"statistics"])
    assert len(contributions[Side.ALICE].chunks) > 2
    assert found_in(url, tmp_path, digests) == []
    # The search does find a digest that is there: a sealed share's, which confirms nothing.
    share = plain_digests([SHARE])
    assert found_in(url, tmp_path, share)
    assert store.results.fetch(PROJECT, Role.COORDINATOR, "e" * 32, 0).data == b"statistics"
    store.projects.erase(PROJECT, Role.COORDINATOR, "coordinator")
    assert found_in(url, tmp_path, digests) == []
    with transaction(url) as connection:
        left = connection.execute(text("SELECT count(*) FROM payloads WHERE length(root) > 32")).scalar_one()
    assert left == 0, "of what is erased nothing is left to decrypt"


def test_a_digest_opens_in_its_place_alone() -> None:
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
        with pytest.raises(GemelError) as caught:
            attempt()
        assert caught.value.code is ErrorCode.VAULT
