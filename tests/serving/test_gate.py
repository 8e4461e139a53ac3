"""The gate of every call: one table of access, members alone, and errors that show no value."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FileDescriptor
from grpc_health.v1 import health_pb2

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import CUSTODIANS, Role
from gemel.common.pki.certificates import Validity
from gemel.common.rpc.access import ACCESS
from gemel.common.rpc.client import Connection
from gemel.common.rpc.status import METADATA_KEY, from_rpc_error
from gemel.common.rpc.trust import Trust
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.protos.linkage.v1 import (
    audit_pb2,
    computation_pb2,
    coordination_pb2,
    coordination_pb2_grpc,
    custody_pb2,
    custody_pb2_grpc,
    operator_pb2,
    project_pb2,
    restoration_pb2,
    stewardship_pb2,
    variables_pb2,
)
from gemel.serving.server import RunningServer, caller, start_server
from tests.carole.refusals import refusal
from tests.common.rpc.serving import LINKER, connect, serving

FILES: list[FileDescriptor] = [
    audit_pb2.DESCRIPTOR,
    computation_pb2.DESCRIPTOR,
    coordination_pb2.DESCRIPTOR,
    custody_pb2.DESCRIPTOR,
    operator_pb2.DESCRIPTOR,
    restoration_pb2.DESCRIPTOR,
    stewardship_pb2.DESCRIPTOR,
    variables_pb2.DESCRIPTOR,
    health_pb2.DESCRIPTOR,
]


def test_table_matches_the_descriptors() -> None:
    served = {
        f"/{service.full_name}/{method.name}"
        for file in FILES
        for service in file.services_by_name.values()
        for method in service.methods
    }
    assert set(ACCESS) == served


def test_no_method_takes_a_stream_from_a_client() -> None:
    # The gate wraps calls with one request; a client's stream would pass it by.
    streams = [
        method.full_name
        for file in FILES
        for service in file.services_by_name.values()
        for method in service.methods
        if method.client_streaming
    ]
    assert streams == []


OF_ALL = {
    "/linkage.v1.Audit/Witness",
    "/linkage.v1.Restoration/GetRestoration",
    "/linkage.v1.Restoration/DecideRestoration",
}
"""Every party reads on in the audit log, and decides on a restored one."""


COMPUTING = {
    f"/linkage.v1.Computation/{method}"
    for method in ("AttendSession", "FetchSet", "SendMessage", "ReceiveMessage", "EndComputation")
}
"""The three compute parties take part in a session, as the service itself checks by their names."""


def test_the_parties_of_a_computation_are_carole_a_coordinator_and_a_steward() -> None:
    may = {method for method in ACCESS if method.startswith("/linkage.v1.Computation/")}
    assert may - COMPUTING == {"/linkage.v1.Computation/NextComputation", "/linkage.v1.Computation/OpenSession"}
    for method in COMPUTING:
        assert ACCESS[method] == {Role.LINKER, Role.COORDINATOR, Role.STEWARD}
    assert ACCESS["/linkage.v1.Computation/NextComputation"] == {Role.COORDINATOR, Role.STEWARD}
    assert ACCESS["/linkage.v1.Computation/OpenSession"] == {Role.LINKER}


def test_what_is_of_all_parties_is_not_the_linkers() -> None:
    for method in OF_ALL:
        assert ACCESS[method] == frozenset(Role) - {Role.LINKER, Role.ANALYST}


def test_custodians_and_coordinator_share_no_other_method() -> None:
    for method, roles in ACCESS.items():
        if method.startswith("/linkage.v1.") and method not in OF_ALL:
            assert not (roles & CUSTODIANS and Role.COORDINATOR in roles), method
            assert Role.LINKER not in roles or method.startswith("/linkage.v1.Computation/"), method


def test_an_analyst_fetches_what_is_sealed_to_it_and_calls_nothing_else() -> None:
    may = {method for method, roles in ACCESS.items() if Role.ANALYST in roles and method.startswith("/linkage.v1.")}
    assert {method.split("/")[1] for method in may} == {"linkage.v1.Analysis"}
    assert all(ACCESS[method] == {Role.ANALYST} for method in may)


def test_a_steward_alone_decides_and_does_nothing_else() -> None:
    may = {method for method, roles in ACCESS.items() if Role.STEWARD in roles and method.startswith("/linkage.v1.")}
    may -= OF_ALL | COMPUTING | {"/linkage.v1.Computation/NextComputation"}
    assert {method.split("/")[1] for method in may} == {"linkage.v1.Stewardship"}
    for method in may - {"/linkage.v1.Stewardship/GetReport"}:
        assert ACCESS[method] == {Role.STEWARD}
    assert ACCESS["/linkage.v1.Stewardship/GetReport"] == {Role.STEWARD, Role.COORDINATOR}


PLANTED = "Wolfeschlegelsteinhausenbergerdorff"


class Coordination(coordination_pb2_grpc.CoordinationServicer):
    """Answers with the caller's name, refuses, fails, or streams, as the request selects."""

    def GetProject(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        if request.project == "refuse":
            raise GemelError(ErrorCode.RUN_ACTIVE, "a run is active", where="run", got="one", remedy="wait for it")
        if request.project == "fail":
            raise KeyError(PLANTED)
        if request.project == "disk":
            raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/gemel/carole/blobs")
        if request.project == "import":
            raise ModuleNotFoundError("No module named 'altair'", name="altair")
        if request.project == "long":
            raise GemelError(ErrorCode.PARAMETER, "x" * 100_000)
        return coordination_pb2.GetProjectResponse(specification=caller(context).name)

    def WatchRun(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        yield project_pb2.RunStatus(run="first")
        raise ValueError(PLANTED)


@pytest.fixture(scope="module")
def denials() -> list[tuple[str, str]]:
    return []


@pytest.fixture(scope="module")
def server(parties: Provisioned, denials: list[tuple[str, str]]) -> Iterator[RunningServer]:
    service = (coordination_pb2_grpc.add_CoordinationServicer_to_server, Coordination())
    with serving(parties, service, denied=lambda actor, method: denials.append((actor, method))) as running:
        yield running


@pytest.fixture(scope="module")
def coordinator(server: RunningServer, parties: Provisioned) -> Iterator[Connection]:
    with connect(parties, server.port, "coordinator") as connection:
        yield connection


def get(connection: Connection, project: str) -> Any:
    stub = connection.stub(coordination_pb2_grpc.CoordinationStub)
    return connection.call(stub.GetProject, coordination_pb2.GetProjectRequest(project=project))


def answered_error(connection: Connection, project: str) -> GemelError:
    with pytest.raises(GemelError) as caught:
        get(connection, project)
    return caught.value


def test_a_member_in_the_right_role_is_answered_and_known(coordinator: Connection) -> None:
    assert get(coordinator, "study").specification == "coordinator"


def test_a_custodian_is_denied_the_coordinators_methods(server: RunningServer, parties: Provisioned) -> None:
    with connect(parties, server.port, "alice") as alice:
        assert answered_error(alice, "study").code is ErrorCode.NOT_ADMITTED


def test_a_method_without_a_servicer_is_no_way_around(coordinator: Connection) -> None:
    stub = coordinator.stub(custody_pb2_grpc.CustodyStub)
    with pytest.raises(GemelError):
        coordinator.call(stub.NextTask, custody_pb2.NextTaskRequest())


def test_a_stranger_with_a_certificate_of_another_authority_gets_no_connection(
    server: RunningServer, tmp_path: Path
) -> None:
    strangers = provision(tmp_path, validity=Validity.lasting(timedelta(hours=1)))
    with connect(strangers, server.port, "coordinator") as stranger:
        assert answered_error(stranger, "study").code is ErrorCode.UNAVAILABLE


def test_no_certificate_no_connection(server: RunningServer, parties: Provisioned) -> None:
    roots = parties.parties["coordinator"].linker.read_bytes()
    with Connection(f"127.0.0.1:{server.port}", LINKER, grpc.ssl_channel_credentials(roots)) as anybody:
        assert answered_error(anybody, "study").code is ErrorCode.UNAVAILABLE


def test_a_call_without_a_deadline_is_refused(coordinator: Connection) -> None:
    stub = coordinator.stub(coordination_pb2_grpc.CoordinationStub)
    with pytest.raises(grpc.RpcError) as caught:
        stub.GetProject(coordination_pb2.GetProjectRequest(project="study"))
    assert b'"code": 19' in dict(caught.value.trailing_metadata())[METADATA_KEY]


def test_a_typed_error_crosses_whole(coordinator: Connection) -> None:
    error = answered_error(coordinator, "refuse")
    assert (error.code, error.what, error.where, error.got, error.remedy) == (
        ErrorCode.RUN_ACTIVE,
        "a run is active",
        "run",
        "one",
        "wait for it",
    )


def test_a_long_error_is_cut_and_still_typed(coordinator: Connection) -> None:
    assert answered_error(coordinator, "long").code is ErrorCode.PARAMETER


def test_an_unforeseen_exception_sends_the_peer_an_incident_id_and_nothing_else(
    coordinator: Connection, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    error = answered_error(coordinator, "fail")
    assert error.code is ErrorCode.INTERNAL
    assert "incident" in error.got
    output = "".join(capfd.readouterr()) + caplog.text
    assert PLANTED not in str(error)
    assert PLANTED not in output
    assert error.got.split()[-1] in output


def test_an_exception_in_a_stream_is_no_different(
    coordinator: Connection, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    stub = coordinator.stub(coordination_pb2_grpc.CoordinationStub)
    stream = coordinator.watch(stub.WatchRun, coordination_pb2.WatchRunRequest(), deadline=5)
    assert next(stream).run == "first"
    with refusal(ErrorCode.INTERNAL) as caught:
        next(stream)
    assert PLANTED not in str(caught.value) + "".join(capfd.readouterr()) + caplog.text


def test_a_message_beyond_the_limit_is_refused(coordinator: Connection) -> None:
    error = answered_error(coordinator, "x" * (3 << 20))
    assert error.code is not ErrorCode.NOT_ADMITTED


def test_a_port_in_use_is_a_configuration_error(server: RunningServer, parties: Provisioned) -> None:
    folder = parties.parties["carole"].path
    with refusal(ErrorCode.CONFIGURATION):
        start_server(f"127.0.0.1:{server.port}", [], Trust(folder, Role.LINKER))


def test_bytes_that_are_no_message_have_their_sender_in_the_log_and_among_the_denials(
    server: RunningServer, coordinator: Connection, denials: list[tuple[str, str]], capfd: pytest.CaptureFixture[str]
) -> None:
    method = "/linkage.v1.Coordination/GetProject"
    raw = coordinator._channel.unary_unary(method, None, None)
    with pytest.raises(grpc.RpcError) as caught:
        raw(b"\xff\xff" + PLANTED.encode(), timeout=5)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert from_rpc_error(caught.value, "").code is ErrorCode.MALFORMED
    assert denials[-1] == ("coordinator", method)
    line = next(line for line in capfd.readouterr().out.splitlines() if "MALFORMED" in line)
    assert "member=coordinator" in line
    assert PLANTED not in line


def test_a_call_without_a_message_is_refused(coordinator: Connection) -> None:
    raw = coordinator._channel.stream_unary("/linkage.v1.Coordination/GetProject", None, None)
    with pytest.raises(grpc.RpcError) as caught:
        raw(iter(()), timeout=5)
    assert from_rpc_error(caught.value, "").code is ErrorCode.MALFORMED


def test_what_is_wrong_with_the_service_itself_stays_in_its_log(
    coordinator: Connection, capfd: pytest.CaptureFixture[str]
) -> None:
    error = answered_error(coordinator, "disk")
    assert (error.code, error.where, error.got) == (ErrorCode.STORAGE_FULL, "", "")
    assert "/var/lib" not in str(error)
    line = next(line for line in capfd.readouterr().out.splitlines() if "service failed a call" in line)
    assert "error" in line
    assert "/var/lib/gemel/carole/blobs" in line


def test_a_missing_package_is_no_incident(coordinator: Connection, capfd: pytest.CaptureFixture[str]) -> None:
    assert answered_error(coordinator, "import").code is ErrorCode.MODULE_MISSING
    assert "pip install '.[report]'" in capfd.readouterr().out
