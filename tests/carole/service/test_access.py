"""Who gets in, over real mutual TLS: certificates of the wrong role, of another authority, out of date; no deadline."""

from __future__ import annotations

import io
import json
import shutil
from datetime import UTC, datetime, timedelta

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
from tests.carole.deployment import SPECIFICATION, raw_error

LONG_AGO = Validity(datetime.now(UTC) - timedelta(days=30), datetime.now(UTC) - timedelta(days=1))


def credentials(deployment, key, chain):
    authority = deployment.parties.authority / "authority.pem"
    return grpc.ssl_channel_credentials(authority.read_bytes(), key, chain)


def code_of(call):
    status, _, metadata = raw_error(call)
    found = dict(metadata).get(METADATA_KEY)
    return ErrorCode(json.loads(found)["code"]) if found else ErrorCode[{"UNAVAILABLE": "UNAVAILABLE"}[status.name]]


def request_row_handles(deployment, key, chain):
    connection = Connection(deployment.address, server_name(Role.LINKER), credentials(deployment, key, chain))
    stub = connection.stub(custody_pb2_grpc.CustodyStub)
    try:
        return code_of(lambda: stub.NextTask(custody_pb2.NextTaskRequest(), timeout=10))
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("own_key", "own_authority", "role", "validity", "code"),
    [
        (False, True, Role.CUSTODIAN_A, None, ErrorCode.NOT_ADMITTED),
        (True, True, Role.COORDINATOR, None, ErrorCode.NOT_ADMITTED),
        (True, True, Role.CUSTODIAN_A, LONG_AGO, ErrorCode.UNAVAILABLE),  # TLS itself refuses it
        (True, False, Role.CUSTODIAN_A, None, ErrorCode.UNAVAILABLE),
    ],
    ids=["a new key", "another role", "expired", "an unknown authority"],
)
def test_a_certificate_in_alices_name_is_refused(deployment, own_key, own_authority, role, validity, code):
    key = load_key(deployment.parties.parties["alice"].tls_key) if own_key else new_key()
    authority = Authority.load(deployment.parties.authority) if own_authority else Authority.create("Stranger")
    chain = certificate_pem(authority.issue(key.public_key(), "alice", role, validity=validity))
    assert request_row_handles(deployment, key_pem(key), chain) is code


def test_bobs_own_authority_cannot_make_an_alice(deployment, tmp_path):
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


def test_without_a_certificate_there_is_no_connection(deployment):
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
def test_a_role_calls_its_own_methods_only(deployment, party, service, method):
    deployment.coordinator().create(SPECIFICATION)
    modules = {
        "Custody": (custody_pb2_grpc.CustodyStub, custody_pb2, contribution_pb2, resolution_pb2),
        "Coordination": (coordination_pb2_grpc.CoordinationStub, coordination_pb2, resolution_pb2),
    }
    stub_class, *messages = modules[service]
    request = next(getattr(m, f"{method}Request")() for m in messages if hasattr(m, f"{method}Request"))
    stub = deployment.connect(party).stub(stub_class)
    assert code_of(lambda: getattr(stub, method)(request, timeout=10)) is ErrorCode.NOT_ADMITTED


def test_every_method_carole_serves_is_in_the_table(deployment):
    for service, descriptor in (
        ("Custody", custody_pb2.DESCRIPTOR.services_by_name["Custody"]),
        ("Coordination", coordination_pb2.DESCRIPTOR.services_by_name["Coordination"]),
    ):
        for method in descriptor.methods:
            assert f"/linkage.v1.{service}/{method.name}" in ACCESS


def test_a_call_without_a_deadline_is_refused(deployment):
    alice = deployment.custodian(Side.ALICE)
    request = custody_pb2.NextTaskRequest()
    assert code_of(lambda: alice.stub.NextTask(request)) is ErrorCode.DEADLINE_MISSING
    assert code_of(lambda: alice.stub.NextTask(request, timeout=7200)) is ErrorCode.DEADLINE_MISSING


def test_an_internal_error_gives_the_peer_a_number_only(deployment, uploads, monkeypatch):
    deployment.keyed()
    alice, upload = deployment.custodian(Side.ALICE), uploads[Side.ALICE]
    alice.begin(upload)
    written = io.StringIO()

    def broken(*_):
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
