"""Incoming contributions: in any order, any number of times, all or nothing."""

from __future__ import annotations

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from gemel.carole.engine import Contribution as BlockKeyed
from gemel.carole.engine import FieldPlan, LinkagePlan
from gemel.carole.engine.run.plan import LatentPlan, VariablePlan
from gemel.carole.projects.project import State
from gemel.carole.service.linking import known_records
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Side
from gemel.common.signatures.layout import CODES, JOINT, SAMPLES, TRAINING
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, VariableCodes, layout_of
from gemel.common.wire.chunks import Chunk, chunk_count, root_digest
from tests.carole.refusals import refusal
from tests.carole.trial import NEW, PROJECT, UPLOADS, Contribution, contributed, keyed, send

UPLOAD = UPLOADS[Side.ALICE]


def begin(store, given, upload=UPLOAD, side=Side.ALICE):
    return store.uploads.begin(PROJECT, side, str(side), upload, given.layout)


@pytest.fixture
def given(contributions):
    return contributions[Side.ALICE]


def test_chunks_come_in_any_order_and_often_and_are_read_back_as_sent(store, given):
    keyed(store)
    progress = begin(store, given)
    count = len(given.chunks)
    assert (progress.total_bytes, progress.chunks, progress.missing) == (len(given.payload), count, ((0, count - 1),))
    order = list(range(count)) * 2
    random.Random(3).shuffle(order)
    given.put(store, Side.ALICE, UPLOAD, *order)
    assert not begin(store, given).missing
    given.commit(store, Side.ALICE, UPLOAD)
    given.commit(store, Side.ALICE, UPLOAD)
    assert begin(store, given).committed
    given.put(store, Side.ALICE, UPLOAD, 1)
    found = store.uploads.open(PROJECT, Side.ALICE).read(0)
    (sent,) = given.sets
    assert found.layout == sent.layout
    for name, field in sent.fields.items():
        assert np.array_equal(found.fields[name].signatures, field.signatures)
        assert np.array_equal(found.fields[name].codes, field.codes)
    assert np.array_equal(found.blocks["born"], sent.blocks["born"])


@pytest.mark.parametrize("variables", [3, 0])
def test_the_codes_are_read_by_themselves(store, variables):
    """They come last, over a chunk's border and without what is before them."""
    rows = 400_000
    rng = np.random.default_rng(2)
    held = {f"v{i}": VariableCodes(9, rng.integers(-1, 9, rows).astype(np.int16)) for i in range(variables)}
    given = Contribution(1, rows=9_000)
    given.cut((replace(given.sets[0], rule="born"), SignatureSet(CODES, rows, {}, {}, held)), rows)
    contributed(store, {Side.ALICE: given})
    found = store.uploads.codes(PROJECT, Side.ALICE)
    assert found.layout == given.sets[1].layout
    for name, variable in held.items():
        assert np.array_equal(found.variables[name].codes, variable.codes)


def repacked(given, sets, records):
    """The contribution with other sets."""
    given.cut(sets, records)
    return given


def with_known(seed, records, counts):
    """A contribution with codes where it names records, then training records and a joint distribution."""
    given = Contribution(seed, rows=300)
    codes = {"age": VariableCodes(3, np.array([0, 2, -1, 1], dtype=np.int16))}
    rest = [SignatureSet(TRAINING, 4, {}, {}, codes), SignatureSet(JOINT, 4, {}, {}, codes, counts=counts)]
    if records:
        own = {"age": VariableCodes(3, np.zeros(records, dtype=np.int16))}
        rest = [SignatureSet(SAMPLES, 300, given.sets[0].fields, {}), SignatureSet(CODES, records, {}, {}, own), *rest]
    rule = "born" if records else ""
    return repacked(given, (replace(given.sets[0], rule=rule), *rest), records)


@pytest.mark.parametrize("records", [0, 300])
def test_known_records_are_read_by_themselves_in_any_mode(store, records):
    """And what is read of the file is as without them."""
    counts = np.array([0.5, 0.25, 0.25, 0.0])
    plain = Contribution(2, rows=300)
    if records:
        plain = in_blocks(2, SAMPLES)
    contributed(store, {Side.ALICE: with_known(1, records, counts), Side.BOB: plain})
    training, joint = store.uploads.known(PROJECT, Side.ALICE)
    assert (training.rule, joint.rule) == (TRAINING, JOINT)
    assert joint.counts.tolist() == counts.tolist()
    assert store.uploads.known(PROJECT, Side.BOB) == ()
    assert store.projects.get(PROJECT).uploads[Side.ALICE].rows == 300
    if records:
        assert store.uploads.codes(PROJECT, Side.ALICE).n_rows == records
        parts = BlockKeyed(store.uploads.open(PROJECT, Side.ALICE))
        assert [part.rule for part in parts.sets] == ["born"]
        assert parts.sample.rule == SAMPLES
    latent = LatentPlan((VariablePlan("other", "bob", 2), VariablePlan("age", "alice", 3)))
    plan = LinkagePlan((FieldPlan("surname", 1024, (0.5, 1.0)),), latent=latent)
    found = known_records(store, PROJECT, plan)
    assert found.training.tolist() == [[-1, 0], [-1, 2], [-1, -1], [-1, 1]]
    assert found.training.dtype == np.int32
    assert found.counts.tolist() == counts.tolist()
    assert known_records(store, PROJECT, replace(plan, latent=None)).training is None


@pytest.mark.parametrize("records", [0, 300])
@pytest.mark.parametrize("count", [-1.0, np.nan])
def test_counts_that_are_none_are_refused_before_the_contribution_counts(store, records, count):
    given = with_known(1, records, np.array([1.0, 1.0, 1.0, count]))
    with refusal(ErrorCode.UPLOAD_CORRUPT, "counts must be finite and not negative"):
        contributed(store, {Side.ALICE: given})


def in_blocks(seed, samples):
    """A contribution of mode block_keyed, with samples of this name."""
    given = Contribution(seed, rows=300)
    fields = given.sets[0].fields
    given.cut((replace(given.sets[0], rule="born"), SignatureSet(samples, 300, fields, {})), 300)
    return given


def test_a_contribution_without_codes_has_none_to_read(store, given):
    contributed(store, {Side.ALICE: given})
    with refusal(ErrorCode.NOT_FOUND):
        store.uploads.codes(PROJECT, Side.ALICE)


def test_four_chunks_at_a_time(store, given):
    keyed(store)
    begin(store, given)

    def send(mine):
        # Every chunk is sent by two threads, so that they meet.
        for index in range(len(given.chunks)):
            if index % 4 in (mine, (mine + 1) % 4):
                given.put(store, Side.ALICE, UPLOAD, index)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send, range(4)))
    given.commit(store, Side.ALICE, UPLOAD)


def test_a_commit_with_gaps_names_them_and_nothing_is_visible(store, given):
    keyed(store)
    begin(store, given)
    count = len(given.chunks)
    given.put(store, Side.ALICE, UPLOAD, *(i for i in range(count) if i not in (1, 2, 4)))
    with refusal(ErrorCode.UPLOAD_GAPS) as caught:
        given.commit(store, Side.ALICE, UPLOAD)
    assert "1-2, 4 missing" in caught.value.got
    assert begin(store, given).missing == ((1, 2), (4, 4))
    assert not store.projects.get(PROJECT).contributed(Side.ALICE)
    with pytest.raises(GemelError):
        store.uploads.open(PROJECT, Side.ALICE).read(0)
    given.put(store, Side.ALICE, UPLOAD, 1, 2, 4)
    given.commit(store, Side.ALICE, UPLOAD)
    assert store.projects.get(PROJECT).contributed(Side.ALICE)


@pytest.mark.parametrize(
    ("index", "change", "code"),
    [
        (0, lambda chunk: chunk[:-1], ErrorCode.PARAMETER),
        (0, lambda chunk: chunk + b"x", ErrorCode.PARAMETER),
        (10**9, lambda chunk: chunk, ErrorCode.PARAMETER),
        (0, lambda chunk: bytes([chunk[0] ^ 1]) + chunk[1:], ErrorCode.UPLOAD_CORRUPT),
    ],
)
def test_a_chunk_that_is_not_the_layouts_is_refused(store, given, index, change, code):
    keyed(store)
    begin(store, given)
    data = change(given.chunks[0])
    digest = given.digests[0] if code is ErrorCode.UPLOAD_CORRUPT else hashlib.sha256(data).digest()
    changed = Chunk(index, len(given.chunks), given.root, digest, data)
    with refusal(code):
        store.uploads.put(PROJECT, Side.ALICE, UPLOAD, changed)


def test_unknown_uploads_and_the_other_sides_are_the_same_to_the_caller(store, given):
    keyed(store)
    begin(store, given)
    store.projects.create(replace(NEW, name="other"), "coordinator")
    texts = set()
    for project, side, upload in (
        (PROJECT, Side.BOB, UPLOAD),
        ("other", Side.ALICE, UPLOAD),
        (PROJECT, Side.ALICE, "f" * 32),
        ("no-such-project", Side.ALICE, UPLOAD),
    ):
        for call in (
            lambda p=project, s=side, u=upload: store.uploads.put(p, s, u, given.chunk(0)),
            lambda p=project, s=side, u=upload: store.uploads.commit(p, s, str(s), u, 1, 1, given.root),
        ):
            with pytest.raises(GemelError) as caught:
                call()
            texts.add((caught.value.code, str(caught.value)))
    assert len(texts) == 1
    # Bob's own upload may have the very same name: names are each side's own.
    begin(store, given, UPLOAD, Side.BOB)


def test_the_commit_must_name_what_arrived(store, given):
    keyed(store)
    send(store, Side.ALICE, given)
    for count, size, root in (
        (len(given.chunks) - 1, len(given.payload), given.root),
        (len(given.chunks), len(given.payload) + 1, given.root),
        (len(given.chunks), len(given.payload), root_digest(reversed(given.digests))),
    ):
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            store.uploads.commit(PROJECT, Side.ALICE, "alice", UPLOAD, count, size, root)
    assert not store.projects.get(PROJECT).contributed(Side.ALICE)


def test_a_payload_that_is_no_contribution_is_refused_at_the_commit(store):
    keyed(store)
    (good,) = Contribution(5, rows=50, bits=64).sets
    surname = good.fields["surname"]
    unsorted = np.ascontiguousarray(surname.signatures[::-1])
    for field in (replace(surname, signatures=unsorted), replace(surname, codes=surname.codes + np.int32(1))):
        bad = SignatureSet("", good.n_rows, {**good.fields, "surname": field}, good.blocks)
        given = Contribution(5, rows=50, bits=64)
        given.carry(b"".join(to_bytes((bad,))))
        assert layout_of((bad,)) == given.layout
        upload = hashlib.md5(given.payload, usedforsecurity=False).hexdigest()
        begin(store, given, upload)
        given.put(store, Side.ALICE, upload)
        with refusal(ErrorCode.UPLOAD_CORRUPT):
            given.commit(store, Side.ALICE, upload)
        assert not store.projects.get(PROJECT).contributed(Side.ALICE)


def test_an_upload_is_resumed_after_a_crash_between_chunks(open_store, given, tmp_path):
    store = open_store()
    keyed(store)
    begin(store, given)
    given.put(store, Side.ALICE, UPLOAD, 0, 2)
    # What a crash leaves: half a file under a temporary name, a whole one without a row. And what was never Carole's.
    (folder,) = (path for path in (tmp_path / "blobs").iterdir() if path.is_dir())
    (folder / "0123.part").write_bytes(b"half")
    (folder / "4567").write_bytes(b"whole")
    (tmp_path / "blobs" / "lost+found").mkdir()
    store = open_store()
    assert len(list(folder.iterdir())) == 2
    assert (tmp_path / "blobs" / "lost+found").exists()
    count = len(given.chunks)
    assert begin(store, given).missing == ((1, 1), (3, count - 1))
    given.put(store, Side.ALICE, UPLOAD, 1, *range(3, count))
    given.commit(store, Side.ALICE, UPLOAD)
    assert store.uploads.open(PROJECT, Side.ALICE).read(0)


def test_nothing_is_in_clear_on_the_disk(store, given, tmp_path):
    contributed(store, {Side.ALICE: given})
    signatures = given.sets[0].fields["surname"].signatures
    needles = [signatures[i].tobytes() for i in range(0, len(signatures), 100)]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) >= len(given.payload)
    for path in files:
        content = path.read_bytes()
        assert not any(needle in content for needle in needles), path


def test_a_newer_upload_drops_the_one_under_way_but_not_the_one_that_counts(store, given, tmp_path):
    keyed(store)
    first, second, third = "1" * 32, "2" * 32, "3" * 32
    begin(store, given, first)
    given.put(store, Side.ALICE, first, 0)
    begin(store, given, second)
    assert len([path for path in (tmp_path / "blobs").iterdir() if path.is_dir()]) == 0, "the first one's chunks go"
    for call in (lambda: begin(store, given, first), lambda: given.put(store, Side.ALICE, first, 0)):
        with refusal(ErrorCode.WRONG_STATE):
            call()
    given.put(store, Side.ALICE, second)
    given.commit(store, Side.ALICE, second)
    begin(store, given, third)
    assert store.projects.get(PROJECT).uploads[Side.ALICE].upload == second
    given.put(store, Side.ALICE, third)
    given.commit(store, Side.ALICE, third)
    assert store.projects.get(PROJECT).uploads[Side.ALICE].upload == third
    assert len([path for path in (tmp_path / "blobs").iterdir() if path.is_dir()]) == 1
    replaced = [entry.details.get("replaces") for entry in store.audit.entries(PROJECT)]
    assert second in replaced


def test_both_contributions_move_the_project_and_end_the_uploading(store, contributions):
    contributed(store, contributions)
    assert store.projects.get(PROJECT).state is State.CONTRIBUTED
    with refusal(ErrorCode.WRONG_STATE):
        begin(store, contributions[Side.ALICE], "9" * 32)
    assert begin(store, contributions[Side.ALICE]).committed


def test_an_empty_file_is_a_contribution_of_no_chunks(store):
    keyed(store)
    empty = FieldSignatures(64, np.empty((0, 1), np.uint64), np.empty(0, np.int32))
    given = Contribution(1, rows=2, bits=64)
    given.cut((SignatureSet("", 0, {"surname": empty}, {}),))
    assert given.chunks == []
    assert begin(store, given).chunks == chunk_count(0) == 0
    given.commit(store, Side.ALICE, UPLOAD)
    assert store.uploads.open(PROJECT, Side.ALICE).read(0).n_rows == 0
