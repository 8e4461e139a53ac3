"""Commands that wait for others, stopped: what others have done is as it was, and what this one has begun goes on."""

from __future__ import annotations

import select
import socket
from pathlib import Path

import pytest

from gemel.common.keys.suite import Suite
from gemel.common.parties import Role, Side
from gemel.common.pki.authority import Authority
from gemel.party.configurations import Place
from gemel.party.convening import carole_address, convene
from gemel.party.joining import own_request
from tests.e2e.deployment import STATE, Deployment, people, specification
from tests.e2e.interrupted.conftest import PROJECT
from tests.e2e.interrupted.terminal import (
    INT,
    TERM,
    Signal,
    Start,
    assert_ended,
    assert_leaves_nothing,
    interrupts,
    prints,
)

LONG = pytest.mark.long
INT_FIRST = pytest.mark.parametrize("number", [pytest.param(INT, id="int"), pytest.param(TERM, id="term", marks=LONG)])
TERM_FIRST = pytest.mark.parametrize("number", [pytest.param(TERM, id="term"), pytest.param(INT, id="int", marks=LONG)])
"""Half of the commands get the one signal in the first tier, half the other; all get both in `make long`."""

HOST = "carole.example.org"
ROLES = {
    "alice": Role.CUSTODIAN_A,
    "bob": Role.CUSTODIAN_B,
    "carole": Role.LINKER,
    "coordinator": Role.COORDINATOR,
}


@interrupts("project watch")
@INT_FIRST
def test_who_watches_a_run_leaves_it_to_itself(start: Start, deployment: Deployment, number: Signal) -> None:
    assert_leaves_nothing(
        start(f"project watch {PROJECT} --config {deployment.coordinator_yaml}"),
        prints("waits in Carole's queue"),
        number,
    )
    assert deployment.status(PROJECT).run.run


@interrupts("project run")
@TERM_FIRST
def test_a_project_that_waits_for_custodians_stays(
    start: Start, deployment: Deployment, tmp_path: Path, number: Signal
) -> None:
    """The second of the two goes on with the project of the first."""
    (tmp_path / "linkage.yaml").write_text(specification("waiting"))
    assert_leaves_nothing(
        start(f"project run {tmp_path / 'linkage.yaml'} --config {deployment.coordinator_yaml}"),
        prints("Waiting for the custodians"),
        number,
    )
    assert deployment.status("waiting").state == STATE.PROJECT_STATE_DRAFT


@interrupts("console", "alice console")
@pytest.mark.parametrize(
    ("console", "number"),
    [
        ("console", INT),
        ("alice console", TERM),
        pytest.param("console", TERM, marks=LONG),
        pytest.param("alice console", INT, marks=LONG),
    ],
)
def test_a_console_that_is_stopped_does_not_listen(
    start: Start, deployment: Deployment, console: str, number: Signal
) -> None:
    pytest.importorskip("uvicorn", reason="the extra console is not installed")
    config = deployment.coordinator_yaml if console == "console" else deployment.configs[Side.ALICE]
    assert_leaves_nothing(start(f"{console} --config {config}"), prints("/enter?token="), number)


@interrupts("compute")
@INT_FIRST
def test_who_waits_for_a_computation(start: Start, deployment: Deployment, number: Signal) -> None:
    assert_leaves_nothing(
        start(f"compute --config {deployment.coordinator_yaml}"), prints("Waiting for a computation"), number
    )


@interrupts("analyst fetch")
@TERM_FIRST
def test_who_calls_a_carole_that_does_not_answer(
    start: Start, deployment: Deployment, tmp_path: Path, number: Signal
) -> None:
    """Something accepts the connection, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        text = deployment.client_yaml("analyst").read_text()
        config = deployment.folders["analyst"] / "silent.yaml"
        config.write_text(text.replace(deployment.address, f"127.0.0.1:{silent.getsockname()[1]}"))
        command = start(f"analyst fetch {PROJECT} --config {config}")
        assert_leaves_nothing(command, lambda _: bool(select.select([silent], [], [], 0)[0]), number)


# The ceremony


@pytest.fixture(scope="module")
def ceremony(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All members have made their requests, and the coordinator has sent the file."""
    root = tmp_path_factory.mktemp("ceremony")
    requests = [
        own_request(Place(root / name, name, role, root / name), [HOST] if role is Role.LINKER else (), Suite.DEFAULT)
        for name, role in ROLES.items()
    ]
    membership = convene(requests, carole_address(requests), Authority.create("Authority"))
    (root / "membership.yaml").write_bytes(membership.text.encode())
    people(20, 10)[Side.ALICE].write_csv(root / "people.csv")
    return root


def tree(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@interrupts("party join")
@INT_FIRST
def test_a_member_that_waits_for_the_file_has_its_keys(start: Start, ceremony: Path, number: Signal) -> None:
    command = start(f"party join linkage --role custodian-a --records {ceremony}/people.csv")
    command.wait_until(prints("Path of the membership.yaml received"))
    assert_ended(command, number)
    assert command.left() == ([], [], {"linkage"})
    made = ceremony / "alice"
    assert tree(command.folder / "linkage") == tree(made)


@interrupts("party join")
@TERM_FIRST
def test_a_member_that_waits_for_digits_has_put_nothing_of_the_file_into_place(
    start: Start, ceremony: Path, number: Signal
) -> None:
    before = tree(ceremony)
    arguments = f"--role custodian-a --records {ceremony}/people.csv --received {ceremony}/membership.yaml"
    assert_leaves_nothing(
        start(f"party join {ceremony}/alice {arguments}"), prints("Digits that bob reads out"), number
    )
    assert tree(ceremony) == before


@interrupts("party convene")
@INT_FIRST
def test_a_coordinator_that_waits_for_digits_has_the_file_and_has_not_joined(
    start: Start, ceremony: Path, number: Signal
) -> None:
    """The second of the two goes on with the file of the first."""
    before = tree(ceremony)
    requests = [f"{ceremony}/{name}/{name}-request.yaml" for name in ROLES if name != "coordinator"]
    assert_leaves_nothing(
        start(f"party convene {ceremony}/coordinator {' '.join(requests)}"),
        prints("Digits that alice reads out"),
        number,
    )
    sent = {"coordinator/membership.yaml", "coordinator/authority"}
    assert {path for path in tree(ceremony) - before if not path.startswith("coordinator/authority/")} <= sent
    assert sent <= tree(ceremony)
