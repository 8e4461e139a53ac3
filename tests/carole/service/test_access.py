"""Who gets in, over real mutual TLS: certificates of the wrong role, of another authority, out of date; no deadline."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.parties import Role, Side
from gemel.common.pki.authority import Authority
from gemel.common.pki.certificates import Validity, certificate_pem, key_pem, load_key, new_key, server_name
from gemel.common.rpc.access import ACCESS
from gemel.common.rpc.client import Connection
from gemel.common.rpc.status import METADATA_KEY
from gemel.protos.linkage.v1 import (
    contribution_pb2,
    coordination_pb2,
    coordination_pb2_grpc,
    custody_pb2,
    custody_pb2_grpc,
    resolution_pb2,
)
from tests.carole.deployment import SPECIFICATION, Deployment, Upload, raw_error

LONG_AGO = Validity(datetime.now(UTC) - timedelta(days=30), datetime.now(UTC) - timedelta(days=1))


def credentials(deployment: Deployment, key: bytes, chain: bytes) -> grpc.ChannelCredentials:
    authority = deployment.parties.authority / "authority.pem"
    return grpc.ssl_channel_credentials(authority.read_bytes(), key, chain)


def code_of(call: Callable[[], Any]) -> ErrorCode:
    status, _, metadata = raw_error(call)
    found = dict(metadata).get(METADATA_KEY)
    return ErrorCode(json.loads(found)["code"]) if found else ErrorCode[{"UNAVAILABLE": "UNAVAILABLE"}[status.name]]


def request_row_handles(deployment: Deployment, key: bytes, chain: bytes) -> ErrorCode:
    connection = Connection(deployment.address, server_name(Role.LINKER), credentials(deployment, key, chain))
    stub = connection.stub(custody_pb2_grpc.CustodyStub)
    try:
        return code_of(lambda: stub.NextTask(custody_pb2.NextTaskRequest(), timeout=10))
    finally:
        connection.close()


@pytest.fixture
def authority(deployment: Deployment) -> Authority:
    return Authority.load(deployment.parties.authority)


def test_a_new_key_with_alices_name_and_role_is_not_alice(deployment: Deployment, authority: Authority) -> None:
    key = new_key()
    chain = certificate_pem(authority.issue(key.public_key(), "alice", Role.CUSTODIAN_A))
    assert request_row_handles(deployment, key_pem(key), chain) is ErrorCode.NOT_ADMITTED


def test_alices_own_key_in_another_role_is_refused(deployment: Deployment, authority: Authority) -> None:
    key = load_key(deployment.parties.parties["alice"].tls_key)
    chain = certificate_pem(authority.issue(key.public_key(), "alice", Role.COORDINATOR))
    assert request_row_handles(deployment, key_pem(key), chain) is ErrorCode.NOT_ADMITTED


def test_an_expired_certificate_is_refused(deployment: Deployment, authority: Authority) -> None:
    key = load_key(deployment.parties.parties["alice"].tls_key)
    chain = certificate_pem(authority.issue(key.public_key(), "alice", Role.CUSTODIAN_A, validity=LONG_AGO))
    assert request_row_handles(deployment, key_pem(key), chain) is ErrorCode.UNAVAILABLE, "TLS itself refuses it"


def test_a_certificate_of_an_unknown_authority_is_refused(deployment: Deployment) -> None:
    key = load_key(deployment.parties.parties["alice"].tls_key)
    chain = certificate_pem(Authority.create("Stranger").issue(key.public_key(), "alice", Role.CUSTODIAN_A))
    assert request_row_handles(deployment, key_pem(key), chain) is ErrorCode.UNAVAILABLE


def test_bobs_own_authority_cannot_make_an_alice(deployment: Deployment, tmp_path: Path) -> None:
    """An authority that Carole trusts, for Bob, signs a certificate that names Alice, even over Alice's own key."""
    bobs = Authority.create("Bob's own authority")
    keys = tmp_path / "keys"
    shutil.copytree(deployment.parties.parties["carole"].path, keys)
    (keys / "callers.pem").write_bytes((keys / "callers.pem").read_bytes() + bobs.pem)
    deployment.configuration.write_text(
        deployment.configuration.read_text().replace(str(deployment.parties.parties["carole"].path), str(keys))
    )
    deployment.restart()
    for key in (new_key(), load_key(deployment.parties.parties["alice"].tls_key)):
        chain = certificate_pem(bobs.issue(key.public_key(), "alice", Role.CUSTODIAN_A))
        assert request_row_handles(deployment, key_pem(key), chain) is ErrorCode.NOT_ADMITTED


def test_without_a_certificate_there_is_no_connection(deployment: Deployment) -> None:
    authority = deployment.parties.authority / "authority.pem"
    anonymous = grpc.ssl_channel_credentials(authority.read_bytes())
    connection = Connection(deployment.address, server_name(Role.LINKER), anonymous)
    stub = connection.stub(custody_pb2_grpc.CustodyStub)
    assert code_of(lambda: stub.NextTask(custody_pb2.NextTaskRequest(), timeout=10)) is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("party", "service", "method"),
    [
        ("coordinator", "Custody", "FetchResult"),
        ("coordinator", "Custody", "PutChunk"),
        ("coordinator", "Custody", "NextTask"),
        ("alice", "Coordination", "GetStatistics"),
        ("bob", "Coordination", "EraseProject"),
        ("alice", "Coordination", "StartRun"),
        ("alice", "Coordination", "PutArtifact"),
        ("carole", "Coordination", "PutArtifact"),
        ("coordinator", "Custody", "PutArtifact"),
        ("steward", "Coordination", "GetProject"),
        ("steward", "Custody", "NextTask"),
        ("carole", "Coordination", "ListProjects"),
    ],
)
def test_a_role_calls_its_own_methods_only(deployment: Deployment, party: str, service: str, method: str) -> None:
    deployment.coordinator().create(SPECIFICATION)
    modules = {
        "Custody": (custody_pb2_grpc.CustodyStub, custody_pb2, contribution_pb2, resolution_pb2),
        "Coordination": (coordination_pb2_grpc.CoordinationStub, coordination_pb2, resolution_pb2),
    }
    stub_class, *messages = modules[service]
    request = next(getattr(m, f"{method}Request")() for m in messages if hasattr(m, f"{method}Request"))
    stub = deployment.connect(party).stub(stub_class)  # type: ignore[arg-type]
    assert code_of(lambda: getattr(stub, method)(request, timeout=10)) is ErrorCode.NOT_ADMITTED


def test_every_method_carole_serves_is_in_the_table(deployment: Deployment) -> None:
    for service, descriptor in (
        ("Custody", custody_pb2.DESCRIPTOR.services_by_name["Custody"]),
        ("Coordination", coordination_pb2.DESCRIPTOR.services_by_name["Coordination"]),
    ):
        for method in descriptor.methods:
            assert f"/linkage.v1.{service}/{method.name}" in ACCESS


def test_a_call_without_a_deadline_is_refused(deployment: Deployment) -> None:
    alice = deployment.custodian(Side.ALICE)
    request = custody_pb2.NextTaskRequest()
    assert code_of(lambda: alice.stub.NextTask(request)) is ErrorCode.DEADLINE_MISSING
    assert code_of(lambda: alice.stub.NextTask(request, timeout=7200)) is ErrorCode.DEADLINE_MISSING


def test_an_internal_error_gives_the_peer_a_number_only(
    deployment: Deployment, uploads: dict[Side, Upload], monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.keyed()
    alice, upload = deployment.custodian(Side.ALICE), uploads[Side.ALICE]
    alice.begin(upload)
    written = io.StringIO()

    def broken(*_: object) -> None:
        raise RuntimeError("planted-value")

    monkeypatch.setattr(deployment.store.uploads, "put", broken)
    structlog.configure(logger_factory=structlog.WriteLoggerFactory(written), cache_logger_on_first_use=False)
    try:
        with pytest.raises(GemelError) as caught:
            alice.put(upload, 0)
    finally:
        structlog.reset_defaults()
    assert caught.value.code is ErrorCode.INTERNAL
    incident = caught.value.got.removeprefix("incident ")
    assert incident in written.getvalue()
    assert "RuntimeError" in written.getvalue()
    assert "planted-value" not in str(caught.value) + written.getvalue()
