"""Version 1: every table of the first release. Its triggers keep the audit log append-only."""

from __future__ import annotations

from alembic import op
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

revision = "1"
down_revision = None

metadata = MetaData()

Table("meta", metadata, Column("key", String(32), primary_key=True), Column("value", BigInteger, nullable=False))

Table(
    "tenure",
    metadata,
    Column("holder", String(32), primary_key=True),
    Column("place", String(32), nullable=False),
    Column("until", BigInteger, nullable=False),
)

Table(
    "projects",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("specification", Text, nullable=False),
    Column("specification_digest", LargeBinary(32), nullable=False),
    Column("encoding_digest", LargeBinary(32), nullable=False),
    Column("grants", Text, nullable=False),
    Column("policy", String(8), nullable=False),
    Column("uploads_days", Integer, nullable=False),
    Column("results_days", Integer, nullable=False),
    Column("state", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("owner", String(64), nullable=False),
    Column("signatures", Integer, nullable=False),
    Column("releases_days", Integer, nullable=False),
    Column("transfers", Text, nullable=False),
)

Table(
    "hand_overs",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("former", String(64), nullable=False),
    Column("successor", String(64), nullable=False),
    Column("member", String(64), nullable=False),
    Column("reason", Text, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

Table(
    "approvals",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("role", String(16), primary_key=True),
    Column("member", String(64), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

Table(
    "declines",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("member", String(64), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("reason", Text, nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

Table(
    "messages",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("kind", Integer, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
)

Table(
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

Table(
    "epochs",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("member", String(64), nullable=False),
    Column("reason", Text, nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

Table(
    "payloads",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("project", ForeignKey("projects.id"), nullable=False, index=True),
    Column("wrapped_key", LargeBinary),
    Column("chunks", Integer),
    Column("root", LargeBinary(60)),
    Column("complete", Integer, nullable=False),
    Column("writer", String(64)),
    Column("swept", Integer, nullable=False),
)

Table(
    "chunks",
    metadata,
    Column("payload", ForeignKey("payloads.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("digest", LargeBinary(60), nullable=False),
    Column("size", Integer, nullable=False),
    Column("file", String(64), nullable=False),
    Column("start", BigInteger, nullable=False),
)

Table(
    "uploads",
    metadata,
    Column("project", ForeignKey("projects.id"), primary_key=True),
    Column("side", String(8), primary_key=True),
    Column("upload", String(32), primary_key=True),
    Column("sequence", Integer, nullable=False),
    Column("payload", ForeignKey("payloads.id"), nullable=False, unique=True),
    Column("epoch", Integer, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("total_bytes", BigInteger, nullable=False),
    Column("layout", Text, nullable=False),
    Column("begun_at", BigInteger, nullable=False),
    Column("committed_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("ended", String(16)),
)

Table(
    "runs",
    metadata,
    Column("run", String(32), primary_key=True),
    Column("project", ForeignKey("projects.id"), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("request", String(64), nullable=False),
    Column("state", Integer, nullable=False),
    Column("active", Integer),
    Column("stage", String(32), nullable=False),
    Column("fraction", Double, nullable=False),
    Column("error", Text, nullable=False),
    Column("links", BigInteger, nullable=False),
    Column("released", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("owner", String(64)),
    Column("lease_until", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("call", String(16), nullable=False),
    UniqueConstraint("project", "request"),
    # 1 while active, else null, and nulls are never equal: one active run per project.
    UniqueConstraint("project", "active"),
)

Table(
    "run_figures",
    metadata,
    Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
    Column("name", String(48), primary_key=True),
    Column("value", Double, nullable=False),
)

Table(
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

Table(
    "results",
    metadata,
    Column("run", ForeignKey("runs.run"), primary_key=True),
    Column("recipient", String(16), primary_key=True),
    Column("payload", ForeignKey("payloads.id"), nullable=False, unique=True),
    Column("acknowledged_at", BigInteger),
)

Table(
    "releases",
    metadata,
    Column("run", String(32), ForeignKey("runs.run"), primary_key=True),
    Column("project", ForeignKey("projects.id"), nullable=False),
    Column("alice", String(64), nullable=False),
    Column("bob", String(64), nullable=False),
    Column("specification_digest", LargeBinary(32), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("days", Integer, nullable=False),
)

Table(
    "artifacts",
    metadata,
    Column("run", ForeignKey("runs.run"), primary_key=True),
    Column("name", String(16), primary_key=True),
    Column("payload", ForeignKey("payloads.id"), nullable=False, unique=True),
    Column("acknowledged_at", BigInteger),
)

Table(
    "notices",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("way", String(64), primary_key=True),
    Column("message", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("kept_until", BigInteger, nullable=False),
    Column("ended", Integer, nullable=False),
)

Table(
    "audit",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("project", String(64), nullable=False),
    Column("actor", String(64), nullable=False),
    Column("action", String(32), nullable=False),
    Column("details", Text, nullable=False),
    Column("salt", LargeBinary(16), nullable=False),
    Index("audit_by_project", "project", "sequence"),
)

Table(
    "audit_nodes",
    metadata,
    Column("height", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(32), nullable=False),
)

Table(
    "audit_checkpoints",
    metadata,
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    Column("log", String(32), nullable=False),
    Column("root", LargeBinary(32), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
)

Table(
    "audit_witnesses",
    metadata,
    Column("member", String(64), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("countersignature", LargeBinary(64), nullable=False),
)

_GUARDED = ("audit", "audit_nodes", "audit_checkpoints")


def upgrade() -> None:
    """Make every table, and let the database refuse changes of the log."""
    metadata.create_all(op.get_bind())
    op.execute("INSERT INTO meta VALUES ('audit', 0), ('state', 0), ('payloads', 0)")
    op.execute("INSERT INTO tenure VALUES ('', '', 0)")
    if op.get_context().dialect.name == "postgresql":
        op.execute(
            "CREATE OR REPLACE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$"
        )
    for name in _GUARDED:
        if op.get_context().dialect.name == "postgresql":
            op.execute(
                f"CREATE TRIGGER {name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
                "FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()"
            )
        else:
            for operation in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {name}_no_{operation.lower()} BEFORE {operation} ON {name} "
                    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
                )
