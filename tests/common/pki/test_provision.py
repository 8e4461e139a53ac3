"""`gemel init`: complete folders or none, and never a key overwritten."""

from __future__ import annotations

import stat
from datetime import timedelta
from pathlib import Path

import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Validity, host_names, load_certificate
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.members import Members
from gemel.common.pki.provisioning import PARTIES, provision
from tests.carole.refusals import refusal


def snapshot(root: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def test_a_folder_per_party_with_private_keys(tmp_path: Path) -> None:
    made = provision(tmp_path / "new" / "parties")
    root = tmp_path / "new" / "parties"
    assert sorted(path.name for path in root.iterdir()) == sorted(["authority", *PARTIES])
    for path in [root, *root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o700
        elif path.suffix == ".key":
            assert mode == 0o600
    keys = [path.read_bytes() for path in root.rglob("*.key")]
    assert len(keys) == 4 * len(PARTIES) + 1
    assert len(set(keys)) == len(keys)
    assert made.parties["bob"] == PartyFolder(root / "bob")
    assert list(Members.load(root / "carole" / "members.yaml")) == list(made.members)
    # The authority's key is in its own folder and nowhere else.
    key = (made.authority / "authority.key").read_bytes()
    assert [path for path in root.rglob("*") if path.is_file() and key in path.read_bytes()] == [
        made.authority / "authority.key"
    ]
    assert Authority.load(made.authority).fingerprint == made.members.named("alice").certificate.authority


def test_relative_paths_and_existing_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linkage.yaml").write_text("version: 1\n")
    made = provision(Path())
    assert (tmp_path / "alice" / "tls.key").exists()
    assert made.root == tmp_path
    assert (tmp_path / "linkage.yaml").read_text() == "version: 1\n"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_that_is_there_is_overwritten(tmp_path: Path, kind: str) -> None:
    match kind:
        case "folder":
            (tmp_path / "bob").mkdir()
        case "file":
            (tmp_path / "bob").write_text("mine")
        case "link":
            (tmp_path / "bob").symlink_to(tmp_path / "nowhere")
    before = snapshot(tmp_path)
    with refusal(ErrorCode.EXISTS, "the folder already has bob"):
        provision(tmp_path)
    assert snapshot(tmp_path) == before


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    provision(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(GemelError, match="the folder already has authority and alice and bob"):
        provision(tmp_path)
    assert snapshot(tmp_path) == before


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def broken(folder: PartyFolder, members: Members) -> dict[str, str]:
        assert folder.certificate.exists()
        raise KeyError("on the way")

    with pytest.raises(KeyError):
        provision(tmp_path / "deep" / "parties", configure={"steward": broken})
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_renaming_takes_the_first_ones_back(tmp_path: Path) -> None:
    def squatter(folder: PartyFolder, members: Members) -> dict[str, str]:
        # Another process takes the last name meanwhile; a folder with content cannot be renamed over.
        (tmp_path / "steward").mkdir()
        (tmp_path / "steward" / "mine").write_text("mine")
        return {}

    with pytest.raises(GemelError, match="cannot make the folders here"):
        provision(tmp_path, configure={"alice": squatter})
    assert snapshot(tmp_path) == {"steward": None, "steward/mine": b"mine"}


def test_a_file_in_the_place_of_the_root_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with refusal(ErrorCode.CONFIGURATION, "cannot make the folders here"):
        provision(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_configurations_come_from_the_caller(tmp_path: Path) -> None:
    def configure(folder: PartyFolder, members: Members) -> dict[str, str]:
        peer = members.named("bob").identity.hex
        return {"alice.yaml": f"peer: {peer}\nkeys: {folder.identity.name}\n"}

    made = provision(tmp_path, configure={"alice": configure})
    text = (tmp_path / "alice" / "alice.yaml").read_text()
    assert made.members.named("bob").identity.hex in text


@pytest.mark.parametrize("file", ["tls.key", "members.yaml", "../carole.yaml", "sub/alice.yaml", "", ".."])
def test_a_configuration_takes_no_keys_place(tmp_path: Path, file: str) -> None:
    with pytest.raises(GemelError, match="a configuration file must have a plain name"):
        provision(tmp_path, configure={"alice": lambda folder, members: {file: "text"}})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["authority", "../alice", "Alice", ""])
def test_a_party_has_a_members_name(tmp_path: Path, name: str) -> None:
    with refusal(ErrorCode.CONFIGURATION):
        provision(tmp_path, parties={**PARTIES, name: PARTIES["steward"]})
    assert list(tmp_path.iterdir()) == []


def test_throw_away_parties_end_soon_and_the_linker_has_its_hosts(tmp_path: Path) -> None:
    provision(tmp_path, validity=Validity.lasting(timedelta(hours=24)), linker_names=["127.0.0.7", "carole.test"])
    for name in PARTIES:
        certificate = load_certificate(tmp_path / name / "certificate.pem")
        assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(hours=24)
    names = host_names(load_certificate(tmp_path / "carole" / "certificate.pem"))
    assert names == ["linker.gemel.internal", "carole.test", "127.0.0.7"]
