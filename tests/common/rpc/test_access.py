"""The access table names every method that is served, and no other."""

from __future__ import annotations

from google.protobuf.descriptor import FileDescriptor
from grpc_health.v1 import health_pb2

from gemel.common.parties import CUSTODIANS, Role
from gemel.common.rpc.access import ACCESS
from gemel.protos.linkage.v1 import (
    audit_pb2,
    computation_pb2,
    coordination_pb2,
    custody_pb2,
    operator_pb2,
    restoration_pb2,
    stewardship_pb2,
    variables_pb2,
)

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
