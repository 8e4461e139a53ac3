"""The tables, the same for SQLite and PostgreSQL. Times are milliseconds since 1970, in UTC.

They are made by `migrations`: every change of a table here is also a module of `migrations/versions`, and raises
`versions.STORE`. A Carole refuses a database of another version. The log's tables refuse changes by triggers, which the
migrations make.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

metadata = MetaData()


def _required(kind: type[TypeEngine[Any]] | TypeEngine[Any], *names: str) -> list[Column[Any]]:
    """Columns of one type, none of which is ever null."""
    return [Column(name, kind, nullable=False) for name in names]


def _signed() -> list[Column[Any]]:
    """A member's signature: whose, the bytes, and when."""
    return [*_required(String(64), "member"), *_required(LargeBinary(64), "signature"), *_required(BigInteger, "at")]


meta = Table("meta", metadata, Column("key", String(32), primary_key=True), Column("value", BigInteger, nullable=False))
"""`audit` is the sequence number of the last audit entry, its row the log's lock; `state` a number that every
transaction which writes draws; `payloads` the number of the newest payload; `notified` the last audit entry of which
people are notified; `clock` the newest time at which Carole served."""

tenure = Table(
    "tenure",
    metadata,
    Column("holder", String(32), primary_key=True),
    Column("place", String(32), nullable=False),
    Column("until", BigInteger, nullable=False),
)
"""One row: who holds the store, on which machine and folder, and until when (see `tenure`)."""

projects = Table(
    "projects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    *_required(Text, "specification", "grants", "transfers"),
    *_required(LargeBinary(32), "specification_digest", "encoding_digest"),
    Column("policy", String(8), nullable=False),
    *_required(Integer, "uploads_days", "results_days", "state", "epoch", "signatures", "releases_days"),
    Column("created_at", BigInteger, nullable=False),
    Column("owner", String(64), nullable=False),
)
"""`signatures` is how many stewards decide; `transfers`, JSON, says whose columns are granted to whom."""

hand_overs = Table(
    "hand_overs",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    *_required(String(64), "former", "successor"),
    *_required(Text, "reason", "checkpoint"),
    *_signed(),
)
"""Offers of projects to other coordinators that wait to be taken; `member` has signed, at a checkpoint of the log."""

approvals = Table(
    "approvals",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("role", String(16), primary_key=True),
    Column("digest", LargeBinary(32), nullable=False),
    *_signed(),
)

declines = Table(
    "declines",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("digest", LargeBinary(32), nullable=False),
    Column("reason", Text, nullable=False),
    *_signed(),
)
"""Of the project's specification, by custodians that have not approved it since."""

messages = Table(
    "messages",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("kind", Integer, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
)

key_reports = Table(
    "key_reports",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("key_check_value", LargeBinary(32), nullable=False),
    Column("canary_digest", LargeBinary(64), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("canary_parts", Text, nullable=False),
)
"""`canary_parts` is JSON, digests by name."""

epochs = Table(
    "epochs",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("reason", Text, nullable=False),
    *_signed(),
)
"""Those after the first, as the coordinator has opened them."""

payloads = Table(
    "payloads",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("project", ForeignKey("projects.id"), nullable=False, index=True),
    Column("wrapped_key", LargeBinary),
    Column("chunks", Integer),
    Column("root", LargeBinary(60)),
    Column("complete", Integer, nullable=False),
    Column("writer", String(64)),
    Column("swept", Integer, nullable=False, default=0),
)
"""What is encrypted under one key: an upload, an artifact or a share of a result. Without its wrapped key it is erased.

How many chunks it has and their root digest are known from its first chunk on; `complete` is 1 once all are there.
Digests rest encrypted (see `encrypted_payloads`), but for the roots of artifacts and of custodians' shares.
`writer` is the worker that writes it, until a row of a result or of an artifact names it. `swept` is 1 once no file can
be left of it that no row names.
"""

chunks = Table(
    "chunks",
    metadata,
    Column("payload", ForeignKey("payloads.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("digest", LargeBinary(60), nullable=False),
    Column("size", Integer, nullable=False),
    Column("file", String(64), nullable=False),
    Column("start", BigInteger, nullable=False, default=0),
)
"""Chunks of a payload: `size` bytes of plaintext each, encrypted in a file from `start` on. A file may have several."""

uploads = Table(
    "uploads",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("upload", String(32), primary_key=True),
    *_required(Integer, "sequence", "epoch"),
    Column("payload", ForeignKey("payloads.id"), nullable=False, unique=True),
    *_required(BigInteger, "rows", "total_bytes", "begun_at"),
    Column("layout", Text, nullable=False),
    Column("committed_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("ended", String(16)),
)

runs = Table(
    "runs",
    metadata,
    Column("run", String(32), primary_key=True),
    Column("project", ForeignKey("projects.id"), nullable=False),
    *_required(Integer, "sequence", "state", "released", "attempt"),
    Column("request", String(64), nullable=False),
    Column("active", Integer),
    Column("stage", String(32), nullable=False),
    Column("fraction", Double, nullable=False),
    Column("error", Text, nullable=False),
    *_required(BigInteger, "links", "created_at"),
    Column("owner", String(64)),
    Column("lease_until", BigInteger),
    Column("ended_at", BigInteger),
    Column("call", String(16), nullable=False),
    UniqueConstraint("project", "request"),
    # 1 while active, else null, and nulls are never equal: one active run per project.
    UniqueConstraint("project", "active"),
)

run_figures = Table(
    "run_figures",
    metadata,
    Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
    Column("name", String(48), primary_key=True),
    Column("value", Double, nullable=False),
)
"""Seconds of a run's stages and the sizes of its work, for those who run Carole; no number of links (see `runs`)."""

release_signatures = Table(
    "release_signatures",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
    Column("member", String(64), primary_key=True),
    Column("identity", String(64), nullable=False),
    Column("report", LargeBinary(32), nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""Stewards' signatures on the release of a held result, while others are awaited."""

results = Table(
    "results",
    metadata,
    Column("run", ForeignKey("runs.run"), primary_key=True),
    Column("recipient", String(16), primary_key=True),
    Column("payload", ForeignKey("payloads.id"), nullable=False, unique=True),
    Column("acknowledged_at", BigInteger),
)

releases = Table(
    "releases",
    metadata,
    Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
    Column("project", ForeignKey("projects.id"), nullable=False),
    *_required(String(64), "alice", "bob"),
    Column("specification_digest", LargeBinary(32), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("days", Integer, nullable=False),
)
"""Every release, also of projects that are erased or assess nothing (see `releases`). Its counts are a payload of
`results`, kept for so many days."""

artifacts = Table(
    "artifacts",
    metadata,
    Column("run", ForeignKey("runs.run"), primary_key=True),
    Column("name", String(16), primary_key=True),
    Column("payload", ForeignKey("payloads.id"), nullable=False, unique=True),
    Column("acknowledged_at", BigInteger),
)
"""What is exchanged during a run of mode block_keyed (see `results`), and the granted columns that custodians send
after its release, which alone are acknowledged."""

notices = Table(
    "notices",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("way", String(64), primary_key=True),
    Column("message", Text, nullable=False),
    *_required(Integer, "attempts", "ended"),
    *_required(BigInteger, "due_at", "kept_until"),
)
"""The outbox of notifications: one row for each message and way. `ended` is 1 once it is sent or given up; a row that
must not be made again, of a certificate, is then kept for a time."""

audit = Table(
    "audit",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    *_required(String(64), "project", "actor"),
    Column("action", String(32), nullable=False),
    Column("details", Text, nullable=False),
    Column("salt", LargeBinary(16), nullable=False),
)

Index("audit_by_project", audit.c.project, audit.c.sequence)

audit_nodes = Table(
    "audit_nodes",
    metadata,
    Column("height", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(32), nullable=False),
)
"""The full nodes of the log's Merkle tree (see `common.audit.merkle`): roots and proofs without reading the log."""

audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    Column("log", String(32), nullable=False),
    Column("root", LargeBinary(32), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
)
"""One for every transaction that added entries; the first, of size 0, gives the log its name."""

audit_witnesses = Table(
    "audit_witnesses",
    metadata,
    Column("member", String(64), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("countersignature", LargeBinary(64), nullable=False),
)
"""The checkpoint each custodian last accepted, countersigned, to be shown to the other."""
