"""Version 1: the tables of the first release."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Column, Double, ForeignKey, Integer, LargeBinary, MetaData, String, Table

revision = "1"
down_revision = None
metadata = MetaData()

Table(
    "project",
    metadata,
    Column("name", String, primary_key=True),
    Column("specification", String, nullable=False),
    Column("specification_digest", LargeBinary, nullable=False),
    Column("mode", String, nullable=False),
    Column("carole_state", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("decision", String, nullable=False),
    Column("decided_digest", LargeBinary, nullable=False),
    Column("decided_by", String, nullable=False),
    Column("decided_at", Double, nullable=False),
    Column("reason", String, nullable=False),
    Column("stage", String, nullable=False),
    Column("blocking_error", String, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("links", Integer, nullable=False),
    Column("results", String, nullable=False),
    Column("profile", String, nullable=False),
    Column("timings", String, nullable=False),
)

Table(
    "leakage",
    metadata,
    Column("project", String, ForeignKey("project.name"), primary_key=True),
    Column("specification_digest", LargeBinary, nullable=False),
    Column("worst", Double, nullable=False),
    Column("field", String, nullable=False),
    Column("limit", Double, nullable=False),
    Column("exceeds", Boolean, nullable=False),
    Column("report", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("overridden_at", Double),
)

Table(
    "secret",
    metadata,
    Column("project", String, ForeignKey("project.name"), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

Table("own_secret", metadata, Column("kind", String, primary_key=True), Column("content", LargeBinary, nullable=False))

Table(
    "upload",
    metadata,
    Column("id", String, primary_key=True),
    Column("project", String, ForeignKey("project.name"), nullable=False, index=True),
    Column("epoch", Integer, nullable=False),
    Column("manifest", LargeBinary, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("total_bytes", Integer, nullable=False),
    Column("digests", LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("committed_at", Double),
    Column("payload_key", LargeBinary),
    Column("map_key", LargeBinary),
    Column("map_until", Double, nullable=False),
)

Table(
    "result",
    metadata,
    Column("project", String, ForeignKey("project.name"), primary_key=True),
    Column("run", String, primary_key=True),
    Column("root", LargeBinary, nullable=False),
    Column("folder", String, nullable=False),
    Column("links", Integer, nullable=False),
    Column("fetched_at", Double, nullable=False),
    Column("acknowledged", Boolean, nullable=False),
)

Table("seen", metadata, Column("size", Integer, primary_key=True), Column("checkpoint", String, nullable=False))

Table(
    "lost",
    metadata,
    Column("restoration", Integer, primary_key=True, autoincrement=False),
    Column("size", Integer, primary_key=True, autoincrement=False),
    Column("checkpoint", String, nullable=False),
)


def upgrade() -> None:
    """Make them."""
    metadata.create_all(op.get_bind())
