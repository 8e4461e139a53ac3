"""Services that are stopped end in order; a demonstration ends its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gemel.carole.cluster.tls import make_certificates
from gemel.carole.configuration import load_carole
from gemel.common.parties import Side
from tests.e2e.deployment import Deployment
from tests.e2e.interrupted.terminal import (
    INT,
    TERM,
    Command,
    Signal,
    Start,
    assert_ended,
    assert_stopped,
    interrupts,
    is_ready,
    names,
)


def serves(command: Command) -> bool:
    return len(command.processes()) >= 5


@interrupts("demo")
@pytest.mark.long
@pytest.mark.parametrize("number", [INT, TERM], ids=["int", "term"])
def test_a_demonstration_ends_its_services(start: Start, number: Signal) -> None:
    command = start("demo --people 200")
    command.wait_until(serves)
    assert_ended(command, number)
    assert command.left() == ([], [], {"demo"})
    assert names(command.folder / "demo") == {"alice.csv", "bob.csv", "linkage.yaml"}


@interrupts("carole serve", "alice serve")
@pytest.mark.parametrize(
    ("party", "number"),
    [
        ("carole", INT),
        ("alice", TERM),
        pytest.param("carole", TERM, marks=pytest.mark.long),
        pytest.param("alice", INT, marks=pytest.mark.long),
    ],
)
def test_a_service_ends_in_order(start: Start, idle: Deployment, party: str, number: Signal) -> None:
    config = idle.carole_yaml if party == "carole" else idle.configs[Side(party)]
    command = start(f"{party} serve --config {config} --ready-file ready.json")
    command.wait_until(is_ready)
    assert_stopped(command, number)


@interrupts("carole scheduler", "carole worker")
def test_a_cluster_ends_in_order(start: Start, idle: Deployment, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    keys = tmp_path / "keys"
    make_certificates(keys, ("scheduler", "worker"))
    files = {
        name: f"ca: {keys / name}/ca.pem, certificate: {keys / name}/certificate.pem, key: {keys / name}/key.pem"
        for name in ("scheduler", "worker")
    }
    config = tmp_path / "scheduler.yaml"
    config.write_text(f"{{version: 1, listen: '127.0.0.1:0', {files['scheduler']}}}")
    scheduler = start(f"carole scheduler --config {config} --ready-file ready.json")
    scheduler.wait_until(is_ready)
    address = json.loads((scheduler.folder / "ready.json").read_text())["address"]
    config = tmp_path / "worker.yaml"
    config.write_text(
        f"{{version: 1, engine: {{kind: dask, address: '{address}', {files['worker']}}}, listen: '127.0.0.1:0', "
        f"keys: '{idle.folders['carole']}', store: {{blobs: '{load_carole(idle.carole_yaml).store.place}'}}}}"
    )
    worker = start(f"carole worker --config {config} --ready-file ready.json")
    worker.wait_until(is_ready)
    assert_stopped(worker, INT)
    assert_stopped(scheduler, TERM)
