"""A project in which Alice may begin uploads, made by calls as all parties make them, for `fairness`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import polars as pl

from gemel.common.keys.check import key_check_value
from gemel.common.keys.derivation import Seed
from gemel.common.keys.identity import SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.parties import Role, Side
from gemel.common.pki.certificates import server_name
from gemel.common.pki.folders import PartyFolder
from gemel.common.pki.provisioning import PARTIES
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.signatures import layout_of
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.custodian.encoding.records import encode_records
from gemel.protos.linkage.v1 import contribution_pb2, custody_pb2, custody_pb2_grpc

PROJECT = "fairness"
TEXT = f"""\
version: 1
project: {PROJECT}
mode: open
custodians: {{alice: {{identifier: id}}, bob: {{identifier: id}}}}
fields:
  - {{name: surname, kind: name, bits: 512}}
  - {{name: born, kind: date, date: {{order: ymd}}}}
release: {{coordinator: statistics}}
retention: {{uploads_days: 7, results_days: 30, maps_days: 90}}
"""
SPEC = load_specification(TEXT)
SEED = Seed(bytes(range(32)))


def make_project(address: str, parties: Mapping[str, PartyFolder]) -> None:
    """Bring the project to where its custodians contribute."""
    digest = specification_digest(SPEC)

    def connect(party: str) -> Connection:
        credentials = channel_credentials(parties[party].path, PARTIES[party])
        return Connection(address, server_name(Role.LINKER), credentials)

    with connect("coordinator") as connection:
        coordinator = Coordinator(connection, open_identity(None, parties["coordinator"].identity))
        coordinator.create(TEXT)
        coordinator.approve(PROJECT, digest)
    for side in Side:
        signature = open_identity(None, parties[side].identity).sign(SigningPurpose.APPROVAL, PROJECT.encode(), digest)
        approval = custody_pb2.ApproveRequest(project=PROJECT, specification_digest=digest, signature=signature)
        with connect(side) as connection:
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).Approve, approval)
    report = custody_pb2.ReportKeysRequest(
        project=PROJECT, epoch=1, key_check_value=_key_check(), canary_digest=bytes(32)
    )
    for side in Side:
        with connect(side) as connection:
            connection.call(connection.stub(custody_pb2_grpc.CustodyStub).ReportKeys, report)


def upload(name: str) -> contribution_pb2.BeginUploadRequest:
    """What begins an upload of Alice's, of one record."""
    return contribution_pb2.BeginUploadRequest(manifest=_manifest(), upload=name)


@cache
def _manifest() -> contribution_pb2.Manifest:
    # Made once: whoever sends many does not sign its records again for each, on the machine that is measured.
    frame = pl.DataFrame({"surname": ["a name"], "born": ["19700101"]})
    made = encode_records({column: frame[column] for column in frame.columns}, SPEC, SEED, 1)
    layout = layout_of(made.sets)
    return manifest_to_wire(Manifest(PROJECT, Side.ALICE, 1, encoding_digest(SPEC), _key_check(), layout))


def _key_check() -> bytes:
    return key_check_value(SEED, PROJECT, encoding_digest(SPEC), 1)
