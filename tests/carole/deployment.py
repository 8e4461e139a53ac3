"""A Carole for the tests, called over real mutual TLS, and parties that call her as the real ones do."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import polars as pl

from gemel.carole.configuration import load_carole, template
from gemel.carole.engine.run.resources import Resources
from gemel.carole.service.application import Application
from gemel.carole.service.computation import Computation
from gemel.carole.service.ending import RunWork
from gemel.carole.service.linking import carry_out
from gemel.carole.service.supervisor import Supervisor
from gemel.carole.store import Store
from gemel.carole.store.provision import initialise
from gemel.carole.store.runs import Lease
from gemel.carole.store.store import milliseconds
from gemel.common.audit.statements import CustodianDecline, FileStatement, HandOver, TakeOver
from gemel.common.keys.check import PART_BYTES, canary_part_names, key_check_value
from gemel.common.keys.derivation import Seed
from gemel.common.keys.epochs import approval_parts, sign_new_epoch
from gemel.common.keys.identity import Identity, SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing import SealContext, open_sealed
from gemel.common.keys.sealing_key import SealingKey
from gemel.common.observability.settings import host_and_port
from gemel.common.parties import Role, Side
from gemel.common.pki.certificates import server_name
from gemel.common.pki.reader import Reader
from gemel.common.progress import Progress
from gemel.common.rpc.client import Connection
from gemel.common.rpc.tls import channel_credentials
from gemel.common.rpc.transfer import Fetch
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import SignatureSet, layout_of
from gemel.common.specification import Specification, encoding_digest, load_specification, specification_digest
from gemel.common.wire.chunks import Chunk, chunk_slices, root_digest
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.common.wire.parties import side_to_wire
from gemel.coordinator.client.coordinator_client import Coordinator
from gemel.coordinator.client.steward_client import Steward
from gemel.coordinator.provisioning import Provisioned
from gemel.custodian.encoding.records import encode_records
from gemel.protos.linkage.v1 import (
    contribution_pb2,
    coordination_pb2,
    coordination_pb2_grpc,
    custody_pb2,
    custody_pb2_grpc,
)
from tests.specifications import heading

SPECIFICATION = (
    heading("trial")
    + """
fields:
  - {name: surname, kind: name, bits: 1024}
  - {name: given, kind: name, bits: 1024}
  - {name: born, kind: date, bits: 1024, date: {order: ymd}}
blocking:
  - name: born
    keys: [{field: born, part: year}]
release: {alice: links, bob: pairs, coordinator: statistics}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)
SPEC = load_specification(SPECIFICATION)
DIGEST = specification_digest(SPEC)
ENCODING = encoding_digest(SPEC)
SEED = Seed(bytes(range(32)))
KEY_CHECK = key_check_value(SEED, "trial", ENCODING, 1)
CANARY = b"c" * 32


class NoWorker(Supervisor):
    """Leaves runs in the queue, for tests without a worker."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


RECORDS = 9_000
"""Of each custodian's file: enough for four chunks."""


class Deployment:
    """Carole, startable again and again with the same keys and store."""

    def __init__(self, parties: Provisioned, root: Path, *replaced: tuple[str, str]) -> None:
        """In the configuration the first of each pair is `replaced` by the second."""
        self.parties = parties
        self.records = RECORDS  # as custodians state them with their approvals
        self.root = root
        root.mkdir(parents=True)
        self.configuration = root / "carole.yaml"
        keys = parties.parties["carole"].path
        text = template("127.0.0.1:0")
        for old, new in (("keys: .", f"keys: {keys}"), *replaced):
            assert old in text
            text = text.replace(old, new)
        self.configuration.write_text(text)
        places = load_carole(self.configuration).store
        identity = open_identity(None, parties.parties["carole"].identity)
        initialise(places.database, places.place, identity, milliseconds)
        self._application: Application | None = None
        self._elsewhere = ""
        self._connections: list[Connection] = []

    def connect_to(self, address: str) -> None:
        """Connect to a Carole that runs as a separate process."""
        self._elsewhere = address

    def start(self, supervise: Callable[[Store, Path], Supervisor] = NoWorker) -> Application:
        self._application = Application(self.configuration, supervise)
        self._application.start()
        return self._application

    def start_worker(self, program: str) -> Application:
        """Start with workers that run this text instead of their own program."""
        path = self.root / "worker.py"
        path.write_text(program)
        return self.start(lambda store, configuration: Supervisor(store, configuration, (sys.executable, str(path))))

    def restart(self) -> Application:
        self.stop()
        return self.start()

    def stop(self) -> None:
        while self._connections:
            self._connections.pop().close()
        if self._application is not None:
            self._application.stop()
            self._application = None

    def copied(self) -> Path:
        """A copy of the database as it is now, made while Carole is stopped."""
        self.stop()
        copy = self.root / f"copy-{len(list(self.root.glob('copy-*')))}.db"
        shutil.copy(self.root / "store" / "carole.db", copy)
        self.start()
        return copy

    def put_back(self, copy: Path) -> None:
        """Let the database be what it was when it was copied."""
        self.stop()
        shutil.copy(copy, self.root / "store" / "carole.db")
        self.start()

    @property
    def store(self) -> Store:
        return self._application.store

    @property
    def computation(self) -> Computation:
        return self._application.computation

    @property
    def address(self) -> str:
        if self._elsewhere:
            return self._elsewhere
        return self._application.address

    def carry_out(self, lease: Lease, spec: Specification, progress: Progress = lambda stage, done: None) -> int | None:
        """Carry out a run in this process."""
        reader = Reader.load(self.parties.parties["carole"], Role.LINKER)
        return carry_out(RunWork(self.store, lease, spec, reader, Resources(1 << 30, 1), progress))

    def connect(self, party: str, address: str | None = None) -> Connection:
        folder = self.parties.parties[party].path
        credentials = channel_credentials(folder, self.parties.members.named(party).role)
        self._connections.append(Connection(address or self.address, server_name(Role.LINKER), credentials))
        return self._connections[-1]

    def custodian(self, side: Side, project: str = "trial") -> Custodian:
        identity = open_identity(None, self.parties.parties[str(side)].identity)
        return Custodian(side, self.connect(str(side)), identity, project, self.records)

    def coordinator(self, party: str = "coordinator") -> Coordinator:
        identity = open_identity(None, self.parties.parties[party].identity)
        return Coordinator(self.connect(party), identity)

    def hand_over(self, project: str, former: str, successor: str, epoch: int = 1) -> None:
        """A project of one coordinator becomes another's, by the two acts over the wire."""
        seen, reason = self.store.audit.checkpoint(), "she leaves for the ministry"
        identities = {who: open_identity(None, self.parties.parties[who].identity) for who in (former, successor)}
        offer = HandOver(project, former, successor, seen, reason).sign(identities[former])
        connection = self.connect(former)
        request = coordination_pb2.HandOverRequest(
            project=project, successor=successor, reason=reason, seen=seen.size, signature=offer
        )
        connection.call(coordination(connection).HandOver, request, deadline=20.0)
        mine, connection = identities[successor], self.connect(successor)
        opened = self.store.projects.get(project).new_epoch
        taken = coordination_pb2.TakeOverRequest(
            project=project,
            seen=seen.size,
            signature=TakeOver(project, former, successor, seen, offer).sign(mine),
            specification_digest=DIGEST,
            approval=mine.sign(SigningPurpose.APPROVAL, *approval_parts(project, DIGEST, epoch)),
            epoch=epoch,
            epoch_signature=b"" if opened is None else sign_new_epoch(mine, project, ENCODING, epoch, opened.reason),
        )
        for _ in range(2):  # its reply may have been lost
            connection.call(coordination(connection).TakeOver, taken, deadline=20.0)

    def keyed(self, project: str = "trial") -> None:
        """Bring the trial project, or one like it, to KEYED, over the wire."""
        coordinator = self.coordinator()
        text = SPECIFICATION.replace("trial", project)
        digest = specification_digest(load_specification(text))
        coordinator.create(text)
        coordinator.approve(project, digest)
        for side in Side:
            self.custodian(side, project).approve(digest)
        for side in Side:
            self.custodian(side, project).report_keys()

    def contribute(self, uploads: dict[Side, Upload]) -> None:
        """Both contribute to the trial project."""
        for side in Side:
            self.custodian(side).contribute(uploads[side])


@dataclass
class Upload:
    """A contribution as messages."""

    sets: SignatureSet
    side: Side
    name: str
    payload: bytes = field(repr=False)
    manifest: contribution_pb2.Manifest

    @property
    def chunks(self) -> list[bytes]:
        return [self.payload[part] for part in chunk_slices(len(self.payload))]

    @property
    def root(self) -> bytes:
        return root_digest(hashlib.sha256(chunk).digest() for chunk in self.chunks)


def put_request(
    upload: Upload, index: int, data: bytes | None = None, project: str = "trial"
) -> contribution_pb2.PutChunkRequest:
    """What puts a chunk, or `data` as if it were the chunk."""
    content = upload.chunks[index] if data is None else data
    chunk = Chunk(index, len(upload.chunks), upload.root, hashlib.sha256(content).digest(), content)
    return contribution_pb2.PutChunkRequest(project=project, upload=upload.name, chunk=chunk.message())


class Custodian:
    """A custodian's side of the wire, step by step as a test needs it."""

    def __init__(
        self, side: Side, connection: Connection, identity: Identity, project: str = "trial", records: int = RECORDS
    ) -> None:
        self.side = side
        self.records = records
        self.connection = connection
        self.identity = identity
        self.project = project
        self.stub = connection.stub(custody_pb2_grpc.CustodyStub)

    def call(self, method: Any, request: Any, deadline: float = 20.0) -> Any:
        return self.connection.call(method, request, deadline=deadline)

    def approve(
        self,
        digest: bytes = DIGEST,
        signature: bytes | None = None,
        epoch: int = 1,
        signed_epoch: int | None = None,
        file: custody_pb2.FileStatement | None = None,
    ) -> Any:
        parts = approval_parts(self.project, digest, signed_epoch or epoch)
        signed = signature or self.identity.sign("approve-specification", *parts)
        if file is None:
            stated = FileStatement(self.records).sign(self.identity, self.project, digest)
            file = custody_pb2.FileStatement(records=self.records, signature=stated)
        request = custody_pb2.ApproveRequest(
            project=self.project, specification_digest=digest, signature=signed, epoch=epoch, file=file
        )
        return self.call(self.stub.Approve, request)

    def decline(self, reason: str, digest: bytes = DIGEST, signed_reason: str | None = None) -> Any:
        signature = CustodianDecline(self.project, digest, signed_reason or reason).sign(self.identity)
        request = custody_pb2.CustodyDeclineRequest(
            project=self.project, specification_digest=digest, reason=reason, signature=signature
        )
        return self.call(self.stub.Decline, request)

    def next_task(self, wait_ms: int = 0, waiting: tuple[str, ...] = ()) -> custody_pb2.NextTaskResponse:
        found: custody_pb2.NextTaskResponse = self.call(
            self.stub.NextTask, custody_pb2.NextTaskRequest(wait_ms=wait_ms, waiting=waiting)
        )
        return found

    def post(self, kind: int, payload: bytes, epoch: int = 1, sender: Side | None = None) -> Any:
        message = custody_pb2.AgreementMessage(
            kind=kind,
            sender=side_to_wire(sender or self.side),
            payload=payload,
        )
        request = custody_pb2.PostMessageRequest(project=self.project, epoch=epoch, message=message)
        return self.call(self.stub.PostMessage, request)

    def report_keys(self, check: bytes = KEY_CHECK, canary: bytes = CANARY, epoch: int = 1) -> Any:
        parts = [canary[:PART_BYTES]] * len(canary_part_names(field.name for field in SPEC.fields))
        request = custody_pb2.ReportKeysRequest(
            project=self.project, epoch=epoch, key_check_value=check, canary_digest=canary, canary_parts=parts
        )
        return self.call(self.stub.ReportKeys, request)

    def begin(self, upload: Upload) -> contribution_pb2.BeginUploadResponse:
        request = contribution_pb2.BeginUploadRequest(manifest=upload.manifest, upload=upload.name)
        begun: contribution_pb2.BeginUploadResponse = self.call(self.stub.BeginUpload, request)
        return begun

    def put(self, upload: Upload, index: int, data: bytes | None = None) -> Any:
        return self.call(self.stub.PutChunk, put_request(upload, index, data, self.project))

    def commit(self, upload: Upload) -> Any:
        request = contribution_pb2.CommitUploadRequest(
            project=self.project,
            upload=upload.name,
            chunks=len(upload.chunks),
            total_bytes=len(upload.payload),
            root=upload.root,
        )
        return self.call(self.stub.CommitUpload, request)

    def contribute(self, upload: Upload) -> None:
        self.begin(upload)
        for index in range(len(upload.chunks)):
            self.put(upload, index)
        self.commit(upload)

    def fetch(self, run: str) -> tuple[bytes, bytes]:
        """The sealed share and its root digest."""

        def request(index: int) -> custody_pb2.FetchResultRequest:
            return custody_pb2.FetchResultRequest(project=self.project, run=run, index=index)

        share = Fetch(self.connection, self.stub.FetchResult, request, self.project)
        return share.whole(), share.root


def files_of(parties: Provisioned, owner: str, sealed: bytes, run: str, project: str = "trial") -> dict[str, bytes]:
    """What a custodian finds in its share, opened with its own key; nothing of it is compressed."""
    key = SealingKey.load(parties.parties[owner].sealing)
    content = b"".join(open_sealed(key, SealContext(project, run, owner), [sealed]))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
        return {name: archive.read(name) for name in archive.namelist()}


def people(n: int, offset: int = 0) -> pl.DataFrame:
    """Made-up people, each number always the same person; the numbers from `offset` on."""
    rows = []
    for person in range(offset, offset + n):
        rng = np.random.default_rng(person)
        surname = "".join(rng.choice(list("abcdefghiklmnoprstuvwz"), size=8))
        given = "".join(rng.choice(list("aeioubdlmnrst"), size=6))
        born = f"{1940 + person % 60}{1 + int(rng.integers(12)):02d}{1 + int(rng.integers(28)):02d}"
        rows.append({"surname": surname, "given": given, "born": born})
    return pl.DataFrame(rows)


def make_upload(
    side: Side, frame: pl.DataFrame, name: str, *, seed: Seed = SEED, **changes: Any
) -> tuple[Upload, np.ndarray]:
    """A real contribution of `frame`, and the order its rows were shuffled into; `changes` are the manifest's."""
    made = encode_records({column: frame[column] for column in frame.columns}, SPEC, seed, 1)
    signed, order = made.sets[0], made.order
    manifest = {
        "project": "trial",
        "side": changes.pop("manifest_side", side),
        "epoch": 1,
        "encoding_digest": ENCODING,
        "key_check_value": KEY_CHECK,
        "layout": layout_of([signed]),
        **changes,
    }
    payload = b"".join(to_bytes([signed]))
    return Upload(signed, side, name, payload, manifest_to_wire(Manifest(**manifest))), order


def raw_error(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Everything that a refused call returns."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details(), tuple(error.trailing_metadata())
    raise AssertionError("the call was not refused")


def coordination(connection: Connection) -> coordination_pb2_grpc.CoordinationStub:
    return connection.stub(coordination_pb2_grpc.CoordinationStub)


def eventually(condition: Callable[[], bool], seconds: float = 180.0) -> None:
    end, pause = time.monotonic() + seconds, 0.02
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(pause)
        pause = min(0.3, 1.3 * pause)


def steward(deployment: Deployment, party: str = "steward") -> Steward:
    folder = deployment.parties.parties[party]
    linker = deployment.parties.members.in_role(Role.LINKER).identity
    return Steward(deployment.connect(party), open_identity(None, folder.identity), linker)


def get(address: str, path: str) -> tuple[int, dict[str, dict[str, str]]]:
    connection = HTTPConnection(*host_and_port(address), timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
