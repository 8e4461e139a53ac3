"""Releases that do not go together are refused at the first call, by either side, in words; others are not noticed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import grpc
import pytest

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role
from gemel.common.pki.certificates import Validity, server_name
from gemel.common.pki.provisioning import Provisioned, provision
from gemel.common.rpc import access as rpc_protocol
from gemel.common.rpc import client, dispatch
from gemel.common.rpc.access import OLDEST_CALLERS, PROTOCOL_KEY, require_caller
from gemel.common.rpc.client import Connection
from gemel.common.rpc.server import start_server
from gemel.common.rpc.tls import channel_credentials
from gemel.common.rpc.trust import Trust
from gemel.common.versions import PROTOCOL
from gemel.protos.linkage.v1 import coordination_pb2, coordination_pb2_grpc, custody_pb2, custody_pb2_grpc

NAMES = {Role.COORDINATOR: "coordinator", Role.CUSTODIAN_A: "alice"}


class Coordination(coordination_pb2_grpc.CoordinationServicer):
    def ListProjects(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return coordination_pb2.ListProjectsResponse()


class Custody(custody_pb2_grpc.CustodyServicer):
    def NextTask(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return custody_pb2.NextTaskResponse()


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Provisioned:
    return provision(tmp_path_factory.mktemp("protocol"), validity=Validity.lasting(timedelta(hours=1)))


@pytest.fixture(scope="module")
def port(parties: Provisioned) -> Iterator[int]:
    running = start_server(
        "127.0.0.1:0",
        [
            (coordination_pb2_grpc.add_CoordinationServicer_to_server, Coordination()),
            (custody_pb2_grpc.add_CustodyServicer_to_server, Custody()),
        ],
        Trust(parties.parties["carole"].path, Role.LINKER),
    )
    yield running.port
    running.stop(0.1)


def call(port: int, parties: Provisioned, role: Role) -> None:
    credentials = channel_credentials(parties.parties[NAMES[role]].path, role)
    with Connection(f"127.0.0.1:{port}", server_name(Role.LINKER), credentials) as connection:
        if role is Role.COORDINATOR:
            stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
            connection.call(stub.ListProjects, coordination_pb2.ListProjectsRequest())
        else:
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).NextTask, custody_pb2.NextTaskRequest())


def speaking(monkeypatch: pytest.MonkeyPatch, side: Any, protocol: int | None) -> None:
    """Let one side speak another protocol; None is one that names none."""
    monkeypatch.setattr(side, "OWN_PROTOCOL", () if protocol is None else ((PROTOCOL_KEY, str(protocol)),))


@pytest.mark.parametrize("role", NAMES)
def test_releases_that_go_together(role: Role, port: int, parties: Provisioned, monkeypatch: Any) -> None:
    call(port, parties, role)
    for protocol in (OLDEST_CALLERS[role], PROTOCOL + 1):
        speaking(monkeypatch, client, protocol)
        call(port, parties, role)
    speaking(monkeypatch, dispatch, PROTOCOL + 1)
    call(port, parties, role)


@pytest.mark.parametrize("role", NAMES)
@pytest.mark.parametrize("protocol", [None, 1])
def test_a_caller_that_is_too_old(
    role: Role, protocol: int | None, port: int, parties: Provisioned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_protocol, "OLDEST_CALLERS", {role: 2})  # as a later release may require
    speaking(monkeypatch, client, protocol)
    refusal = f"takes no {role} that speaks a protocol before 2, got protocol {protocol or 0}"
    with refusal(ErrorCode.WRONG_STATE, refusal) as caught:
        call(port, parties, role)
    assert f"with protocol {PROTOCOL}" in caught.value.remedy


@pytest.mark.parametrize("protocol", [None, 1])
def test_a_service_that_is_too_old(
    protocol: int | None, port: int, parties: Provisioned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_protocol, "OLDEST_SERVICE", 2)
    speaking(monkeypatch, dispatch, protocol)
    got = f"of an older release than this program, which needs protocol 2, got protocol {protocol or 0}; wait until"
    with pytest.raises(GemelError, match=got):
        call(port, parties, Role.CUSTODIAN_A)


@pytest.mark.parametrize("named", ["", "0", "-1", "2.0", "two", "9" * 9, "\u0662"])
def test_what_is_no_number_is_refused(named: str) -> None:
    for role in (Role.CUSTODIAN_A, Role.COORDINATOR):
        with pytest.raises(GemelError, match="got protocol 0"):
            require_caller(role, [(PROTOCOL_KEY, named)])
