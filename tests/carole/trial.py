"""A trial project for tests of the store: its specification, random contributions, and its way forward."""

from __future__ import annotations

import hashlib

import numpy as np

from gemel.carole.projects.operations import consent, release
from gemel.carole.projects.project import Approval, Grant, KeyReport, Policy, Project
from gemel.carole.store import Store, audit_check
from gemel.carole.store.database import Database
from gemel.carole.store.registry import NewProject
from gemel.carole.store.runs import Lease
from gemel.common.keys.identity import Identity
from gemel.common.parties import Role, Side
from gemel.common.signatures.layout import Layout
from gemel.common.signatures.payload import to_bytes
from gemel.common.signatures.signature_sets import FieldSignatures, SignatureSet, layout_of
from gemel.common.wire.chunks import Chunk, chunk_slices, root_digest

PROJECT = "trial"


class Contribution:
    """A contribution of random signatures, cut into chunks as a custodian would."""

    def __init__(self, seed: int, rows: int = 22_000, bits: int = 1024) -> None:
        rng = np.random.default_rng(seed)
        fields = {}
        for name in ("surname", "born"):
            values = rng.integers(0, 2**63, size=(rows, bits // 64), dtype=np.uint64)
            values = values[np.lexsort(values.byteswap().T[::-1])]
            fields[name] = FieldSignatures(bits, values, rng.permutation(rows).astype(np.int32))
        blocks = {"born": rng.integers(1, 2**63, size=rows, dtype=np.uint64)}
        self.cut((SignatureSet("", rows, fields, blocks),))

    def cut(self, sets: tuple[SignatureSet, ...], records: int = 0, layout: Layout | None = None) -> None:
        """Be a contribution of these sets instead."""
        self.sets, self.layout = sets, layout or layout_of(sets, records)
        self.carry(b"".join(to_bytes(sets)))

    def carry(self, payload: bytes) -> None:
        """Have these bytes in the place of its sets', whatever its layout says."""
        self.payload = payload
        self.chunks = [self.payload[part] for part in chunk_slices(len(self.payload))]
        self.digests = [hashlib.sha256(chunk).digest() for chunk in self.chunks]
        self.root = root_digest(self.digests)

    def put(self, store: Store, side: Side, upload: str, *indices: int, project: str = PROJECT) -> None:
        for index in indices or range(len(self.chunks)):
            store.uploads.put(project, side, upload, self.chunk(index))

    def chunk(self, index: int) -> Chunk:
        return Chunk(index, len(self.chunks), self.root, self.digests[index], self.chunks[index])

    def commit(self, store: Store, side: Side, upload: str, project: str = PROJECT) -> None:
        store.uploads.commit(project, side, str(side), upload, len(self.chunks), len(self.payload), self.root)


DIGEST = b"\1" * 32
NEW = NewProject(
    name=PROJECT,
    specification="the specification",
    specification_digest=DIGEST,
    encoding_digest=b"\2" * 32,
    grants={Role.CUSTODIAN_A: Grant.LINKS, Role.CUSTODIAN_B: Grant.NOTHING, Role.COORDINATOR: Grant.STATISTICS},
    policy=Policy.NONE,
    uploads_days=7,
    results_days=30,
)


def approve(store: Store, role: Role, member: str, project: str = PROJECT, digest: bytes = DIGEST) -> Project:
    """A member consents."""
    return store.apply(
        project, lambda known, now: consent.approve(known, role, Approval(member, digest, b"s" * 64, now))
    )


def report_keys(store: Store, side: Side, report: KeyReport, project: str = PROJECT) -> Project:
    """A custodian reports its keys in the first epoch."""
    return store.apply(project, lambda known, _: consent.report_keys(known, side, str(side), 1, report))


def erase(store: Store, project: str = PROJECT) -> Project:
    """The coordinator erases a project."""
    return store.apply(project, lambda known, _: release.erase(known, Role.COORDINATOR, "coordinator"))


def keyed(store: Store, new: NewProject = NEW) -> None:
    """Bring a new project to KEYED."""
    store.projects.create(new, "coordinator")
    approved(store, new.name, new.specification_digest)
    for side in Side:
        report_keys(store, side, KeyReport(b"k" * 8, b"c" * 32), new.name)


def contributed(store: Store, contributions: dict[Side, Contribution], new: NewProject = NEW) -> None:
    """Bring a new project to CONTRIBUTED."""
    keyed(store, new)
    for side, given in contributions.items():
        contribute(store, side, given, project=new.name)


UPLOADS = {Side.ALICE: "a" * 32, Side.BOB: "b" * 32}


def take(store: Store, owner: str = "worker") -> Lease:
    """A worker takes the run that waits."""
    lease = store.runs.take(owner)
    assert lease is not None
    return lease


def taken(store: Store, run: str) -> Lease:
    """The trial project's run, requested and taken by a worker."""
    store.runs.start(PROJECT, "coordinator", "r", run)
    return take(store)


def send(store: Store, side: Side, given: Contribution, upload: str = "", project: str = PROJECT) -> None:
    """Begin an upload and put every chunk."""
    upload = upload or UPLOADS[side]
    store.uploads.begin(project, side, str(side), upload, given.layout)
    given.put(store, side, upload, project=project)


def contribute(store: Store, side: Side, given: Contribution, upload: str = "", project: str = PROJECT) -> None:
    """Send a whole contribution."""
    send(store, side, given, upload, project)
    given.commit(store, side, upload or UPLOADS[side], project)


def approved(store: Store, project: str, digest: bytes = DIGEST) -> None:
    """Both custodians and the coordinator consent."""
    for role in (Role.COORDINATOR, Role.CUSTODIAN_A, Role.CUSTODIAN_B):
        approve(store, role, str(role), project, digest)


def tiny() -> dict[Side, Contribution]:
    """Contributions of a few rows."""
    return {side: Contribution(number, rows=20, bits=64) for number, side in enumerate(Side)}


def intact(url: str, identity: Identity) -> bool:
    """Whether the log of a database is whole, and Carole's."""
    database = Database(url)
    with database.read() as connection:
        found = audit_check.verify(connection, identity.public).intact
    database.close()
    return found
