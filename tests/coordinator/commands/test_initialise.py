"""`gemel init`: folders whose configurations can be used as they are."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from gemel.alice import PARTY as ALICE
from gemel.bob import PARTY as BOB
from gemel.carole.configuration import load_carole
from gemel.carole.service.health import check_health
from gemel.common.configuration import load_configuration
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import PARTIES
from gemel.common.pki.certificates import host_names, load_certificate
from gemel.coordinator.client.client_configuration import CoordinatorConfiguration
from gemel.coordinator.client.connection import connect
from gemel.custodian.configuration import load_custodian
from gemel.custodian.operator.control import Control
from gemel.custodian.state.row_map import Keyring
from tests.carole.refusals import refusal
from tests.ports import free_port
from tests.typed import printed

CUSTODIANS = (ALICE, BOB)


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("init") / "parties"
    printed("init", str(root), "--address", "carole.example.org:7443", "--name", "192.0.2.7", "--name", "carole")
    return root


def test_a_folder_per_party_and_one_for_the_authority(parties: Path) -> None:
    assert {path.name for path in parties.iterdir()} == {*PARTIES, "authority"}
    names = host_names(load_certificate(parties / "carole/certificate.pem"))
    assert {"carole.example.org", "carole", "192.0.2.7"} <= set(names)


@pytest.mark.parametrize("party", CUSTODIANS, ids=lambda party: party.name)
def test_a_custodians_configuration_names_its_peer(parties: Path, party, tmp_path: Path) -> None:
    found = load_custodian(parties / party.name / f"{party.name}.yaml")
    assert found.carole.address == "carole.example.org:7443"
    assert found.keys == parties / party.name
    assert found.source.csv is not None
    assert found.source.csv.path == parties / party.name / f"{party.name}.csv"
    other = BOB if party is ALICE else ALICE
    assert Keyring.load(found, party).peer == Keyring.load(load_custodian(_of(parties, other)), other).identity.public


def test_the_others_configurations(parties: Path) -> None:
    carole = load_carole(parties / "carole/carole.yaml")
    assert carole.listen == "0.0.0.0:7443"
    assert (carole.keys, carole.store.blobs) == (parties / "carole", parties / "carole/store/blobs")
    coordinator = load_configuration(parties / "coordinator/coordinator.yaml", CoordinatorConfiguration)
    assert (coordinator.carole.address, coordinator.keys) == ("carole.example.org:7443", parties / "coordinator")


@pytest.mark.parametrize(
    ("address", "listen"),
    [
        ("carole:7443", "0.0.0.0:7443"),
        ("192.0.2.7:443", "0.0.0.0:443"),
        ("[2001:db8::7]:7443", "[::]:7443"),
        # Reached from this machine alone: not offered to others.
        ("127.0.0.5:7443", "127.0.0.5:7443"),
        ("localhost:7443", "127.0.0.1:7443"),
        ("[::1]:7443", "[::1]:7443"),
    ],
)
def test_carole_listens_where_she_is_called(tmp_path: Path, address: str, listen: str) -> None:
    printed("init", str(tmp_path), "--address", address)
    assert load_carole(tmp_path / "carole/carole.yaml").listen == listen
    assert load_custodian(tmp_path / "bob/bob.yaml").carole.address == address
    host = address.rpartition(":")[0].strip("[]")
    assert host in host_names(load_certificate(tmp_path / "carole/certificate.pem"))


@pytest.mark.parametrize("address", ["carole", "carole:", ":7443", "carole:0", "carole:65536", "::1:7443", "carole:７"])
def test_an_address_without_host_or_port_is_refused_before_anything_is_made(tmp_path: Path, address: str) -> None:
    with refusal(ErrorCode.PARAMETER, "expected host:port"):
        printed("init", str(tmp_path / "parties"), "--address", address)
    assert list(tmp_path.iterdir()) == []


def test_keys_are_never_overwritten(parties: Path) -> None:
    before = {path: path.read_bytes() for path in parties.rglob("*") if path.is_file()}
    with refusal(ErrorCode.EXISTS):
        printed("init", str(parties), "--address", "carole:7443")
    assert {path: path.read_bytes() for path in parties.rglob("*") if path.is_file()} == before


def test_the_commands_it_tells_start_services_that_find_each_other(tmp_path: Path) -> None:
    """Every line that `init` prints, as it stands there; the folders may also be moved."""
    port = free_port()
    shown = printed("init", str(tmp_path / "made here"), "--address", f"127.0.0.1:{port}")
    shutil.move(tmp_path / "made here", tmp_path / "parties")
    shown = shown.replace("made here", "parties")
    lines = re.findall(r"^  gemel (\w+) serve --config (\S+)", shown, re.MULTILINE)
    assert [party for party, _ in lines] == ["carole", "alice", "bob"]
    configurations = {party: Path(config) for party, config in lines}
    (init,) = re.findall(r"^  gemel (carole init --config \S+)", shown, re.MULTILINE)
    printed(*init.split())
    with contextlib.ExitStack() as stack:
        _serve(stack, "carole", configurations["carole"])
        # Custodians would request again, but seconds later.
        assert _eventually(lambda: check_health(configurations["carole"])) == f"127.0.0.1:{port}"
        for party in CUSTODIANS:
            _serve(stack, party.name, configurations[party.name])
        for party in CUSTODIANS:
            assert _eventually(partial(_connected, configurations[party.name], party))
        (coordinator,) = re.findall(r"^  gemel project status --config (\S+)", shown, re.MULTILINE)
        with connect(Path(coordinator)) as connected:
            assert connected.projects() == []


def _serve(stack: contextlib.ExitStack, party: str, config: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gemel.command", party, "serve", "--config", str(config)],
        stdin=subprocess.DEVNULL,
        stderr=stack.enter_context((config.parent / "log").open("w")),
    )
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)


def _of(parties: Path, party) -> Path:
    return parties / party.name / f"{party.name}.yaml"


def _connected(config: Path, party) -> bool:
    with Control.open(config, party) as control:
        if not control.status().connected:
            raise GemelError(ErrorCode.UNAVAILABLE, "not yet")
    return True


def _eventually(look, seconds: float = 60.0):
    """What `look` gives once it does not find the service unavailable any more."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return look()
        except GemelError as error:
            if error.code is not ErrorCode.UNAVAILABLE or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def test_health_needs_a_fixed_port_and_a_carole(parties: Path, tmp_path: Path) -> None:
    text = (parties / "carole/carole.yaml").read_text().replace("keys: .", f"keys: {parties / 'carole'}")
    page = '"127.0.0.1:9464"'
    assert page in text
    by_call, by_http = text.replace(page, '""'), text
    for given, old, listen, match in (
        (by_call, "0.0.0.0:7443", "127.0.0.1:0", "port 0 is another one"),
        (by_call, "0.0.0.0:7443", "127.0.0.1:9", "does not answer"),
        (by_http, page, '"127.0.0.1:0"', "observability.listen: port 0 is another one"),
        (by_http, page, '"127.0.0.1:9"', "Carole does not answer"),
    ):
        (tmp_path / "carole.yaml").write_text(given.replace(old, listen))
        with pytest.raises(GemelError, match=match):
            check_health(tmp_path / "carole.yaml")
    check = ["carole", "check", "--json", "--config", str(parties / "carole/carole.yaml")]
    notes = {line["check"]: line["what"] for line in json.loads(printed(*check)) if line["finding"] == "note"}
    assert "`gemel carole init` makes it" in notes.pop("store")
    assert set(notes) <= {"address"}  # which another service of this machine may have
    printed("carole", "init", "--config", check[-1])
    found = {line["check"]: line["what"] for line in json.loads(printed(*check))}
    assert found["membership list"] == f"{len(PARTIES)} members, as compared"
