"""Carole's configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tryst.carole.configuration import load_carole, size_in_bytes, template
from tryst.common.errors import ErrorCode, TrystError

GOOD = template("0.0.0.0:7443")


def written(folder: Path, text: str) -> Path:
    path = folder / "carole.yaml"
    path.write_text(text)
    return path


def test_the_template_is_a_configuration_with_paths_beside_it(tmp_path: Path) -> None:
    found = load_carole(written(tmp_path, GOOD))
    assert found.listen == "0.0.0.0:7443"
    assert found.keys == tmp_path
    assert found.store.blobs == tmp_path / "store" / "blobs"
    assert found.store.database == f"sqlite:///{tmp_path}/store/carole.db"
    assert found.limits.memory_bytes == 3 << 30
    assert found.limits.max_upload_bytes == 2 << 30
    assert found.limits.worker_threads >= 1
    assert not (tmp_path / "store").exists()


def test_optional_settings_have_defaults(tmp_path: Path) -> None:
    text = "version: 1\nlisten: '[::]:0'\nkeys: .\nstore: {database: 'sqlite:////x/y.db', blobs: b}\nlimits:\n"
    found = load_carole(written(tmp_path, text.replace("/x/y.db", f"{tmp_path}/y.db")))
    assert found.limits.memory == "3GiB"
    assert found.log_level == "info"
    assert found.store.database == f"sqlite:///{tmp_path}/y.db"


def test_postgresql_takes_no_password_from_the_file(tmp_path: Path) -> None:
    url = "postgresql+psycopg://carole@db.example.org/tryst"
    found = load_carole(written(tmp_path, GOOD.replace("sqlite:///store/carole.db", url)))
    assert found.store.database == url
    assert "db.example.org" not in repr(found)
    with pytest.raises(TrystError) as caught:
        load_carole(written(tmp_path, GOOD.replace("sqlite:///store/carole.db", url.replace("@", ":secretword@", 1))))
    assert "password" in str(caught.value)
    assert "secretword" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("0.0.0.0:7443", "carole.example.org", "listen"),
        ("0.0.0.0:7443", "0.0.0.0:99999", "listen"),
        ("memory: 3GiB", "memory: 3 GB", "limits.memory"),
        ("memory: 3GiB", "memory: 3", "limits.memory"),
        ("threads: 0", "threads: -1", "limits.threads"),
        ("max_rows: 5000000", "max_rows: 0", "limits.max_rows"),
        ("sqlite:///store/carole.db", "'sqlite://'", "store.database"),
        ("sqlite:///store/carole.db", "'sqlite:///:memory:'", "store.database"),
        ("sqlite:///store/carole.db", "mysql://secretword@host/x", "store.database"),
        ("sqlite:///store/carole.db", "postgresql://host/x", "store.database"),
        ("log_level: info", "log_level: loud", "log_level"),
        ("version: 1", "version: 2", "version"),
        ("keys:", "kays:", "keys"),
    ],
)
def test_errors_are_named_by_key_without_the_value(tmp_path: Path, old: str, new: str, named: str) -> None:
    assert old in GOOD
    with pytest.raises(TrystError) as caught:
        load_carole(written(tmp_path, GOOD.replace(old, new)))
    assert caught.value.code is ErrorCode.CONFIGURATION
    assert named in str(caught.value)
    assert "secretword" not in str(caught.value)


def test_all_errors_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("threads: 0", "threads: many").replace("version: 1", "version: 7") + "surplus: 1\n"
    with pytest.raises(TrystError) as caught:
        load_carole(written(tmp_path, text))
    assert all(word in str(caught.value) for word in ("threads", "version", "surplus"))


@pytest.mark.parametrize(("text", "size"), [("1KiB", 1024), ("1.5 MiB", 3 << 19), ("3GiB", 3 << 30), ("1TiB", 1 << 40)])
def test_sizes(text: str, size: int) -> None:
    assert size_in_bytes(text) == size
