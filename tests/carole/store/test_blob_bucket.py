"""A store whose blobs are in a bucket of a real S3 server: the same guarantees, and errors that pass."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import text

from gemel.carole.bucket import Bucket
from gemel.carole.store import Store
from gemel.carole.store.backup import back_up, restore
from gemel.carole.store.payloads import blob_bucket
from gemel.carole.store.payloads.blobs import Blobs
from gemel.carole.store.payloads.payload_reader import PayloadSource
from gemel.carole.store.provision import initialise
from gemel.common.errors import ErrorCode
from gemel.common.parties import Role, Side
from tests.carole.refusals import refusal, remedied
from tests.carole.store.object_store import object_server, object_store
from tests.carole.store.test_migrations import transaction
from tests.carole.store.test_provision import forget_newest
from tests.carole.store.test_sweeping import SHARES
from tests.carole.trial import NEW, PROJECT, UPLOADS, approved, contribute, contributed, erase, keyed, taken

__all__ = ["object_server", "object_store"]

Open = Callable[[], Store]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(blob_bucket, "RETRIES", 1)
    monkeypatch.setattr(blob_bucket, "TIMEOUT_SECONDS", 5)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bucket(object_store):
    return object_store.bucket()


@pytest.fixture
def site(site, bucket):
    return replace(site, blobs=bucket)


def of_payloads(object_store):
    return {path: size for path, size in object_store.objects().items() if path != "identity"}


def test_uploads_runs_and_erasure_in_a_bucket(open_store, object_store, contributions, bucket, site):
    store = open_store()
    assert initialise(site.place)[1] is False
    contributed(store, contributions)
    assert len(of_payloads(object_store)) == 2, "each contribution is packed into one object"
    store = open_store()
    for side, given in contributions.items():
        assert store.uploads.open(PROJECT, side).payload.read(5, 3_000_000) == given.payload[5:3_000_000]
        assert store.uploads.open(PROJECT, side).read(0)
    # By another process too, which has the bucket's credentials and the wrapping key, and no database.
    reference = pickle.loads(pickle.dumps(store.uploads.open(PROJECT, Side.BOB).reference(0))).payload  # noqa: S301
    other = PayloadSource(Blobs(bucket), site.vault).reader(reference)
    assert other.read(5, 3_000_000) == contributions[Side.BOB].payload[5:3_000_000]
    lease = taken(store, "1" * 32)
    store.runs.finish(lease, 1, SHARES)
    assert store.results.fetch(PROJECT, Role.CUSTODIAN_A, lease.run, 0).data == b"a" * 100
    contents = b"".join(object_store.content(path) for path in of_payloads(object_store))
    assert b"a" * 100 not in contents
    assert contributions[Side.ALICE].sets[0].fields["surname"].signatures[7].tobytes() not in contents
    store.monitoring.check_blobs()
    erase(store)
    assert of_payloads(object_store) == {}


def test_what_a_kill_leaves_is_swept_and_nothing_else_is_listed(open_store, object_store, small, monkeypatch):
    store = open_store()
    contributed(store, small)
    store.sweep()
    payloads = sorted({path.partition("/")[0] for path in of_payloads(object_store)})
    store.projects.create(replace(NEW, name="other"), "coordinator")
    approved(store, "other")
    listed: list[str] = []
    before = blob_bucket.BlobBucket.files
    monkeypatch.setattr(
        blob_bucket.BlobBucket, "files", lambda place, payload: listed.append(payload) or before(place, payload)
    )
    assert store.sweep().files == 0
    assert listed == [], "what is complete has been looked at"
    object_store.change(f"{payloads[0]}/{'0' * 32}", b"of a writer that was killed before the last sweep")
    store = open_store()
    assert f"{payloads[0]}/{'0' * 32}" in of_payloads(object_store), "no writer can have left it"
    erase(store)
    assert of_payloads(object_store) == {}, "an erasure removes whatever there is"


def test_a_kill_between_an_erasure_and_the_removal_of_its_objects(open_store, object_store, small, monkeypatch):
    store = open_store()
    contributed(store, small)
    store.sweep()
    with monkeypatch.context() as patched:
        patched.setattr(Blobs, "remove", lambda *_: None)
        erase(store)
    assert len(of_payloads(object_store)) == 2
    open_store()
    assert of_payloads(object_store) == {}


def test_an_old_copy_of_the_database_sweeps_nothing(open_store, object_store, small, url):
    store = open_store()
    contributed(store, small)
    store.close()
    before = object_store.objects()
    newest = forget_newest(url, "UPDATE meta SET value = value - 1 WHERE key = 'payloads'")
    with remedied(ErrorCode.DATABASE, f"got 1 unknown, such as {newest}"):
        open_store()
    assert object_store.objects() == before


def test_another_stores_bucket_and_an_empty_one_are_refused(open_store, object_store, bucket, site, small):
    store = open_store()
    contributed(store, small)
    store.close()
    with remedied(ErrorCode.DATABASE, "got those of no store"):
        replace(site, blobs=object_store.bucket(prefix="elsewhere")).serve()
    with remedied(ErrorCode.DATABASE, "empty|no database"):
        initialise(site.elsewhere(bucket).place)
    object_store.change("identity", b"0123" * 8)
    with remedied(ErrorCode.DATABASE, "the bucket of blobs does not belong to this database"):
        open_store()


def test_a_second_carole_on_the_same_database_and_bucket_is_refused_until_the_tenure_is_over(
    open_store, bucket, url, site
):
    first = open_store()
    second = site.open()
    with remedied(ErrorCode.BUSY, "another Carole holds this database"):
        second.recover()
    first.projects.create(NEW, "coordinator")
    with transaction(url) as connection:
        connection.execute(text("UPDATE tenure SET until = 1"))  # the first one was killed, half a minute ago
    second.recover()
    with remedied(ErrorCode.BUSY, "does not hold the store"):
        first.projects.create(replace(NEW, name="next"), "coordinator")


def test_what_fails_is_named_and_goes_on_when_it_is_mended(store, object_store, contributions):
    keyed(store)
    given = contributions[Side.ALICE]
    store.uploads.begin(PROJECT, Side.ALICE, "alice", UPLOADS[Side.ALICE], given.layout)
    given.put(store, Side.ALICE, UPLOADS[Side.ALICE], 0)

    def fails(match):
        for attempt in (lambda: given.put(store, Side.ALICE, UPLOADS[Side.ALICE], 1), store.monitoring.check_blobs):
            with remedied(ErrorCode.DATABASE, match) as _:
                attempt()

    object_store.allow("s3:GetObject")
    fails("the object store refuses these credentials, got 403 AccessDenied")
    object_store.allow("s3:*")
    object_store.suspend()
    fails("the object store cannot be reached")
    object_store.resume()
    contribute(store, Side.ALICE, given)
    object_store.suspend()
    with remedied(ErrorCode.DATABASE, "contribution of alice, chunk 0 of 6 .*the object store cannot be reached"):
        store.uploads.open(PROJECT, Side.ALICE).read(0)
    object_store.resume()
    store.sweep()  # of a request whose answer never came
    (path,) = (path for path in of_payloads(object_store) if "/" in path)
    content = object_store.content(path)
    for spoilt, match in ((None, "no such object"), (content[:100], "does not decrypt|shorter")):
        object_store.change(path, spoilt)
        with remedied(ErrorCode.VAULT, match):
            store.uploads.open(PROJECT, Side.ALICE).read(0)
    object_store.change(path, content)
    assert store.uploads.open(PROJECT, Side.ALICE).read(0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"url": "s3://another-bucket/carole"}, "there is no such bucket, got 404 NoSuchBucket"),
        ({"endpoint": "http://127.0.0.1:1"}, "the object store cannot be reached"),
    ],
)
def test_a_bucket_that_cannot_be_used_is_refused_at_the_start(bucket, site, tmp_path, change, match):
    with remedied(ErrorCode.DATABASE, match):
        initialise(replace(site, blobs=replace(bucket, **change)).place)
    assert not (tmp_path / "carole.db").exists()


def test_wrong_credentials_are_refused_and_never_shown(object_store, bucket, site, monkeypatch):
    for key, secret in ((object_store.key, "wrong-secret"), ("AKIAUNKNOWN", "wrong-secret")):
        object_store.write_credentials(key, secret)
        with refusal(ErrorCode.DATABASE, "the object store refuses these credentials") as caught:
            initialise(site.place)
        assert key not in str(caught.value)
        assert "wrong-secret" not in str(caught.value)
    object_store.credentials.write_text("[default]\nsecret = wrong-secret\n")
    with remedied(ErrorCode.CONFIGURATION, "not those of a file of AWS'"):
        initialise(site.place)
    object_store.credentials.unlink()
    with remedied(ErrorCode.CONFIGURATION, "cannot be read"):
        initialise(site.place)
    # From the environment instead.
    place = replace(site, blobs=replace(bucket, credentials=None)).place
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", object_store.key)
    with remedied(ErrorCode.CONFIGURATION, "of which a part is missing"):
        initialise(place)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", object_store.secret)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert initialise(place)[1]


def test_a_backup_of_a_bucket_is_put_back_into_a_folder_and_one_of_a_folder_into_a_bucket(
    open_store, object_store, bucket, contributions, site, request, tmp_path
):
    contributed(open_store(), contributions)
    made = back_up(site.url, bucket, tmp_path / "backup", site.clock)
    assert made.files == 2
    postgres = request.getfixturevalue("postgres")
    for number, place in enumerate((tmp_path / "restored", object_store.bucket(prefix="restored"))):
        restored = replace(site, url=postgres.database(), blobs=place)
        if isinstance(place, Bucket):
            # One was killed before its end: what is there stays, and the rest is put back.
            path, *_ = of_payloads(object_store)
            object_store.change(path, object_store.content(path), "restored/")
        restore(tmp_path / "backup", restored.place)
        store = restored.serve()
        for side, given in contributions.items():
            assert store.uploads.open(PROJECT, side).payload.read(0, len(given.payload)) == given.payload
        if number == 0:
            back_up(restored.url, place, tmp_path / "again", site.clock)
        store.close()
    with remedied(ErrorCode.DATABASE, "is that of a store"):
        restore(tmp_path / "again", replace(site, url=postgres.database(), blobs=bucket).place)


def test_without_the_extra_a_folder_serves_and_a_bucket_names_the_extra(site, tmp_path, monkeypatch):
    for name in ("obstore", "obstore.store", "obstore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    with remedied(ErrorCode.MODULE_MISSING, r"obstore is not installed; pip install '\.\[objects\]'"):
        initialise(replace(site, blobs=Bucket("s3://gemel-bucket/carole")).place)
    assert initialise(replace(site, blobs=tmp_path / "blobs").place)[1]
