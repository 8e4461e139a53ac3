"""A set by reference, read in another process's place: the same set, by keys of its own, or an error."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gemel.carole.store import Store
from gemel.carole.store.payloads import payload_source
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.payload_source import PayloadSource, provide
from gemel.carole.store.payloads.stored_sets import SetElsewhere, StoredContribution
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.vault import DataKey, Vault, WrappingKeys
from gemel.common.parties import Side
from tests.carole.store.test_uploads import begin
from tests.carole.trial import PROJECT, UPLOADS, Contribution, keyed


@pytest.fixture(autouse=True)
def provided_nothing() -> Iterator[None]:
    yield
    payload_source._provided.clear()


@pytest.fixture
def stored(store: Store) -> StoredContribution:
    keyed(store)
    given = Contribution(1)
    begin(store, given)
    given.put(store, Side.ALICE, UPLOADS[Side.ALICE])
    given.commit(store, Side.ALICE, UPLOADS[Side.ALICE])
    return store.uploads.open(PROJECT, Side.ALICE)


def elsewhere(stored: StoredContribution) -> tuple[SetElsewhere, bytes]:
    sent = pickle.dumps(stored.reference(0))
    found = pickle.loads(sent)  # noqa: S301 - of this test's own
    assert isinstance(found, SetElsewhere)
    return found, sent


def test_a_set_is_the_same_in_another_process_that_has_the_keys(
    stored: StoredContribution, tmp_path: Path, vault: Vault
) -> None:
    there, sent = elsewhere(stored)
    key = stored.payload._key
    assert isinstance(key, DataKey)
    assert key._key not in sent
    assert there.reference.wrapped_key in sent
    with pytest.raises(GemelError, match="not started as a worker") as refused:
        there.read()
    assert refused.value.code is ErrorCode.CONFIGURATION
    provide(PayloadSource(Blobs(tmp_path / "blobs"), vault))
    there.require()
    here, found = stored.read(0), there.read()
    for name, field in here.fields.items():
        assert np.array_equal(field.signatures, found.fields[name].signatures)
        assert np.array_equal(field.codes, found.fields[name].codes)
    assert {name: keys.tolist() for name, keys in here.blocks.items()} == {
        name: keys.tolist() for name, keys in found.blocks.items()
    }


def test_a_key_in_the_clear_does_not_leave_its_process(stored: StoredContribution) -> None:
    with pytest.raises(GemelError, match="leaves its process wrapped only"):
        pickle.dumps(stored.payload._key)


def test_another_process_without_the_wrapping_key_or_with_other_blobs_is_refused(
    stored: StoredContribution, tmp_path: Path, vault: Vault
) -> None:
    there, _ = elsewhere(stored)
    provide(PayloadSource(Blobs(tmp_path / "blobs"), Vault(WrappingKeys.create())))
    for refused in (there.require, there.read):
        with pytest.raises(GemelError, match="the wrapping key of this data key is not here"):
            refused()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "identity").write_text("another\n")
    source = PayloadSource(Blobs(tmp_path / "others"), vault)
    provide(source)
    with pytest.raises(GemelError, match="does not belong to this database"):
        there.require()
    with pytest.raises(GemelError, match="a stored chunk cannot be read, got No such file"):
        there.read()
    assert len(source._keys) == 1
    source.forget()
    assert not source._keys


def test_a_stretch_of_chunks_reads_what_the_whole_does_and_nothing_beyond(
    stored: StoredContribution, tmp_path: Path, vault: Vault
) -> None:
    whole, size = stored.payload, stored.payload.total_bytes
    source = PayloadSource(Blobs(tmp_path / "blobs"), vault)
    for start, stop in ((0, 10), (1 << 20, (1 << 20) + 1), ((1 << 20) - 3, (3 << 20) + 5), (size - 7, size)):
        reference = pickle.loads(pickle.dumps(whole.reference(start, stop)))  # noqa: S301
        assert len(reference.chunks) <= 2 + (stop - start) // (1 << 20)
        assert source.reader(reference).read(start, stop) == whole.read(start, stop)
    with pytest.raises(GemelError, match="has the chunks from") as caught:
        source.reader(whole.reference(1 << 20, 2 << 20)).read(0, 10)
    assert caught.value.code is ErrorCode.UPLOAD_CORRUPT


@pytest.mark.parametrize("change", ["flipped", "missing"])
def test_a_changed_or_missing_file_is_an_error_there_too(
    stored: StoredContribution, tmp_path: Path, vault: Vault, change: str
) -> None:
    there, _ = elsewhere(stored)
    provide(PayloadSource(Blobs(tmp_path / "blobs"), vault))
    (file,) = [path for path in (tmp_path / "blobs").glob("*/*") if path.is_file()]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content) if change == "flipped" else file.unlink()
    with pytest.raises(GemelError) as caught:
        there.read()
    assert caught.value.code is ErrorCode.VAULT
    assert caught.value.where.startswith("trial, contribution of alice, chunk")
