"""The operator's service: loopback only, and for the custodian's own key only."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import grpc
import pytest
import structlog
from typer.testing import CliRunner

from gemel.alice.commands import app as alice_app
from gemel.common.audit import Checkpoint
from gemel.common.audit.signed_note import notes_in
from gemel.common.configuration import parse_configuration
from gemel.common.errors import ErrorCode, GemelError, GemelErrors
from gemel.common.keys.identity import Identity, IdentityKey
from gemel.common.parties import Party, Role, Side
from gemel.common.pki import server_name
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import TlsFiles, channel_credentials
from gemel.coordinator.provisioning import provision
from gemel.custodian import agent
from gemel.custodian.commands import build
from gemel.custodian.configuration import CustodianConfiguration, load_custodian
from gemel.custodian.joining import custodian_yaml
from gemel.custodian.operator import operator_service as operator
from gemel.custodian.operator import screen
from gemel.custodian.operator.control import ADDRESS_FILE, running_address
from gemel.custodian.operator.restored_log import kept_checkpoints
from gemel.custodian.service import CustodianService
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring
from gemel.protos.linkage.v1 import operator_pb2, operator_pb2_grpc
from tests.carole.refusals import refusal
from tests.custodian.test_flow import running

ALICE = Party(Side.ALICE, "Alice")
DIGEST = "ab" * 32


def test_only_the_custodians_own_key_is_admitted(make_world, parties) -> None:
    world = make_world(approve=False)
    with running(world.alice) as (service,):
        name = server_name(Role.CUSTODIAN_A)
        request = operator_pb2.StatusRequest()
        for caller, role in (("bob", Role.CUSTODIAN_B), ("coordinator", Role.COORDINATOR), ("carole", Role.LINKER)):
            credentials = TlsFiles.load(parties.parties[caller].path, role).channel(role)
            with Connection(service.address, name, credentials) as connection:
                stub = connection.stub(operator_pb2_grpc.OperatorStub)
                with refusal(ErrorCode.NOT_ADMITTED):
                    connection.call(stub.Status, request)
        own = channel_credentials(parties.parties["alice"].path, Role.CUSTODIAN_A, Role.CUSTODIAN_A)
        with Connection(service.address, name, own) as connection:
            stub = connection.stub(operator_pb2_grpc.OperatorStub)
            assert connection.call(stub.Status, request).party == "alice"
        with grpc.insecure_channel(service.address) as plain, pytest.raises(grpc.RpcError):
            operator_pb2_grpc.OperatorStub(plain).Status(request, timeout=5)


def test_the_address_is_in_the_state_folder_while_the_service_runs(make_world) -> None:
    world = make_world(approve=False)
    state = world.alice.configuration.state
    with pytest.raises(GemelError, match="`gemel alice serve`"):
        running_address(state, "alice")
    with running(world.alice) as (service,):
        assert running_address(state, "alice").address == service.address
        assert service.address.startswith("127.0.0.1:")
        assert stat.S_IMODE((state / ADDRESS_FILE).stat().st_mode) == 0o600
    assert not (state / ADDRESS_FILE).exists()


def test_checkpoints_are_read_of_the_service_or_of_its_state(make_world, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several answers; by size; the same while the service runs and when it does not."""
    monkeypatch.setattr(operator, "MAX_CHECKPOINTS", 2)
    world = make_world(approve=False)
    alice, identity = world.alice, Identity(IdentityKey.create())
    state = State(alice.configuration.state, Keyring.load(alice.configuration, ALICE).vault)
    kept = [Checkpoint.sign(identity, "ab" * 16, size, bytes(32), 1000 + size) for size in (0, 1, 2, 5, 9)]
    for checkpoint in reversed(kept):
        state.see(checkpoint)
    state.close()
    assert kept_checkpoints(alice.config, ALICE) == kept
    monkeypatch.setattr(agent, "witness", lambda context, *, released: None)
    with running(alice):
        with alice.control() as control:
            assert list(control.checkpoints()) == kept
        assert kept_checkpoints(alice.config, ALICE) == kept
        printed = CliRunner().invoke(build(ALICE), ["checkpoints", "--config", str(alice.config)])
        # The service logs to the same output, as it runs in this process.
        lines = [line for line in printed.output.splitlines() if not re.match(r"\d{4}-\d\d-\d\d ", line)]
        assert [Checkpoint.from_text(note, "output") for note in notes_in("\n".join(lines))] == kept
        # A service that does not answer still has its state to itself.
        address = alice.configuration.state / ADDRESS_FILE
        address.unlink()
        with refusal(ErrorCode.BUSY):
            kept_checkpoints(alice.config, ALICE)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "localhost:0", "192.0.2.7:80", "127.0.0.1"])
def test_no_other_address_than_loopback_can_be_configured(address: str, tmp_path: Path) -> None:
    text = custodian_yaml(ALICE, carole="x:1", peer_fingerprint=DIGEST).replace("127.0.0.1:0 ", f'"{address}" ')
    with pytest.raises(GemelErrors, match=r"operator\.address"):
        parse_configuration(text, CustodianConfiguration, folder=tmp_path, where="alice.yaml")


def test_the_template_is_a_configuration_with_every_setting_explained(tmp_path: Path) -> None:
    path = tmp_path / "alice.yaml"
    path.write_text(custodian_yaml(ALICE, carole="carole.example.org:7443", peer_fingerprint="AB ab" * 16))
    found = load_custodian(path)
    assert found.source.csv is not None
    assert found.source.csv.path == tmp_path / "alice.csv"
    assert found.peer.fingerprint == DIGEST
    assert found.policy.approve == ()
    # Comments show what is not set: made active, they are settings too.
    text = path.read_text().replace("# seed_file: ", "seed_file: ")
    path.write_text(text.replace("  # server_name: ...", "  server_name: x"))
    assert load_custodian(path).seed_file == tmp_path / "alice.seed"


def test_another_identity_of_the_peer_than_the_configured_one_is_refused(make_world) -> None:
    world = make_world()
    other = world.carole.parties.members.in_role(Role.LINKER).identity.fingerprint
    real = world.carole.parties.members.in_role(Role.CUSTODIAN_B).identity.fingerprint
    world.alice.config.write_text(world.alice.config.read_text().replace(real, other))
    with refusal(ErrorCode.CONFIGURATION) as refused:
        CustodianService(ALICE, world.alice.configuration)
    assert "telephone" in str(refused.value)


def test_bobs_folder_does_not_make_alice(make_world) -> None:
    world = make_world()
    with refusal(ErrorCode.CERTIFICATE):
        CustodianService(ALICE, world.bob.configuration)


def test_a_folder_that_is_not_the_listed_member_is_refused(make_world, tmp_path: Path) -> None:
    world = make_world()
    # The same names and roles, other keys: the membership list is the first deployment's.
    other = provision(tmp_path / "other", linker_names=["127.0.0.1"])
    folder = other.parties["alice"]
    folder.members.write_text(world.carole.parties.members.dump())
    text = world.alice.config.read_text()
    world.alice.config.write_text(text.replace(str(world.alice.configuration.keys), str(folder.path)))
    with pytest.raises(GemelError) as refused:
        CustodianService(ALICE, world.alice.configuration)
    assert "another identity key for alice" in str(refused.value)


@pytest.fixture
def no_log_on_screen():
    """The service of a test logs within this process, where it would get between what a command prints."""
    with structlog.testing.capture_logs() as lines:
        yield lines


@pytest.mark.usefixtures("no_log_on_screen")
def test_the_commands_show_approve_and_stop(make_world) -> None:
    world = make_world(approve=False)
    run = CliRunner()

    def gemel(*arguments: str):
        return run.invoke(build(ALICE), [*arguments, "--config", str(world.alice.config)], env={"COLUMNS": "200"})

    assert isinstance(gemel("status").exception, GemelError)
    with running(world.alice) as (service,):
        world.carole.wait_for(lambda: ("NextTask", Side.ALICE) in world.carole.calls)
        for _ in range(200):
            found = json.loads(gemel("status", "--json").output)
            if found["projects"] and found["projects"][0]["waits_for_operator"] and found["projects"][0]["rows"]:
                break
        assert found["projects"][0]["mode"] == "open"
        assert found["carole"]["connected"]
        assert "waits for you: gemel alice approve people" in gemel("status").output
        assert "120 rows" in gemel("profile").output
        assert json.loads(gemel("profile", "--json").output)["rows"] == 120
        shown = gemel("specification").output
        assert "Mode open" in shown
        assert found["projects"][0]["specification_digest"] in shown
        assert gemel("approve", "--yes", "--digest", "0" * 64).exception is not None
        assert gemel("approve").exit_code == 1  # the question is not answered
        assert world.carole.approved == set()
        done = gemel("approve", "people", "--yes", "--digest", found["projects"][0]["specification_digest"])
        assert "Approved: Carole has the signature" in done.output
        assert world.carole.approved == {Side.ALICE}
        assert "Stopping" in gemel("stop").output
        service.wait()


def test_a_seed_file_is_made_once(tmp_path: Path) -> None:
    run = CliRunner()
    path = tmp_path / "people.seed"
    done = run.invoke(alice_app, ["seed", "new", str(path), "--project", "people"])
    assert done.exit_code == 0
    assert path.read_text().splitlines()[2].split()[1] not in done.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = run.invoke(alice_app, ["seed", "new", str(path), "--project", "people"])
    assert isinstance(again.exception, GemelError)


def test_why_carole_cannot_be_called_is_shown_to_the_operator() -> None:
    status = operator_pb2.StatusResponse(party="alice", carole="carole:7443", refusal="she is of an older release")
    with screen.console.capture() as shown:
        screen.show_status(status, ALICE)
    assert "cannot be called" in shown.get()
    assert "she is of an older release" in shown.get()
    assert screen.status_json(status)["carole"]["refusal"] == "she is of an older release"
