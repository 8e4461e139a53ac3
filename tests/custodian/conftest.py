"""Two custodians' folders, people for them, and a Carole that a test can make fail.

The simulated Carole speaks the real wire over mutual TLS and hands out tasks by the same rules; unlike the real one she
keeps everything in memory, and lets a test intervene at a moment it chooses.
"""

from __future__ import annotations

import hashlib
import io
import random
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gemel.carole.service.wire import entry_to_wire
from gemel.carole.store.log_tree import Tree, consistency_proof, inclusion_proof
from gemel.common.audit import AuditEntry, Checkpoint
from gemel.common.audit.entry import canonical
from gemel.common.audit.merkle import leaf_hash
from gemel.common.audit.statements import CustodianDecline
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.epochs import approval_parts
from gemel.common.keys.identity import SigningPurpose
from gemel.common.keys.identity_configuration import open_identity
from gemel.common.keys.sealing import SealContext, seal
from gemel.common.keys.vault import Vault, WrappingKeys
from gemel.common.parties import SIDE_OF_ROLE, Party, Role, Side
from gemel.common.rpc.transfer import Content
from gemel.common.rpc.trust import Trust
from gemel.common.signatures.payload import from_bytes
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import encoding_digest, load_specification, specification_digest
from gemel.common.wire.checkpoints import checkpoint_to_wire
from gemel.common.wire.chunks import CHUNK_BYTES, Chunk, chunk_count, missing_ranges, root_digest
from gemel.common.wire.manifest import Manifest, manifest_from_wire
from gemel.common.wire.parties import side_to_wire
from gemel.common.wire.row_handles import RowHandlesRequest
from gemel.coordinator.provisioning import Provisioned, provision
from gemel.custodian.configuration import CustodianConfiguration, load_custodian
from gemel.custodian.joining import custodian_yaml
from gemel.custodian.leakage_report import Gate
from gemel.custodian.operator.control import Control
from gemel.custodian.service import CustodianService
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.state_database import Upload
from gemel.protos.linkage.v1 import (
    audit_pb2,
    audit_pb2_grpc,
    contribution_pb2,
    custody_pb2,
    custody_pb2_grpc,
    project_pb2,
    resolution_pb2,
    variables_pb2,
)
from gemel.serving.server import RunningServer, caller, start_server
from tests.specifications import heading


def tested(text: str) -> str:
    """A custodian's configuration for tests: a request is repeated soon, so that a corrected file is soon noticed; the
    service may be in this process, which holds what all tests before it have left."""
    return text.replace("wait_seconds: 5 ", "wait_seconds: 1 ").replace("memory: 2GiB ", "memory: 6GiB ")


PARTIES = {Side.ALICE: Party(Side.ALICE, "Alice"), Side.BOB: Party(Side.BOB, "Bob")}

SPECIFICATION = (
    heading("people", alice="rec_id", bob="number")
    + """
fields:
  - {name: surname, kind: name, columns: {alice: surname, bob: family_name}, bits: 8192}
  - {name: born, kind: date, date: {order: ymd}}
  - {name: postcode, kind: code}
blocking:
  - {name: born, keys: [{field: born}]}
retention: {uploads_days: 7, results_days: 30, maps_days: 90}
"""
)


@dataclass
class Arriving:
    """An upload, as far as it has come."""

    manifest: contribution_pb2.Manifest
    chunks: dict[int, bytes] = field(default_factory=dict)
    committed: bool = False


def packed(files: dict[str, bytes | pl.DataFrame | None], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A share: statistics, unless None leaves them out, files by name, and tables by theirs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in {"statistics.json": b"{}", **files}.items():
            if isinstance(content, pl.DataFrame):
                table = io.BytesIO()
                content.write_parquet(table)
                archive.writestr(f"{name}.parquet", table.getvalue())
            elif content is not None:
                archive.writestr(name, content)
    return buffer.getvalue()


class SimulatedLog(audit_pb2_grpc.AuditServicer):
    """An audit log in memory; a test may rewrite it, for both custodians or for one."""

    def __init__(self, parties: Provisioned) -> None:
        self.parties = parties
        self.identity = open_identity(None, parties.parties["carole"].identity)
        self.log = "ab" * 16
        self.leaves: dict[Side, list[bytes]] = {side: [leaf_hash(b"begun")] for side in Side}
        self.noted: dict[Side, tuple[audit_pb2.Checkpoint, bytes]] = {}
        self.frozen: dict[Side, tuple[audit_pb2.Checkpoint, bytes]] | None = None
        """What each is shown of the other's view instead of the newest."""
        self.releases: dict[str, AuditEntry] = {}

    def add(self, text: str) -> None:
        for leaves in self.leaves.values():
            leaves.append(leaf_hash(text.encode()))

    def release(self, project: str, run: str) -> None:
        """Add the entry of a run's release; the logs of both custodians are of one length."""
        sequence = len(self.leaves[Side.ALICE]) + 1
        self.releases[run] = AuditEntry(sequence, 1, project, "system", "release", canonical({"run": run}), b"s" * 16)
        for leaves in self.leaves.values():
            leaves.append(self.releases[run].leaf)

    def awaited(self, side: Side) -> int:
        """The size that the other custodian has countersigned, if this one has countersigned less."""
        seen = {each: self.noted[each][0].size for each in self.noted}
        return seen[side.other] if seen.get(side.other, 0) > seen.get(side, 0) else 0

    def Witness(self, request: Any, context: Any) -> audit_pb2.WitnessResponse:  # noqa: N802
        side = SIDE_OF_ROLE[caller(context).role]
        tree = Tree()
        for leaf in self.leaves[side]:
            tree.append(leaf)
        newest = Checkpoint.sign(self.identity, self.log, tree.size, tree.root, 1)
        seen = min(request.seen.size, tree.size)
        answer = audit_pb2.WitnessResponse(
            newest=checkpoint_to_wire(newest), continues=consistency_proof(seen, tree.size, tree.node)
        )
        if request.run in self.releases:
            entry = self.releases[request.run]
            proof = inclusion_proof(entry.sequence - 1, tree.size, tree.node)
            answer.release.CopyFrom(entry_to_wire(entry, proof))
        if request.HasField("seen"):
            self.noted[side] = request.seen, request.countersignature
        shown = self.noted if self.frozen is None else self.frozen
        if side.other in shown:
            theirs, countersignature = shown[side.other]
            answer.other.CopyFrom(theirs)
            answer.other_countersignature = countersignature
            answer.other_continues.extend(consistency_proof(min(theirs.size, tree.size), tree.size, tree.node))
        return answer


class SimulatedCarole(custody_pb2_grpc.CustodyServicer):
    """One project, in memory.

    `before` is called with the method's name and the side before every call, and may raise.
    """

    def __init__(self, parties: Provisioned, text: str = SPECIFICATION) -> None:
        self.parties = parties
        self.text = text
        self.spec = load_specification(text, "test")
        self.lock = threading.Condition()
        self.state = project_pb2.PROJECT_STATE_DRAFT
        self.epoch = 1
        self.new_epoch: project_pb2.NewEpoch | None = None
        self.approved: set[Side] = set()
        self.declined: dict[Side, str] = {}
        self.messages: dict[tuple[Side, int], bytes] = {}
        self.reports: dict[Side, tuple[bytes, bytes]] = {}
        self.uploads: dict[Side, dict[str, Arriving]] = {side: {} for side in Side}
        self.current: dict[Side, str] = {}
        self.shares: dict[Side, bytes] = {}
        """Of the project's run, sealed."""
        self.acknowledged: set[Side] = set()
        self.alone: dict[Side, str] = {}
        self.requests: dict[Side, tuple[str, bytes]] = {}
        """By custodian, a run and the request for handles that it has not answered yet."""
        self.handles: dict[tuple[Side, str], bytes] = {}
        """Sealed responses, by custodian and run."""
        self.to_send: dict[Side, str] = {}
        """By custodian, the recipient that it is to send columns to."""
        self.to_receive: dict[Side, bytes] = {}
        """By custodian, the sealed columns that it is to fetch."""
        self.variables: dict[tuple[Side, str], bytes] = {}
        """Sealed columns, by sender and recipient."""
        self.audit = SimulatedLog(parties)
        self.calls: list[tuple[str, Side]] = []
        self.conditions: dict[Side, dict[str, int]] = {}
        self.before: Callable[[str, Side], None] = lambda method, side: None

    # For the tests

    def status(self) -> project_pb2.ProjectStatus:
        return project_pb2.ProjectStatus(
            project=self.spec.project,
            state=self.state,
            specification_digest=specification_digest(self.spec),
            encoding_digest=encoding_digest(self.spec),
            epoch=self.epoch,
            owner="coordinator",
            approvals=[self._consent()],
        )

    def _consent(self) -> project_pb2.Approval:
        """The owner's, which it gave in the first epoch."""
        identity = open_identity(None, self.parties.parties["coordinator"].identity)
        digest = specification_digest(self.spec)
        signature = identity.sign(SigningPurpose.APPROVAL, *approval_parts(self.spec.project, digest, 1))
        return project_pb2.Approval(member="coordinator", specification_digest=digest, signature=signature)

    @contextmanager
    def changed(self) -> Iterator[None]:
        """Change something under the lock; whoever waits looks again."""
        with self.lock:
            yield
            self.lock.notify_all()

    def wait_for(self, condition: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait for a condition under the lock; the test fails if it does not come."""
        with self.lock:
            assert self.lock.wait_for(condition, seconds), "the condition did not come"

    def committed(self, side: Side) -> tuple[Manifest, bytes]:
        """What a custodian has committed."""
        upload = self.uploads[side][self.current[side]]
        payload = b"".join(upload.chunks[index] for index in sorted(upload.chunks))
        return manifest_from_wire(upload.manifest, 1 << 40, 1 << 30), payload

    def contribution(self, side: Side) -> SignatureSet:
        """Its one set."""
        manifest, payload = self.committed(side)
        (found,) = from_bytes(manifest.layout, payload)
        return found

    def request_handles(self, side: Side, run: str, rows: Sequence[int]) -> None:
        """Request handles of any rows of a custodian's upload, whether they are candidates or not."""
        packed = RowHandlesRequest(self.current[side], np.array(rows, dtype=np.uint32)).pack()
        with self.changed():
            self.requests[side] = run, packed

    def release(self, links: pl.DataFrame, *, run: str = "0" * 32, grants: dict[Side, str] | None = None) -> None:
        """Seal the shares of a run: `links` has columns alice, bob (rows of the uploads), link_id and the numbers."""
        for side in Side:
            files: dict[str, bytes | pl.DataFrame | None] = {"statistics.json": b'{"model": {}, "linkage": {}}'}
            if (grants or {}).get(side, "links") == "links":
                row = pl.col(side).cast(pl.UInt32).alias("row")
                files["links"] = links.select(row, "link_id", "link_probability")
            member = self.parties.members.in_role(side.role)
            context = SealContext(self.spec.project, run, member.name)
            self.shares[side] = b"".join(seal(member.sealing, context, [packed(files)]))
        with self.changed():
            self.run = run
            self.audit.release(self.spec.project, run)
            self.state = project_pb2.PROJECT_STATE_RELEASED

    # The calls of custodians

    def NextTask(self, request: Any, context: Any) -> custody_pb2.NextTaskResponse:  # noqa: N802
        side = self._enter("NextTask", context)
        self.conditions[side] = {each.project: each.condition for each in request.conditions}
        deadline = time.monotonic() + request.wait_ms / 1000
        with self.lock:
            while (kind := self._task(side, request.waiting)) is None and (left := deadline - time.monotonic()) > 0:
                self.lock.wait(left)
            response = custody_pb2.NextTaskResponse(kind=custody_pb2.TASK_KIND_IDLE, projects=[self.status()])
            if kind is not None:
                response.kind = kind
                response.status.CopyFrom(self.status())
                response.specification = self.text
                for (sender, message), payload in self.messages.items():
                    response.messages.add(kind=message, sender=side_to_wire(sender), payload=payload)
                response.run = getattr(self, "run", "")
                response.upload = self.current.get(side, "")
            if kind == custody_pb2.TASK_KIND_HANDLES:
                response.run = self.requests[side][0]
            if kind == custody_pb2.TASK_KIND_SEND_VARIABLES:
                response.recipient = self.to_send[side]
            if self.state == project_pb2.PROJECT_STATE_RELEASED and len(self.acknowledged) < len(Side):
                response.countersign = self.audit.awaited(side)
            if kind is not None and self.new_epoch is not None:
                response.new_epoch.CopyFrom(self.new_epoch)
            return response

    def _task(self, side: Side, waiting: Any) -> Any:
        state, released = self.state, self.state == project_pb2.PROJECT_STATE_RELEASED
        tasks = {
            custody_pb2.TASK_KIND_APPROVE: state == project_pb2.PROJECT_STATE_DRAFT and side not in self.approved,
            custody_pb2.TASK_KIND_AGREE: state == project_pb2.PROJECT_STATE_APPROVED and self._agrees(side),
            custody_pb2.TASK_KIND_CONTRIBUTE: state == project_pb2.PROJECT_STATE_KEYED and side not in self.current,
            custody_pb2.TASK_KIND_HANDLES: side in self.requests,
            custody_pb2.TASK_KIND_FETCH: released and side not in self.acknowledged,
            custody_pb2.TASK_KIND_SEND_VARIABLES: side in self.to_send,
            custody_pb2.TASK_KIND_FETCH_VARIABLES: side in self.to_receive,
        }
        return None if self.spec.project in waiting else next((kind for kind, due in tasks.items() if due), None)

    def _agrees(self, side: Side) -> bool:
        """Whether a custodian can go on agreeing: it does not wait for the other's message or report."""
        if side in self.reports:
            return len(self.reports) == 2
        for kind in (custody_pb2.AGREEMENT_MESSAGE_KIND_OFFER, custody_pb2.AGREEMENT_MESSAGE_KIND_CONFIRMATION):
            if (side, kind) not in self.messages:
                return True
            if (side.other, kind) not in self.messages:
                return False
        return True

    def Decline(self, request: Any, context: Any) -> custody_pb2.CustodyDeclineResponse:  # noqa: N802
        side = self._enter("Decline", context)
        statement = CustodianDecline(self.spec.project, specification_digest(self.spec), request.reason)
        statement.verify(caller(context).identity, request.signature)
        self.declined[side] = request.reason
        return custody_pb2.CustodyDeclineResponse(status=self.status())

    def Approve(self, request: Any, context: Any) -> custody_pb2.ApproveResponse:  # noqa: N802
        side = self._enter("Approve", context)
        digest = specification_digest(self.spec)
        assert request.specification_digest == digest
        signed = approval_parts(self.spec.project, digest, self.epoch)
        caller(context).identity.verify(request.signature, "approve-specification", *signed)
        assert request.epoch == self.epoch
        with self.changed():
            self.approved.add(side)
            if len(self.approved) == 2:
                self.state = project_pb2.PROJECT_STATE_APPROVED
        return custody_pb2.ApproveResponse(status=self.status())

    def PostMessage(self, request: Any, context: Any) -> custody_pb2.PostMessageResponse:  # noqa: N802
        side = self._enter("PostMessage", context)
        with self.changed():
            kept = self.messages.setdefault((side, request.message.kind), request.message.payload)
            if kept != request.message.payload:
                raise GemelError(ErrorCode.EXISTS, "another message is there")
        return custody_pb2.PostMessageResponse()

    def ReportKeys(self, request: Any, context: Any) -> custody_pb2.ReportKeysResponse:  # noqa: N802
        side = self._enter("ReportKeys", context)
        with self.changed():
            self.reports[side] = (request.key_check_value, request.canary_digest)
            if len(self.reports) == 2:
                ours, theirs = self.reports[side], self.reports[side.other]
                if ours == theirs:
                    self.state = project_pb2.PROJECT_STATE_KEYED
                elif ours[0] != theirs[0]:
                    raise GemelError(ErrorCode.KEY_MISMATCH, "key-check values differ")
                else:
                    raise GemelError(ErrorCode.CANARY_MISMATCH, "canary digests differ")
        return custody_pb2.ReportKeysResponse(status=self.status())

    def BeginUpload(self, request: Any, context: Any) -> contribution_pb2.BeginUploadResponse:  # noqa: N802
        side = self._enter("BeginUpload", context)
        with self.lock:
            upload = self.uploads[side].setdefault(request.upload, Arriving(request.manifest))
            assert upload.manifest == request.manifest
            total = manifest_from_wire(request.manifest, 1 << 40, 1 << 30).layout.total_bytes
            count = chunk_count(total)
            missing = [
                contribution_pb2.IndexRange(first=first, last=last)
                for first, last in missing_ranges(sorted(upload.chunks), count)
            ]
            return contribution_pb2.BeginUploadResponse(
                total_bytes=total, chunk_bytes=CHUNK_BYTES, chunks=count, missing=missing, committed=upload.committed
            )

    def PutChunk(self, request: Any, context: Any) -> contribution_pb2.PutChunkResponse:  # noqa: N802
        side = self._enter("PutChunk", context)
        chunk = Chunk.of(request.chunk)
        chunk.check(1 << 40, "here")
        with self.changed():
            kept = self.uploads[side][request.upload].chunks.setdefault(chunk.index, chunk.data)
            assert kept == chunk.data
        return contribution_pb2.PutChunkResponse()

    def CommitUpload(self, request: Any, context: Any) -> contribution_pb2.CommitUploadResponse:  # noqa: N802
        side = self._enter("CommitUpload", context)
        with self.changed():
            upload = self.uploads[side][request.upload]
            if sorted(upload.chunks) != list(range(request.chunks)):
                raise GemelError(ErrorCode.UPLOAD_GAPS, "gaps")
            digests = [hashlib.sha256(upload.chunks[index]).digest() for index in range(request.chunks)]
            assert root_digest(digests) == request.root
            upload.committed = True
            self.current[side] = request.upload
            if len(self.current) == 2:
                self.state = project_pb2.PROJECT_STATE_CONTRIBUTED
        return contribution_pb2.CommitUploadResponse()

    def FetchArtifact(self, request: Any, context: Any) -> resolution_pb2.FetchArtifactResponse:  # noqa: N802
        side = self._enter("FetchArtifact", context)
        run, rows = self.requests[side]
        assert (request.run, request.artifact) == (run, resolution_pb2.RUN_ARTIFACT_ROWS)
        return resolution_pb2.FetchArtifactResponse(chunk=Content.of(rows).chunk(request.index).message())

    def PutArtifact(self, request: Any, context: Any) -> resolution_pb2.PutArtifactResponse:  # noqa: N802
        side = self._enter("PutArtifact", context)
        assert request.artifact == resolution_pb2.RUN_ARTIFACT_HANDLES
        with self.changed():
            # Requests of a test are small: one chunk.
            self.handles[side, request.run] = request.chunk.data
            self.requests.pop(side, None)
        return resolution_pb2.PutArtifactResponse()

    def PutVariables(self, request: Any, context: Any) -> variables_pb2.PutVariablesResponse:  # noqa: N802
        side = self._enter("PutVariables", context)
        with self.changed():
            self.variables[side, request.recipient] = request.chunk.data
            self.to_send.pop(side, None)
        return variables_pb2.PutVariablesResponse()

    def FetchVariables(self, request: Any, context: Any) -> variables_pb2.FetchVariablesResponse:  # noqa: N802
        sealed = Content.of(self.to_receive[self._enter("FetchVariables", context)])
        return variables_pb2.FetchVariablesResponse(chunk=sealed.chunk(request.index).message())

    def AcknowledgeVariables(self, request: Any, context: Any) -> variables_pb2.AcknowledgeVariablesResponse:  # noqa: N802
        side = self._enter("AcknowledgeVariables", context)
        with self.changed():
            assert request.root == Content.of(self.to_receive.pop(side)).root
        return variables_pb2.AcknowledgeVariablesResponse()

    def FetchResult(self, request: Any, context: Any) -> custody_pb2.FetchResultResponse:  # noqa: N802
        side = self._enter("FetchResult", context)
        share = Content.of(self.shares[side])
        return custody_pb2.FetchResultResponse(chunk=share.chunk(request.index).message())

    def AcknowledgeResult(self, request: Any, context: Any) -> custody_pb2.AcknowledgeResultResponse:  # noqa: N802
        side = self._enter("AcknowledgeResult", context)
        assert request.root == Content.of(self.shares[side]).root
        with self.changed():
            self.acknowledged.add(side)
            self.alone[side] = request.alone
        return custody_pb2.AcknowledgeResultResponse()

    def _enter(self, method: str, context: Any) -> Side:
        side = SIDE_OF_ROLE[caller(context).role]
        self.before(method, side)
        with self.changed():
            self.calls.append((method, side))
            if method != "NextTask":
                self.audit.add(f"{method} {side}")
        return side


@dataclass
class Folder:
    """One custodian's files on disk, and how to start its service in this process."""

    party: Party
    config: Path

    @property
    def configuration(self) -> CustodianConfiguration:
        return load_custodian(self.config)

    @property
    def source(self) -> Path:
        chosen = self.configuration.source.csv
        assert chosen is not None
        return chosen.path

    def start(self, gate: Gate | None = None) -> CustodianService:
        service = CustodianService(self.party, self.configuration, gate)
        service.start()
        return service

    def control(self) -> AbstractContextManager[Control]:
        """Its operator."""
        return Control.open(self.config, self.party)


@dataclass
class World:
    """Carole, simulated, and the two custodians' folders."""

    carole: SimulatedCarole
    server: RunningServer
    alice: Folder
    bob: Folder
    people: int

    @property
    def folders(self) -> tuple[Folder, Folder]:
        return self.alice, self.bob


@pytest.fixture
def vault() -> Vault:
    return Vault(WrappingKeys.create())


@pytest.fixture
def state(tmp_path: Path, vault: Vault) -> Iterator[State]:
    """A custodian's state that knows the project `people`; a test may have closed it."""
    made = State(tmp_path / "state", vault)
    made.update("people")
    yield made
    with suppress(OSError):
        made.close()


def everything(folder: Path) -> bytes:
    """All files of a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def kept_upload(
    state: State, name: str, *, project: str = "people", epoch: int = 1, payload: bytes = b"body",
    row_map: bytes = b"map", map_days: int = 1, committed: bool = False,
) -> Upload:  # fmt: skip
    """An upload that was written; `name` is a letter or two."""
    upload = Upload(id=name * (32 // len(name)), project=project, epoch=epoch, manifest=b"m", rows=2, total_bytes=3)
    with state.uploads.writing(upload.id) as files:
        files.payload.write(payload)
        files.row_map.write(row_map)
    state.uploads.add(upload, files, map_days)
    if committed:
        state.uploads.mark_committed(upload.id)
    return upload


@pytest.fixture(scope="session")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Provisioned:
    """Certificates and keys of all parties."""
    return provision(tmp_path_factory.mktemp("parties") / "made", linker_names=["127.0.0.1"])


def people(count: int, seed: int = 1) -> tuple[str, str]:
    """Two CSV files of the same people in other orders, with identifiers that show the matches: a7 is b7."""
    generator = random.Random(seed)
    messages = "abcdefghijklmnopqrstuvwxyz"
    rows = []
    for number in range(count):
        surname = "".join(generator.choices(messages, k=9))
        born = f"{generator.randint(1930, 2010)}-{generator.randint(1, 12):02}-{generator.randint(1, 28):02}"
        rows.append((number, surname, born, f"{number:06}"))
    alice = "rec_id,surname,born,postcode\n" + "".join(f"a{n},{s},{b},{p}\n" for n, s, b, p in rows)
    generator.shuffle(rows)
    bob = "number,family_name,born,postcode\n" + "".join(f"b{n},{s.upper()},{b},{p}\n" for n, s, b, p in rows)
    return alice, bob


@pytest.fixture
def make_world(tmp_path: Path, parties: Provisioned) -> Iterator[Callable[..., World]]:
    """Makes a world: `make(people=..., approve=True, seeds=...)`."""
    servers: list[RunningServer] = []

    def make(count: int = 120, *, approve: bool = True, text: str = SPECIFICATION, port: int = 0) -> World:
        carole = SimulatedCarole(parties, text)
        folder = parties.parties["carole"].path
        servicers = [
            (custody_pb2_grpc.add_CustodyServicer_to_server, carole),
            (audit_pb2_grpc.add_AuditServicer_to_server, carole.audit),
        ]
        server = start_server(f"127.0.0.1:{port}", servicers, Trust(folder, Role.LINKER))
        servers.append(server)
        files = dict(zip(Side, people(count), strict=True))
        folders = {}
        for side, party in PARTIES.items():
            own = tmp_path / side
            own.mkdir()
            (own / "records.csv").write_text(files[side])
            digest = specification_digest(load_specification(text, "test")).hex()
            config = own / f"{side}.yaml"
            written = custodian_yaml(
                party,
                carole=f"127.0.0.1:{server.port}",
                peer_fingerprint=parties.members.in_role(side.other.role).identity.fingerprint,
                source={"csv": {"path": "records.csv"}},
                approve=(digest,) if approve else (),
                keys=str(parties.parties[side].path),
                retry_seconds=0.2,
            )
            config.write_text(tested(written))
            folders[side] = Folder(party, config)
        return World(carole, server, folders[Side.ALICE], folders[Side.BOB], count)

    yield make
    for server in servers:
        server.stop(0)
