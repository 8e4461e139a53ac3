"""Carole's configuration file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gemel.carole.bucket import Bucket
from gemel.carole.cluster.engine_section import DaskEngine
from gemel.carole.cluster.tls import require_admitted
from gemel.carole.configuration import load_carole, template
from gemel.common.configuration import size_in_bytes
from gemel.common.errors import ErrorCode, GemelError
from gemel.serving.fairness import MemberLimits
from tests.carole.refusals import refusal

GOOD = template("0.0.0.0:7443")


def written(folder, text):
    path = folder / "carole.yaml"
    path.write_text(text)
    return path


def test_the_template_is_a_configuration_with_paths_beside_it(tmp_path):
    found = load_carole(written(tmp_path, GOOD))
    assert found.listen == "0.0.0.0:7443"
    assert found.keys == tmp_path
    assert found.store.blobs == tmp_path / "store" / "blobs"
    assert found.store.database == f"sqlite:///{tmp_path}/store/carole.db"
    assert found.limits.memory_bytes == 3 << 30
    assert found.limits.max_upload_bytes == 2 << 30
    assert found.limits.worker_threads >= 1
    assert not (tmp_path / "store").exists()


def test_optional_settings_have_defaults(tmp_path):
    text = "version: 1\nlisten: '[::]:0'\nkeys: .\nstore: {database: 'sqlite:////x/y.db', blobs: b}\nlimits:\n"
    found = load_carole(written(tmp_path, text.replace("/x/y.db", f"{tmp_path}/y.db")))
    assert found.limits.memory == "3GiB"
    assert found.log_level == "info"
    assert found.store.database == f"sqlite:///{tmp_path}/y.db"


def test_what_a_member_may_use_is_set_one_by_one(tmp_path):
    found = load_carole(written(tmp_path, GOOD.replace("max_stored: 32GiB", "member: {working: 6}"))).limits
    assert found.member.limits == replace(MemberLimits(), working=6)
    assert (found.max_stored_bytes, found.new_uploads) == (32 << 30, 20)


OBJECTS = """blobs: s3://linkage/carole
  objects:
    endpoint: https://objects.example.org:9000
    region: eu-central-1
    credentials: object-store.credentials
    authorities: /etc/ssl/own.pem
"""


def test_blobs_may_be_in_a_bucket(tmp_path):
    found = load_carole(written(tmp_path, GOOD.replace("blobs: store/blobs", OBJECTS))).store
    assert found.place == Bucket(
        "s3://linkage/carole",
        "https://objects.example.org:9000",
        "eu-central-1",
        tmp_path / "object-store.credentials",
        Path("/etc/ssl/own.pem"),
    )
    assert load_carole(written(tmp_path, GOOD.replace("store/blobs", "s3://linkage"))).store.place == Bucket(
        "s3://linkage"
    )
    assert load_carole(written(tmp_path, GOOD)).store.place == tmp_path / "store" / "blobs"


def test_an_object_store_on_this_machine_may_do_without_tls(tmp_path):
    for endpoint in ("http://127.0.0.1:9000", '"http://[::1]:9000"', "http://localhost:9000"):
        text = GOOD.replace("blobs: store/blobs", OBJECTS.replace("https://objects.example.org:9000", endpoint))
        assert load_carole(written(tmp_path, text)).store.place.endpoint == endpoint.strip('"')


def test_postgresql_takes_no_password_from_the_file(tmp_path):
    url = "postgresql+psycopg://carole@db.example.org/gemel"
    found = load_carole(written(tmp_path, GOOD.replace("sqlite:///store/carole.db", url)))
    assert found.store.database == url
    assert "db.example.org" not in repr(found)
    with pytest.raises(GemelError) as caught:
        load_carole(written(tmp_path, GOOD.replace("sqlite:///store/carole.db", url.replace("@", ":secretword@", 1))))
    assert "password" in str(caught.value)
    assert "secretword" not in str(caught.value)


def test_all_errors_at_once(tmp_path):
    text = GOOD.replace("threads: 0", "threads: many").replace("version: 1", "version: 7") + "surplus: 1\n"
    with pytest.raises(GemelError) as caught:
        load_carole(written(tmp_path, text))
    assert all(word in str(caught.value) for word in ("threads", "version", "surplus"))


@pytest.mark.parametrize(("text", "size"), [("1KiB", 1024), ("1.5 MiB", 3 << 19), ("3GiB", 3 << 30), ("1TiB", 1 << 40)])
def test_sizes(text, size):
    assert size_in_bytes(text) == size


ENGINE = """engine:
  kind: dask
  address: tls://scheduler.example.org:8786
  ca: cluster/ca.pem
  certificate: cluster/certificate.pem
  key: /etc/gemel/key.pem
  worker_memory: 8GiB
"""


def test_shards_may_be_worked_on_by_a_cluster(tmp_path):
    assert load_carole(written(tmp_path, GOOD)).engine.kind == "local"
    assert load_carole(written(tmp_path, GOOD + "engine: {kind: local}\n")).engine.kind == "local"
    found = load_carole(written(tmp_path, GOOD + ENGINE)).engine
    assert isinstance(found, DaskEngine)
    assert found.address == "tls://scheduler.example.org:8786"
    assert (found.ca, found.key) == (tmp_path / "cluster/ca.pem", Path("/etc/gemel/key.pem"))
    assert found.worker_bytes == 8 << 30


IN_A_BUCKET, ON_A_CLUSTER = GOOD.replace("blobs: store/blobs", OBJECTS), GOOD + ENGINE

WRONG = [
    ("0.0.0.0:7443", "carole.example.org", "listen"),
    ("0.0.0.0:7443", "0.0.0.0:99999", "listen"),
    ("memory: 3GiB", "memory: 3 GB", "limits.memory"),
    ("memory: 3GiB", "memory: 3", "limits.memory"),
    ("threads: 0", "threads: -1", "limits.threads"),
    ("max_rows: 5000000", "max_rows: 0", "limits.max_rows"),
    ("max_stored: 32GiB", "max_stored: lots", "limits.max_stored"),
    ("max_stored: 32GiB", "new_uploads: 0", "limits.new_uploads"),
    ("max_stored: 32GiB", "member: {calls_per_second: 0}", "limits.member.calls_per_second"),
    ("max_stored: 32GiB", "member: {calls_per_second: .inf}", "limits.member.calls_per_second"),
    ("max_stored: 32GiB", "member: {burst: 0}", "limits.member.burst"),
    ("max_stored: 32GiB", "member: {pending: 2000}", "limits.member.pending"),
    ("max_stored: 32GiB", "member: {working: 17}", "limits.member.working"),
    ("max_stored: 32GiB", "member: {waiting: 33}", "limits.member.waiting"),
    ("max_stored: 32GiB", "member: {walking: 3}", "limits.member.walking"),
    ("sqlite:///store/carole.db", "'sqlite://'", "store.database"),
    ("sqlite:///store/carole.db", "'sqlite:///:memory:'", "store.database"),
    ("sqlite:///store/carole.db", "mysql://secretword@host/x", "store.database"),
    ("sqlite:///store/carole.db", "postgresql://host/x", "store.database"),
    ("log_level: info", "log_level: loud", "log_level"),
    ("version: 1", "version: 2", "version"),
    ("keys:", "kays:", "keys"),
]
WRONG_BUCKETS = [
    ("s3://linkage/carole", "https://linkage/carole", "expected a folder, or s3://bucket/prefix"),
    ("s3://linkage/carole", "s3://key:secretword@linkage/carole", "expected a folder, or s3://bucket/prefix"),
    ("s3://linkage/carole", "s3://linkage/../x/", "expected a folder, or s3://bucket/prefix"),
    ("s3://linkage/carole", "store/blobs", "`objects` is for blobs at s3://bucket/prefix"),
    ("https://objects.example.org:9000", "http://objects.example.org:9000", "without TLS only a service on this"),
    ("https://objects.example.org:9000", "https://key:secretword@objects.example.org", "expected https://host"),
    ("https://objects.example.org:9000", "objects.example.org", "expected https://host"),
    ("region: eu-central-1", "secret_access_key: secretword", "secret_access_key"),
]
WRONG_ENGINES = [
    ("tls://", "tcp://", "expected tls://host:port; a scheduler is called by TLS and not otherwise"),
    ("tls://", "", "expected tls://host:port"),
    (":8786", "", "expected tls://host:port"),
    (":8786", ":0", "expected tls://host:port"),
    ("  key: /etc/gemel/key.pem\n", "", "engine.key: is missing"),
    ("8GiB", "8 GB", "expected a size such as"),
    ("kind: dask", "kind: spark", "engine"),
    ("kind: dask", "kind: local", "unknown key"),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "match"),
    [
        *((GOOD, *case) for case in WRONG),
        *((IN_A_BUCKET, *case) for case in WRONG_BUCKETS),
        *((ON_A_CLUSTER, *case) for case in WRONG_ENGINES),
    ],
)
def test_an_error_is_named_by_its_key_without_the_value(tmp_path, text, old, new, match):
    assert old in text
    with refusal(ErrorCode.CONFIGURATION, match) as caught:
        load_carole(written(tmp_path, text.replace(old, new, 1)))
    assert "secretword" not in str(caught.value)


def test_the_files_of_a_clusters_certificates_are_looked_at_before_anything_is_called(tmp_path):
    engine = load_carole(written(tmp_path, GOOD + ENGINE.replace("/etc/gemel", "cluster"))).engine
    assert isinstance(engine, DaskEngine)
    with pytest.raises(GemelError, match="the certificate of the cluster's authority cannot be read"):
        engine.check()
    (tmp_path / "cluster").mkdir()
    for name in ("ca.pem", "certificate.pem", "key.pem"):
        (tmp_path / "cluster" / name).write_text("no certificate")
        (tmp_path / "cluster" / name).chmod(0o644)
    with pytest.raises(GemelError, match=r"key\.pem"):
        engine.check()
    (tmp_path / "cluster/key.pem").chmod(0o600)
    engine.check()
    with pytest.raises(GemelError, match="these are not a certificate, its key and an authority's certificate"):
        require_admitted(engine.address, engine)
